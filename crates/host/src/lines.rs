//! Files of lines, one JSON value in each, for hosts that keep something themselves. They are
//! appended to and never changed, so that a crash leaves at most half a line at the end.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use legwork_machine::{if_there, private_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The lines of a file; nothing if it is not there. What is no line is passed over: half a line is
/// what a crash leaves.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> io::Result<Option<Vec<T>>> {
    let Some(text) = if_there(fs::read(path))? else { return Ok(None) };
    let lines = text.split(|byte| *byte == b'\n');
    Ok(Some(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()))
}

/// Adds a line to a file with one write. It begins with a line break if a crash left half a line.
pub fn append_line(path: &Path, line: &impl Serialize) -> io::Result<()> {
    let mut file = private_file().create(true).read(true).append(true).open(path)?;
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    if !ends_with_a_break(&file)? {
        bytes.insert(0, b'\n');
    }
    file.write_all(&bytes)
}

/// Writes a file anew with these lines, also if there are none. Whoever reads it meanwhile, and a
/// power cut, finds the old one or the new one whole.
pub fn rewrite_lines<T: Serialize>(
    path: &Path,
    lines: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let draft = draft_of(path);
    private_file().write(true).create(true).truncate(true).open(&draft)?;
    lines.into_iter().try_for_each(|line| append_line(&draft, &line))?;
    sync_file(&draft)?;
    fs::rename(&draft, path)
}

/// Where that is written first; a crash may leave it.
pub fn draft_of(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// Has the system write a file to the disk.
pub fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_data()
}

fn ends_with_a_break(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}
