//! Reads lines from anything that gives bytes, without doing the reading: whoever has the bytes
//! fills the buffer, so that it works for blocking and for asynchronous sources, and a read that is
//! dropped loses nothing.

use std::collections::VecDeque;

use crate::splitter::{Splitter, TooLong};

/// What is read at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Lines that come in.
#[derive(Debug)]
pub struct LineReader {
    splitter: Splitter,
    chunk: Vec<u8>,
    /// Whole lines that nobody has taken yet.
    ready: VecDeque<Result<Vec<u8>, TooLong>>,
}

impl LineReader {
    /// For lines of at most so many bytes, the line break not counted.
    pub fn new(max_bytes: usize) -> Self {
        let splitter = Splitter::new(max_bytes);
        Self { splitter, chunk: vec![0; CHUNK_BYTES], ready: VecDeque::new() }
    }

    /// The next whole line, if one is there.
    pub fn pop(&mut self) -> Option<Result<Vec<u8>, TooLong>> {
        self.ready.pop_front()
    }

    /// Where to read the next bytes to.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.chunk
    }

    /// So many bytes were read to [`Self::space`].
    pub fn filled(&mut self, count: usize) {
        self.ready.extend(self.splitter.push(&self.chunk[..count]));
    }

    /// Takes bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.ready.extend(self.splitter.push(bytes));
    }

    /// How many bytes of an unfinished line are held.
    pub fn held(&self) -> usize {
        self.splitter.held()
    }

    /// Whether the stream, if it ends here, broke off in the middle of a line.
    pub fn is_inside_line(&self) -> bool {
        self.splitter.is_inside_line()
    }
}
