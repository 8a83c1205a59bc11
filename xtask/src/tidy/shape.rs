//! Sizes and headers. How long a function may be is clippy's to say (`too_many_lines`).

use super::{Finding, Source};

const MAX_COLUMNS: usize = 100;
const MAX_CODE_LINES: usize = 399;
const MAX_CODE_LINES_WITH_TESTS: usize = 600;
const LIB_HEADER_LINES: std::ops::RangeInclusive<usize> = 3..=12;

/// Adds what is too long, and missing headers.
pub fn check(source: &Source, findings: &mut Vec<Finding>) {
    comment_columns(source, findings);
    file_length(source, findings);
    header(source, findings);
}

/// rustfmt wraps code, but leaves comments as they are.
fn comment_columns(source: &Source, findings: &mut Vec<Finding>) {
    for (line, text) in (1..).zip(source.text.lines()) {
        let columns = text.chars().count();
        if columns > MAX_COLUMNS && text.trim_start().starts_with("//") {
            let what = format!("{columns} columns, at most {MAX_COLUMNS}; wrap the comment");
            findings.push(source.finding(line, what));
        }
    }
}

fn file_length(source: &Source, findings: &mut Vec<Finding>) {
    let all = source.code_lines();
    let outside = if source.is_test { 0 } else { source.code_lines_outside_tests() };
    let what = if outside > MAX_CODE_LINES {
        format!(
            "{outside} lines of code, at most {MAX_CODE_LINES} outside of tests; move what has \
             another purpose to a file of its own"
        )
    } else if all > MAX_CODE_LINES_WITH_TESTS {
        format!(
            "{all} lines of code with tests, at most {MAX_CODE_LINES_WITH_TESTS}; move a group of \
             tests to a file of its own"
        )
    } else {
        return;
    };
    findings.push(source.finding(1, what));
}

fn header(source: &Source, findings: &mut Vec<Finding>) {
    let lines = source.text.lines().take_while(|line| line.starts_with("//!")).count();
    let (least, most) = (LIB_HEADER_LINES.start(), LIB_HEADER_LINES.end());
    if lines == 0 {
        let what = "no header; begin the file with `//!` and say what it is for";
        findings.push(source.finding(1, what));
    } else if source.file_name() == "lib.rs" && !LIB_HEADER_LINES.contains(&lines) {
        let what = format!(
            "a header of {lines} lines, {least} to {most} wanted; say what the crate is for and \
             what it refuses to do"
        );
        findings.push(source.finding(1, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check(&Source::new(path, text.to_owned()), &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    fn lines(count: usize) -> String {
        format!("//! x\n{}", "static A: u8 = 1;\n".repeat(count))
    }

    #[test]
    fn a_wide_comment_is_found() {
        let text = format!("//! x\n// {}\n", "x".repeat(101));
        let expected = "xtask/src/a.rs:2: 104 columns, at most 100; wrap the comment";
        assert_eq!(found("xtask/src/a.rs", &text), [expected]);
    }

    #[test]
    fn a_long_file_is_found_and_tests_may_be_longer() {
        assert!(found("crates/a/src/b.rs", &lines(399)).is_empty());
        assert_eq!(found("crates/a/src/b.rs", &lines(400)).len(), 1);
        assert!(found("crates/a/tests/b.rs", &lines(600)).is_empty());
        assert_eq!(found("crates/a/tests/b.rs", &lines(601)).len(), 1);
        let inline = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(399), lines(150));
        assert!(found("crates/a/src/b.rs", &inline).is_empty());
    }

    #[test]
    fn headers_are_wanted() {
        assert_eq!(found("xtask/src/a.rs", "// x\n").len(), 1);
        assert_eq!(found("xtask/src/lib.rs", "//! x\n//! y\n").len(), 1);
        assert!(found("xtask/src/lib.rs", "//! x\n//!\n//! y\n").is_empty());
        assert_eq!(found("xtask/src/lib.rs", &"//! x\n".repeat(13)).len(), 1);
    }
}
