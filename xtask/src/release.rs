//! A release as a commit and a tag: one number in every manifest and document, a dated chapter of
//! the changelog. What follows from the tag, the build server does.

use crate::packing::{project::Project, run as run_program, told};
use crate::{Fault, tree};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Sets the version everywhere, dates the changelog, commits, and tags.

Usage: cargo xtask release VERSION

Nothing is pushed. Look at the commit, then push it with its tag.";

/// The placeholder of an owner, for as long as the project has no address of its own.
const NOBODY: &str = "/OWNER/";
const UNRELEASED: &str = "## Unreleased\n";

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        let [version] = args else { return Err(Fault::new("one version is wanted")) };
        let today = run_program(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
        make(&tree::root(), version, today.trim())?;
        Ok(format!("Committed and tagged as v{version}. Look at it, then push both."))
    })
}

/// Makes the commit and the tag in the repository at `root`.
///
/// # Errors
/// When the tree has changes, the version is none or not a new one, or the changelog has nothing
/// to tell. Nothing is changed then.
pub fn make(root: &Path, version: &str, today: &str) -> Result<(), Fault> {
    let git = |words: &[&str]| run_program(Command::new("git").current_dir(root).args(words));
    let project = Project::of(root)?;
    if !is_version(version) {
        return Err(Fault::new(format!("`{version}` is no version; three numbers are: 0.2.0")));
    }
    if !git(&["status", "--porcelain"])?.is_empty() {
        return Err(Fault::new("the tree has changes that are not committed; commit them first"));
    }
    let tag = format!("v{version}");
    if !git(&["tag", "--list", &tag])?.is_empty() {
        return Err(Fault::new(format!("there is a tag {tag} already")));
    }
    if project.repository.contains(NOBODY) {
        return Err(Fault::new(
            "`repository` in Cargo.toml and install.sh still names no owner; set it first",
        ));
    }
    let changelog = dated(&tree::read(root, "CHANGELOG.md")?, version, today)?;
    let manifest = numbered(&tree::read(root, "Cargo.toml")?, &project.version, version);
    put(root, "CHANGELOG.md", &changelog)?;
    put(root, "Cargo.toml", &manifest)?;
    for name in documents(root)? {
        let text = tree::read(root, &name)?;
        put(root, &name, &text.replace(&at(&project.version), &at(version)))?;
    }
    // Its own crates have the new number in the lock file too; nothing else moves.
    let words = ["update", "--quiet", "--offline", "--workspace"];
    run_program(Command::new("cargo").current_dir(root).args(words))?;
    git(&["commit", "--quiet", "--all", "--message", &format!("release: {version}")])?;
    git(&["tag", "--annotate", "--message", &format!("legwork {version}"), &tag])?;
    Ok(())
}

/// The documents that may tell people a number to type. What changed when is not among them.
///
/// # Errors
/// When a folder cannot be read.
pub fn documents(root: &Path) -> Result<Vec<String>, Fault> {
    let is_one = |name: &String| name.ends_with(".md") && name != "CHANGELOG.md";
    Ok(tree::files(root)?.into_iter().filter(is_one).collect())
}

/// How a document names an exact version.
fn at(version: &str) -> String {
    format!("legwork@{version}")
}

fn put(root: &Path, name: &str, text: &str) -> Result<(), Fault> {
    fs::write(root.join(name), text)
        .map_err(|cause| Fault::trying(format!("writing {name}"), cause))
}

fn is_version(word: &str) -> bool {
    let numbers: Vec<&str> = word.split('.').collect();
    let is_number = |part: &&str| {
        let is_plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_plain && (part.len() == 1 || !part.starts_with('0'))
    };
    numbers.len() == 3 && numbers.iter().all(is_number)
}

/// The root manifest with another number: the workspace's own, and the exact ones by which its
/// crates need each other.
pub(crate) fn numbered(manifest: &str, old: &str, new: &str) -> String {
    let lines = manifest.split_inclusive('\n').map(|line| {
        let is_own = line.starts_with("version = ");
        let is_path = line.starts_with("legwork-") && line.contains("path = ");
        let quoted = |version: &str| format!("\"{version}\"");
        let exact = |version: &str| format!("\"={version}\"");
        match (is_own, is_path) {
            (true, _) => line.replacen(&quoted(old), &quoted(new), 1),
            (_, true) => line.replacen(&exact(old), &exact(new), 1),
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

/// The changelog with its first chapter dated, and an empty one before it.
fn dated(changelog: &str, version: &str, today: &str) -> Result<String, Fault> {
    let Some((before, after)) = changelog.split_once(UNRELEASED) else {
        return Err(Fault::new("CHANGELOG.md has no chapter \"## Unreleased\""));
    };
    let chapter = after.split("\n## ").next().unwrap_or_default();
    if chapter.trim().is_empty() {
        return Err(Fault::new("CHANGELOG.md tells nothing under \"## Unreleased\""));
    }
    Ok(format!("{before}{UNRELEASED}\n## {version} ({today})\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_versions_are_three_numbers() {
        for version in ["0.1.0", "10.20.30"] {
            assert!(is_version(version), "{version}");
        }
        for word in ["", "1", "1.2", "v1.2.3", "1.2.3-rc.1", "01.2.3", "1..3"] {
            assert!(!is_version(word), "{word}");
        }
    }

    #[test]
    fn i2_only_our_own_numbers_change() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n\
                        legwork-a = { path = \"a\", version = \"=0.1.0\" }\n\
                        strsim = { version = \"0.1.0\" }\n";
        let expected = "[workspace.package]\nversion = \"0.2.0\"\n\
                        legwork-a = { path = \"a\", version = \"=0.2.0\" }\n\
                        strsim = { version = \"0.1.0\" }\n";
        assert_eq!(numbered(manifest, "0.1.0", "0.2.0"), expected);
    }

    #[test]
    fn i2_an_empty_chapter_is_no_release() {
        let dated = |text| dated(text, "0.2.0", "2026-01-02");
        let made = dated("# a\n\n## Unreleased\n\n- b\n\n## 0.1.0\n").unwrap();
        assert_eq!(made, "# a\n\n## Unreleased\n\n## 0.2.0 (2026-01-02)\n\n- b\n\n## 0.1.0\n");
        assert!(dated("# a\n\n## Unreleased\n\n## 0.1.0\n\n- b\n").is_err());
        assert!(dated("# a\n").is_err());
    }
}
