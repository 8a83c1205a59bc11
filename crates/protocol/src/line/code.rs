//! Lines to bytes and back. Reading checks before it builds: length, number of values, UTF-8.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use super::LINE_VERSION;
use super::repair::repair_surrogates;
use super::waiter::{Waiter, waiter_of};
use super::words::{FromDaemon, ToDaemon};
use crate::api::Answer;
use crate::limits::{BAD_LINE_MAX_CHARS, LINE_MAX_BYTES, LINE_MAX_VALUES};
use crate::refusal::plain;

/// Why bytes are not a line of ours. `Display` is short and on one line, whatever came in, so that
/// it can go into a `bye`, a refusal or the log as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum BadLine {
    #[error("the line is longer than {max_bytes} bytes")]
    TooLong {
        max_bytes: usize,
        /// Who waits for an answer to it, if its beginning tells.
        waiter: Option<Waiter>,
    },
    #[error("the line holds more than {LINE_MAX_VALUES} values")]
    TooMany,
    #[error("the line is not UTF-8")]
    NotUtf8,
    #[error("the line is not JSON: {what}")]
    NotJson { what: String },
    #[error("the line makes no sense here: {what}")]
    NotALine { what: String },
    /// A hello in another version of this format, readable otherwise or not.
    #[error(
        "this side speaks version {LINE_VERSION} of legwork's line format, the other side version \
         {theirs}. Restart both after an update"
    )]
    OtherVersion { theirs: u32 },
}

/// [`ToDaemon`] and [`FromDaemon`], and nothing else.
pub trait Line: Serialize + DeserializeOwned {
    /// The version that a `hello` claims.
    fn version(&self) -> Option<u32>;

    /// Reads the text of a line.
    fn read(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

impl Line for ToDaemon {
    fn version(&self) -> Option<u32> {
        if let Self::Hello { version, .. } = self { Some(*version) } else { None }
    }
}

impl Line for FromDaemon {
    fn version(&self) -> Option<u32> {
        if let Self::Hello { version, .. } = self { Some(*version) } else { None }
    }

    fn read(text: &str) -> serde_json::Result<Self> {
        // A derived reader of tagged kinds collects a whole line before it builds anything, which
        // takes most of the time of a long listing.
        if text.starts_with(DATA_BEGINS)
            && let Ok(Data { id, data }) = serde_json::from_str(text)
        {
            return Ok(Self::Data { id, data });
        }
        serde_json::from_str(text)
    }
}

/// How a [`FromDaemon::Data`] is written.
const DATA_BEGINS: &str = r#"{"type":"data","#;

/// The fields of a [`FromDaemon::Data`].
#[derive(Deserialize)]
struct Data {
    id: u64,
    data: Answer,
}

/// The line's bytes, line break included. Whoever passes on what others wrote asks
/// [`check_size`] first: a line that is too big would be thrown away unread.
pub fn encode<L: Line>(line: &L) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = line.serialize(&mut Serializer::with_formatter(&mut bytes, OneLine));
    // In memory only a map whose keys are no texts could fail, and no line has one.
    debug_assert!(written.is_ok(), "a line that cannot be written: {written:?}");
    bytes.push(b'\n');
    bytes
}

/// The longest beginning of a text that takes at most so many bytes where a line is written.
pub fn beginning(text: &str, max_bytes: usize) -> &str {
    let mut written = 0;
    let end = text.char_indices().find(|(_, c)| {
        written += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => 6,
            c => c.len_utf8(),
        };
        written > max_bytes
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Whether the peer will read a line of these bytes at all.
pub fn check_size(line: &[u8]) -> Result<(), BadLine> {
    if line.strip_suffix(b"\n").unwrap_or(line).len() > LINE_MAX_BYTES {
        return Err(BadLine::TooLong { max_bytes: LINE_MAX_BYTES, waiter: waiter_of(line) });
    }
    if count_values(line) > LINE_MAX_VALUES { Err(BadLine::TooMany) } else { Ok(()) }
}

/// Commas and opening brackets outside of texts: at least as many as there are values, less one.
fn count_values(line: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b'{' | b'[' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

/// Reads a line that was sent to the daemon.
pub fn decode_to_daemon(line: &[u8]) -> Result<ToDaemon, BadLine> {
    decode(line)
}

/// Reads a line that the daemon sent.
pub fn decode_from_daemon(line: &[u8]) -> Result<FromDaemon, BadLine> {
    decode(line)
}

fn decode<L: Line>(line: &[u8]) -> Result<L, BadLine> {
    check_size(line)?;
    // Half a character is no reason to lose the rest.
    let line = repair_surrogates(line);
    let text = std::str::from_utf8(&line).map_err(|_| BadLine::NotUtf8)?;
    // Derived readers would take an array of the fields as well.
    if !text.trim_start().starts_with('{') {
        return Err(BadLine::NotALine { what: "expected one JSON object".into() });
    }
    let read = L::read(text).map_err(|error| bad(text, &error))?;
    match read.version() {
        Some(theirs) if theirs != LINE_VERSION => Err(BadLine::OtherVersion { theirs }),
        _ => Ok(read),
    }
}

fn bad(text: &str, error: &serde_json::Error) -> BadLine {
    let what = plain(&error.to_string(), BAD_LINE_MAX_CHARS - 100);
    if !error.is_data() {
        return BadLine::NotJson { what };
    }
    let glimpse: Glimpse = serde_json::from_str(text).unwrap_or_default();
    match glimpse.hello() {
        Some(theirs) if theirs != LINE_VERSION => BadLine::OtherVersion { theirs },
        _ => BadLine::NotALine { what },
    }
}

/// What can still be seen of a line that does not read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Glimpse {
    r#type: Value,
    version: Value,
}

impl Glimpse {
    fn hello(&self) -> Option<u32> {
        let version = self.version.as_u64().filter(|_| self.r#type == "hello")?;
        u32::try_from(version).ok()
    }
}

/// JSON has no raw LF in it, but two characters may stand raw in a JSON text that Node's readline
/// takes for the end of a line; written as escapes they are safe with every reader.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            out.write_all(if from.starts_with('\u{2028}') { b"\\u2028" } else { b"\\u2029" })?;
            rest = &from['\u{2028}'.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests;
