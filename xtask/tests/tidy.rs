//! The tidy rules as an ordinary test, so that `cargo test` tells before anybody else does.
#![expect(clippy::unwrap_used, reason = "a broken assumption of a test should stop it")]

use std::fs;
use std::path::{Path, PathBuf};
use xtask::{tidy, tree};

#[test]
fn the_workspace_is_tidy() {
    let report = tidy::check(&tree::root()).unwrap();
    assert!(report.findings.is_empty(), "\n{report}");
}

#[test]
fn findings_name_the_place_and_what_to_do() {
    let private = format!("//! Reads /{}/someone/notes.\n", "home");
    let root = workspace(&[
        ("ARCHITECTURE.md", "# a\n"),
        ("CHANGELOG.md", "# a\n"),
        ("LICENSE-APACHE", "a\n"),
        ("LICENSE-MIT", "a\n"),
        ("README.md", "Run\n\n    cargo test --workspace --no-fail-fast\n"),
        (".ci/run", "step cargo test --workspace\n"),
        ("crates/engine/src/lib.rs", "//! a\n//!\n//! b\nstruct Deed;\n"),
        ("crates/store/src/task.rs", &private),
        ("xtask/budget.txt", "# a\nengine 500\nstore\ngone 3\n"),
        ("xtask/mutants.txt", "# a\n[a]\nfile: README.md\nfind: gone\nwith: b\nbreaks: c\n"),
        ("target/debug/build.rs", "todo!()\n"),
    ]);
    let report = tidy::check(&root).unwrap();
    let findings = report.findings.iter().map(ToString::to_string);
    let numbered = |text: &String| text.contains("has no test;") || text.contains("is not shown");
    let seen: Vec<String> = findings.filter(|text| !numbered(text)).collect();
    let expected = [
        ".ci/run:1: no line with `cargo test --workspace --no-fail-fast`; README.md and .ci/run share it",
        "CONTRIBUTING.md:1: missing; write it",
        "SECURITY.md:1: missing; write it",
        "crates/engine/src/lib.rs:4: `Deed`; say `Action`",
        "crates/store/src/task.rs:1: a path below `home` at the top of a machine; use a relative \
         or made-up one",
        "xtask/budget.txt:1: `store` has no budget; add a line `store 0`",
        "xtask/budget.txt:2: `engine` has 1 lines of code, at most 500; lower the budget",
        "xtask/budget.txt:3: not understood; write the name of a crate and its lines of code",
        "xtask/budget.txt:4: there is no crate `gone`; remove the line",
        "xtask/mutants.txt:2: `a`: its text occurs 0 times in README.md, once wanted; correct its \
         entry",
    ];
    assert_eq!(seen, expected);
    assert_eq!(report.density["engine"], tidy::Density { code: 1, comments: 3 });
}

fn workspace(files: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tidy");
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}
