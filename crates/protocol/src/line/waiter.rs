//! Who waits for an answer to a line that cannot be read. Only the beginnings of the outermost
//! fields are looked at, so it does not matter what is wrong with the rest, nor whether it came.

/// Somebody who waits until a line is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiter {
    /// The sender, for the answer to this call or request.
    Call(u64),
    /// The receiver, for the result of this host call of its own.
    HostCall(u64),
}

/// Who waits, if that can be seen.
pub fn waiter_of(line: &[u8]) -> Option<Waiter> {
    let mut scan = Scan(line);
    scan.take(b'{')?;
    let (mut kind, mut id) = (None, None);
    while kind.is_none() || id.is_none() {
        let name = scan.text()?;
        scan.take(b':')?;
        match name {
            b"type" => kind = Some(scan.text()?),
            b"id" => id = Some(scan.number()?),
            _ => scan.pass()?,
        }
        if kind.is_none() || id.is_none() {
            scan.take(b',')?;
        }
    }
    match kind? {
        b"call" | b"request" => id.map(Waiter::Call),
        b"result" => id.map(Waiter::HostCall),
        _ => None,
    }
}

/// What is left of a line.
struct Scan<'a>(&'a [u8]);

impl<'a> Scan<'a> {
    fn next(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        self.next().filter(|byte| *byte == wanted)?;
        self.0 = &self.0[1..];
        Some(())
    }

    /// A text as it is written, without its quotes.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let (mut end, mut escaped) = (0, false);
        loop {
            match self.0.get(end)? {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => break,
                _ => {}
            }
            end += 1;
        }
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(text)
    }

    /// A number that is whole and followed by something, so that none of its digits is missing.
    fn number(&mut self) -> Option<u64> {
        self.next()?;
        let end = self.0.iter().position(|byte| !byte.is_ascii_digit())?;
        let digits = std::str::from_utf8(&self.0[..end]).ok()?;
        self.0 = &self.0[end..];
        self.next().filter(|byte| matches!(byte, b',' | b'}'))?;
        digits.parse().ok()
    }

    /// Passes over a value of any kind.
    fn pass(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                b'"' => {
                    self.text()?;
                }
                b',' | b'}' if depth == 0 => return Some(()),
                byte => {
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.checked_sub(1)?,
                        _ => {}
                    }
                    self.0 = &self.0[1..];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_who_waits_is_seen_whatever_is_wrong_with_the_rest() {
        let call = Some(Waiter::Call(7));
        let deep = format!(r#"{{"type":"call","id":7,"arguments":{}"#, "[".repeat(100_000));
        let before = format!(
            r#"{{"a":{}{{"b":"}}"}}{},"id":7,"type":"request"}}"#,
            "[".repeat(9),
            "]".repeat(9)
        );
        for (line, expected) in [
            (r#"{"type":"call","id":7}"#, call),
            (r#" { "id" : 7 , "type" : "request" } "#, call),
            (r#"{"type":"call","id":7,"arguments":{"#, call),
            (r#"{"x":"\"}{","id":7,"type":"call","#, call),
            (r#"{"type":"result","id":7,"status":"#, Some(Waiter::HostCall(7))),
            (&deep, call),
            (&before, call),
            (r#"{"type":"call","id":7"#, None),
            (r#"{"type":"call","id":-7}"#, None),
            (r#"{"type":"call","id":7.5}"#, None),
            (r#"{"type":"call","id":99999999999999999999}"#, None),
            (r#"{"type":"call","arguments":{"id":7}}"#, None),
            (r#"{"type":"event","id":7}"#, None),
            (r#"{"type":"call"#, None),
            (r#"["type","call","id",7]"#, None),
            ("", None),
        ] {
            assert_eq!(waiter_of(line.as_bytes()), expected, "{line:.80}");
        }
        assert_eq!(waiter_of(b"{\"type\":\"call\",\"id\":7,\"a\":\"\xff\"}"), call);
    }
}
