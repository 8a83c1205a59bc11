//! The planting of defects, tried on a workspace of one small file.
#![expect(clippy::unwrap_used, reason = "a broken assumption of a test should stop it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xtask::mutants::{Plan, Verdict, list, run_all};

const MANIFEST: &str = r#"
[workspace]
[package]
name = "legwork-sim"
edition = "2021"
[[bin]]
name = "sim"
path = "src/main.rs"
"#;

/// A simulation in small: each seed adds one, and the sum must fit.
const MAIN: &str = r#"
fn main() {
    let seeds: u64 = std::env::args().last().unwrap().parse().unwrap();
    let mut sum = 0;
    for seed in 1..=seeds {
        sum += 1;
        let unused = 0;
        assert!(sum < 1000, "too much");
        if sum != seed {
            println!("broken: sums: {sum} is not {seed} + {unused}");
            println!("seeds: {seed}");
            std::process::exit(1);
        }
    }
}
"#;

const LIST: &str = "
[counts-double]
file: src/main.rs
find: sum += 1
with: sum += 2
breaks: every sum is wrong

[too-much]
file: src/main.rs
find: sum += 1
with: sum += 1000
breaks: the sum is too large

[no-end]
file: src/main.rs
find: sum += 1;
with: loop {}
breaks: the first history goes on for ever

[changes-nothing]
file: src/main.rs
find: unused = 0
with: unused = 1
breaks: nothing that anybody looks at

[no-rust]
file: src/main.rs
find: sum += 1;
with: sum +=
breaks: the grammar
";

fn workspace(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(root.join("src/main.rs"), MAIN).unwrap();
    root
}

fn plan(root: &Path, list: &str) -> Plan {
    let mutants = list::parse(list).unwrap();
    Plan { root: root.to_owned(), mutants, seeds: 3, limit: Duration::from_secs(10) }
}

fn caught(by: &str, seeds: Option<u64>) -> Verdict {
    Verdict::Caught { by: by.to_owned(), seeds }
}

#[test]
fn each_defect_gets_its_verdict_and_the_original_stays() {
    let root = workspace("mutants-verdicts");
    let trials = run_all(&plan(&root, LIST), &mut |_| {}).unwrap();
    let verdicts: Vec<(&str, Verdict)> =
        trials.iter().map(|trial| (trial.name.as_str(), trial.verdict.clone())).collect();
    let expected = [
        ("counts-double", caught("sums", Some(1))),
        ("too-much", caught("panic in src/main.rs", None)),
        ("no-end", caught("no end", None)),
        ("changes-nothing", Verdict::Survived),
        ("no-rust", Verdict::Unbuildable),
    ];
    assert_eq!(verdicts, expected);
    let copy = fs::read_to_string(root.join("target/mutants/work/src/main.rs")).unwrap();
    assert_eq!(copy, MAIN);
    assert_eq!(fs::read_to_string(root.join("src/main.rs")).unwrap(), MAIN);
}

#[test]
fn a_place_that_is_not_there_stops_the_run_before_it_begins() {
    let root = workspace("mutants-stale");
    let stale = LIST.replace("find: unused = 0", "find: gone = 0");
    let fault = run_all(&plan(&root, &stale), &mut |_| {}).unwrap_err().to_string();
    assert!(fault.starts_with("`changes-nothing`: its text occurs 0 times"), "{fault}");
    assert!(!root.join("target").exists());
}

#[test]
fn healthy_code_that_fails_is_no_ground_for_a_verdict() {
    let root = workspace("mutants-sick");
    fs::write(root.join("src/main.rs"), MAIN.replace("let mut sum = 0", "let mut sum = 9"))
        .unwrap();
    let fault = run_all(&plan(&root, LIST), &mut |_| {}).unwrap_err().to_string();
    assert!(fault.starts_with("The healthy code does not pass; see "), "{fault}");
}
