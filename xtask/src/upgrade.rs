//! Two real versions on one machine: builds this one, and a copy of the workspace that has the next
//! number, and runs the tests that play an upgrade and a downgrade with both.
//!
//! The copy has folders of its own for what it makes, and shares what is built of other people's
//! crates with the workspace.

use crate::campaigns::succeeds;
use crate::mutants::copy;
use crate::packing::{project::Project, told};
use crate::release::numbered;
use crate::{Fault, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "\
Builds this version and the next one (target/upgrade/), and plays upgrades and downgrades with both
while helpers are at work.

Usage: cargo xtask upgrade";

/// Where the tests find the program of the next version.
const NEWER: &str = "LEGWORK_TEST_NEWER";

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        if let Some(word) = args.first() {
            return Err(Fault::new(format!("`{word}` is not understood")));
        }
        let root = tree::root();
        let began = Instant::now();
        let newer = build_next(&root)?;
        let built = began.elapsed().as_secs();
        let mut tests = Command::new("cargo");
        tests.args(["test", "-p", "legwork", "--test", "upgrade"]).env(NEWER, newer);
        succeeds(tests.current_dir(&root))?;
        let all = began.elapsed().as_secs();
        Ok(format!("Both versions were played: {built} s for the next one, {all} s altogether."))
    })
}

/// The program of the next version.
fn build_next(root: &Path) -> Result<PathBuf, Fault> {
    let target = root.join("target");
    let (own, source) = (target.join("upgrade"), target.join("upgrade/src"));
    copy::refresh(root, &source)?;
    let version = Project::of(root)?.version;
    let manifest = numbered(&tree::read(root, "Cargo.toml")?, &version, &next(&version)?);
    let path = source.join("Cargo.toml");
    std::fs::write(&path, manifest)
        .map_err(|cause| Fault::trying(format!("writing {}", path.display()), cause))?;
    let mut cargo = Command::new("cargo");
    // Not locked: the numbers of the workspace's own crates move.
    cargo.args(["build", "-p", "legwork"]).current_dir(&source);
    succeeds(cargo.env("CARGO_BUILD_BUILD_DIR", &target).env("CARGO_TARGET_DIR", &own))?;
    Ok(own.join("debug/legwork"))
}

/// The next minor version.
fn next(version: &str) -> Result<String, Fault> {
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next(), numbers.next().and_then(|minor| minor.parse().ok()));
    let known: Option<(&str, u64)> = major.zip(minor);
    let (major, minor) = known.ok_or_else(|| Fault::new(format!("`{version}` has no next one")))?;
    Ok(format!("{major}.{}.0", minor + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_the_next_version_is_the_next_minor_one() {
        assert_eq!(next("0.1.0").unwrap(), "0.2.0");
        assert_eq!(next("1.9.7").unwrap(), "1.10.0");
        assert!(next("1").is_err() && next("1.x.0").is_err());
    }
}
