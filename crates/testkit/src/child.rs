//! Programs that a test has started, read and waited for with a deadline: one that hangs fails its
//! test with what it said, where a plain read would wait for ever.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kit::DEADLINE;

/// How long a whole program may take. One that waits for a task on a busy machine is slow, and this
/// is for those that never end.
const PROGRAM_MAX: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(5);

/// A pipe or socket on which a read fails when nothing comes within a time.
#[derive(Debug)]
pub struct Patient<R> {
    inner: R,
    within: Duration,
}

impl<R: Read + AsFd> Patient<R> {
    /// Waits for as long as a test waits for anything.
    pub fn new(inner: R) -> Self {
        Self { inner, within: DEADLINE }
    }
}

impl<R: Read + AsFd> Read for Patient<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut wanted = [PollFd::new(&self.inner, PollFlags::IN)];
        let within = Timespec::try_from(self.within).ok();
        if poll(&mut wanted, within.as_ref())? == 0 {
            let what = format!("nothing came within {:?}", self.within);
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        self.inner.read(into)
    }
}

/// What a program says, line by line.
#[derive(Debug)]
pub struct Lines<R> {
    read: BufReader<Patient<R>>,
    /// A line that has not come to its end.
    begun: Vec<u8>,
    /// What it said so far, for whoever waits in vain.
    said: String,
}

impl<R: Read + AsFd> Lines<R> {
    /// The lines of a pipe or socket.
    pub fn of(inner: R) -> Self {
        let read = BufReader::new(Patient::new(inner));
        Self { read, begun: Vec::new(), said: String::new() }
    }

    /// The first line that is it, which must come in time, however many others come before.
    pub fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.within(left) {
                Some(Some(line)) if is_it(&line) => return line,
                Some(Some(_)) => {}
                Some(None) => panic!("it ended before: {what}\n{}", self.said),
                None => panic!("not within {DEADLINE:?}: {what}\n{}", self.said),
            }
        }
    }

    /// The next line if one comes within a time, for whoever does something else if none does.
    pub fn soon(&mut self, within: Duration) -> Option<String> {
        self.within(within)?
    }

    /// Nothing if it says nothing, and no line if it says nothing any more.
    fn within(&mut self, within: Duration) -> Option<Option<String>> {
        self.read.get_mut().within = within;
        match self.read.read_until(b'\n', &mut self.begun) {
            Ok(_) if self.begun.is_empty() => Some(None),
            Ok(_) => {
                let line = String::from_utf8(std::mem::take(&mut self.begun));
                let line = line.expect("a program says text");
                self.said.push_str(&line);
                Some(Some(line.trim_end_matches('\n').to_owned()))
            }
            // What there is of the line is kept.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => None,
            Err(error) => panic!("{error} after:\n{}", self.said),
        }
    }
}

impl<R: Read + AsFd> Iterator for Lines<R> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let next = self.within(DEADLINE);
        next.unwrap_or_else(|| panic!("no line within {DEADLINE:?}, after:\n{}", self.said))
    }
}

/// Waits until a program has ended, and ends one that does not.
pub fn ended(child: &mut Child) -> ExitStatus {
    drop(child.stdin.take());
    let status = wait(child, Instant::now() + PROGRAM_MAX);
    status.unwrap_or_else(|| panic!("process {} did not end within {PROGRAM_MAX:?}", child.id()))
}

/// Runs a program that hears nothing to its end.
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    output_of(child.unwrap_or_else(|why| panic!("{command:?} does not start: {why}")))
}

/// What a program that was started with pipes has left when it has ended.
pub fn output_of(mut child: Child) -> Output {
    drop(child.stdin.take());
    let deadline = Instant::now() + PROGRAM_MAX;
    let (out, err) = (Gathered::of(child.stdout.take()), Gathered::of(child.stderr.take()));
    let status = wait(&mut child, deadline);
    // What it started may hold its pipes for longer than it lives.
    let whole = out.is_whole(deadline) && err.is_whole(deadline);
    let (stdout, stderr) = (out.so_far(), err.so_far());
    let (Some(status), true) = (status, whole) else {
        let said = [&*String::from_utf8_lossy(&stdout), &String::from_utf8_lossy(&stderr)].concat();
        panic!("process {} did not end within {PROGRAM_MAX:?}, after:\n{said}", child.id());
    };
    Output { status, stdout, stderr }
}

fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().expect("the state of a child") {
            return Some(status);
        }
        if Instant::now() > deadline {
            // It may just have ended.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(PAUSE);
    }
}

/// What is read from a pipe while somebody waits for something else.
struct Gathered(Arc<Mutex<(Vec<u8>, bool)>>);

impl Gathered {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let gathered = Self(Arc::default());
        let Some(mut pipe) = pipe else {
            gathered.0.lock().expect("not poisoned").1 = true;
            return gathered;
        };
        let into = gathered.0.clone();
        thread::spawn(move || {
            let mut some = vec![0; 64 << 10];
            loop {
                let read = pipe.read(&mut some).unwrap_or(0);
                let mut into = into.lock().expect("not poisoned");
                into.0.extend(some.iter().take(read));
                if read == 0 {
                    into.1 = true;
                    return;
                }
            }
        });
        gathered
    }

    fn is_whole(&self, deadline: Instant) -> bool {
        while !self.0.lock().expect("not poisoned").1 {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(PAUSE);
        }
        true
    }

    fn so_far(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().expect("not poisoned").0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("a shell")
    }

    #[test]
    fn lines_come_whole_and_who_does_not_wait_for_them_loses_none() {
        let mut child = shell("echo one; printf tw; read -r go; echo o; echo three");
        let mut lines = Lines::of(child.stdout.take().expect("a pipe"));
        assert_eq!(lines.next().as_deref(), Some("one"));
        assert_eq!(lines.soon(Duration::from_millis(50)), None, "only a part of it is there");
        drop(child.stdin.take());
        assert_eq!(lines.until("the last", |line| line == "three"), "three");
        assert_eq!(lines.said, "one\ntwo\nthree\n");
        assert_eq!(lines.next(), None);
        assert!(ended(&mut child).success());
    }

    #[test]
    fn a_read_of_a_program_that_says_nothing_fails() {
        let mut child = shell("exec cat");
        let within = Duration::from_millis(20);
        let mut silent = Patient { inner: child.stdout.take().expect("a pipe"), within };
        let error = silent.read(&mut [0]).expect_err("nothing was said");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(ended(&mut child).success(), "its input ends when it is waited for");
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let mut child = shell("exec cat");
        assert_eq!(wait(&mut child, Instant::now()), None);
        assert!(!ended(&mut child).success());
    }

    #[test]
    fn all_that_a_program_says_is_gathered() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "head -c 300000 /dev/zero; echo no >&2; exit 3"]);
        let Output { status, stdout, stderr } = output(&mut command);
        assert_eq!((status.code(), stdout.len(), &*stderr), (Some(3), 300_000, &b"no\n"[..]));
    }
}
