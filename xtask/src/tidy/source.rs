//! One Rust file, read line by line. Formatting makes lines mean something: rustfmt has put
//! attributes, functions and closing braces on lines of their own.

use super::Finding;

/// A Rust file.
#[derive(Debug)]
pub struct Source {
    /// From the root of the workspace.
    pub path: String,
    /// The folder name of its crate.
    pub krate: String,
    pub text: String,
    /// Whether the whole file is for tests or benches.
    pub is_test: bool,
}

impl Source {
    pub fn new(path: &str, text: String) -> Self {
        let parts: Vec<&str> = path.split('/').collect();
        let krate = match parts.as_slice() {
            ["crates", krate, ..] | [krate, ..] => (*krate).to_owned(),
            [] => String::new(),
        };
        let is_test = parts.iter().any(|part| ["tests", "benches", "tests.rs"].contains(part));
        Self { path: path.to_owned(), krate, text, is_test }
    }

    /// A finding in this file.
    pub fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { file: self.path.clone(), line, what: what.into() }
    }

    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub fn code_lines(&self) -> usize {
        count(self.text.lines(), |line| !line.is_empty() && !is_comment(line))
    }

    pub fn comment_lines(&self) -> usize {
        count(self.text.lines(), is_comment)
    }

    /// Lines of code before the inline tests, which stand at the end of a file.
    pub fn code_lines_outside_tests(&self) -> usize {
        let before = self.text.lines().take_while(|line| *line != "#[cfg(test)]");
        count(before, |line| !line.is_empty() && !is_comment(line))
    }

    /// The names of the tests: functions with `#[test]` or `#[tokio::test]` above them.
    pub fn tests(&self) -> Vec<(usize, String)> {
        let mut marked = false;
        let mut found = Vec::new();
        for (number, line) in (1..).zip(self.text.lines().map(str::trim)) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                marked = true;
            } else if let Some(name) = marked.then(|| function_name(line)).flatten() {
                found.push((number, name.to_owned()));
                marked = false;
            }
        }
        found
    }
}

fn count<'a>(lines: impl Iterator<Item = &'a str>, counts: impl Fn(&str) -> bool) -> usize {
    lines.filter(|line| counts(line.trim())).count()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("crates/engine/src/task.rs", text.to_owned())
    }

    #[test]
    fn lines_are_counted_by_what_they_hold() {
        let source = source("//! a\n\nfn f() { // b\n    // c\n}\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!((source.code_lines(), source.comment_lines()), (4, 2));
        assert_eq!((source.code_lines_outside_tests(), source.krate.as_str()), (2, "engine"));
    }

    #[test]
    fn tests_are_found_by_their_attribute() {
        let text = "#[test]\n#[should_panic]\nfn a() {}\nfn b() {}\n\
                    #[tokio::test(start_paused = true)]\nasync fn c() {}\n";
        assert_eq!(source(text).tests(), [(3, "a".to_owned()), (6, "c".to_owned())]);
    }
}
