//! Mends half characters in JSON. JavaScript cuts texts between the two halves of an emoji, and
//! writes a half as an escape (`\ud83d`) that is valid JSON and no text. A reader that refuses such
//! a line would lose everything else in it.

use std::borrow::Cow;

/// U+FFFD, which stands for what could not be read. As long as what it takes the place of, so that
/// nothing moves.
const REPLACEMENT: &[u8; 4] = b"fffd";

/// The line with every half of a character replaced by U+FFFD. Whole pairs stay, and so does every
/// other byte: what was no JSON before is none afterwards.
pub fn repair_surrogates(line: &[u8]) -> Cow<'_, [u8]> {
    let mut repaired = Cow::Borrowed(line);
    let mut at = 0;
    while let Some(found) = line[at..].iter().position(|byte| *byte == b'\\') {
        at += found;
        match (escape(&line[at..]), line.get(at + 6..).and_then(escape)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.to_mut()[at + 2..at + 6].copy_from_slice(REPLACEMENT);
                at += 6;
            }
            (Some(_), _) => at += 6,
            // A backslash and what it escapes, which may be another backslash.
            (None, _) => at = line.len().min(at + 2),
        }
    }
    repaired
}

/// The number of the escape (`\u1234`) that these bytes begin with.
fn escape(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn repaired(line: &str) -> String {
        String::from_utf8(repair_surrogates(line.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn g2_half_a_character_is_replaced_and_a_whole_one_stays() {
        for (line, expected) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00 x""#, r#""\ufffd x""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\n\ude00""#, r#""\ufffd\n\ufffd""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\ud83d\u0041""#, r#""\ufffd\u0041""#),
            (r#""\ud83""#, r#""\ud83""#),
            (r#""\ud83dé""#, r#""\ufffdé""#),
            ("\"\\", "\"\\"),
        ] {
            assert_eq!(repaired(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_without_halves_is_not_copied() {
        for line in [&br#"{"a":"\ud83d\ude00\\"}"#[..], b"", b"\xff\\"] {
            assert!(matches!(repair_surrogates(line), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn g2_what_only_half_a_character_was_wrong_with_can_be_read() {
        let line = br#"{"\ud800":["a\udfff b \ud83d\ude00"]}"#;
        assert!(serde_json::from_slice::<Value>(line).is_err());
        let read: Value = serde_json::from_slice(&repair_surrogates(line)).unwrap();
        assert_eq!(read["\u{fffd}"][0], "a\u{fffd} b \u{1f600}");
    }
}
