//! Who may ask. Each rule is a second lock for another one: a page whose name was made to lead here
//! has another Host, a page elsewhere another Origin, another user no token. So each is checked on
//! its own, and each refusal has a status of its own.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};

use crate::page::secret::Secret;

/// What a front gives out its codes for, to other fronts of the same user.
pub const CODE_PATH: &str = "/api/code";
/// What a code is traded in at.
pub const ENTER_PATH: &str = "/api/enter";
/// What is for the page alone, and asks or acts, begins so.
pub const API: &str = "/api/";

/// Why somebody is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The name that was asked for is not ours: it may be somebody else's that leads here.
    #[error(
        "This is not the address of the page. Open http://127.0.0.1 with the port that `legwork ui` \
         names; through ssh, use the same port on both sides."
    )]
    Host,
    #[error("Only the page of `legwork ui` itself may ask for this.")]
    Origin,
    #[error("This page has been closed. Run `legwork ui` again.")]
    Token,
}

impl Denied {
    pub fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }
}

/// What of a request says who asks.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    pub headers: &'a HeaderMap,
}

/// What they are compared with.
#[derive(Debug)]
pub struct Guard {
    /// `127.0.0.1:PORT`.
    host: String,
    /// The same with its scheme.
    origin: String,
    /// Of the page.
    pub token: Secret,
    /// Of other fronts of the same user.
    pub key: Secret,
}

impl Guard {
    pub fn new(port: u16, token: Secret, key: Secret) -> Self {
        let host = format!("127.0.0.1:{port}");
        Self { origin: format!("http://{host}"), host, token, key }
    }

    pub fn check(&self, asker: Asker<'_>) -> Result<(), Denied> {
        self.check_host(asker)?;
        self.check_origin(asker)?;
        check_site(asker)?;
        self.check_token(asker)
    }

    /// Exactly our address. An address of numbers cannot be made to lead elsewhere, a name can.
    fn check_host(&self, asker: Asker<'_>) -> Result<(), Denied> {
        let is_ours = only(asker.headers, HOST) == Header::Is(&self.host);
        if is_ours { Ok(()) } else { Err(Denied::Host) }
    }

    /// Ours, where a browser says it; and what acts says it.
    fn check_origin(&self, asker: Asker<'_>) -> Result<(), Denied> {
        match only(asker.headers, ORIGIN) {
            Header::Is(origin) if origin == self.origin => Ok(()),
            Header::None if asker.method == Method::GET => Ok(()),
            _ => Err(Denied::Origin),
        }
    }

    fn check_token(&self, asker: Asker<'_>) -> Result<(), Denied> {
        let wanted = match asker.path {
            ENTER_PATH => return Ok(()),
            CODE_PATH => &self.key,
            path if path.starts_with(API) => &self.token,
            _ => return Ok(()),
        };
        let given = match only(asker.headers, AUTHORIZATION) {
            Header::Is(given) => given.strip_prefix("Bearer ").unwrap_or_default(),
            Header::None | Header::Bad => "",
        };
        if wanted.is(given) { Ok(()) } else { Err(Denied::Token) }
    }
}

/// What a browser says of where a request comes from. Somebody may follow a link to the page, as
/// the file does that `legwork ui` opens: a browser then says `cross-site`, and the page itself has
/// nothing in it that is not for everybody.
fn check_site(asker: Asker<'_>) -> Result<(), Denied> {
    let header = |name| only(asker.headers, HeaderName::from_static(name));
    match header("sec-fetch-site") {
        Header::None | Header::Is("same-origin" | "none") => Ok(()),
        Header::Is(_)
            if asker.path == "/"
                && asker.method == Method::GET
                && header("sec-fetch-mode") == Header::Is("navigate")
                && header("sec-fetch-dest") == Header::Is("document") =>
        {
            Ok(())
        }
        _ => Err(Denied::Origin),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header<'a> {
    None,
    Is(&'a str),
    /// It is there twice, or is no text.
    Bad,
}

fn only(headers: &HeaderMap, name: HeaderName) -> Header<'_> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Header::None,
        (Some(value), None) => value.to_str().map_or(Header::Bad, Header::Is),
        (Some(_), Some(_)) => Header::Bad,
    }
}

#[cfg(test)]
mod tests;
