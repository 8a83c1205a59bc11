//! The list of planted defects: reading it, and putting one defect into a text.

use super::LIST;
use crate::{Fault, tree};
use std::collections::BTreeSet;
use std::path::Path;

/// A planted defect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mutant {
    /// A short name of lower-case letters, digits and `-`.
    pub name: String,
    /// The file to change, from the root of the workspace.
    pub file: String,
    /// The text to replace; it occurs exactly once in the file.
    pub find: String,
    /// The text to put there.
    pub with: String,
    /// What it breaks, in a sentence.
    pub breaks: String,
    /// The line of the list where it begins.
    pub line: usize,
}

impl Mutant {
    /// The text of its file with the defect in it.
    ///
    /// # Errors
    /// When the place is not there, or not the only one.
    pub fn plant(&self, text: &str) -> Result<String, Fault> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.with, 1)),
            count => Err(Fault::new(format!(
                "`{}`: its text occurs {count} times in {}, once wanted; correct its entry",
                self.name, self.file
            ))),
        }
    }
}

/// What is wrong with the list, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// What is so, and what to do.
    pub what: String,
}

/// Reads the list of the workspace below `root`.
///
/// # Errors
/// When it is not there or cannot be understood.
pub fn load(root: &Path) -> Result<Vec<Mutant>, Fault> {
    let at = |wrong: Wrong| Fault::new(format!("{LIST}:{}: {}", wrong.line, wrong.what));
    parse(&tree::read(root, LIST)?).map_err(at)
}

/// Reads the text of a list; its first lines describe the format.
///
/// # Errors
/// At the first line or entry that cannot be understood.
pub fn parse(text: &str) -> Result<Vec<Mutant>, Wrong> {
    let mut mutants: Vec<Mutant> = Vec::new();
    let mut given = BTreeSet::new();
    for (line, words) in (1..).zip(text.lines()) {
        let wrong = |what: String| Wrong { line, what };
        if words.trim().is_empty() || words.starts_with('#') {
            continue;
        }
        if let Some(name) =
            words.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']'))
        {
            check_name(name, &mutants).map_err(wrong)?;
            mutants.push(Mutant { name: name.to_owned(), line, ..Mutant::default() });
            given.clear();
            continue;
        }
        let entry = mutants
            .last_mut()
            .ok_or_else(|| wrong("before the first `[name]`; begin an entry first".to_owned()))?;
        let Some((key, value)) = words.split_once(':') else {
            return Err(wrong("no `key: value`; see the top of the file".to_owned()));
        };
        let value = value.strip_prefix(' ').unwrap_or(value).trim_end();
        let is_first = given.insert(key.to_owned());
        set(entry, key, value, is_first).map_err(wrong)?;
    }
    for mutant in &mutants {
        check_whole(mutant).map_err(|what| Wrong { line: mutant.line, what })?;
    }
    Ok(mutants)
}

fn check_name(name: &str, mutants: &[Mutant]) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("`{name}` is no name; use lower-case letters, digits and `-`"));
    }
    if mutants.iter().any(|mutant| mutant.name == name) {
        return Err(format!("`{name}` is there twice; choose another name"));
    }
    Ok(())
}

/// Sets one field; `find` and `with` may have several lines.
fn set(entry: &mut Mutant, key: &str, value: &str, is_first: bool) -> Result<(), String> {
    let (field, may_repeat) = match key {
        "file" => (&mut entry.file, false),
        "find" => (&mut entry.find, true),
        "with" => (&mut entry.with, true),
        "breaks" => (&mut entry.breaks, false),
        _ => return Err(format!("`{key}` is no key; use file, find, with or breaks")),
    };
    if is_first {
        value.clone_into(field);
    } else if may_repeat {
        field.push('\n');
        field.push_str(value);
    } else {
        return Err(format!("`{key}` is there twice; keep one"));
    }
    Ok(())
}

fn check_whole(mutant: &Mutant) -> Result<(), String> {
    let Mutant { name, file, find, with, breaks, .. } = mutant;
    // The replacement alone may be empty: many a defect is something left out.
    for (key, value) in [("file", file), ("find", find), ("breaks", breaks)] {
        if value.is_empty() {
            return Err(format!("`{name}` has no `{key}`; add it"));
        }
    }
    if find == with {
        return Err(format!("`{name}` changes nothing; let `with` differ from `find`"));
    }
    if file.starts_with('/') || file.split('/').any(|part| part == "..") {
        return Err(format!("`{name}`: the file must lie in the workspace; use a relative path"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[a-1]\nfile: a.rs\nfind: x > 1\nwith: x >= 1\nbreaks: the limit\n";

    fn wrong(text: &str) -> (usize, String) {
        let Wrong { line, what } = parse(text).unwrap_err();
        (line, what)
    }

    fn refuses(text: &str, line: usize, what: &str) {
        assert_eq!(wrong(text), (line, what.to_owned()));
    }

    #[test]
    fn entries_are_read_with_their_lines() {
        let second = "[b]\nfile: b.rs\nfind:     if a: b {\nfind:     }\nwith:\nbreaks: b\n";
        let text = format!("# about\n\n{ENTRY}\n{second}");
        let mutants = parse(&text).unwrap();
        assert_eq!((mutants[0].name.as_str(), mutants[0].line), ("a-1", 3));
        assert_eq!((mutants[0].find.as_str(), mutants[0].with.as_str()), ("x > 1", "x >= 1"));
        assert_eq!((mutants[1].name.as_str(), mutants[1].line), ("b", 9));
        assert_eq!(
            (mutants[1].find.as_str(), mutants[1].with.as_str()),
            ("    if a: b {\n    }", "")
        );
        assert_eq!(parse("# nothing yet\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_its_line() {
        refuses("file: a\n", 1, "before the first `[name]`; begin an entry first");
        refuses("[A b]\n", 1, "`A b` is no name; use lower-case letters, digits and `-`");
        refuses("[a]\nfoo\n", 2, "no `key: value`; see the top of the file");
        refuses("[a]\nfoo: b\n", 2, "`foo` is no key; use file, find, with or breaks");
        refuses("[a]\nfile: b\nfile: c\n", 3, "`file` is there twice; keep one");
        let twice = format!("{ENTRY}{ENTRY}");
        refuses(&twice, 6, "`a-1` is there twice; choose another name");
    }

    #[test]
    fn half_an_entry_is_refused() {
        refuses("\n[a]\nfile: b\n", 2, "`a` has no `find`; add it");
        let same = ENTRY.replace(">=", ">");
        refuses(&same, 1, "`a-1` changes nothing; let `with` differ from `find`");
        let outside = ENTRY.replace("a.rs", "../a.rs");
        assert_eq!(wrong(&outside).0, 1);
    }

    #[test]
    fn a_defect_is_planted_in_its_only_place() {
        let mutant = &parse(ENTRY).unwrap()[0];
        assert_eq!(mutant.plant("if x > 1 {").as_deref(), Ok("if x >= 1 {"));
        let refused = |text: &str| mutant.plant(text).unwrap_err().to_string();
        assert!(refused("x > 1, x > 1").starts_with("`a-1`: its text occurs 2 times in a.rs"));
        assert!(refused("").starts_with("`a-1`: its text occurs 0 times in a.rs"));
    }
}
