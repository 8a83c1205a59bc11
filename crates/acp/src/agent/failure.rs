//! What can go wrong with an agent, in words that name it and say what it did. Goes to the parent
//! as the reason why a run failed.

use std::io;

use legwork_protocol::refusal::plain;

use crate::agent::process::is_shortage;
use crate::wire::{LOGIN_NEEDED, NOT_FOUND, RpcError};

/// Characters of an agent's own words in a reason.
const WORDS_MAX_CHARS: usize = 1_000;

#[derive(Debug, thiserror::Error)]
#[error("The agent {agent} {what}{words}")]
pub struct Failure {
    agent: String,
    pub what: What,
    /// What it last wrote to stderr, or on stdout where the protocol should have been.
    words: String,
}

#[derive(Debug, thiserror::Error)]
pub enum What {
    #[error("could not be started: `{command}`: {source}.")]
    NotStarted { command: String, source: io::Error },
    #[error("ended ({how}) {when}.")]
    Ended { how: String, when: &'static str },
    #[error("did not answer {method} within {seconds} s.")]
    Silent { method: &'static str, seconds: u64 },
    #[error("wrote {lines} lines that are not ACP to its stdout.")]
    Rubbish { lines: u32 },
    #[error("wrote {what} of more than {} MB.", max_bytes >> 20)]
    Flood { what: &'static str, max_bytes: usize },
    #[error("does not read: more than {} MB wait for it.", max_bytes >> 20)]
    Deaf { max_bytes: usize },
    #[error("speaks version {theirs} of ACP, legwork speaks version {ours}.")]
    OtherVersion { theirs: String, ours: u64 },
    #[error("wants somebody to log in first{how}.")]
    LoginNeeded { how: String },
    #[error("answered {}with an error: {}", asked(method), sentence(why))]
    Refused { method: &'static str, why: String, code: i64 },
    #[error("answered {method} without {missing}.")]
    Incomplete { method: &'static str, missing: &'static str },
    #[error("cannot take up an earlier conversation, and its process has ended.")]
    CannotLoad,
    #[error("does not let its client choose a model. Choose it in the settings of the agent.")]
    NoModels,
    #[error("does not offer the model {model:?}. It offers: {offered}.")]
    NoSuchModel { model: String, offered: String },
    #[error("{0}")]
    Stopped(String),
}

/// A text that ends as a sentence does.
fn sentence(text: &str) -> String {
    let is_ended = text.ends_with(['.', '!', '?', '…']);
    if is_ended { text.to_owned() } else { format!("{text}.") }
}

/// That a prompt was answered goes without saying.
fn asked(method: &str) -> String {
    if method == "session/prompt" { String::new() } else { format!("{method} ") }
}

impl Failure {
    /// The agent of this name did that; `words` are its last. They are left out where the agent
    /// itself says why: what an adapter logs says less, and goes on for pages.
    pub fn new(agent: &str, what: What, words: &str) -> Self {
        let words = if what.says_why() { "" } else { words };
        let words = match plain(words.trim(), WORDS_MAX_CHARS) {
            none if none.is_empty() => none,
            words => format!(" Its last words: {words}"),
        };
        Self { agent: agent.to_owned(), what, words }
    }

    /// Whether the agent says that it has no such session.
    pub fn is_no_session(&self) -> bool {
        matches!(&self.what, What::Refused { code: NOT_FOUND, .. })
    }

    /// Whether the system has nothing left to start it with, at the moment.
    pub fn is_shortage(&self) -> bool {
        matches!(&self.what, What::NotStarted { source, .. } if is_shortage(source))
    }
}

impl What {
    /// Whether these are words of the agent about the cause.
    fn says_why(&self) -> bool {
        match self {
            Self::Refused { why, .. } => !why.eq_ignore_ascii_case("internal error"),
            Self::LoginNeeded { .. }
            | Self::NoModels
            | Self::NoSuchModel { .. }
            | Self::Stopped(_) => true,
            _ => false,
        }
    }

    pub fn refused(method: &'static str, error: &RpcError, logins: &[String]) -> Self {
        if error.code == LOGIN_NEEDED {
            let how = if logins.is_empty() {
                String::new()
            } else {
                plain(&format!(" ({})", logins.join(", ")), WORDS_MAX_CHARS)
            };
            return Self::LoginNeeded { how };
        }
        let cause = error.data.as_str().or_else(|| error.data["details"].as_str());
        let cause = cause.or_else(|| error.data["message"].as_str());
        let why = match cause {
            Some(cause) if cause != error.message => format!("{}: {cause}", error.message),
            _ => error.message.clone(),
        };
        Self::Refused { method, why: plain(&why, WORDS_MAX_CHARS), code: error.code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::INTERNAL;

    #[test]
    fn d3_an_agent_that_says_why_is_not_cited_from_its_log() {
        let refused = |why: &str| {
            let why = why.to_owned();
            What::Refused { method: "session/prompt", why, code: INTERNAL }
        };
        let said = |what| Failure::new("claude", what, "[session/create] phase=done").to_string();
        assert_eq!(
            said(refused("API Error: 400 prompt is odd")),
            "The agent claude answered with an error: API Error: 400 prompt is odd."
        );
        let bare = said(refused("Internal error"));
        assert!(bare.ends_with("error. Its last words: [session/create] phase=done"), "{bare}");
    }
}
