//! What an attack is, and what came of one: figures, what was found wrong, and the verdict.

use std::fmt;
use std::time::{Duration, Instant};

use legwork_sim::host::Dice;
use serde_json::{Value, json};

use crate::fault::Done;
use crate::page::Table;
use crate::terminal::Terminal;

/// One attack.
#[derive(Clone, Copy)]
pub struct Attack {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub does: &'static str,
    /// What must hold, in one line.
    pub holds: &'static str,
    /// Does it.
    pub run: fn(&Trial, &mut Report) -> Done<()>,
}

/// How an attack is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// What is random follows from it.
    pub seed: u64,
    /// No round begins after it.
    pub until: Instant,
}

impl Trial {
    /// Dice of one part of an attack, apart from those of the others.
    pub fn dice(&self, part: u64) -> Dice {
        Dice::new(self.seed.wrapping_mul(1_000_003).wrapping_add(part))
    }

    /// Whether another round may begin.
    pub fn has_time(&self) -> bool {
        Instant::now() < self.until
    }
}

/// The ways in which something can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A task, a result or a notice is gone.
    Lost,
    /// Something was told twice.
    Doubled,
    /// Something did not end, or was not answered.
    Stuck,
    /// It ended, or was answered, otherwise than it should.
    Wrong,
    /// Something was left behind.
    Orphaned,
    /// A panic.
    Panic,
    /// More memory than allowed.
    Memory,
}

impl Kind {
    /// The one of this name; what nobody knows is something that did not come.
    pub fn named(name: &str) -> Self {
        let all =
            [Self::Lost, Self::Doubled, Self::Wrong, Self::Orphaned, Self::Panic, Self::Memory];
        all.into_iter().find(|kind| format!("{kind:?}") == name).unwrap_or(Self::Stuck)
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Of which kind.
    pub kind: Kind,
    /// In words.
    pub what: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.kind, self.what)
    }
}

/// What came of an attack.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How often it was tried.
    pub rounds: usize,
    /// Tasks that were looked at.
    pub tasks: usize,
    /// The most memory that a daemon held, where it was looked at.
    pub peak_kb: u64,
    /// What is wrong.
    pub flaws: Vec<Flaw>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// Why nothing was done at all.
    pub skipped: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// It cannot be tried here.
    pub fn skip(&mut self, why: impl Into<String>) {
        self.skipped = Some(why.into());
    }

    /// Notes something that is wrong.
    pub fn flaw(&mut self, kind: Kind, what: impl Into<String>) {
        self.flaws.push(Flaw { kind, what: what.into() });
    }

    /// Notes it unless it is so.
    pub fn expect(&mut self, is_so: bool, kind: Kind, what: impl FnOnce() -> String) {
        if !is_so {
            self.flaw(kind, what());
        }
    }

    /// The memory of a daemon, and whether it is more than it may have.
    pub fn memory(&mut self, pid: u32, most_mb: u64) {
        let peak = crate::processes::peak_kb(pid).unwrap_or_default();
        self.peak_kb = self.peak_kb.max(peak);
        self.expect(peak <= most_mb << 10, Kind::Memory, || {
            format!("the daemon held {} MB, at most {most_mb} MB are allowed", peak >> 10)
        });
    }

    /// Panics of the daemons of a terminal, and bad ends of them.
    pub fn daemons(&mut self, terminal: &Terminal) {
        for line in terminal.panics() {
            self.flaw(Kind::Panic, line);
        }
        for how in terminal.broken_daemons() {
            self.flaw(Kind::Panic, how);
        }
    }

    /// Whether it was done and nothing is wrong.
    pub fn held(&self) -> bool {
        self.flaws.is_empty()
    }

    /// In a word.
    pub fn verdict(&self) -> &'static str {
        match (&self.skipped, self.held()) {
            (Some(_), _) => "skipped",
            (None, true) => "held",
            (None, false) => "BROKEN",
        }
    }

    fn count(&self, kind: Kind) -> usize {
        self.flaws.iter().filter(|flaw| flaw.kind == kind).count()
    }

    /// For programs.
    pub fn json(&self, attack: &Attack, replay: &str) -> Value {
        let flaws: Vec<String> = self.flaws.iter().map(Flaw::to_string).collect();
        json!({
            "attack": attack.name,
            "does": attack.does,
            "holds": attack.holds,
            "verdict": self.verdict(),
            "rounds": self.rounds,
            "tasks": self.tasks,
            "lost": self.count(Kind::Lost),
            "doubled": self.count(Kind::Doubled),
            "stuck": self.count(Kind::Stuck),
            "wrong": self.count(Kind::Wrong),
            "orphaned": self.count(Kind::Orphaned),
            "panics": self.count(Kind::Panic),
            "peak_kb": self.peak_kb,
            "seconds": self.took.as_secs(),
            "flaws": flaws,
            "left_out": self.left_out,
            "skipped": self.skipped,
            "replay": replay,
        })
    }
}

/// The table of all attacks.
pub fn table(reports: &[(Attack, Report)]) -> Table {
    let mut table = Table::new(&[
        "attack", "rounds", "tasks", "lost", "doubled", "stuck", "wrong", "orphaned", "panics",
        "peak MB", "seconds", "verdict",
    ]);
    for (attack, report) in reports {
        let peak = match report.peak_kb {
            0 => "-".to_owned(),
            kb => (kb >> 10).to_string(),
        };
        let count = |kind| report.count(kind).to_string();
        table.push(vec![
            attack.name.to_owned(),
            report.rounds.to_string(),
            report.tasks.to_string(),
            count(Kind::Lost),
            count(Kind::Doubled),
            count(Kind::Stuck),
            count(Kind::Wrong),
            count(Kind::Orphaned),
            count(Kind::Panic),
            peak,
            report.took.as_secs().to_string(),
            report.verdict().to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_what_is_wrong_and_says_so() {
        let mut report = Report::default();
        assert_eq!((report.verdict(), report.held()), ("held", true));
        report.expect(true, Kind::Lost, || "never".to_owned());
        report.expect(false, Kind::Lost, || "bg_1".to_owned());
        report.flaw(Kind::Memory, "much");
        assert_eq!((report.count(Kind::Lost), report.verdict()), (1, "BROKEN"));
        let mut report = Report::default();
        report.skip("no root");
        assert_eq!(report.verdict(), "skipped");
    }
}
