//! The notices of the crates that are built into the program: who wrote them, under which licence,
//! and the texts that their licences want to be passed on. Cargo says which crates those are and
//! where their sources lie; equal texts are printed once.

use super::{run as run_program, told, write};
use crate::{Fault, tree};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Writes the notices of everything that is built into the program.

Usage: cargo xtask notices [--out FILE]

Options:
  --out FILE   THIRD-PARTY.md if nothing is said";

/// How the files begin, in any case, that hold a licence or a notice.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];
/// No licence is longer; what is, is something else.
const TEXT_MAX_BYTES: usize = 100_000;

/// A crate, with where its manifest is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    name: String,
    version: String,
    licence: String,
}

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        let words = super::Words::read(args, &["--out"])?;
        let root = tree::root();
        let out = words.value("--out").map_or_else(|| root.join("THIRD-PARTY.md"), PathBuf::from);
        write(&out, of(&root)?)?;
        Ok(out.display().to_string())
    })
}

/// The text of `THIRD-PARTY.md`.
///
/// # Errors
/// When Cargo does not say what is built in, or a crate has neither a text nor a licence.
pub fn of(root: &Path) -> Result<String, Fault> {
    let cargo = |words: &[&str]| run_program(Command::new("cargo").current_dir(root).args(words));
    let listed = cargo(&[
        "tree",
        "--locked",
        "--package",
        "legwork",
        "--edges",
        "normal",
        "--target",
        "all",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}\t{l}",
    ])?;
    let metadata = cargo(&["metadata", "--locked", "--format-version", "1"])?;
    let mut texts: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let mut parts = parts(&listed);
    parts.dedup();
    for part in &parts {
        let folder = folder_of(&metadata, part)
            .ok_or_else(|| Fault::new(format!("no sources of {} {}", part.name, part.version)))?;
        let found = texts_in(&folder)?;
        if found.is_empty() && part.licence.is_empty() {
            return Err(Fault::new(format!("{} has neither a licence nor its text", part.name)));
        }
        for text in found {
            texts.entry(text).or_default().push(part.clone());
        }
    }
    Ok(page(&parts, &texts))
}

/// The crates of others in what `cargo tree` printed: `name v1.2.3\tlicence`. Our own have a path.
fn parts(listed: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = listed
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.split_once('\t')?;
            let (name, rest) = package.split_once(" v")?;
            let version = rest.split(' ').next()?;
            let is_ours = rest.contains("(/") || name.starts_with("legwork");
            (!is_ours).then(|| Part {
                name: name.to_owned(),
                version: version.to_owned(),
                licence: licence.to_owned(),
            })
        })
        .collect();
    parts.sort();
    parts
}

/// Where the sources of a crate lie, as `cargo metadata` says.
fn folder_of(metadata: &str, part: &Part) -> Option<PathBuf> {
    let end = format!("/{}-{}/Cargo.toml", part.name, part.version);
    let paths = metadata.split("\"manifest_path\":\"").skip(1);
    let mut paths = paths.filter_map(|rest| rest.split('"').next());
    Path::new(paths.find(|path| path.ends_with(&end))?).parent().map(Path::to_owned)
}

/// The texts of licences and notices in a folder, in the order of their names.
fn texts_in(folder: &Path) -> Result<Vec<String>, Fault> {
    let failed = |cause| Fault::trying(format!("reading {}", folder.display()), cause);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && BEGINNINGS.iter().any(|begin| name.starts_with(begin)) {
            files.push(path);
        }
    }
    files.sort();
    let texts = files.iter().filter_map(|path| fs::read_to_string(path).ok());
    let texts = texts.filter(|text| text.len() <= TEXT_MAX_BYTES);
    Ok(texts.map(|text| normal(&text)).collect())
}

/// The same words look the same, whatever ends their lines.
fn normal(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn page(parts: &[Part], texts: &BTreeMap<String, Vec<Part>>) -> String {
    let mut page = String::from(
        "# Third-party notices\n\nThe program `legwork` is built with these crates. Their licences \
         follow, each text once.\n\n| crate | version | licence |\n|---|---|---|\n",
    );
    for Part { name, version, licence } in parts {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {name} | {version} | {licence} |");
    }
    page.push_str("\nSQLite, which is built in through libsqlite3-sys, is in the public domain.\n");
    for (text, of) in texts {
        let names: Vec<String> = of.iter().map(|p| format!("{} {}", p.name, p.version)).collect();
        let fence = if text.contains("```") { "~~~~" } else { "```" };
        let _ = write!(page, "\n## {}\n\n{fence}text\n{text}\n{fence}\n", names.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_crates_of_others_are_told_from_our_own() {
        let listed = "legwork v0.1.0 (/a/b)\tMIT\nserde v1.0.2\tMIT OR Apache-2.0\n\
                      proc v1.0.0 (proc-macro)\tMIT\nserde v1.0.2\tMIT OR Apache-2.0\n";
        let names: Vec<String> = parts(listed).into_iter().map(|part| part.name).collect();
        assert_eq!(names, ["proc", "serde", "serde"]);
    }

    #[test]
    fn i2_a_text_that_several_have_stands_once() {
        let part = |name: &str| Part {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT".to_owned(),
        };
        let parts = [part("a"), part("b")];
        let texts = BTreeMap::from([(normal("\r\nMIT \r\nwords\r\n"), parts.to_vec())]);
        let page = page(&parts, &texts);
        assert!(page.ends_with("\n## a 1.0.0, b 1.0.0\n\n```text\nMIT\nwords\n```\n"), "{page}");
    }
}
