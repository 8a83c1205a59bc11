//! Cuts a stream of bytes into lines, without doing the reading: whoever has the bytes fills the
//! buffer, so that it works for blocking and for asynchronous sources, and a read that is dropped
//! loses nothing. Holds at most one unfinished line, and of an overlong one nothing at all.

use std::collections::VecDeque;

const CHUNK_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    pub max_bytes: usize,
    /// How it began: as much of it as a line may have.
    pub begin: Vec<u8>,
}

/// Takes bytes as they come and gives back the lines that are whole. The lines do not depend on
/// where the stream was cut into chunks.
#[derive(Debug)]
pub struct LineReader {
    max_bytes: usize,
    held: Vec<u8>,
    /// The line that is coming in was too long; its rest is passed over.
    skipping: bool,
    chunk: Vec<u8>,
    /// Whole lines that nobody has taken yet.
    ready: VecDeque<Result<Vec<u8>, TooLong>>,
}

impl LineReader {
    /// For lines of at most so many bytes, the line break not counted.
    pub fn new(max_bytes: usize) -> Self {
        let (chunk, ready) = (vec![0; CHUNK_BYTES], VecDeque::new());
        Self { max_bytes, held: Vec::new(), skipping: false, chunk, ready }
    }

    /// The next line, if one is there. A line ends with LF or CRLF and comes without it; empty
    /// lines are left out; a line that is too long comes as one error, as soon as that is known.
    pub fn pop(&mut self) -> Option<Result<Vec<u8>, TooLong>> {
        self.ready.pop_front()
    }

    /// Where to read the next bytes to.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.chunk
    }

    /// So many bytes were read to [`Self::space`].
    pub fn filled(&mut self, count: usize) {
        let chunk = std::mem::take(&mut self.chunk);
        self.push(&chunk[..count]);
        self.chunk = chunk;
    }

    /// Takes bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.hold(&rest[..end]);
            self.finish();
            rest = &rest[end + 1..];
        }
        self.hold(rest);
    }

    /// How many bytes of an unfinished line are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Whether the stream, if it ends here, broke off in the middle of a line.
    pub fn is_inside_line(&self) -> bool {
        self.skipping || !self.held.is_empty()
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.held.len() + bytes.len() > self.max_bytes {
            self.skipping = true;
            let mut begin = std::mem::take(&mut self.held);
            begin.extend_from_slice(&bytes[..self.max_bytes - begin.len()]);
            self.ready.push_back(Err(TooLong { max_bytes: self.max_bytes, begin }));
            return;
        }
        self.held.extend_from_slice(bytes);
    }

    fn finish(&mut self) {
        self.skipping = false;
        let mut line = std::mem::take(&mut self.held);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.is_empty() {
            self.ready.push_back(Ok(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Vec<u8>, TooLong> {
        Ok(text.as_bytes().to_vec())
    }

    fn push(lines: &mut LineReader, bytes: &[u8]) -> Vec<Result<Vec<u8>, TooLong>> {
        lines.push(bytes);
        lines.ready.drain(..).collect()
    }

    #[test]
    fn an_overlong_line_is_one_error_and_the_next_line_is_read() {
        let mut lines = LineReader::new(4);
        let too_long = |begin: &str| Err(TooLong { max_bytes: 4, begin: begin.into() });
        assert_eq!(push(&mut lines, b"1234\n123"), [line("1234")]);
        assert_eq!(push(&mut lines, b"45"), [too_long("1234")]);
        assert_eq!(push(&mut lines, b"678901234567890"), []);
        assert_eq!(push(&mut lines, b"123\nnext\nabcde\n"), [line("next"), too_long("abcd")]);
    }

    #[test]
    fn an_overlong_line_is_not_kept_in_memory() {
        let mut lines = LineReader::new(16 << 20);
        let chunk = vec![b'x'; 1 << 20];
        let errors: usize = (0..64).map(|_| push(&mut lines, &chunk).len()).sum();
        assert_eq!(errors, 1);
        assert_eq!(lines.held.capacity(), 0);
        assert_eq!(push(&mut lines, b"\nok\n"), [line("ok")]);
    }
}
