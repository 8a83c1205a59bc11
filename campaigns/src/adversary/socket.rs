//! The daemon's socket as anybody finds it who looks at the process, and a greeting that it takes,
//! whatever the number of its line format is.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{Done, Fault};

/// The daemon answers a greeting at once.
const GREETING: Duration = Duration::from_secs(10);
/// Versions of the line format that may come.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=12;

/// The socket that a process listens on.
///
/// # Errors
/// When it listens on none that can be connected to.
pub fn of(pid: u32) -> Done<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let own: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .map_err(|why| Fault::trying(format!("reading the files of process {pid}"), why))?
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| {
            let link = link.to_string_lossy().into_owned();
            Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let bound = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let path = PathBuf::from(words.get(7)?);
        own.iter().any(|inode| inode == words[6]).then_some(path)
    });
    // The name is that of the binding; the file may have been renamed since.
    let places: Vec<PathBuf> =
        bound.flat_map(|path| [path.clone(), path.with_extension("")]).collect();
    let reached = places.into_iter().find(|path| UnixStream::connect(path).is_ok());
    reached.ok_or_else(|| Fault::new(format!("process {pid} listens on no socket")))
}

/// The first line of a program of ours that this daemon takes.
///
/// # Errors
/// When it takes none.
pub fn hello(socket: &Path) -> Done<String> {
    for version in VERSIONS {
        let role = json!({ "is": "client" });
        let hello = json!({ "type": "hello", "version": version, "build": "0.1.0", "role": role });
        if answer(socket, &hello.to_string()).is_ok_and(|line| line["type"] == "hello") {
            return Ok(hello.to_string());
        }
    }
    Err(Fault::new("the daemon takes no greeting"))
}

/// What comes back for one line.
///
/// # Errors
/// When nothing does.
pub fn answer(socket: &Path, line: &str) -> Done<Value> {
    let fault = |why: std::io::Error| Fault::trying("greeting the daemon", why);
    let mut stream = UnixStream::connect(socket).map_err(fault)?;
    stream.set_read_timeout(Some(GREETING)).map_err(fault)?;
    writeln!(stream, "{line}").map_err(fault)?;
    let mut back = String::new();
    BufReader::new(stream).read_line(&mut back).map_err(fault)?;
    serde_json::from_str(&back).map_err(|why| Fault::trying("greeting the daemon", why))
}
