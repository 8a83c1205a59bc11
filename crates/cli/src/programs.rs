//! Programs of others: where the PATH has them, and what they say, within a bounded time.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use legwork_machine::{is_program, on_path};
use legwork_protocol::refusal::plain;

/// What is kept of what a program says; the rest is read and dropped, so that it can go on.
const SAID_MAX_BYTES: usize = 16 << 10;
/// The same for a person's screen.
const SHOWN_MAX_CHARS: usize = 400;
const PAUSE: Duration = Duration::from_millis(10);
/// How long the reader of what a program said is waited for once that has ended: what the program
/// left behind may hold its output open for ever.
const HEARD_MAX: Duration = Duration::from_secs(2);

/// What a program said before it ended.
#[derive(Debug)]
pub struct Said {
    /// Nothing if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to stdout, on one line.
    pub out: String,
    /// The last that it wrote to stderr, on one line.
    pub err: String,
}

/// The program that a command begins with, as a shell would find it.
pub fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_program(path));
    }
    on_path(program, path).next()
}

/// Runs a program and hears it out. One that takes too long is ended.
pub fn said_by(
    program: &Path,
    args: &[&str],
    folder: Option<&Path>,
    at_most: Duration,
) -> io::Result<Said> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let mut child = command.spawn()?;
    let (out, err) = (listen(child.stdout.take()), listen(child.stderr.take()));
    let status = ended(&mut child, at_most)?;
    let heard = |said: JoinHandle<Vec<u8>>| {
        let deadline = Instant::now() + HEARD_MAX;
        while !said.is_finished() && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        if said.is_finished() { said.join().unwrap_or_default() } else { Vec::new() }
    };
    Ok(Said { code: status.code(), out: first(&heard(out)), err: last(&heard(err)) })
}

/// Waits for the end of a program. One that takes too long is killed.
pub fn ended(child: &mut Child, at_most: Duration) -> io::Result<ExitStatus> {
    let deadline = Instant::now() + at_most;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(PAUSE);
    }
}

fn listen(from: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut from) = from {
            // What cannot be read was not said.
            let _ = from.by_ref().take(SAID_MAX_BYTES as u64).read_to_end(&mut said);
            let _ = io::copy(&mut from, &mut io::sink());
        }
        said
    })
}

fn first(said: &[u8]) -> String {
    plain(String::from_utf8_lossy(said).trim(), SHOWN_MAX_CHARS)
}

/// The last lines, as far as there is room.
fn last(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = lines[lines.len().saturating_sub(6)..].join("; ");
    plain(&text, SHOWN_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, at_most: Duration) -> io::Result<Said> {
        said_by(Path::new("/bin/sh"), &["-c", script], None, at_most)
    }

    #[test]
    fn what_a_program_says_is_heard_and_one_that_hangs_is_ended() {
        let long = Duration::from_secs(60);
        let said = sh("echo out; echo one >&2; echo two >&2; exit 3", long).unwrap();
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(3), "out", "one; two"));
        let fault = sh("exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert_eq!(fault.kind(), io::ErrorKind::TimedOut);
        let much = sh("head -c 1000000 /dev/zero | tr '\\0' x", long).unwrap();
        assert_eq!(much.code, Some(0), "one that says much is not held up");
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let path = OsStr::new("/nowhere:/bin:/usr/bin");
        assert!(find("sh", path).is_some() && find("/bin/sh", path).is_some());
        assert!(find("no-such-program", path).is_none() && find("/etc/passwd", path).is_none());
    }
}
