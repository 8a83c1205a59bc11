//! An agent's process: started in a group of its own, read line by line within bounds, and ended
//! with all that it has started. Knows lines and bytes, not what they mean.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use legwork_machine::{LineReader, inherited, lock};
use legwork_protocol::line::Environment;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::agent::environment::give;
use crate::agent::failure::{Failure, What};
use crate::agents::Agent;
use crate::limits::{END_MAX, LINE_MAX_BYTES, OUTGOING_MAX_BYTES, RUBBISH_MAX_LINES, TAIL_BYTES};
use crate::orphans::{INSIDE, Pace, ProcessTree};
use crate::wire::{self, Message, Unread};

/// A running agent. Dropped, it is killed with all that it started.
pub struct Process {
    agent: String,
    child: Child,
    /// Its number, also when it has ended.
    id: u32,
    processes: Arc<ProcessTree>,
    /// What it started bears this, until that is ended.
    mark: Option<String>,
    /// What is to be written; closed, its stdin is too.
    outgoing: Option<mpsc::UnboundedSender<String>>,
    /// How much of that has not been written.
    unwritten: Arc<AtomicUsize>,
    stdout: ChildStdout,
    lines: LineReader,
    rubbish: u32,
    /// Messages that could not be read since this was last asked.
    unread: u32,
    tail: Arc<Mutex<Tail>>,
    /// Ends when nobody writes to its stderr any more.
    tail_is_whole: JoinHandle<()>,
}

impl Process {
    pub fn start(
        agent: &Agent,
        directory: &Path,
        environment: Option<&Environment>,
        processes: &Arc<ProcessTree>,
    ) -> Result<Self, Failure> {
        let not_started = |source| {
            let command = agent.command.join(" ");
            Failure::new(&agent.name, What::NotStarted { command, source }, "")
        };
        let (program, arguments) = agent
            .command
            .split_first()
            .ok_or_else(|| not_started(std::io::Error::other("the command is empty")))?;
        let folder = agent.cwd.as_deref().unwrap_or(directory);
        check_folder(folder).map_err(not_started)?;
        let mut command = Command::new(program);
        give(&mut command, environment, &agent.command);
        command
            .args(arguments)
            .current_dir(folder)
            // Some believe this more than their working folder.
            .env("PWD", folder)
            .envs(&agent.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mask = environment.and_then(Environment::umask);
        let started = processes.start(|mark| {
            // Settings may take the mark away, for an agent that is to be like any other program.
            if !agent.env.contains_key(INSIDE) {
                command.env(INSIDE, mark);
            }
            inherited::spawning(mask, || command.spawn())
        });
        let (mut child, mark) = started.map_err(not_started)?;
        let no_pipes = || not_started(std::io::Error::other("it has no pipes"));
        let id = child.id().ok_or_else(no_pipes)?;
        let stdin = child.stdin.take().ok_or_else(no_pipes)?;
        let stdout = child.stdout.take().ok_or_else(no_pipes)?;
        let stderr = child.stderr.take().ok_or_else(no_pipes)?;
        let tail = Arc::default();
        let unwritten = Arc::new(AtomicUsize::new(0));
        let (outgoing, lines) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, lines, unwritten.clone()));
        let tail_is_whole = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        Ok(Self {
            agent: agent.name.clone(),
            id,
            processes: processes.clone(),
            mark: Some(mark),
            child,
            outgoing: Some(outgoing),
            unwritten,
            stdout,
            lines: LineReader::new(LINE_MAX_BYTES),
            rubbish: 0,
            unread: 0,
            tail,
            tail_is_whole,
        })
    }

    /// Writes a line to it, in its own time. That it does not read shows when too much waits.
    pub fn send(&self, line: String) {
        if let Some(outgoing) = &self.outgoing
            && self.unwritten.load(Ordering::Relaxed) <= OUTGOING_MAX_BYTES
        {
            self.unwritten.fetch_add(line.len(), Ordering::Relaxed);
            let _ = outgoing.send(line);
        }
    }

    /// How many of its messages could not be read since this was last asked.
    pub fn take_unread(&mut self) -> u32 {
        std::mem::take(&mut self.unread)
    }

    /// Its next message. Can be dropped and called again.
    pub async fn next(&mut self, when: &'static str) -> Result<Message, Failure> {
        loop {
            if self.unwritten.load(Ordering::Relaxed) > OUTGOING_MAX_BYTES {
                return Err(self.failure(What::Deaf { max_bytes: OUTGOING_MAX_BYTES }));
            }
            while let Some(line) = self.lines.pop() {
                let Ok(line) = line else {
                    let flood = What::Flood { what: "a line", max_bytes: LINE_MAX_BYTES };
                    return Err(self.failure(flood));
                };
                match wire::read(&line) {
                    Ok(message) => return Ok(message),
                    Err(unread) => {
                        self.unread += u32::from(unread == Unread::Message);
                        self.rubbish(&line)?;
                    }
                }
            }
            match self.stdout.read(self.lines.space()).await {
                Ok(0) | Err(_) => return Err(self.ended(when).await),
                Ok(read) => self.lines.filled(read),
            }
        }
    }

    pub fn failure(&self, what: What) -> Failure {
        Failure::new(&self.agent, what, &lock(&self.tail).text())
    }

    /// Ends the agent, gently first, and then all processes that it started.
    pub async fn end(mut self) {
        let processes = self.processes.clone();
        // Its descendants have their ancestor only as long as it runs.
        let _ = spawn_blocking(move || processes.scan()).await;
        self.outgoing = None;
        let _ = timeout(END_MAX, self.child.wait()).await;
        self.end_all().await;
        let _ = timeout(END_MAX, self.child.wait()).await;
    }

    async fn end_all(&mut self) {
        if let Some(mark) = self.mark.take() {
            let processes = self.processes.clone();
            let id = self.id;
            // This reads the process table, and waits.
            let _ = spawn_blocking(move || processes.end_left_by(&mark, id, Pace::Gently)).await;
        }
    }

    fn rubbish(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.rubbish += 1;
        let mut shown = line[..line.len().min(TAIL_BYTES / 4)].to_vec();
        shown.push(b'\n');
        lock(&self.tail).push(&shown);
        if self.rubbish < RUBBISH_MAX_LINES {
            return Ok(());
        }
        Err(self.failure(What::Rubbish { lines: self.rubbish }))
    }

    /// It closed its stdout, so it has ended or is about to.
    async fn ended(&mut self, when: &'static str) -> Failure {
        self.outgoing = None;
        let status = timeout(END_MAX, self.child.wait()).await;
        let how = match status {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(_)) | Err(_) => "it closed its stdout".to_owned(),
        };
        // What it left running may hold its stderr.
        self.end_all().await;
        let _ = timeout(END_MAX, &mut self.tail_is_whole).await;
        self.failure(What::Ended { how, when })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.processes.end_left_by(&mark, self.id, Pace::AtOnce);
        }
        self.processes.forget(self.id);
    }
}

/// Else the system would blame the program.
fn check_folder(folder: &Path) -> std::io::Result<()> {
    let Err(error) = std::fs::read_dir(folder) else { return Ok(()) };
    if is_shortage(&error) {
        return Err(error);
    }
    let why = format!("the folder {}: {error}", folder.display());
    Err(std::io::Error::new(error.kind(), why))
}

/// Whether the system has no file, process or memory left for it at the moment.
pub fn is_shortage(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let short = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| short.contains(&Errno::from_raw_os_error(code)))
}

async fn write(
    mut stdin: ChildStdin,
    mut lines: mpsc::UnboundedReceiver<String>,
    unwritten: Arc<AtomicUsize>,
) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        unwritten.fetch_sub(line.len(), Ordering::Relaxed);
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<Tail>>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        lock(&tail).push(&buffer[..read]);
    }
}

#[derive(Debug, Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        self.0.drain(..self.0.len().saturating_sub(TAIL_BYTES));
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_end() {
        let mut tail = Tail::default();
        tail.push(b"first");
        tail.push(&vec![b'x'; TAIL_BYTES]);
        tail.push(b"last");
        let text = tail.text();
        assert_eq!(text.len(), TAIL_BYTES);
        assert!(text.starts_with("xx") && text.ends_with("last"), "{text}");
        tail.push(&vec![b'y'; 3 * TAIL_BYTES]);
        assert_eq!(tail.text(), "y".repeat(TAIL_BYTES));
    }
}
