//! An agent's process: started in a group of its own, read line by line within bounds, and ended
//! with its whole group and what left that. Knows lines and bytes, not what they mean.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use legwork_client::inherited;
use legwork_protocol::line::Splitter;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::agents::Agent;
use crate::failure::{Failure, What};
use crate::limits::{END_MAX, LINE_MAX_BYTES, RUBBISH_MAX_LINES, TAIL_BYTES};
use crate::lock::lock;
use crate::orphans;
use crate::wire::{self, Message};

/// A running agent. Dropped, it is killed with all that it started.
#[derive(Debug)]
pub struct Process {
    /// What it is called.
    agent: String,
    child: Child,
    group: Option<Pid>,
    /// What it started bears this, until that is ended.
    mark: Option<String>,
    /// What is to be written; closed, its stdin is too.
    outgoing: Option<mpsc::UnboundedSender<String>>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    splitter: Splitter,
    ready: VecDeque<Vec<u8>>,
    flooded: bool,
    rubbish: u32,
    tail: Arc<Mutex<Tail>>,
    /// Ends when nobody writes to its stderr any more.
    tail_is_whole: JoinHandle<()>,
}

impl Process {
    /// Starts it in this folder.
    pub fn start(agent: &Agent, directory: &Path) -> Result<Self, Failure> {
        let not_started = |source| {
            let command = agent.command.join(" ");
            Failure::new(&agent.name, What::NotStarted { command, source }, "")
        };
        let (program, arguments) = agent
            .command
            .split_first()
            .ok_or_else(|| not_started(std::io::Error::other("the command is empty")))?;
        let folder = agent.cwd.as_deref().unwrap_or(directory);
        // Else the system would blame the program.
        std::fs::read_dir(folder).map_err(|error| {
            let why = format!("the folder {}: {error}", folder.display());
            not_started(std::io::Error::new(error.kind(), why))
        })?;
        let mark = orphans::next_mark();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            // Some believe this more than their working folder.
            .env("PWD", folder)
            .env(orphans::INSIDE, &mark)
            .envs(&agent.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = inherited::spawning(|| command.spawn()).map_err(not_started)?;
        child.id().into_iter().for_each(inherited::limit_files);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(not_started(std::io::Error::other("it has no pipes")));
        };
        let tail = Arc::default();
        let (outgoing, lines) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, lines));
        let tail_is_whole = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        Ok(Self {
            agent: agent.name.clone(),
            group: child.id().and_then(|id| Pid::from_raw(id.cast_signed())),
            mark: Some(mark),
            child,
            outgoing: Some(outgoing),
            stdout,
            buffer: vec![0; 64 << 10],
            splitter: Splitter::with_limit(LINE_MAX_BYTES),
            ready: VecDeque::new(),
            flooded: false,
            rubbish: 0,
            tail,
            tail_is_whole,
        })
    }

    /// Writes a line to it, in its own time. That it does not read shows in its silence.
    pub fn send(&self, line: String) {
        if let Some(outgoing) = &self.outgoing {
            let _ = outgoing.send(line);
        }
    }

    /// Its next message. Can be dropped and called again.
    pub async fn next(&mut self, when: &'static str) -> Result<Message, Failure> {
        loop {
            while let Some(line) = self.ready.pop_front() {
                match wire::read(&line) {
                    Some(message) => return Ok(message),
                    None => self.rubbish(&line)?,
                }
            }
            if self.flooded {
                let flood = What::Flood { what: "a line", max_bytes: LINE_MAX_BYTES };
                return Err(self.failure(flood));
            }
            match self.stdout.read(&mut self.buffer).await {
                Ok(0) | Err(_) => return Err(self.ended(when).await),
                Ok(read) => {
                    for line in self.splitter.push(&self.buffer[..read]) {
                        match line {
                            Ok(line) => self.ready.push_back(line),
                            Err(_) => self.flooded = true,
                        }
                    }
                }
            }
        }
    }

    /// This went wrong, with what it last said.
    pub fn failure(&self, what: What) -> Failure {
        Failure::new(&self.agent, what, &lock(&self.tail).text())
    }

    /// Ends it: gently first, then with all that it started.
    pub async fn end(mut self) {
        self.outgoing = None;
        let _ = timeout(END_MAX, self.child.wait()).await;
        self.kill().await;
        let _ = timeout(END_MAX, self.child.wait()).await;
    }

    async fn kill(&mut self) {
        self.kill_group();
        if let Some(mark) = self.mark.take() {
            // It reads what is known of every process, which takes a few milliseconds.
            let _ = spawn_blocking(move || orphans::end_left_by(&mark)).await;
        }
    }

    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // Fails if nobody is left in it, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
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
        self.kill().await;
        let _ = timeout(END_MAX, &mut self.tail_is_whole).await;
        self.failure(What::Ended { how, when })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_group();
        if let Some(mark) = self.mark.take() {
            orphans::end_left_by(&mark);
        }
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<Tail>>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        lock(&tail).push(&buffer[..read]);
    }
}

/// The last bytes of what goes by.
#[derive(Debug, Default)]
struct Tail(VecDeque<u8>);

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(TAIL_BYTES);
        self.0.drain(..over);
        self.0.extend(bytes);
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
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
