//! The documents that a visitor expects, and what no file may tell.

use super::Finding;
use crate::tree;
use std::path::Path;

const WANTED: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

/// The one command that shows that everything works; the README and the build server share it.
const TEST_COMMAND: &str = "cargo test --workspace --no-fail-fast";

/// Folders at the top of a machine where people and build servers keep their own things.
const PRIVATE: [&str; 3] = ["work", "root", "home"];

/// Adds missing documents, and paths that mean something on one machine only.
pub fn check(root: &Path, files: &[String], findings: &mut Vec<Finding>) {
    let mut add = |file: &str, line: usize, what: String| {
        findings.push(Finding { file: file.to_owned(), line, what });
    };
    for name in WANTED {
        if !files.iter().any(|file| file == name) {
            add(name, 1, "missing; write it".to_owned());
        }
    }
    for name in ["README.md", ".ci/run"] {
        let has_command = tree::read(root, name).is_ok_and(|text| {
            text.lines().any(|line| line.trim_matches(['`', ' ', '$']).ends_with(TEST_COMMAND))
        });
        if !has_command {
            let what = format!("no line with `{TEST_COMMAND}`; README.md and .ci/run share it");
            add(name, 1, what);
        }
    }
    for file in files.iter().filter(|file| !file.ends_with(".snap.new")) {
        // What is no text has no path that a reader could stumble over.
        let Ok(text) = tree::read(root, file) else { continue };
        for (line, words) in (1..).zip(text.lines()) {
            if let Some(folder) = PRIVATE.iter().find(|folder| has_private_path(words, folder)) {
                let what = format!(
                    "a path below `{folder}` at the top of a machine; use a relative or made-up one"
                );
                add(file, line, what);
            }
        }
    }
}

/// Whether an absolute path below the folder stands in the line; `a/home/b` is a relative one.
fn has_private_path(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    let is_relative = |c: char| c.is_alphanumeric() || "_-.~})>*".contains(c);
    line.match_indices(&path).any(|(at, _)| !line[..at].ends_with(is_relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_told_from_relative_ones() {
        let line = |before: &str| format!("{before}/{}/x", "home");
        for absolute in ["", "in ", "`", "\"", "file://", "=", ":"] {
            assert!(has_private_path(&line(absolute), "home"), "{absolute}");
        }
        for relative in ["target", ".", "~", "{dir}", "https://host.example"] {
            assert!(!has_private_path(&line(relative), "home"), "{relative}");
        }
    }
}
