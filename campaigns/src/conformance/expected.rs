//! The checks that are expected to fail, read from `expected.txt`.

use crate::fault::{Done, Fault};

const LIST: &str = include_str!("expected.txt");

/// A check that fails, and why that is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub scenario: String,
    pub check: String,
    pub reason: String,
}

/// All of them.
///
/// # Errors
/// When the list cannot be read.
pub fn list() -> Done<Vec<Expected>> {
    read(LIST)
}

fn read(text: &str) -> Done<Vec<Expected>> {
    let mut entries: Vec<Expected> = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    for line in lines {
        let fault = || Fault::new(format!("expected.txt: this line cannot be read: {line}"));
        if line.starts_with(' ') {
            let entry = entries.last_mut().ok_or_else(fault)?;
            let gap = if entry.reason.is_empty() { "" } else { " " };
            entry.reason.push_str(gap);
            entry.reason.push_str(line.trim());
            continue;
        }
        let (scenario, check) = line.split_once(' ').ok_or_else(fault)?;
        let (scenario, check) = (scenario.to_owned(), check.trim().to_owned());
        entries.push(Expected { scenario, check, reason: String::new() });
    }
    match entries.iter().find(|entry| entry.reason.is_empty()) {
        Some(Expected { scenario, check, .. }) => {
            Err(Fault::new(format!("expected.txt: {scenario} {check} has no reason")))
        }
        None => Ok(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::suite::SCENARIOS;

    #[test]
    fn m1_every_expected_failure_has_a_scenario_that_is_played_and_a_reason() {
        for entry in list().unwrap() {
            let is_played = SCENARIOS.iter().any(|scenario| scenario.name == entry.scenario);
            assert!(is_played && entry.reason.ends_with('.'), "{entry:?}");
        }
    }

    #[test]
    fn m1_a_failure_without_a_reason_is_refused() {
        let read_as = |text: &str| read(text).map_err(|fault| fault.to_string());
        let entries = read_as("# head\n\na b\n    One\n    two.\n").unwrap();
        assert_eq!((entries.len(), entries[0].reason.as_str()), (1, "One two."));
        for wrong in ["a b\n", "    One.\n", "ab\n    One.\n"] {
            assert!(read_as(wrong).is_err(), "{wrong}");
        }
    }
}
