//! What was checked, beside what was expected: what passed, what failed as expected, what failed
//! otherwise, and what was expected to fail and did not.

use serde_json::{Value, json};

use crate::conformance::expected::Expected;
use crate::fault::{Done, Fault};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Passed,
    /// Also what the suite only warns of.
    Failed,
    /// It was not looked at, or is no check.
    Skipped,
}

/// One check of a scenario. Some have the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub id: String,
    pub status: Status,
    /// Why it failed.
    pub error: String,
}

impl Check {
    /// As the suite writes it.
    ///
    /// # Errors
    /// When it is written otherwise.
    pub fn read(value: &Value) -> Done<Self> {
        let status = match value["status"].as_str() {
            Some("SUCCESS") => Status::Passed,
            Some("FAILURE" | "WARNING") => Status::Failed,
            Some("SKIPPED" | "INFO") => Status::Skipped,
            _ => return Err(Fault::new(format!("a check without a known status: {value}"))),
        };
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Ok(Self { id: text("id"), status, error: text("errorMessage") })
    }
}

/// What came of one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub scenario: String,
    pub version: String,
    pub passed: usize,
    pub skipped: usize,
    /// Failed, and why that is right.
    pub expected: Vec<Expected>,
    /// Failed, and must not: the check and what was wrong.
    pub unexpected: Vec<(String, String)>,
    /// Expected to fail, and did not.
    pub stale: Vec<String>,
}

impl Judged {
    pub fn new(scenario: &str, version: &str, checks: &[Check], all: &[Expected]) -> Self {
        let with = |status| checks.iter().filter(move |check| check.status == status);
        let of_scenario = || all.iter().filter(|entry| entry.scenario == scenario);
        let fails = |entry: &&Expected| with(Status::Failed).any(|check| check.id == entry.check);
        let is_expected = |check: &&Check| of_scenario().any(|entry| entry.check == check.id);
        let unexpected = with(Status::Failed).filter(|check| !is_expected(check));
        let stale = of_scenario().filter(|entry| !fails(entry));
        Self {
            scenario: scenario.to_owned(),
            version: version.to_owned(),
            passed: with(Status::Passed).count(),
            skipped: with(Status::Skipped).count(),
            expected: of_scenario().filter(fails).cloned().collect(),
            unexpected: unexpected.map(|check| (check.id.clone(), check.error.clone())).collect(),
            stale: stale.map(|entry| entry.check.clone()).collect(),
        }
    }

    pub fn held(&self) -> bool {
        self.unexpected.is_empty() && self.stale.is_empty()
    }

    pub fn row(&self) -> Vec<String> {
        let counts = [self.passed, self.expected.len(), self.unexpected.len(), self.skipped];
        let names = [self.scenario.clone(), self.version.clone()];
        names.into_iter().chain(counts.map(|count| count.to_string())).collect()
    }

    pub fn json(&self) -> Value {
        let expected = |entry: &Expected| json!({ "check": entry.check, "reason": entry.reason });
        let wrong = |(check, error): &(String, String)| json!({ "check": check, "error": error });
        json!({
            "scenario": self.scenario,
            "version": self.version,
            "passed": self.passed,
            "skipped": self.skipped,
            "expected": self.expected.iter().map(expected).collect::<Vec<_>>(),
            "unexpected": self.unexpected.iter().map(wrong).collect::<Vec<_>>(),
            "stale": self.stale,
        })
    }

    /// What is wrong, a line each.
    pub fn flaws(&self) -> Vec<String> {
        let name = &self.scenario;
        let wrong = self.unexpected.iter().map(|(check, error)| {
            let line: Vec<&str> = error.split_whitespace().collect();
            format!("{name} {check} failed: {}", line.join(" "))
        });
        let stale = self.stale.iter();
        let stale =
            stale.map(|check| format!("{name} {check} is in expected.txt and did not fail"));
        wrong.chain(stale).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, status: Status) -> Check {
        Check { id: id.to_owned(), status, error: "because".to_owned() }
    }

    fn judged(checks: &[Check]) -> Judged {
        let expected = |scenario: &str, check: &str| Expected {
            scenario: scenario.to_owned(),
            check: check.to_owned(),
            reason: "It is so.".to_owned(),
        };
        Judged::new("tasks", "new", checks, &[expected("tasks", "b"), expected("other", "a")])
    }

    #[test]
    fn m1_only_what_is_expected_may_fail() {
        let held = judged(&[check("a", Status::Passed), check("b", Status::Failed)]);
        assert!(held.held() && held.flaws().is_empty(), "{held:?}");
        assert_eq!(held.row(), ["tasks", "new", "1", "1", "0", "0"]);
        // Expected elsewhere is not expected here.
        let broken = judged(&[check("a", Status::Failed), check("b", Status::Failed)]);
        assert!(!broken.held());
        assert_eq!(broken.flaws(), ["tasks a failed: because"]);
    }

    #[test]
    fn m1_what_was_expected_to_fail_must_fail() {
        for status in [Status::Passed, Status::Skipped] {
            let stale = judged(&[check("b", status)]);
            assert!(!stale.held(), "{status:?}");
            assert_eq!(stale.flaws(), ["tasks b is in expected.txt and did not fail"]);
        }
        // Of checks with one id it is enough that one fails.
        assert!(judged(&[check("b", Status::Passed), check("b", Status::Failed)]).held());
    }

    #[test]
    fn m1_a_warning_of_the_suite_is_a_failure_and_nothing_unknown_is_passed() {
        let read = |status: &str| Check::read(&json!({ "id": "a", "status": status }));
        assert_eq!(read("WARNING").unwrap().status, Status::Failed);
        assert_eq!(read("SUCCESS").unwrap().status, Status::Passed);
        assert_eq!(read("INFO").unwrap().status, Status::Skipped);
        assert!(read("GOOD").is_err() && Check::read(&json!({})).is_err());
    }
}
