//! Words that a crate must not know, and words that no crate should use.
//!
//! A word counts in code only; comments may speak of what is left out.

use super::{Finding, Source};

/// Words that one crate does not know, and what to do without them.
struct Ban {
    room: &'static str,
    words: &'static [&'static str],
    instead: &'static str,
    unless_file: Option<&'static str>,
}

const BANS: [Ban; 8] = [
    Ban {
        room: "engine",
        words: &["async", "tokio", "std::thread", "std::fs", "std::net", "rusqlite"],
        instead: "the engine only decides; describe it as `Work` and let the shell do it",
        unless_file: None,
    },
    Ban {
        room: "engine",
        words: &["Instant", "SystemTime"],
        instead: "the time is an argument of the engine",
        unless_file: None,
    },
    Ban {
        room: "engine",
        words: &["rand"],
        instead: "the engine has no dice; let the caller hand over what is drawn",
        unless_file: None,
    },
    Ban {
        room: "engine",
        words: &["HashMap", "HashSet"],
        instead: "use an ordered map, so that a seed replays exactly",
        unless_file: None,
    },
    Ban {
        room: "engine",
        words: &["serde_json"],
        instead: "host formats belong to the crate of that host",
        unless_file: None,
    },
    Ban {
        room: "sim",
        words: &["HashMap", "HashSet"],
        instead: "use an ordered map, so that a seed replays exactly",
        unless_file: None,
    },
    Ban {
        room: "sim",
        words: &["SystemTime", "Instant"],
        instead: "use the virtual clock; real time is for `clock.rs`",
        unless_file: Some("clock.rs"),
    },
    Ban {
        room: "protocol",
        words: &["tokio", "rusqlite", "std::fs"],
        instead: "the protocol is words only; do it in the crate that needs it",
        unless_file: None,
    },
];

const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];
const EMPTY_NAMES: [&str; 5] = ["Manager", "Helper", "Utils", "Base", "Info"];

/// The first words of an SQL statement, and a word that follows in the same text.
const STATEMENTS: [(&str, &str); 12] = [
    ("select ", " from "),
    ("insert into ", ""),
    ("insert or ", " into "),
    ("update ", " set "),
    ("delete from ", ""),
    ("create table ", ""),
    ("create index ", ""),
    ("create unique index ", ""),
    ("drop table ", ""),
    ("alter table ", ""),
    ("pragma ", ""),
    ("begin immediate", ""),
];

/// Adds the words that should not be there.
pub fn check(source: &Source, findings: &mut Vec<Finding>) {
    bans(source, findings);
    shortcuts(source, findings);
    type_names(source, findings);
    sql(source, findings);
}

fn bans(source: &Source, findings: &mut Vec<Finding>) {
    // A bench measures, so it needs a clock.
    if source.path.contains("/benches/") {
        return;
    }
    let here = |ban: &&Ban| {
        ban.room == source.room && ban.unless_file.is_none_or(|file| file != source.file_name())
    };
    for ban in BANS.iter().filter(here) {
        for word in ban.words {
            for line in uses(source, word) {
                let what = format!("`{word}` in {}; {}", ban.room, ban.instead);
                findings.push(source.finding(line, what));
            }
        }
    }
}

/// The lines where a word or path is used, also inside of a group like `std::{fs, io}`.
fn uses(source: &Source, word: &str) -> Vec<usize> {
    let path: Vec<&str> = word.split("::").collect();
    let (last, folders) = path.split_last().unwrap_or((&"", &[]));
    let before: Vec<&str> = folders.iter().flat_map(|folder| [*folder, ":", ":"]).collect();
    let mut lines = Vec::new();
    for index in (0..source.tokens.len()).filter(|index| source.has_at(*index, &before)) {
        let after = index + before.len();
        if source.has_at(after, &[last]) {
            lines.push(source.tokens[after].line);
        } else if !folders.is_empty() && source.has_at(after, &["{"]) {
            lines.extend(in_group(source, after, last));
        }
    }
    lines
}

/// The lines where a name stands directly in the group that opens at `open`.
fn in_group(source: &Source, open: usize, name: &str) -> Vec<usize> {
    let mut depth = 0_i32;
    let mut lines = Vec::new();
    for (at, token) in source.tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        let begins = ["{", ","].iter().any(|sign| source.has_at(at, &[sign, name]));
        if depth == 1 && begins {
            lines.push(source.tokens[at + 1].line);
        }
    }
    lines
}

fn shortcuts(source: &Source, findings: &mut Vec<Finding>) {
    for (index, token) in source.tokens.iter().enumerate() {
        let what = if source.has_at(index, &["#", "[", "allow", "("])
            || source.has_at(index, &["#", "!", "[", "allow", "("])
        {
            "`allow`; use `#[expect(..., reason = \"...\")]`, which tells when it is not needed"
        } else if source.has_at(index, &["#", "[", "ignore"]) {
            "an ignored test; repair it or delete it"
        } else if MACROS.contains(&token.text.as_str()) && source.has_at(index + 1, &["!"]) {
            "unfinished code (`todo!`, `unimplemented!` or `dbg!`); finish it"
        } else {
            continue;
        };
        findings.push(source.finding(token.line, what));
    }
}

fn type_names(source: &Source, findings: &mut Vec<Finding>) {
    for pair in source.tokens.windows(2) {
        let [keyword, name] = pair else { continue };
        let declares =
            matches!(keyword.text.as_str(), "struct" | "enum" | "trait" | "type" | "union");
        let empty = EMPTY_NAMES.iter().find(|empty| declares && has_hump(&name.text, empty));
        if let Some(empty) = empty {
            let what = format!("`{}`: `{empty}` says nothing; name what it is", name.text);
            findings.push(source.finding(name.line, what));
        }
    }
}

/// Whether a camel-case name has this word; `Database` has no `Base`, nor `Information` an `Info`.
fn has_hump(name: &str, hump: &str) -> bool {
    name.match_indices(hump)
        .any(|(at, _)| !name[at + hump.len()..].starts_with(|c: char| c.is_lowercase()))
}

fn sql(source: &Source, findings: &mut Vec<Finding>) {
    if source.room == "store" || source.room == "xtask" {
        return;
    }
    // `rusqlite` in these two is a finding already.
    if source.room != "engine" && source.room != "protocol" {
        for line in uses(source, "rusqlite") {
            let what = "`rusqlite` outside of store; ask the store for what is needed";
            findings.push(source.finding(line, what));
        }
    }
    for (line, text) in source.literals() {
        if is_statement(text) {
            let what = "SQL outside of store; move the statement there";
            findings.push(source.finding(line, what));
        }
    }
}

/// Statements are written in one case; a sentence like "Select one from the list" is not.
fn is_statement(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let begins = |(first, then): &(&str, &str)| {
        let upper = (first.to_uppercase(), then.to_uppercase());
        (text.starts_with(first) && text.contains(then))
            || (text.starts_with(&upper.0) && text.contains(&upper.1))
    };
    STATEMENTS.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(&Source::new(path, text.to_owned()), &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_banned_word_is_found_in_its_crate_only() {
        let text = "use std::collections::HashMap;\n// HashMap\nf(\"HashMap\");\nMyHashMap;\n";
        assert_eq!(found("crates/engine/src/a.rs", text), [1]);
        assert_eq!(found("crates/sim/tests/a.rs", text), [1]);
        assert!(found("crates/store/src/a.rs", text).is_empty());
    }

    #[test]
    fn a_banned_path_is_found_in_groups_too() {
        let text =
            "use std::fs;\nuse std::{\n    io,\n    fs::File,\n};\nuse my::{fs};\nstd::io::{fs};\n";
        assert_eq!(found("crates/engine/src/a.rs", text), [1, 4]);
        assert!(found("crates/engine/src/a.rs", "use std::{io::{self, fs}};").is_empty());
    }

    #[test]
    fn clocks_are_for_the_clock_file_and_benches() {
        let text = "use std::time::{Duration, Instant};\n";
        assert_eq!(found("crates/sim/src/a.rs", text), [1]);
        assert!(found("crates/sim/src/clock.rs", text).is_empty());
        assert_eq!(found("crates/engine/src/a.rs", text), [1]);
        assert!(found("crates/engine/benches/a.rs", text).is_empty());
    }

    #[test]
    fn shortcuts_are_found() {
        let text = "#[allow(x)]\n#![allow(x)]\n#[ignore]\n#[ignore = \"slow\"]\ntodo!();\n\
                    dbg!(x);\nlet todo = allow(x);\n#[expect(x)]\n";
        assert_eq!(found("crates/store/src/a.rs", text), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn type_names_that_say_nothing_are_found() {
        let text = "struct TaskManager;\nenum Info {}\ntype Database = u8;\nstruct Information;\n\
                    let info = TaskManager;\ntrait BaseTask {}\n";
        assert_eq!(found("crates/store/src/a.rs", text), [1, 2, 6]);
    }

    #[test]
    fn sql_is_for_the_store() {
        let text = "f(\"select a\n  from b\");\nf(\"Select one from the list\");\n\
                    f(\"DELETE FROM t\");\nf(\"update it\");\nuse rusqlite::Row;\n";
        let mut lines = found("crates/shell/src/a.rs", text);
        lines.sort_unstable();
        assert_eq!(lines, [1, 4, 6]);
        assert!(found("crates/store/src/a.rs", text).is_empty());
    }
}
