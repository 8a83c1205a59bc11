//! Sizes and headers.

use super::{Finding, Source};

const MAX_COLUMNS: usize = 100;
const MAX_CODE_LINES: usize = 399;
const MAX_CODE_LINES_WITH_TESTS: usize = 600;
const MAX_FUNCTION_LINES: usize = 69;
const LIB_HEADER_LINES: std::ops::RangeInclusive<usize> = 3..=12;

/// Adds what is too long, and missing headers.
pub fn check(source: &Source, findings: &mut Vec<Finding>) {
    columns(source, findings);
    file_length(source, findings);
    functions(source, findings);
    header(source, findings);
}

fn columns(source: &Source, findings: &mut Vec<Finding>) {
    // The text inside a raw string is often a snapshot, which cannot be wrapped.
    let raw = source.raw_lines();
    for (line, text) in (1..).zip(source.text.lines()) {
        let columns = text.chars().count();
        if columns > MAX_COLUMNS && !raw.iter().any(|lines| lines.contains(&line)) {
            let what = format!("{columns} columns, at most {MAX_COLUMNS}; wrap the line");
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

fn functions(source: &Source, findings: &mut Vec<Finding>) {
    for function in source.functions() {
        let lines = function.lines.end() - function.lines.start() + 1;
        if lines > MAX_FUNCTION_LINES {
            let what = format!(
                "`{}` has {lines} lines, at most {MAX_FUNCTION_LINES}; give a part of it a name",
                function.name
            );
            findings.push(source.finding(*function.lines.start(), what));
        }
    }
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
    fn a_wide_line_is_found_unless_it_is_raw_text() {
        let wide = "x".repeat(101);
        let text = format!("//! x\n// {}\nconst A: &str = r\"\n{wide}\n\";\n", &wide[4..]);
        assert!(found("xtask/src/a.rs", &text).is_empty());
        let text = format!("//! x\n// {wide}\n");
        let expected = "xtask/src/a.rs:2: 104 columns, at most 100; wrap the line";
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
    fn a_long_function_is_found() {
        let function =
            |inside: usize| format!("//! x\nfn f() {{\n{}}}\n", "    a;\n".repeat(inside));
        assert!(found("xtask/src/a.rs", &function(67)).is_empty());
        let expected = "xtask/src/a.rs:2: `f` has 70 lines, at most 69; give a part of it a name";
        assert_eq!(found("xtask/src/a.rs", &function(68)), [expected]);
    }

    #[test]
    fn headers_are_wanted() {
        assert_eq!(found("xtask/src/a.rs", "// x\n").len(), 1);
        assert_eq!(found("xtask/src/lib.rs", "//! x\n//! y\n").len(), 1);
        assert!(found("xtask/src/lib.rs", "//! x\n//!\n//! y\n").is_empty());
        assert_eq!(found("xtask/src/lib.rs", &"//! x\n".repeat(13)).len(), 1);
    }
}
