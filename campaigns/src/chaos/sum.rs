//! What came of all histories together.

use std::collections::BTreeMap;

use super::check::{Broken, Rule};
use crate::page::Table;
use crate::statistics::spread;

/// The sum of some histories.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sum {
    /// Their seeds, and whether each held.
    pub seeds: Vec<(u64, bool)>,
    /// Kills of each kind, in the order in which they are told.
    pub kills: Vec<(&'static str, usize)>,
    /// How tasks ended.
    pub outcomes: BTreeMap<String, usize>,
    /// Tasks.
    pub tasks: usize,
    /// How often each rule was broken.
    pub broken: BTreeMap<Rule, usize>,
    /// How long it took.
    pub seconds: f64,
    /// How long helpers stood still after the end of their host, in seconds.
    pub gaps_s: Vec<f64>,
    /// The same, if something else was killed or opened meanwhile.
    pub gaps_disturbed_s: Vec<f64>,
    /// How long there were two headless hosts, in seconds.
    pub overlaps_s: Vec<f64>,
}

impl Sum {
    /// With one more history.
    pub fn add(&mut self, history: &Self) {
        self.seeds.extend(&history.seeds);
        self.tasks += history.tasks;
        self.seconds += history.seconds;
        self.gaps_s.extend(&history.gaps_s);
        self.gaps_disturbed_s.extend(&history.gaps_disturbed_s);
        self.overlaps_s.extend(&history.overlaps_s);
        for (kind, count) in &history.kills {
            self.hit(kind, *count);
        }
        for (outcome, count) in &history.outcomes {
            *self.outcomes.entry(outcome.clone()).or_default() += count;
        }
        for (rule, count) in &history.broken {
            *self.broken.entry(*rule).or_default() += count;
        }
    }

    /// With so many more kills of this kind.
    pub fn hit(&mut self, kind: &'static str, more: usize) {
        match self.kills.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += more,
            None => self.kills.push((kind, more)),
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

    /// In one line.
    pub fn line(&self) -> String {
        let kills: usize = self.kills.iter().map(|(_, count)| count).sum();
        let killed: Vec<String> =
            self.kills.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let failed: Vec<u64> =
            self.seeds.iter().filter(|(_, held)| !held).map(|(seed, _)| *seed).collect();
        let verdict = if self.held() { "held".to_owned() } else { format!("broken: {failed:?}") };
        format!(
            "{kills} kills ({}), {} tasks ({}) in {:.0} s: {verdict}",
            killed.join(", "),
            self.tasks,
            outcomes.join(", "),
            self.seconds,
        )
    }

    /// How long things took in histories in which windows come and go.
    pub fn figures(&self) -> Table {
        let mut table = Table::new(&["seconds", "n", "median", "p95", "max"]);
        let of = [
            ("from the end of its host until a helper goes on", &self.gaps_s),
            ("the same, with another blow in between", &self.gaps_disturbed_s),
            ("two headless OpenCodes at once", &self.overlaps_s),
        ];
        for (name, samples) in of {
            let Some(found) = spread(samples) else { continue };
            let values = [found.median, found.p95, found.max].map(|value| format!("{value:.1}"));
            let head = [name.to_owned(), found.count.to_string()];
            table.push(head.into_iter().chain(values).collect());
        }
        table
    }

    /// For a document.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["what", "count"]);
        let mut row =
            |name: &str, count: usize| table.push(vec![name.to_owned(), count.to_string()]);
        row("histories", self.seeds.len());
        for (name, count) in &self.kills {
            row(&format!("kills of {name}"), *count);
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
            kills: vec![("daemon", 4), ("OpenCode", 6)],
            outcomes: BTreeMap::from([("completed".to_owned(), 3)]),
            tasks: 3,
            seconds: 30.0,
            ..Sum::default()
        };
        let mut other = Sum { seeds: vec![(8, false)], ..one.clone() };
        other.blame(&[Broken { rule: Rule::Stuck, item: None, task: None, what: String::new() }]);
        let mut sum = Sum::default();
        sum.add(&one);
        assert!(sum.held());
        sum.add(&other);
        assert!(!sum.held());
        let expected =
            "20 kills (daemon 8, OpenCode 12), 6 tasks (6 completed) in 60 s: broken: [8]";
        assert_eq!(sum.line(), expected);
        let rows = sum.table().rows;
        assert_eq!(rows[0], ["histories", "2"]);
        assert!(rows.contains(&vec!["**stuck**".to_owned(), "1".to_owned()]));
        assert!(rows.contains(&vec!["**lost**".to_owned(), "0".to_owned()]));
    }
}
