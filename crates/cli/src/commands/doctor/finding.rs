//! A finding: its code, what is so, and what to do about it. The codes are in [`super::codes`].

use std::fmt;

use serde::Serialize;

use crate::plugin::on_path_as;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Good,
    /// It works, and somebody may want to know.
    Mind,
    Problem,
}

#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The subject, which stands at the beginning of the line.
    pub check: &'static str,
    /// The same in every version, for programs.
    pub code: &'static str,
    pub state: State,
    pub says: String,
    #[serde(flatten)]
    pub remedy: Option<Remedy>,
}

/// What to do in words, and the command that does it as a shell takes it, if there is one.
#[derive(Debug, Clone, Serialize)]
pub struct Remedy {
    #[serde(rename = "remedy")]
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl Remedy {
    pub fn words(says: String) -> Self {
        Self { says, command: None }
    }

    /// A command, and what it does or what is to be known before. A command of legwork's own names
    /// this program where the PATH has none.
    pub fn run(command: String, says: String) -> Self {
        let own = command.strip_prefix("legwork ");
        let command = own.map(|rest| format!("{} {rest}", on_path_as())).unwrap_or(command);
        Self { says, command: Some(command) }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) if self.says.is_empty() => write!(out, "`{command}`"),
            Some(command) => write!(out, "`{command}`: {}", self.says),
            None => out.write_str(&self.says),
        }
    }
}

impl Finding {
    pub fn good(check: &'static str, says: impl Into<String>) -> Self {
        Self { check, code: "ok", state: State::Good, says: says.into(), remedy: None }
    }

    /// A code begins with the name of its subject.
    pub fn of_code(code: &'static str, state: State, says: String, remedy: Option<Remedy>) -> Self {
        let check = code.split_once('.').map_or(code, |(check, _)| check);
        Self { check, code, state, says, remedy }
    }

    /// The same finding about a subject that is not the one of its code.
    pub fn about(self, check: &'static str) -> Self {
        Self { check, ..self }
    }

    /// The same finding where it keeps nobody from working.
    pub fn mild(self) -> Self {
        Self { state: State::Mind, ..self }
    }
}
