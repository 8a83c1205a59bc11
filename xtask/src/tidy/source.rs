//! One Rust file, cut up once for all rules.

use super::Finding;
use crate::lexer::{self, Kind, Span, Token};
use std::ops::RangeInclusive;

/// What a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Blank,
    Comment,
    Code,
}

/// A function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// From the line of `fn` to that of the closing brace.
    pub lines: RangeInclusive<usize>,
    /// Whether `#[test]` stands before it.
    pub is_test: bool,
}

/// One Rust file.
#[derive(Debug)]
pub struct Source {
    /// From the root of the workspace.
    pub path: String,
    /// The folder name of its crate.
    pub room: String,
    /// As written.
    pub text: String,
    /// Whether the whole file is for tests or benches.
    pub is_test: bool,
    /// Its code in words.
    pub tokens: Vec<Token>,
    spans: Vec<Span>,
    lines: Vec<Line>,
}

impl Source {
    /// Cuts up the text of the file at `path`.
    pub fn new(path: &str, text: String) -> Self {
        let spans = lexer::lex(&text);
        let tokens = lexer::tokens(&lexer::code_only(&text, &spans));
        let parts: Vec<&str> = path.split('/').collect();
        let room = match parts.as_slice() {
            ["crates", room, ..] | [room, ..] => (*room).to_owned(),
            [] => String::new(),
        };
        let is_test = parts.iter().any(|part| ["tests", "benches", "tests.rs"].contains(part));
        let lines = classify(&text, &spans);
        Self { path: path.to_owned(), room, text, is_test, tokens, spans, lines }
    }

    /// A finding in this file.
    pub fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { file: self.path.clone(), line, what: what.into() }
    }

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// How many lines hold code.
    pub fn code_lines(&self) -> usize {
        self.lines.iter().filter(|line| **line == Line::Code).count()
    }

    /// How many lines hold nothing but a comment.
    pub fn comment_lines(&self) -> usize {
        self.lines.iter().filter(|line| **line == Line::Comment).count()
    }

    /// How many lines of code stand outside of the inline test modules.
    pub fn code_lines_outside_tests(&self) -> usize {
        let inside = self.test_modules();
        let outside = |number: usize| !inside.iter().any(|lines| lines.contains(&number));
        let code = self.lines.iter().zip(1..).filter(|(line, _)| **line == Line::Code);
        code.filter(|(_, number)| outside(*number)).count()
    }

    /// The string literals without their quotes, with the line that each begins on.
    pub fn literals(&self) -> Vec<(usize, &str)> {
        let is_literal = |span: &&Span| matches!(span.kind, Kind::Text | Kind::RawText);
        let inside = |span: &Span| {
            let text = &self.text[span.start..span.end];
            text.trim_start_matches(['b', 'c', 'r']).trim_matches('#').trim_matches('"')
        };
        let spans = self.spans.iter().filter(is_literal);
        spans.map(|span| (self.line_at(span.start), inside(span))).collect()
    }

    /// The lines that lie in a raw string which began on an earlier line.
    pub fn raw_lines(&self) -> Vec<RangeInclusive<usize>> {
        let raw = self.spans.iter().filter(|span| span.kind == Kind::RawText);
        raw.map(|span| self.line_at(span.start) + 1..=self.line_at(span.end)).collect()
    }

    /// Whether the words of `code` begin at the given place.
    pub fn has_at(&self, index: usize, code: &[&str]) -> bool {
        let found = self.tokens[index.min(self.tokens.len())..].iter();
        found.take(code.len()).map(|token| token.text.as_str()).eq(code.iter().copied())
    }

    /// All functions with a body, also those inside of others.
    pub fn functions(&self) -> Vec<Function> {
        (0..self.tokens.len()).filter_map(|index| self.function_at(index)).collect()
    }

    fn function_at(&self, index: usize) -> Option<Function> {
        let name = &self.tokens.get(index + 1)?.text;
        // `fn(` is a type, and `fn $name` is for the macro that fills it in.
        if self.tokens[index].text != "fn" || !name.starts_with(|c: char| c.is_alphabetic()) {
            return None;
        }
        let body = self.body_from(index)?;
        let last = self.closing(body)?;
        Some(Function {
            name: name.clone(),
            lines: self.tokens[index].line..=self.tokens[last].line,
            is_test: self.is_marked_test(index),
        })
    }

    /// The brace that opens the body of the item at `index`; `None` for one without a body.
    fn body_from(&self, index: usize) -> Option<usize> {
        let mut depth = 0_i32;
        for (at, token) in self.tokens.iter().enumerate().skip(index) {
            match token.text.as_str() {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "{" if depth == 0 => return Some(at),
                ";" if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The brace that closes the one at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_i32;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// Whether `#[test]` stands between the item at `index` and whatever comes before it.
    fn is_marked_test(&self, index: usize) -> bool {
        let before = self.tokens[..index]
            .iter()
            .rposition(|token| matches!(token.text.as_str(), ";" | "{" | "}"));
        (before.map_or(0, |end| end + 1)..index).any(|at| self.has_at(at, &["test", "]"]))
    }

    fn test_modules(&self) -> Vec<RangeInclusive<usize>> {
        const MARK: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
        let marks = (0..self.tokens.len()).filter(|index| self.has_at(*index, &MARK));
        let lines = |index: usize| {
            let last = self.closing(self.body_from(index + MARK.len())?)?;
            Some(self.tokens[index].line..=self.tokens[last].line)
        };
        marks.filter_map(lines).collect()
    }

    fn line_at(&self, byte: usize) -> usize {
        1 + self.text[..byte].matches('\n').count()
    }
}

fn classify(text: &str, spans: &[Span]) -> Vec<Line> {
    let mut lines = vec![Line::Blank; text.lines().count()];
    let mut number = 0;
    for span in spans {
        let kind = if span.kind == Kind::Comment { Line::Comment } else { Line::Code };
        for (index, part) in text[span.start..span.end].split('\n').enumerate() {
            number += usize::from(index > 0);
            let says_something = !part.trim().is_empty();
            if let Some(line) = lines.get_mut(number)
                && says_something
                && *line != Line::Code
            {
                *line = kind;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("crates/engine/src/task.rs", text.to_owned())
    }

    #[test]
    fn lines_are_counted_by_what_they_hold() {
        let source = source("//! a\n\nfn f() { // b\n    /* c */\n    \"x\n\n  y\"\n}\n");
        assert_eq!((source.code_lines(), source.comment_lines()), (4, 2));
        assert_eq!(source.room, "engine");
    }

    #[test]
    fn functions_are_found_with_their_lines() {
        let text = "#[test]\n#[should_panic]\nfn a(x: [u8; 2])\nwhere\n{\n    fn b() {}\n}\n\
                    trait T { fn c(&self); }\ntype F = fn(u8) -> u8;\nasync fn d() {}\n";
        let found = source(text).functions();
        let seen: Vec<_> =
            found.iter().map(|f| (f.name.as_str(), f.lines.clone(), f.is_test)).collect();
        assert_eq!(seen, [("a", 3..=7, true), ("b", 6..=6, false), ("d", 10..=10, false)]);
    }

    #[test]
    fn inline_tests_count_apart() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        assert_eq!(source(text).code_lines_outside_tests(), 2);
        assert_eq!(source("#[cfg(test)]\nmod tests;\nfn a() {}\n").code_lines_outside_tests(), 3);
    }

    #[test]
    fn literals_come_without_their_quotes() {
        let source = source("f(\"a\", b\"b\",\n r#\"c\nd\"#)");
        assert_eq!(source.literals(), [(1, "a"), (1, "b"), (2, "c\nd")]);
        assert_eq!(source.raw_lines(), [3..=3]);
    }
}
