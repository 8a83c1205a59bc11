//! The environment of whoever launches a helper. Its values are secrets as likely as not: they
//! cross the socket and stay in memory, and no text for people shows them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::ENVIRONMENT_MAX_BYTES;

/// Variables and the file mode mask of a process.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Environment {
    variables: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    umask: Option<u32>,
}

#[derive(Deserialize)]
struct Fields {
    variables: BTreeMap<String, String>,
    #[serde(default)]
    umask: Option<u32>,
}

/// Why something is no environment. Does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum BadEnvironment {
    #[error("an environment has at most {ENVIRONMENT_MAX_BYTES} bytes")]
    TooLong,
    #[error("an environment has variables with names, without NUL")]
    NotAVariable,
}

impl Environment {
    /// These variables, and the mask of the permissions that new files do not get.
    pub fn new(
        variables: BTreeMap<String, String>,
        umask: Option<u32>,
    ) -> Result<Self, BadEnvironment> {
        let environment = Self { variables, umask: umask.map(|mask| mask & 0o777) };
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        if environment.bytes() > ENVIRONMENT_MAX_BYTES {
            Err(BadEnvironment::TooLong)
        } else if environment
            .variables()
            .all(|(name, value)| is_name(name) && !value.contains('\0'))
        {
            Ok(environment)
        } else {
            Err(BadEnvironment::NotAVariable)
        }
    }

    /// The variables, each with its value.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// One variable's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The file mode mask, if it is known.
    pub fn umask(&self) -> Option<u32> {
        self.umask
    }

    /// How much it takes.
    pub fn bytes(&self) -> usize {
        self.variables().map(|(name, value)| name.len() + value.len() + 2).sum()
    }
}

impl TryFrom<Fields> for Environment {
    type Error = BadEnvironment;

    fn try_from(fields: Fields) -> Result<Self, BadEnvironment> {
        Self::new(fields.variables, fields.umask)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Environment({} variables)", self.variables.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Result<Environment, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn p2_an_environment_is_read_as_written_and_shown_without_its_values() {
        let written = json!({ "variables": { "KEY": "secret" }, "umask": 18 });
        let environment = read(written.clone()).unwrap();
        assert_eq!(environment.get("KEY"), Some("secret"));
        assert_eq!(environment.umask(), Some(0o022));
        assert_eq!(serde_json::to_value(&environment).unwrap(), written);
        assert_eq!(format!("{environment:?}"), "Environment(1 variables)");
    }

    #[test]
    fn g2_what_no_process_can_be_given_is_refused_without_being_repeated() {
        let long = "secret".repeat(ENVIRONMENT_MAX_BYTES / 6 + 1);
        for bad in [
            json!({ "variables": { "": "secret" } }),
            json!({ "variables": { "A=B": "secret" } }),
            json!({ "variables": { "A": "secret\0" } }),
            json!({ "variables": { "A": long } }),
            json!({ "umask": 18 }),
        ] {
            let why = read(bad).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
