//! The person's program as a child: started, written to and read in lines of JSON within bounds,
//! and ended. Knows lines, not what they mean.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legwork_machine::{LineReader, lock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child as Process, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A line of the program's. Tools give back whole files in one; a longer one is passed over.
const LINE_MAX_BYTES: usize = 64 << 20;
/// What is kept of the end of its stderr.
const TAIL_BYTES: usize = 4 << 10;
/// Of the tail, in a reason.
const WORDS_MAX_CHARS: usize = 1_000;
/// A program whose stdin was closed is to end within this time; then it is killed.
const END_MAX: Duration = Duration::from_millis(1_500);
/// Its last words are to come within this time after its end.
const TAIL_MAX: Duration = Duration::from_millis(300);

/// Writes to a child. Closed when the last clone is dropped, and the child's stdin with it.
#[derive(Debug, Clone)]
pub struct Sender(mpsc::UnboundedSender<String>);

/// A running child, to be read from. Dropped, it is killed. It is in our process group, so that
/// whoever ends that ends the child too.
#[derive(Debug)]
pub struct Child {
    process: Process,
    stdout: ChildStdout,
    lines: LineReader,
    tail: Arc<Mutex<Vec<u8>>>,
    /// Ends when nobody writes to its stderr any more.
    tail_is_whole: JoinHandle<()>,
}

impl Sender {
    /// Queues a message without waiting. One that has ended is noticed by [`Child::next`].
    pub fn send(&self, message: &Value) {
        let _ = self.0.send(format!("{message}\n"));
    }
}

impl Child {
    /// Starts a program, with variables beside ours.
    pub fn start(
        program: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        variables: &[(&str, &str)],
        cwd: Option<&Path>,
    ) -> io::Result<(Sender, Self)> {
        let mut command = Command::new(program);
        if let Some(cwd) = cwd {
            command.current_dir(cwd).env("PWD", cwd);
        }
        command
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut process = command.spawn()?;
        let no_pipes = || io::Error::other("it has no pipes");
        let stdin = process.stdin.take().ok_or_else(no_pipes)?;
        let stdout = process.stdout.take().ok_or_else(no_pipes)?;
        let stderr = process.stderr.take().ok_or_else(no_pipes)?;
        let (lines, waiting) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, waiting));
        let tail = Arc::default();
        let tail_is_whole = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        let reader = LineReader::new(LINE_MAX_BYTES);
        Ok((Sender(lines), Self { process, stdout, lines: reader, tail, tail_is_whole }))
    }

    /// Its next message; what is no JSON is passed over. None when it has ended. The future can be
    /// dropped and made again.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(line) = self.lines.pop() {
                let message = line.ok().and_then(|line| serde_json::from_slice(&line).ok());
                if let Some(message @ Value::Object(_)) = message {
                    return Some(message);
                }
            }
            match self.stdout.read(self.lines.space()).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.lines.filled(read),
            }
        }
    }

    /// How it ended and its last words, to go on after its name: `ended (exit status: 1): …`.
    pub async fn ended(&mut self) -> String {
        let how = match timeout(END_MAX, self.process.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(_)) | Err(_) => "it closed its stdout".to_owned(),
        };
        // What it left running may hold its stderr.
        let _ = timeout(TAIL_MAX, &mut self.tail_is_whole).await;
        let tail = String::from_utf8_lossy(&lock(&self.tail)).trim().to_owned();
        let skipped = tail.chars().count().saturating_sub(WORDS_MAX_CHARS);
        match tail.chars().skip(skipped).collect::<String>() {
            none if none.is_empty() => format!("ended ({how})"),
            words => format!("ended ({how}): {words}"),
        }
    }

    /// Ends it: every [`Sender`] is to be dropped before. Killed if it does not end in time.
    pub async fn end(mut self) {
        let _ = timeout(END_MAX, self.process.wait()).await;
        let _ = self.process.kill().await;
    }

    /// Asks it to end, with what it has started.
    pub fn terminate(&self) {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(Pid::from_raw) {
            // Fails if it has just ended.
            let _ = kill_process(id, Signal::TERM);
        }
    }

    pub async fn kill(&mut self) {
        let _ = self.process.kill().await;
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut tail = lock(&tail);
        tail.extend(&buffer[..read]);
        let excess = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
    }
}
