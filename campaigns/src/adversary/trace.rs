//! What strace tells of a program's files, read into operations, and a disk on which they are done:
//! what was synced is there for good, what was not may be there or not after a power cut.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use legwork_sim::host::Dice;

/// What is recorded.
pub const CALLS: &str = "trace=openat,open,creat,write,pwrite64,lseek,fsync,fdatasync,ftruncate,\
                         rename,renameat,renameat2,unlink,unlinkat";
/// The longest piece of a write that is recorded: longer than any that legwork makes.
pub const LONGEST: &str = "1000000";
/// A disk writes this much or nothing.
const SECTOR: usize = 512;

/// One change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Opened: whether it is emptied, and whether writes go to its end.
    Open { path: PathBuf, empty: bool, append: bool },
    /// Where the next write goes.
    Seek { path: PathBuf, at: usize },
    /// Bytes, at a place or where the last write ended.
    Write { path: PathBuf, at: Option<usize>, bytes: Vec<u8> },
    /// A new length.
    Cut { path: PathBuf, length: usize },
    /// Everything of it is on the disk.
    Sync { path: PathBuf },
    /// Another name.
    Rename { from: PathBuf, to: PathBuf },
    /// No name any more.
    Remove { path: PathBuf },
}

/// Reads what strace wrote with `-f -y -xx`. Calls that failed and other files are left out.
pub fn read(text: &str, below: &Path) -> Vec<Op> {
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    let mut ops = Vec::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(char::is_whitespace) else { continue };
        let rest = rest.trim_start();
        if let Some(first) = rest.strip_suffix("<unfinished ...>") {
            begun.insert(thread, first.to_owned());
            continue;
        }
        let whole = match rest.split_once(" resumed>").filter(|_| rest.starts_with("<...")) {
            Some((_, last)) => begun.remove(thread).unwrap_or_default() + last,
            None => rest.to_owned(),
        };
        ops.extend(operation(&whole));
    }
    let inside = |op: &Op| path_of(op).starts_with(below);
    ops.into_iter().filter(inside).collect()
}

/// The file that an operation is about.
pub fn path_of(op: &Op) -> &Path {
    match op {
        Op::Open { path, .. }
        | Op::Seek { path, .. }
        | Op::Write { path, .. }
        | Op::Cut { path, .. }
        | Op::Sync { path }
        | Op::Remove { path }
        | Op::Rename { to: path, .. } => path,
    }
}

fn operation(call: &str) -> Option<Op> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let number = result.split(['<', ' ']).next()?;
    let number: usize = number.parse().ok()?;
    // The path of an open file stands in brackets after its number.
    let file = || {
        let (_, rest) = arguments.split_once('<')?;
        Some(path(&decoded(rest.split_once('>')?.0)))
    };
    let quoted: Vec<&str> = arguments.split('"').skip(1).step_by(2).collect();
    let last = || arguments.rsplit(", ").next()?.trim().parse::<usize>().ok();
    Some(match name {
        "open" | "openat" | "creat" => {
            let path = path(&decoded(result.split_once('<')?.1.trim_end().strip_suffix('>')?));
            let has = |flag: &str| arguments.contains(flag);
            let empty = has("O_TRUNC") || name == "creat";
            Op::Open { path, empty, append: has("O_APPEND") }
        }
        "write" | "pwrite64" => {
            let mut bytes = decoded(quoted.first()?);
            bytes.truncate(number);
            let at = if name == "pwrite64" { Some(last()?) } else { None };
            Op::Write { path: file()?, at, bytes }
        }
        "lseek" => Op::Seek { path: file()?, at: number },
        "ftruncate" => Op::Cut { path: file()?, length: last()? },
        "fsync" | "fdatasync" => Op::Sync { path: file()? },
        "rename" | "renameat" | "renameat2" => {
            Op::Rename { from: path(&decoded(quoted.first()?)), to: path(&decoded(quoted.get(1)?)) }
        }
        "unlink" | "unlinkat" => Op::Remove { path: path(&decoded(quoted.first()?)) },
        _ => return None,
    })
}

fn decoded(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits.filter_map(|two| u8::from_str_radix(two.get(..2)?, 16).ok()).collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// A file on the disk: what is safe, and what was done since.
#[derive(Debug, Clone, Default)]
struct Content {
    safe: Vec<u8>,
    since: Vec<Change>,
    length: usize,
    place: usize,
    append: bool,
}

#[derive(Debug, Clone)]
enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

/// All files as they came about.
#[derive(Debug, Clone, Default)]
pub struct Disk(BTreeMap<PathBuf, Content>);

impl Disk {
    /// Does an operation.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Rename { from, to } => {
                if let Some(content) = self.0.remove(from) {
                    self.0.insert(to.clone(), content);
                }
            }
            Op::Remove { path } => drop(self.0.remove(path)),
            op => self.0.entry(path_of(op).to_owned()).or_default().apply(op),
        }
    }

    /// The files as a power cut now would leave them.
    pub fn cut(&self, dice: &mut Dice) -> Vec<(PathBuf, Vec<u8>)> {
        self.0.iter().map(|(path, content)| (path.clone(), content.cut(dice))).collect()
    }
}

impl Content {
    fn apply(&mut self, op: &Op) {
        match op {
            Op::Open { empty, append, .. } => {
                (self.place, self.append) = (0, *append);
                if *empty {
                    self.change(Change::Length(0));
                }
            }
            Op::Seek { at, .. } => self.place = *at,
            Op::Write { at, bytes, .. } => {
                let here = if self.append { self.length } else { self.place };
                let from = at.unwrap_or(here);
                if at.is_none() {
                    self.place = from + bytes.len();
                }
                self.change(Change::Bytes(from, bytes.clone()));
            }
            Op::Cut { length, .. } => self.change(Change::Length(*length)),
            Op::Sync { .. } => {
                for change in std::mem::take(&mut self.since) {
                    change.apply(&mut self.safe);
                }
            }
            Op::Rename { .. } | Op::Remove { .. } => {}
        }
    }

    fn change(&mut self, change: Change) {
        self.length = match &change {
            Change::Bytes(at, bytes) => self.length.max(at + bytes.len()),
            Change::Length(length) => *length,
        };
        self.since.push(change);
    }

    /// What was not synced is there, is not there, or is there in part.
    fn cut(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        let fate = dice.below(3);
        for change in self.since.iter().filter(|_| fate > 0) {
            match (fate, dice.below(3)) {
                (1, _) | (2, 0) => change.apply(&mut bytes),
                (2, 1) => change.torn(dice).apply(&mut bytes),
                _ => {}
            }
        }
        bytes
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Length(length) => file.resize(*length, 0),
            Self::Bytes(at, bytes) => {
                file.resize(file.len().max(at + bytes.len()), 0);
                file[*at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    fn torn(&self, dice: &mut Dice) -> Self {
        match self {
            Self::Length(length) => Self::Length(*length),
            Self::Bytes(at, bytes) => {
                let sectors = dice.below((bytes.len() / SECTOR + 1) as u64) as usize;
                Self::Bytes(*at, bytes[..sectors * SECTOR].to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    #[test]
    fn what_strace_wrote_is_read() {
        let (a, b, text) = (hex("/h/a"), hex("/h/b"), hex("hello"));
        let trace = format!(
            "7  openat(AT_FDCWD<{a}>, \"{a}\", O_RDWR|O_CREAT|O_APPEND, 0600) = 3<{a}>\n\
             7  write(3<{a}>, \"{text}\", 5 <unfinished ...>\n\
             8  pwrite64(4<{b}>, \"{text}\", 5, 4096) = 5\n\
             7  <... write resumed>)              = 5\n\
             7  fsync(3<{a}>)                     = 0\n\
             7  rename(\"{a}\", \"{b}\")              = 0\n\
             7  unlink(\"{b}\")                     = -1 ENOENT (No such file or directory)\n\
             7  write(9<{}>, \"{text}\", 5)          = 5\n",
            hex("/other")
        );
        let (a, b) = (PathBuf::from("/h/a"), PathBuf::from("/h/b"));
        let expected = [
            Op::Open { path: a.clone(), empty: false, append: true },
            Op::Write { path: b.clone(), at: Some(4096), bytes: b"hello".to_vec() },
            Op::Write { path: a.clone(), at: None, bytes: b"hello".to_vec() },
            Op::Sync { path: a.clone() },
            Op::Rename { from: a, to: b },
        ];
        assert_eq!(read(&trace, Path::new("/h")), expected);
    }

    #[test]
    fn what_was_synced_survives_and_the_rest_may() {
        let path = PathBuf::from("/h/a");
        let write =
            |text: &str| Op::Write { path: path.clone(), at: None, bytes: text.as_bytes().into() };
        let mut disk = Disk::default();
        disk.apply(&Op::Open { path: path.clone(), empty: false, append: true });
        disk.apply(&write("one\n"));
        disk.apply(&Op::Sync { path: path.clone() });
        disk.apply(&write("two\n"));
        let mut dice = Dice::new(1);
        let cuts: Vec<Vec<u8>> = (0..40).map(|_| disk.cut(&mut dice)[0].1.clone()).collect();
        assert!(cuts.iter().all(|bytes| bytes.starts_with(b"one\n")));
        assert!(cuts.iter().any(|bytes| bytes == b"one\n"));
        assert!(cuts.iter().any(|bytes| bytes == b"one\ntwo\n"));
    }
}
