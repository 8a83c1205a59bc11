//! Cuts a stream of bytes into lines. Holds at most one unfinished line, and of an overlong one
//! nothing at all.

/// A line that was too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    pub max_bytes: usize,
    /// How it began: as much of it as a line may have.
    pub begin: Vec<u8>,
}

/// Takes bytes as they come and gives back the lines that are whole. The lines do not depend on
/// where the stream was cut into chunks.
#[derive(Debug)]
pub struct Splitter {
    max_bytes: usize,
    held: Vec<u8>,
    /// The line that is coming in was too long; its rest is passed over.
    skipping: bool,
}

impl Splitter {
    /// For lines of at most so many bytes, the line break not counted.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, held: Vec::new(), skipping: false }
    }

    /// Takes the next bytes. A line ends with LF or CRLF and comes without it; empty lines are left
    /// out; a line that is too long comes as one error, as soon as that is known.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<Vec<u8>, TooLong>> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.hold(&rest[..end], &mut lines);
            self.finish(&mut lines);
            rest = &rest[end + 1..];
        }
        self.hold(rest, &mut lines);
        lines
    }

    /// How many bytes of an unfinished line are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The stream is over. Whether it broke off in the middle of a line.
    pub fn is_inside_line(&self) -> bool {
        self.skipping || !self.held.is_empty()
    }

    fn hold(&mut self, bytes: &[u8], lines: &mut Vec<Result<Vec<u8>, TooLong>>) {
        if self.skipping {
            return;
        }
        if self.held.len() + bytes.len() > self.max_bytes {
            self.skipping = true;
            let mut begin = std::mem::take(&mut self.held);
            begin.extend_from_slice(&bytes[..self.max_bytes - begin.len()]);
            lines.push(Err(TooLong { max_bytes: self.max_bytes, begin }));
            return;
        }
        self.held.extend_from_slice(bytes);
    }

    fn finish(&mut self, lines: &mut Vec<Result<Vec<u8>, TooLong>>) {
        self.skipping = false;
        let mut line = std::mem::take(&mut self.held);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.is_empty() {
            lines.push(Ok(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Vec<u8>, TooLong> {
        Ok(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_whole_however_they_arrive() {
        let mut splitter = Splitter::new(9);
        assert_eq!(splitter.push(b"on"), []);
        assert!(splitter.is_inside_line());
        assert_eq!(splitter.push(b"e\ntwo\r"), [line("one")]);
        assert_eq!(splitter.push(b"\n\n\r\nthree\n"), [line("two"), line("three")]);
        assert!(!splitter.is_inside_line());
    }

    #[test]
    fn an_overlong_line_is_one_error_and_the_next_line_is_read() {
        let mut splitter = Splitter::new(4);
        let too_long = |begin: &str| Err(TooLong { max_bytes: 4, begin: begin.into() });
        assert_eq!(splitter.push(b"1234\n123"), [line("1234")]);
        assert_eq!(splitter.push(b"45"), [too_long("1234")]);
        assert_eq!(splitter.push(b"678901234567890"), []);
        assert_eq!(splitter.push(b"123\nnext\nabcde\n"), [line("next"), too_long("abcd")]);
    }

    #[test]
    fn an_overlong_line_is_not_kept_in_memory() {
        let mut splitter = Splitter::new(16 << 20);
        let chunk = vec![b'x'; 1 << 20];
        let errors: usize = (0..64).map(|_| splitter.push(&chunk).len()).sum();
        assert_eq!(errors, 1);
        assert_eq!(splitter.held.capacity(), 0);
        assert_eq!(splitter.push(b"\nok\n"), [line("ok")]);
    }
}
