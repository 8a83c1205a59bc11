//! The inbox of a Claude Code session (2.1.325): a socket that takes one JSON line and says nothing
//! back. An idle session begins a turn with it, a busy one reads it with its next tool result. There
//! is no id and no way to ask, so what may have been written is looked for in the transcript, where
//! every message ends up.

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

/// Whether the transcript of the session has this text. Nothing if there is no transcript.
pub fn transcript_has(home: &Path, session: &str, text: &str) -> io::Result<Option<bool>> {
    let Some(path) = transcript(home, session)? else { return Ok(None) };
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TRANSCRIPT_TAIL_BYTES).read_to_end(&mut tail)?;
    let has = tail.windows(text.len().max(1)).any(|window| window == text.as_bytes());
    Ok(Some(has))
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
        fs::write(project.join("5e55-2.jsonl"), "{}\n").unwrap();
        let has = |session: &str| transcript_has(home.path(), session, "msg_7").unwrap();
        assert_eq!(has("5e55-1"), Some(true));
        assert_eq!(has("5e55-2"), Some(false));
        for none in ["5e55-3", "", "../../x", "a/b"] {
            assert_eq!(has(none), None, "{none}");
        }
        assert_eq!(transcript_has(Path::new("/no/such"), "5e55-1", "msg_7").unwrap(), None);
    }
}
