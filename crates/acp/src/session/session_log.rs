//! The sessions that legwork keeps itself: a file for each, a line for each thing that happened.
//! Appended to and never changed, so that a crash leaves at most half a line at the end, which is
//! passed over. What the records then rely on is synced first (`SessionLog::sync`): after a power
//! cut a completed task still has its conversation.
//!
//! Two kinds: a helper's, with its prompts and how they ended, and that of a terminal, which asks
//! for helpers and is only a folder to work in.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_host::{append_line, read_lines, sync_file};
use legwork_machine::{create_folder, if_there};
use legwork_protocol::api::transcript::Entry;
use legwork_protocol::{Cost, MessageId, SessionId, TaskId, Time};
use serde::{Deserialize, Serialize};

use crate::turn::used::Used;

const EXTENSION: &str = "jsonl";

#[derive(Debug, Clone)]
pub struct SessionLog {
    folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Line {
    /// The first line of a terminal's session.
    Terminal {
        directory: PathBuf,
        /// The model that the person chose for its helpers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The first line of a helper's session.
    Helper { task: TaskId, parent: SessionId, agent: String, title: String, directory: PathBuf },
    /// The agent has opened a session of its own for it.
    Bound {
        /// The agent's id for it.
        session: String,
        /// Whether the agent can take it up again.
        loads: bool,
        /// Whether the agent can say what became of a prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        looks: bool,
    },
    Prompt {
        message: MessageId,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Time>,
    },
    /// What was said or done in a turn, for people.
    Said { entry: Entry },
    /// What the agent says that the session has cost, while a turn is under way: one that is cut
    /// off has no end that could tell.
    Cost { session_cost: Cost },
    /// The turn for a prompt is over.
    End {
        message: MessageId,
        end: End,
        tool_calls: u32,
        #[serde(default, skip_serializing_if = "Used::is_unknown")]
        used: Used,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Time>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum End {
    Answered {
        text: String,
    },
    Failed {
        reason: String,
    },
    Aborted {
        /// What was said last.
        text: String,
    },
}

impl End {
    /// What was said last, or why it failed.
    pub fn text(&self) -> &str {
        match self {
            Self::Answered { text } | Self::Aborted { text } => text,
            Self::Failed { reason } => reason,
        }
    }
}

impl SessionLog {
    /// Opens the folder; makes it if it is not there.
    pub fn open(folder: &Path) -> io::Result<Self> {
        create_folder(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// All lines of a session; nothing if there is no such session.
    pub fn read(&self, session: &SessionId) -> io::Result<Option<Vec<Line>>> {
        read_lines(&self.path(session)?)
    }

    /// The model that a person chose in this terminal, if it is one.
    pub fn chosen_model(&self, terminal: &SessionId) -> Option<String> {
        match first_line(&self.path(terminal).ok()?)? {
            Line::Terminal { model, .. } => model,
            _ => None,
        }
    }

    /// Whether there is such a session. Opens nothing, so it can be told when files run short.
    pub fn has(&self, session: &SessionId) -> io::Result<bool> {
        self.path(session)?.try_exists()
    }

    /// Adds a line to a session. The first makes it.
    pub fn append(&self, session: &SessionId, line: &Line) -> io::Result<()> {
        append_line(&self.path(session)?, line)
    }

    /// Sees to it that what a session has outlives a power cut. Takes as long as the disk does.
    pub fn sync(&self, session: &SessionId) -> io::Result<()> {
        // A parent of another host has nothing here.
        if_there(sync_file(&self.path(session)?)).map(drop)
    }

    /// The same for the names of sessions that are new.
    pub fn sync_names(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    pub fn remove(&self, session: &SessionId) -> io::Result<()> {
        if_there(fs::remove_file(self.path(session)?)).map(drop)
    }

    /// Removes the file that an agent keeps in a folder of its own in ours under this name. A name
    /// that could lead elsewhere is none.
    pub fn remove_in(&self, folder: &str, name: &str) -> io::Result<()> {
        if !name.chars().all(is_plain) {
            return Ok(());
        }
        if_there(fs::remove_file(self.folder.join(folder).join(format!("{name}.jsonl")))).map(drop)
    }

    /// Removes terminals that no helper was asked for by and that are older than this; none if some
    /// helper's file does not say by whom. Gives back how many.
    pub fn remove_old_terminals(&self, age: Duration) -> io::Result<usize> {
        let mut terminals = Vec::new();
        let mut parents = Vec::new();
        let mut removed = 0;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // Mail and what agents keep lies beside the sessions.
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                continue;
            }
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            let Ok(session) = name.parse::<SessionId>() else { continue };
            match first_line(&path) {
                Some(Line::Helper { parent, .. }) => parents.push(parent),
                Some(Line::Terminal { .. }) if is_older(&path, age) => terminals.push(session),
                Some(Line::Terminal { .. }) => {}
                _ => return Ok(0),
            }
        }
        parents.sort();
        for terminal in terminals {
            if parents.binary_search(&terminal).is_err() {
                self.remove(&terminal)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn path(&self, session: &SessionId) -> io::Result<PathBuf> {
        let name = session.as_str();
        if !name.chars().all(is_plain) {
            let why = "a session that legwork keeps has a plain name";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(self.folder.join(format!("{name}.{EXTENSION}")))
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_older(path: &Path, age: Duration) -> bool {
    let changed = fs::metadata(path).and_then(|file| file.modified()).ok();
    changed.and_then(|at| at.elapsed().ok()).is_some_and(|passed| passed > age)
}

fn first_line(path: &Path) -> Option<Line> {
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// The agent's id for a session with these lines, and whether the agent can take it up again.
pub fn bound(lines: &[Line]) -> Option<(&str, bool)> {
    lines.iter().rev().find_map(|line| match line {
        Line::Bound { session, loads, .. } => Some((session.as_str(), *loads)),
        _ => None,
    })
}

/// The agent's id for a session with these lines, if the agent can say what became of a prompt.
pub fn looked_up(lines: &[Line]) -> Option<&str> {
    lines.iter().rev().find_map(|line| match line {
        Line::Bound { session, looks, .. } => Some(looks.then_some(session.as_str())),
        _ => None,
    })?
}

/// What a session with these lines has cost, as the agent counted it.
pub fn session_cost(lines: &[Line]) -> Option<Cost> {
    lines.iter().rev().find_map(|line| match line {
        Line::Cost { session_cost } => Some(*session_cost),
        Line::End { used, .. } => used.session_cost,
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn kept() -> (tempfile::TempDir, SessionLog) {
        let folder = tempfile::tempdir().unwrap();
        let kept = SessionLog::open(&folder.path().join("sessions")).unwrap();
        (folder, kept)
    }

    fn helper(number: u64, parent: &str) -> Line {
        Line::Helper {
            task: TaskId::from_number(number),
            parent: parent.parse().unwrap(),
            agent: "a".to_owned(),
            title: "t".to_owned(),
            directory: "/d".into(),
        }
    }

    fn terminal() -> Line {
        Line::Terminal { directory: "/d".into(), model: None }
    }

    #[test]
    fn what_was_written_is_read_and_is_the_users_alone() {
        let (_folder, kept) = kept();
        let session: SessionId = "acp_1".parse().unwrap();
        assert_eq!(kept.read(&session).unwrap(), None);
        let message: MessageId = "msg_1".parse().unwrap();
        let end = End::Answered { text: "two\nlines".to_owned() };
        let used = Used { tokens: Some(7), ..Used::default() };
        let lines =
            [helper(1, "term_1"), Line::End { message, end, tool_calls: 3, used, at: None }];
        for line in &lines {
            kept.append(&session, line).unwrap();
        }
        assert_eq!(kept.read(&session).unwrap().unwrap(), lines);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&kept.path(&session).unwrap()), 0o600);
        assert_eq!(mode(&kept.folder), 0o700);
    }

    #[test]
    fn half_a_line_costs_that_line_only() {
        let (_folder, kept) = kept();
        let session: SessionId = "acp_1".parse().unwrap();
        kept.append(&session, &terminal()).unwrap();
        let mut file = File::options().append(true).open(kept.path(&session).unwrap()).unwrap();
        file.write_all(b"{\"is\":\"pro").unwrap();
        kept.append(&session, &helper(1, "t")).unwrap();
        assert_eq!(kept.read(&session).unwrap().unwrap(), [terminal(), helper(1, "t")]);
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_folder() {
        let (_folder, kept) = kept();
        for name in ["../x", "a/b", "a.b", ".."] {
            assert!(kept.append(&name.parse().unwrap(), &terminal()).is_err(), "{name}");
        }
    }

    #[test]
    fn k4_only_old_terminals_without_a_helper_are_removed() {
        let (folder, kept) = kept();
        fs::create_dir(folder.path().join("sessions/mail")).unwrap();
        let named = |name: &str| -> SessionId { name.parse().unwrap() };
        kept.append(&named("term_a"), &terminal()).unwrap();
        kept.append(&named("term_b"), &terminal()).unwrap();
        kept.append(&named("acp_1"), &helper(1, "term_a")).unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(kept.remove_old_terminals(day).unwrap(), 0);
        let is_there = |name| kept.read(&named(name)).unwrap().is_some();
        let damaged = kept.path(&named("acp_2")).unwrap();
        fs::write(&damaged, "who asked cannot be read").unwrap();
        assert_eq!(kept.remove_old_terminals(Duration::ZERO).unwrap(), 0);
        assert!(is_there("term_a") && is_there("term_b") && is_there("acp_1"));
        fs::remove_file(damaged).unwrap();
        assert_eq!(kept.remove_old_terminals(Duration::ZERO).unwrap(), 1);
        assert!(is_there("term_a") && !is_there("term_b") && is_there("acp_1"));
    }
}
