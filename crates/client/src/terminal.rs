//! Sessions of terminals: whoever launches helpers without a conversation is one.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::Path;

use legwork_machine::since_epoch;
use legwork_protocol::line::{BadEnvironment, Context, Environment};

/// A new session whose helpers work in this folder, with our environment and this model.
pub fn terminal(directory: &Path, model: Option<&str>) -> Result<Context, BadEnvironment> {
    let unique = unique();
    match (format!("term_{unique}").parse(), format!("msg_{unique}").parse()) {
        (Ok(session), Ok(message)) => Ok(Context {
            session,
            message,
            agent: "terminal".to_owned(),
            directory: directory.to_string_lossy().into_owned(),
            environment: Some(own_environment()?),
            model: model.map(str::to_owned),
            client: None,
        }),
        _ => unreachable!("digits make an id"),
    }
}

/// A name that no other process or moment gives.
pub fn unique() -> String {
    format!("{:x}_{:x}", since_epoch().as_nanos(), std::process::id())
}

/// The variables and the mask of this process. A variable that is no text cannot be sent.
pub fn own_environment() -> Result<Environment, BadEnvironment> {
    let texts = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let variables: BTreeMap<String, String> =
        env::vars_os().filter_map(texts).filter(|(name, _)| !name.is_empty()).collect();
    Environment::new(variables, umask())
}

/// The file mode mask of this process, where the system shows it; asking for it would change it.
fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(mask.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p2_each_terminal_is_a_session_of_its_own_and_brings_its_environment() {
        let one = terminal(Path::new("/d"), Some("m")).unwrap();
        let other = terminal(Path::new("/d"), None).unwrap();
        assert_ne!(one.session, other.session);
        assert!(one.session.as_str().starts_with("term_"));
        assert_eq!((one.directory.as_str(), one.model.as_deref()), ("/d", Some("m")));
        let path = one.environment.as_ref().and_then(|own| own.get("PATH"));
        assert_eq!(path.map(str::to_owned), env::var("PATH").ok());
    }
}
