//! How large each crate may be. A crate that grows past its budget needs a larger one in the same
//! commit, whose message says what the lines are for; a crate that shrank gives back what it left.

use super::{Density, Finding};
use crate::tree;
use std::collections::BTreeMap;
use std::path::Path;

/// A crate and its lines of code outside of tests, a line each.
const LIST: &str = "xtask/budget.txt";

/// How far a crate may be from its budget before somebody has to look at it.
const SLACK: usize = 100;

/// Adds the crates that do not fit their budget, and those that have none.
pub fn check(root: &Path, density: &BTreeMap<String, Density>, findings: &mut Vec<Finding>) {
    let mut add = |line: usize, what: String| {
        findings.push(Finding { file: LIST.to_owned(), line, what });
    };
    let text = match tree::read(root, LIST) {
        Ok(text) => text,
        Err(fault) => return add(1, format!("{fault}; it says how large each crate may be")),
    };
    let mut without = density.clone();
    for (line, entry) in (1..).zip(text.lines()) {
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        let budget = entry.split_once(' ');
        let budget = budget.and_then(|(name, lines)| Some((name, lines.trim().parse().ok()?)));
        let Some((name, most)) = budget else {
            add(line, "not understood; write the name of a crate and its lines of code".to_owned());
            continue;
        };
        match without.remove(name) {
            None => add(line, format!("there is no crate `{name}`; remove the line")),
            Some(Density { code, .. }) => {
                if let Some(what) = misfit(name, code, most) {
                    add(line, what);
                }
            }
        }
    }
    for (name, Density { code, .. }) in without {
        add(1, format!("`{name}` has no budget; add a line `{name} {code}`"));
    }
}

fn misfit(name: &str, code: usize, most: usize) -> Option<String> {
    if code > most + SLACK {
        Some(format!(
            "`{name}` has {code} lines of code, at most {most} (and {SLACK}); make it smaller, or \
             raise the budget in the same commit with the reason in its message"
        ))
    } else if code + SLACK < most {
        Some(format!("`{name}` has {code} lines of code, at most {most}; lower the budget"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_may_be_a_little_off_its_budget_and_no_more() {
        assert_eq!(misfit("a", 1_100, 1_000), None);
        assert_eq!(misfit("a", 900, 1_000), None);
        let large = misfit("a", 1_101, 1_000).expect("it is too large");
        assert!(large.contains("1101 lines of code, at most 1000"), "{large}");
        let small = misfit("a", 899, 1_000).expect("it gives back");
        assert!(small.ends_with("lower the budget"), "{small}");
    }
}
