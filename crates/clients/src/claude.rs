//! The inbox of a Claude Code session (2.1.325): a socket that takes one JSON line and says nothing
//! back. An idle session begins a turn with it, a busy one reads it with its next tool result.
//! There is no id and no way to ask, so what may have been written is looked for in the transcript,
//! where every message ends up.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::limits::{INBOX_MAX, TRANSCRIPT_TAIL_BYTES};

/// Writes a message into the inbox. An error means that nobody has read all of it: the line counts
/// only with its end.
pub async fn write(socket: &str, text: &str) -> io::Result<()> {
    let line = json!({ "type": "user", "message": { "role": "user", "content": text } });
    let line = format!("{line}\n");
    let written = timeout(INBOX_MAX, async {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(line.as_bytes()).await?;
        stream.shutdown().await
    });
    written.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Evidence in Claude Code's transcript that its model was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// A message that bears this id.
    Message(String),
    /// Claude Code has told its model how all of these tasks of ours ended, because it had polled
    /// for them.
    Ends(Vec<String>),
}

impl Trace {
    fn is_in(&self, transcript: &str) -> bool {
        let has = |what: &dyn Fn(&str) -> bool| transcript.lines().filter(is_said).any(what);
        match self {
            Self::Message(id) => has(&|line| line.contains(id.as_str())),
            Self::Ends(runs) => {
                !runs.is_empty() && runs.iter().all(|run| has(&|line| says_end(line, run)))
            }
        }
    }
}

/// What only waits in Claude Code's queue is written down too, and lost if it is killed then.
fn is_said(line: &&str) -> bool {
    !line.starts_with(r#"{"type":"queue-operation""#)
}

/// `MCP task bg_4k2x81pd (legwork/background_task) completed.` It also speaks of a task that it
/// cannot follow any more, which is no end.
fn says_end(line: &str, run: &str) -> bool {
    let mention = format!("MCP task {run} (");
    line.match_indices(&mention).any(|(at, _)| {
        let rest = line[at + mention.len()..].split_once(") ").map(|(_, rest)| rest);
        let ends = ["completed", "failed", "cancelled"];
        rest.is_some_and(|rest| ends.iter().any(|end| rest.starts_with(end)))
    })
}

/// Whether the transcript of the session has one of these traces.
pub fn transcript_has(home: &Path, session: &str, traces: &[Trace]) -> io::Result<bool> {
    let Some(path) = transcript(home, session)? else { return Ok(false) };
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TRANSCRIPT_TAIL_BYTES).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    Ok(traces.iter().any(|trace| trace.is_in(&tail)))
}

/// Each project has a folder, and each session a file in that of the project it began in.
fn transcript(home: &Path, session: &str) -> io::Result<Option<PathBuf>> {
    let plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let projects = match fs::read_dir(home.join("projects")) {
        Ok(projects) if plain && !session.is_empty() => projects,
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let files = projects.flatten().map(|project| project.path().join(format!("{session}.jsonl")));
    Ok(files.into_iter().find(|file| file.is_file()))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn m3_a_message_is_one_line_whatever_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("inbox");
        let listener = UnixListener::bind(&socket).unwrap();
        let read = tokio::spawn(async move {
            let mut all = String::new();
            listener.accept().await.unwrap().0.read_to_string(&mut all).await.unwrap();
            all
        });
        write(socket.to_str().unwrap(), "two\nlines \"quoted\"").await.unwrap();
        let line = read.await.unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["message"]["content"], "two\nlines \"quoted\"");
        assert!(write("/no/such/socket", "x").await.is_err());
    }

    #[test]
    fn m3_a_message_is_found_in_the_transcript_of_its_session_only() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-work-a");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("5e55-1.jsonl"), "{\"content\":\"x (msg_7)\"}\n").unwrap();
        let waits = r#"{"type":"queue-operation","operation":"enqueue","content":"x (msg_7)"}"#;
        fs::write(project.join("5e55-2.jsonl"), waits).unwrap();
        let traces = [Trace::Ends(Vec::new()), Trace::Message("msg_7".to_owned())];
        let has = |session: &str| transcript_has(home.path(), session, &traces).unwrap();
        assert!(has("5e55-1"));
        for other in ["5e55-2", "5e55-3", "", "../../x", "a/b"] {
            assert!(!has(other), "{other}");
        }
        assert!(!transcript_has(Path::new("/no/such"), "5e55-1", &traces).unwrap());
    }

    #[test]
    fn m3_an_end_that_claude_code_told_by_itself_is_known_and_nothing_else_is_one() {
        let told = "<summary>MCP task bg_00000001 (plugin:legwork:legwork/background_task) \
             completed.</summary> MCP task bg_00000002 (legwork/background_task) cannot be \
             followed any more. MCP task bg_00000003.1 (legwork/background_task) failed.";
        let ends = |runs: &[&str]| {
            Trace::Ends(runs.iter().map(|run| (*run).to_owned()).collect()).is_in(told)
        };
        assert!(ends(&["bg_00000001"]) && ends(&["bg_00000001", "bg_00000003.1"]));
        for other in [&["bg_00000002"][..], &["bg_00000003"], &["bg_00000001", "bg_00000002"], &[]]
        {
            assert!(!ends(other), "{other:?}");
        }
    }
}
