//! The rules that keep the code readable: sizes, words, headers, documents, requirement coverage.
//!
//! One file a group of rules. A rule looks at text and adds findings; it never changes a file.
//! What rustfmt and clippy check already is not repeated here.

mod budget;
mod documents;
mod planted;
mod requirements;
mod shape;
mod source;
mod words;

pub use requirements::{Requirement, Shown};
pub use source::Source;

use crate::{Fault, say, tree};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Checks the rules of this workspace and prints every finding as `file:line: what, and what to do`.

Usage: cargo xtask tidy [options]

Options:
  --requirements   print each requirement and the tests that show it
  --help           print this";

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the root of the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is so, and what to do.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// The lines of one crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Density {
    /// Lines with code, outside of tests.
    pub code: usize,
    /// Lines with nothing but a comment.
    pub comments: usize,
}

/// All that a look at the workspace gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Broken rules, by file and line.
    pub findings: Vec<Finding>,
    /// Lines by crate, without its tests.
    pub density: BTreeMap<String, Density>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(out, "{finding}")?;
        }
        if !self.findings.is_empty() {
            writeln!(out)?;
        }
        for (name, lines) in &self.density {
            let Density { code, comments } = lines;
            let hundredths = comments * 100 / (*code).max(1);
            let (whole, part) = (hundredths / 100, hundredths % 100);
            write!(out, "{name:<12} {code:>6} lines of code, ")?;
            writeln!(out, "{comments:>5} of comment ({whole}.{part:02})")?;
        }
        write!(out, "tidy: {} findings", self.findings.len())
    }
}

/// Looks at the whole workspace below `root`.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path) -> Result<Report, Fault> {
    let files = tree::files(root)?;
    let sources = sources(root, &files)?;
    let mut report = Report::default();
    for source in &sources {
        shape::check(source, &mut report.findings);
        words::check(source, &mut report.findings);
        if !source.is_test {
            let lines = report.density.entry(source.krate.clone()).or_default();
            lines.code += source.code_lines_outside_tests();
            lines.comments += source.comment_lines();
        }
    }
    requirements::check(&sources, &mut report.findings);
    documents::check(root, &files, &mut report.findings);
    planted::check(root, &mut report.findings);
    budget::check(root, &report.density, &mut report.findings);
    report.findings.sort();
    report.findings.dedup();
    Ok(report)
}

/// The chore: prints the report; fails if there is a finding.
pub fn run(args: &[String]) -> ExitCode {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let printed = match words.as_slice() {
        [] => check(&tree::root()).map(|report| (report.to_string(), report.findings.is_empty())),
        ["--requirements"] => coverage(&tree::root()).map(|text| (text, true)),
        ["--help" | "-h"] => Ok((USAGE.to_owned(), true)),
        _ => {
            eprintln!("Not understood: {}\n\n{USAGE}", args.join(" "));
            return ExitCode::from(2);
        }
    };
    match printed {
        Ok((text, clean)) => {
            say(text);
            if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(fault) => {
            eprintln!("tidy could not look: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn coverage(root: &Path) -> Result<String, Fault> {
    Ok(requirements::coverage(&sources(root, &tree::files(root)?)?))
}

fn sources(root: &Path, files: &[String]) -> Result<Vec<Source>, Fault> {
    files
        .iter()
        .filter(|path| path.ends_with(".rs"))
        .filter(|path| ["crates/", "campaigns/", "xtask/"].iter().any(|top| path.starts_with(top)))
        .map(|path| Ok(Source::new(path, tree::read(root, path)?)))
        .collect()
}
