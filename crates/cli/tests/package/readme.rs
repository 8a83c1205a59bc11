//! What the README shows and tells people to type: it is there, and it works.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use xtask::packing::project::Project;

use crate::packages::root;
use crate::stage::{LEGWORK, printed};

/// More is too much for a page that people open on the way.
const PICTURE_MAX_BYTES: usize = 400_000;
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The pieces of a document that are code: fenced blocks and spans between backticks.
fn code(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for (place, part) in text.split("```").enumerate() {
        if place % 2 == 1 {
            pieces.push(part);
        } else {
            pieces.extend(part.split('`').skip(1).step_by(2));
        }
    }
    pieces
}

/// The words that stand behind these in the code of a document: `legwork list` has `list`.
fn behind(text: &str, words: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in code(text) {
        let all: Vec<&str> = piece.split_whitespace().collect();
        for window in all.windows(words.len() + 1).filter(|window| window.starts_with(words)) {
            let next = window[words.len()];
            if next.chars().all(|c| c.is_ascii_lowercase()) {
                found.insert(next.to_owned());
            }
        }
    }
    found
}

/// The first words of the lines of a help that are set in by two spaces.
fn listed(help: &str) -> BTreeSet<String> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
    let words = lines.filter_map(|line| line.split([' ', ',']).next());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn help(args: &[&str]) -> String {
    printed(&Command::new(LEGWORK).args(args).arg("--help").output().unwrap())
}

/// Where links and pictures lead, but for those outside and those within the page.
fn targets(text: &str) -> Vec<&str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.starts_with("http") && !link.starts_with('#')).collect()
}

#[test]
fn i6_the_readme_begins_with_a_moving_picture_of_helpers() {
    let readme = read("README.md");
    let first = readme.split("![").nth(1).unwrap();
    let file = targets(first)[0];
    assert!(readme.find("![") < readme.find("\n## "), "before everything else");
    let picture = read(file);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{file}");
    assert!(picture.len() <= PICTURE_MAX_BYTES, "{}", picture.len());
    for told in ["two background helpers", "[BACKGROUND TASK COMPLETED]", ">Helpers<"] {
        assert!(picture.contains(told), "the story lacks {told:?}; cargo xtask picture");
    }
    assert!(picture.contains("@keyframes") && picture.contains("prefers-reduced-motion"));
    // What a page would refuse to load, or should not have to.
    for foreign in ["<script", "@import", "@font-face", "<image", "<foreignObject", "data:"] {
        assert!(!picture.contains(foreign), "{foreign}");
    }
    assert_eq!(picture.matches("http").count(), picture.matches(NAMESPACE).count());
}

#[test]
fn i6_the_readme_names_the_repository_and_says_if_nothing_is_published() {
    let (readme, project) = (read("README.md"), Project::of(&root()).unwrap());
    let script = format!("{}/releases/latest/download/install.sh", project.repository);
    assert!(readme.contains(&script), "{script}");
    let nobody = project.repository.contains("/OWNER/");
    assert!(!nobody || readme.contains("Nothing is published yet"), "there is no owner yet");
}

#[test]
fn i6_every_link_of_the_readme_leads_to_a_file() {
    for target in targets(&read("README.md")) {
        assert!(root().join(target).is_file(), "{target}");
    }
}

#[test]
fn i6_every_command_that_the_readme_names_exists() {
    let readme = read("README.md");
    let named = behind(&readme, &["legwork"]);
    assert!(named.contains("install") && named.contains("ui"), "{named:?}");
    let there = listed(&help(&[]));
    let missing: Vec<&String> = named.difference(&there).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn i6_the_readme_tells_how_to_install_it_everywhere() {
    let named = behind(&read("README.md"), &["legwork", "install"]);
    let help = help(&["install"]);
    let values = help.split("[possible values: ").nth(1).unwrap().split(']').next().unwrap();
    for host in values.split(',').map(str::trim) {
        assert!(named.contains(host), "{host}: {named:?}");
    }
}

#[test]
fn i6_every_chore_that_documents_name_exists() {
    let chores = listed(&read("xtask/src/main.rs"));
    for name in ["README.md", "CONTRIBUTING.md"] {
        let named = behind(&read(name), &["cargo", "xtask"]);
        assert!(named.contains("picture"), "{name}: {named:?}");
        let missing: Vec<&String> = named.difference(&chores).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
}
