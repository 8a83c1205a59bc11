//! Words that were replaced by the field's own and must not come back, and names that say nothing.
//! What a crate must not use is said where the compiler looks: in its manifest and `clippy.toml`.

use super::{Finding, Source};

/// What was called otherwise once, and what it is called now.
const REPLACED: [(&str, &str); 14] = [
    ("Deed", "Action"),
    ("Errand", "Purpose"),
    ("Creditor", "Recipient"),
    ("Letter", "Delivery"),
    ("Debts", "Outbox"),
    ("Survey", "Poll"),
    ("Census", "FindMissing"),
    ("Sighted", "RunState"),
    ("Stirred", "Changed"),
    ("Overheard", "EventCache"),
    ("Newcomer", "Hello"),
    ("Guest", "Peer"),
    ("ailing", "degraded"),
    ("holds_place", "holds_slot"),
];

const EMPTY_NAMES: [&str; 5] = ["Manager", "Helper", "Utils", "Base", "Info"];

/// Adds the words that should not be there.
pub fn check(source: &Source, findings: &mut Vec<Finding>) {
    if source.krate == "xtask" {
        return;
    }
    for (number, line) in (1..).zip(source.text.lines()) {
        for word in line.split(|c: char| c != '_' && !c.is_alphanumeric()) {
            if let Some((_, now)) = REPLACED.iter().find(|(was, _)| *was == word) {
                findings.push(source.finding(number, format!("`{word}`; say `{now}`")));
            }
        }
        let declared = ["struct ", "enum ", "trait "].iter().find_map(|keyword| {
            let rest = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            rest.strip_prefix(keyword)?.split(|c: char| !c.is_alphanumeric()).next()
        });
        let empty = declared.and_then(|name| EMPTY_NAMES.iter().find(|empty| has(name, empty)));
        if let (Some(name), Some(empty)) = (declared, empty) {
            let what = format!("`{name}`: `{empty}` says nothing; name what it is");
            findings.push(source.finding(number, what));
        }
    }
}

/// Whether a camel-case name has this word; `Database` has no `Base`, nor `Information` an `Info`.
fn has(name: &str, word: &str) -> bool {
    name.match_indices(word)
        .any(|(at, _)| !name[at + word.len()..].starts_with(|c: char| c.is_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(&Source::new("crates/store/src/a.rs", text.to_owned()), &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn replaced_words_are_found_whole() {
        assert_eq!(found("use a::Deed;\n// a Letter to\nLetterhead;\n"), [1, 2]);
    }

    #[test]
    fn type_names_that_say_nothing_are_found() {
        let text = "struct TaskManager;\npub enum Info {}\ntype Database = u8;\nstruct Information;\n\
                    let info = TaskManager;\ntrait BaseTask {}\n";
        assert_eq!(found(text), [1, 2, 6]);
    }
}
