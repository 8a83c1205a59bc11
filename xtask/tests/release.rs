//! The chores of a release: the formula, the notices, the commit with its tag.
#![expect(clippy::unwrap_used, reason = "a broken assumption of a test should stop it")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use xtask::packing::project::Project;
use xtask::packing::{SYSTEMS, formula, notices};
use xtask::release;
use xtask::tree::root;

#[test]
fn i2_the_formula_names_each_archive_with_its_sum() {
    let project =
        Project { version: "1.2.3".to_owned(), repository: "https://host.example/x".to_owned() };
    let line = |(at, (_, target)): (usize, &(&str, &str))| {
        format!("{}  legwork-{target}.tar.gz\n", at.to_string().repeat(64))
    };
    let sums: String = SYSTEMS.iter().enumerate().map(line).collect();
    let text = formula::text(&project, &sums).unwrap();
    for (at, (_, target)) in SYSTEMS.iter().enumerate() {
        let sum = at.to_string().repeat(64);
        let expected = format!(
            "      url \"https://host.example/x/releases/download/v1.2.3/legwork-{target}.tar.gz\"\
             \n      sha256 \"{sum}\"\n"
        );
        assert!(text.contains(&expected), "{text}");
    }
    let short = sums.replacen("0000", "", 1);
    let fault = formula::text(&project, &short).unwrap_err().to_string();
    assert!(fault.starts_with("the sums have none for legwork-x86_64"), "{fault}");
}

#[test]
fn i2_the_notices_name_what_is_built_in() {
    let text = notices::of(&root()).unwrap();
    for name in ["tokio", "rusqlite", "libsqlite3-sys", "clap", "serde"] {
        assert!(text.contains(&format!("\n| {name} | ")), "{name}");
    }
    for name in ["insta", "proptest", "tempfile", "legwork-engine"] {
        assert!(!text.contains(&format!("\n| {name} | ")), "{name} is for development");
    }
    assert!(text.contains("Permission is hereby granted, free of charge"));
}

/// For development only; all others are released together.
const PRIVATE: [&str; 3] = ["legwork-sim", "legwork-testkit", "xtask"];

#[test]
fn i2_every_crate_but_those_for_development_can_be_published() {
    let cargo = |words: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root()).args(words);
        let done = cargo.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done
    };
    let words = ["metadata", "--offline", "--no-deps", "--format-version", "1"];
    let metadata: Value = serde_json::from_slice(&cargo(&words).stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names = |wanted: bool| {
        let some = packages.iter().filter(|package| package["publish"].is_null() == wanted);
        let mut names: Vec<&str> = some.map(|package| package["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(false), PRIVATE);
    for package in packages.iter().filter(|package| package["publish"].is_null()) {
        for field in ["description", "license", "repository", "readme"] {
            assert!(package[field].is_string(), "{} has no {field}", package["name"]);
        }
    }
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy().into_owned();
    let mut words = vec!["package", "--offline", "--no-verify", "--allow-dirty", "--workspace"];
    words.extend(["--target-dir", &folder]);
    words.extend(PRIVATE.iter().flat_map(|name| ["--exclude", name]));
    cargo(&words);
    let made = fs::read_dir(out.path().join("package")).unwrap();
    let made = made.filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|end| end == "crate")
    });
    assert_eq!(made.count(), names(true).len());
}

/// A workspace of one crate that has history.
fn workspace(repository: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let manifest = format!(
        "[workspace]\nmembers = [\"a\"]\n\n[workspace.package]\nversion = \"0.1.0\"\n\
         repository = \"{repository}\"\n\n[workspace.dependencies]\n\
         legwork-a = {{ path = \"a\", version = \"=0.1.0\" }}\n"
    );
    write("Cargo.toml", &manifest);
    write("a/Cargo.toml", "[package]\nname = \"legwork-a\"\nversion.workspace = true\n");
    write("a/src/lib.rs", "");
    write("README.md", "opencode plugin legwork@0.1.0\n");
    write("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n- New: all of it.\n");
    let lock = "version = 4\n\n[[package]]\nname = \"legwork-a\"\nversion = \"0.1.0\"\n";
    write("Cargo.lock", lock);
    git(folder.path(), &["init", "-q"]);
    for (name, value) in [("user.name", "t"), ("user.email", "t@localhost")] {
        git(folder.path(), &["config", name, value]);
    }
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "first"]);
    folder
}

fn git(folder: &Path, words: &[&str]) -> String {
    let done = Command::new("git").current_dir(folder).args(words).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn i2_a_release_is_one_number_everywhere_a_commit_and_a_tag() {
    let folder = workspace("https://host.example/x");
    let root = folder.path();
    release::make(root, "0.2.0", "2026-01-02").unwrap();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert!(read("Cargo.toml").contains("version = \"=0.2.0\""), "{}", read("Cargo.toml"));
    assert_eq!(Project::of(root).unwrap().version, "0.2.0");
    assert!(read("Cargo.lock").contains("version = \"0.2.0\""), "{}", read("Cargo.lock"));
    assert_eq!(read("README.md"), "opencode plugin legwork@0.2.0\n");
    let changes = "# Changes\n\n## Unreleased\n\n## 0.2.0 (2026-01-02)\n\n- New: all of it.\n";
    assert_eq!(read("CHANGELOG.md"), changes);
    assert_eq!(git(root, &["status", "--porcelain"]), "");
    assert_eq!(git(root, &["describe"]), "v0.2.0\n");
    assert_eq!(git(root, &["log", "-1", "--format=%s"]), "release: 0.2.0\n");
}

#[test]
fn i2_a_release_is_refused_before_anything_is_changed() {
    let folder = workspace("https://host.example/x");
    let root = folder.path();
    let fault = |version: &str| release::make(root, version, "2026-01-02").unwrap_err().to_string();
    assert_eq!(fault("0.2"), "`0.2` is no version; three numbers are: 0.2.0");
    git(root, &["tag", "v0.2.0"]);
    assert_eq!(fault("0.2.0"), "there is a tag v0.2.0 already");
    fs::write(root.join("new"), "").unwrap();
    let dirty = "the tree has changes that are not committed; commit them first";
    assert_eq!(fault("0.3.0"), dirty);
    fs::remove_file(root.join("new")).unwrap();
    assert_eq!(git(root, &["status", "--porcelain"]), "");

    let folder = workspace("https://host.example/OWNER/x");
    let fault = release::make(folder.path(), "0.2.0", "2026-01-02").unwrap_err().to_string();
    let expected = "`repository` in Cargo.toml and install.sh still names no owner; set it first";
    assert_eq!(fault, expected);
    assert_eq!(git(folder.path(), &["status", "--porcelain"]), "");
}
