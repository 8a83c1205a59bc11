//! What can go wrong with an agent, in words that name it and say what it did. Goes to the parent
//! as the reason why a run failed.

use std::io;

use legwork_protocol::refusal::plain;

use crate::agent::process::is_shortage;
use crate::wire::{LOGIN_NEEDED, RpcError};

/// Characters of an agent's own words in a reason.
const WORDS_MAX_CHARS: usize = 1_000;

/// Something went wrong with an agent.
#[derive(Debug, thiserror::Error)]
#[error("The agent {agent} {what}{words}")]
pub struct Failure {
    agent: String,
    what: What,
    /// What it last wrote to stderr, or on stdout where the protocol should have been.
    words: Words,
}

/// What it did.
#[derive(Debug, thiserror::Error)]
pub enum What {
    /// There is no process.
    #[error("could not be started: `{command}`: {source}.")]
    NotStarted {
        /// What was to be started.
        command: String,
        source: io::Error,
    },
    /// The process is over.
    #[error("ended ({how}) {when}.")]
    Ended {
        /// With which code or signal.
        how: String,
        /// In the middle of what.
        when: &'static str,
    },
    /// Too slow.
    #[error("did not answer {method} within {seconds} s.")]
    Silent {
        /// What it was asked.
        method: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It wrote what is no message.
    #[error("wrote {lines} lines that are not ACP to its stdout.")]
    Rubbish {
        /// How many.
        lines: u32,
    },
    /// More than can be taken in.
    #[error("wrote {what} of more than {} MB.", max_bytes >> 20)]
    Flood {
        /// What was too long.
        what: &'static str,
        /// How long it may be.
        max_bytes: usize,
    },
    /// It leaves unread what it was asked to be told.
    #[error("does not read: more than {} MB wait for it.", max_bytes >> 20)]
    Deaf {
        /// How much may wait.
        max_bytes: usize,
    },
    /// Another language.
    #[error("speaks version {theirs} of ACP, legwork speaks version {ours}.")]
    OtherVersion {
        /// As it said.
        theirs: String,
        ours: u64,
    },
    /// Somebody has to log in.
    #[error("wants somebody to log in first{how}.")]
    LoginNeeded {
        /// The ways that it names.
        how: String,
    },
    /// It answered with an error.
    #[error("answered {method} with an error: {why}")]
    Refused {
        /// What it was asked.
        method: &'static str,
        /// In its words.
        why: String,
    },
    /// An answer without what must be in it.
    #[error("answered {method} without {missing}.")]
    Incomplete {
        /// What it was asked.
        method: &'static str,
        /// What is not there.
        missing: &'static str,
    },
    /// It does not remember.
    #[error("cannot take up an earlier conversation, and its process has ended.")]
    CannotLoad,
    /// The turn ended, but not with an answer.
    #[error("{0}")]
    Stopped(String),
}

/// The last words of an agent; nothing if it said none.
#[derive(Debug, Default)]
struct Words(String);

impl std::fmt::Display for Words {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(out, " Its last words: {}", self.0) }
    }
}

impl Failure {
    /// The agent of this name did that; `words` are its last.
    pub fn new(agent: &str, what: What, words: &str) -> Self {
        let words = Words(plain(words.trim(), WORDS_MAX_CHARS));
        Self { agent: agent.to_owned(), what, words }
    }

    /// What it did.
    pub fn what(&self) -> &What {
        &self.what
    }

    /// Whether the system has nothing left to start it with, at the moment.
    pub fn is_shortage(&self) -> bool {
        matches!(&self.what, What::NotStarted { source, .. } if is_shortage(source))
    }
}

impl What {
    /// What an error in an answer means.
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
        Self::Refused { method, why: plain(&why, WORDS_MAX_CHARS) }
    }
}
