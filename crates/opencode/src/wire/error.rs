//! What went wrong, said once: a bad answer as the engine sorts it, the error of a turn in words
//! for people, and the faults of setting up a connection.

use legwork_engine::HostError;
use legwork_protocol::limits::HOST_TEXT_MAX_CHARS;
use legwork_protocol::line::HostReply;
use legwork_protocol::refusal::plain;
use serde_json::Value;

/// Why a connection cannot be set up at all.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{url} is no address of an OpenCode server; give one like http://127.0.0.1:4096")]
    BadUrl { url: String, source: hyper::http::uri::InvalidUri },
    #[error("{url}: only http:// with a host is spoken; reach a remote server through a tunnel")]
    NotHttp { url: String },
}

/// A good status with a body that makes no sense. Nothing was learnt, and whether a write was done
/// is open: the same as no answer. OpenCode sends its web page, with 200, for a route that it does
/// not have.
pub(crate) const NONSENSE: HostError = HostError::Unreachable;

/// What a bad answer means; nothing for a good one.
pub(crate) fn of(reply: &HostReply) -> Option<HostError> {
    Some(match reply.status {
        200..=299 => return None,
        401 | 403 => HostError::Rejected {
            why: "OpenCode wants a password, and the one given is wrong or missing; set \
                  OPENCODE_SERVER_PASSWORD to the server's"
                .to_owned(),
        },
        404 | 410 => HostError::Gone,
        408 | 409 | 429 | 503 => HostError::Busy,
        400..=499 => HostError::Rejected { why: complaint(reply) },
        _ => HostError::Unreachable,
    })
}

/// Seen: `{name, data: {message}}`, `{_tag, message}` and a bare `{_tag}`.
fn complaint(reply: &HostReply) -> String {
    let words = ["/data/message", "/message", "/name", "/_tag"];
    let words = words.iter().find_map(|path| reply.body.pointer(path)?.as_str());
    match words {
        Some(words) => plain(words, HOST_TEXT_MAX_CHARS),
        None => format!("OpenCode answered with status {}", reply.status),
    }
}

/// The error of a turn, `{name, data: {message, statusCode}}`, in words.
pub(crate) fn reason(error: &Value) -> String {
    let name = error["name"].as_str().unwrap_or("an error without a name");
    let mut reason = match error["data"]["message"].as_str() {
        Some(message) if !message.trim().is_empty() => format!("{name}: {message}"),
        _ => name.to_owned(),
    };
    if let Some(status) = error["data"]["statusCode"].as_u64() {
        reason.push_str(&format!(" (status {status})"));
    }
    reason
}
