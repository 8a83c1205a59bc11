//! What came of all histories together.

use std::collections::BTreeMap;

use super::check::{Broken, Rule};
use super::plan::Victim;
use crate::page::Table;

/// The sum of some histories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sum {
    /// Their seeds, and whether each held.
    pub seeds: Vec<(u64, bool)>,
    /// Kills of each process.
    pub kills: BTreeMap<Victim, usize>,
    /// How tasks ended.
    pub outcomes: BTreeMap<String, usize>,
    /// Tasks.
    pub tasks: usize,
    /// How often each rule was broken.
    pub broken: BTreeMap<Rule, usize>,
}

impl Sum {
    /// With one more history.
    pub fn add(&mut self, history: &Self) {
        self.seeds.extend(&history.seeds);
        self.tasks += history.tasks;
        for (victim, count) in &history.kills {
            *self.kills.entry(*victim).or_default() += count;
        }
        for (outcome, count) in &history.outcomes {
            *self.outcomes.entry(outcome.clone()).or_default() += count;
        }
        for (rule, count) in &history.broken {
            *self.broken.entry(*rule).or_default() += count;
        }
    }

    /// With what was found broken.
    pub fn blame(&mut self, broken: &[Broken]) {
        for one in broken {
            *self.broken.entry(one.rule).or_default() += 1;
        }
    }

    /// Whether no rule was broken.
    pub fn held(&self) -> bool {
        self.broken.is_empty()
    }

    fn killed(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let count = |victim| self.kills.get(&victim).copied().unwrap_or_default();
        Victim::ALL.into_iter().map(move |victim| (victim.name(), count(victim)))
    }

    /// In one line.
    pub fn line(&self) -> String {
        let kills: usize = self.kills.values().sum();
        let killed: Vec<String> =
            self.killed().map(|(name, count)| format!("{name} {count}")).collect();
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let failed: Vec<u64> =
            self.seeds.iter().filter(|(_, held)| !held).map(|(seed, _)| *seed).collect();
        let verdict = if self.held() { "held".to_owned() } else { format!("broken: {failed:?}") };
        format!(
            "{kills} kills ({}), {} tasks ({}): {verdict}",
            killed.join(", "),
            self.tasks,
            outcomes.join(", "),
        )
    }

    /// For a document.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["what", "count"]);
        let mut row =
            |name: &str, count: usize| table.push(vec![name.to_owned(), count.to_string()]);
        row("histories", self.seeds.len());
        for (name, count) in self.killed() {
            row(&format!("kills of {name}"), count);
        }
        row("tasks", self.tasks);
        for (outcome, count) in &self.outcomes {
            row(outcome, *count);
        }
        for rule in Rule::ALL {
            let count = self.broken.get(&rule).copied().unwrap_or_default();
            row(&format!("**{}**", rule.name()), count);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_added_up_and_every_rule_is_shown() {
        let one = Sum {
            seeds: vec![(7, true)],
            kills: BTreeMap::from([(Victim::Daemon, 4), (Victim::Host, 6)]),
            outcomes: BTreeMap::from([("completed".to_owned(), 3)]),
            tasks: 3,
            broken: BTreeMap::new(),
        };
        let mut other = Sum { seeds: vec![(8, false)], ..one.clone() };
        other.blame(&[Broken { rule: Rule::Stuck, item: None, task: None, what: String::new() }]);
        let mut sum = Sum::default();
        sum.add(&one);
        assert!(sum.held());
        sum.add(&other);
        assert!(!sum.held());
        let expected = "20 kills (daemon 8, bridge 0, OpenCode 12), 6 tasks (6 completed): \
                        broken: [8]";
        assert_eq!(sum.line(), expected);
        let rows = sum.table().rows;
        assert_eq!(rows[0], ["histories", "2"]);
        assert!(rows.contains(&vec!["**stuck**".to_owned(), "1".to_owned()]));
        assert!(rows.contains(&vec!["**lost**".to_owned(), "0".to_owned()]));
    }
}
