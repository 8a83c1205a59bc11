//! What a check has found, and what to do about it.

use std::fmt;

use serde::Serialize;

use crate::fault::Fault;
use crate::plugin::on_path_as;

pub use crate::plugin::word;

/// What a check that found nothing wrong is called for programs.
const OK: &str = "ok";

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
    /// The subject: what stands at the beginning of the line.
    pub check: &'static str,
    /// The same in every version, for programs.
    pub code: &'static str,
    pub state: State,
    pub says: String,
    #[serde(flatten)]
    pub remedy: Option<Remedy>,
}

/// What to do: in words, and where one command does it, that command as a shell takes it.
#[derive(Debug, Clone, Serialize)]
pub struct Remedy {
    #[serde(rename = "remedy")]
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl Remedy {
    pub fn words(says: impl Into<String>) -> Self {
        Self { says: says.into(), command: None }
    }

    /// A command, and what it does or what is to be known before. One of legwork's own names this
    /// program where the PATH has none.
    pub fn run(command: impl Into<String>, says: impl Into<String>) -> Self {
        let command = command.into();
        let own = command.strip_prefix("legwork ");
        let command = own.map(|rest| format!("{} {rest}", on_path_as())).unwrap_or(command);
        Self { says: says.into(), command: Some(command) }
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
        Self { check, code: OK, state: State::Good, says: says.into(), remedy: None }
    }

    pub fn mind(
        check: &'static str,
        code: &'static str,
        says: impl Into<String>,
        remedy: Remedy,
    ) -> Self {
        Self { check, code, state: State::Mind, says: says.into(), remedy: Some(remedy) }
    }

    pub fn problem(
        check: &'static str,
        code: &'static str,
        says: impl Into<String>,
        remedy: Remedy,
    ) -> Self {
        Self { check, code, state: State::Problem, says: says.into(), remedy: Some(remedy) }
    }

    /// A fault whose text says what to do.
    pub fn of_fault(check: &'static str, code: &'static str, fault: &Fault) -> Self {
        let says = fault.in_full();
        Self { check, code, state: State::Problem, says, remedy: None }
    }

    pub fn is_problem(&self) -> bool {
        self.state == State::Problem
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(word(Path::new("/a/b-c_1.d")), "/a/b-c_1.d");
        assert_eq!(word(Path::new("/a b")), "'/a b'");
        assert_eq!(word(Path::new("/it's")), r"'/it'\''s'");
    }
}
