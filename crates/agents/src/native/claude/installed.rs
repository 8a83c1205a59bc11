//! The person's Claude Code and its files, as far as they can be looked at without a turn: its
//! version, who is logged in, its transcripts, and which of its processes are at work.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use legwork_machine::table::{Table, arguments};
use serde_json::Value;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::transcript::{self, Taken};
use crate::native::refused;
use crate::serve::Answered;

/// The oldest version that was tried. Some before it ran tools without asking (2.1.73 and 2.1.74).
const OLDEST: [u64; 3] = [2, 1, 120];
/// What does not say its version within this time is none of ours.
const OUTPUT_MAX: Duration = Duration::from_secs(20);
/// How long another process may be at work in a session that is to be taken up: what an earlier
/// one has left is ended within seconds.
const WRITER_MAX: Duration = Duration::from_secs(5);
const WRITER_LOOK_EVERY: Duration = Duration::from_millis(100);
/// Names under which the process table shows Claude Code.
const PROCESSES: [&str; 3] = ["claude", "node", "bun"];

#[derive(Debug)]
pub struct Installed {
    pub program: PathBuf,
    /// Where it keeps its files.
    pub folder: PathBuf,
}

impl Installed {
    /// Its version, if it is one that can be used.
    pub async fn version(&self) -> Answered<String> {
        // `2.1.327 (Claude Code)`
        let said = self.output(&["--version"]).await?;
        let version = said.split_whitespace().next().unwrap_or_default();
        match too_old(version) {
            Some(why) => refused(why),
            None if numbers(version).is_some() => Ok(version.to_owned()),
            None => {
                let program = self.program.display();
                refused(format!("{program} is no Claude Code: it says {version:?}"))
            }
        }
    }

    /// How somebody is logged in, as it says itself.
    pub async fn login(&self) -> Option<Option<String>> {
        let said = self.output(&["auth", "status"]).await.ok()?;
        how(&serde_json::from_str(&said).ok()?)
    }

    async fn output(&self, arguments: &[&str]) -> Answered<String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let program = self.program.display();
        match timeout(OUTPUT_MAX, command.output()).await {
            Ok(Ok(said)) => Ok(String::from_utf8_lossy(&said.stdout).into_owned()),
            Ok(Err(why)) => refused(format!("{program} does not start: {why}")),
            Err(_) => refused(format!("{program} does not end")),
        }
    }

    /// Whether there is a transcript of a session.
    pub async fn has(&self, session: &str) -> Answered<bool> {
        let (folder, session) = (self.folder.clone(), session.to_owned());
        reading(move || Ok(transcript::find(&folder, &session)?.is_some())).await
    }

    /// What was said in a session: each text, and whether it was a prompt.
    pub async fn said(&self, session: &str) -> Answered<Vec<(bool, String)>> {
        let (folder, session) = (self.folder.clone(), session.to_owned());
        reading(move || transcript::said(&folder, &session)).await
    }

    /// What a session had cost when its last process ended.
    pub async fn cost(&self, session: &str) -> Answered<f64> {
        let (folder, session) = (self.folder.clone(), session.to_owned());
        reading(move || transcript::cost(&folder, &session)).await
    }

    /// What became of a prompt.
    pub async fn taken(&self, session: &str, prompt: &str) -> Answered<Taken> {
        let (folder, session) = (self.folder.clone(), session.to_owned());
        let prompt = prompt.to_owned();
        reading(move || transcript::taken(&folder, &session, &prompt)).await
    }

    /// Waits until no other process is at work in a session.
    pub async fn alone(&self, session: &str) -> Answered<()> {
        let deadline = Instant::now() + WRITER_MAX;
        loop {
            let wanted = session.to_owned();
            match spawn_blocking(move || writer(&wanted)).await.unwrap_or_default() {
                None => return Ok(()),
                Some(other) if Instant::now() >= deadline => {
                    return refused(format!(
                        "Another Claude Code (process {other}) is at work in this session"
                    ));
                }
                Some(_) => sleep(WRITER_LOOK_EVERY).await,
            }
        }
    }
}

/// Reads files, while everybody else goes on.
async fn reading<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Answered<T> {
    let read = spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    read.or_else(|why| refused(format!("Claude Code's transcript cannot be read: {why}")))
}

/// A process of Claude Code, not started by us, that was started for this session.
fn writer(session: &str) -> Option<u32> {
    let table = Table::read()?;
    let is_claude = |name: &str| PROCESSES.iter().any(|process| name.starts_with(process));
    let is_ours = |id: u32| table.line_of(id).any(|(above, _)| above == std::process::id());
    let all = table.0.iter().filter(|(_, entry)| !entry.is_zombie() && is_claude(&entry.name));
    let mut others = all.map(|(id, _)| *id).filter(|id| !is_ours(*id));
    others.find(|id| arguments(*id).iter().any(|word| word == session))
}

/// How somebody is logged in, by the answer to `claude auth status`; nothing if it does not say.
/// Whose login it is concerns nobody.
fn how(status: &Value) -> Option<Option<String>> {
    let is_logged_in = status["loggedIn"].as_bool()?;
    let words = ["authMethod", "subscriptionType"].map(|name| status[name].as_str());
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let words = if words.is_empty() { "yes".to_owned() } else { words.join(", ") };
    Some(is_logged_in.then_some(words))
}

/// Why a version cannot be used, if it is too old, and the way out.
pub fn too_old(version: &str) -> Option<String> {
    let [major, minor, patch] = OLDEST;
    (numbers(version)? < OLDEST).then(|| {
        format!(
            "Claude Code {version} is too old: it has to be {major}.{minor}.{patch} or newer. Run \
             `claude update`, or install the adapter that brings its own: npm install -g \
             @agentclientprotocol/claude-agent-acp"
        )
    })
}

/// The first three numbers of a version.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut numbers = version.splitn(3, '.').map(|number| {
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        number[..end].parse().ok()
    });
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn h7_a_version_that_is_too_old_is_told_with_the_way_out() {
        for version in ["2.1.120", "2.1.327", "2.2.0-beta.1", "3.0.0", "odd", ""] {
            assert_eq!(too_old(version), None, "{version}");
        }
        for version in ["2.1.119", "2.0.999", "1.9.9"] {
            assert!(too_old(version).unwrap().contains("Run `claude update`"), "{version}");
        }
    }

    #[test]
    fn h7_a_login_is_said_as_claude_code_says_it_and_not_whose_it_is() {
        let status = json!({
            "loggedIn": true, "authMethod": "claude.ai", "email": "a@b", "subscriptionType": "max",
        });
        assert_eq!(how(&status), Some(Some("claude.ai, max".to_owned())));
        assert_eq!(how(&json!({ "loggedIn": true })), Some(Some("yes".to_owned())));
        assert_eq!(how(&json!({ "loggedIn": false, "authMethod": "none" })), Some(None));
        assert_eq!(how(&json!({ "status": "fine" })), None);
    }
}
