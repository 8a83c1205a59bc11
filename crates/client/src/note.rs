//! Notes beside the records: small files of JSON that say something of the programs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A note has a path and a few words; a file of more bytes is none of ours.
const MAX_BYTES: u64 = 16 << 10;

/// The note in this file, if it is there and can be read.
pub fn read<T: DeserializeOwned>(store: &Path, file: &str) -> Option<T> {
    let mut text = Vec::new();
    let file = File::open(store.join(file)).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Writes a note. A reader sees the earlier note or this one, whole.
pub fn write(store: &Path, file: &str, note: &impl Serialize) -> io::Result<()> {
    let draft = store.join(format!("{file}.{}", std::process::id()));
    let text = serde_json::to_vec(note)?;
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, store.join(file)));
    if written.is_err() {
        // On a full disk there may be half of it.
        let _ = fs::remove_file(&draft);
    }
    written
}
