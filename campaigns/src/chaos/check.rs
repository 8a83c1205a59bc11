//! What may not be at the end of a history: something lost, doubled, stuck, ended in the wrong way
//! or left lying about. A kill of OpenCode may cut a run off, which then goes on three times at the
//! most, and may undo a launch that nobody was told of; a kill of anything else may change nothing.

use std::collections::BTreeMap;
use std::fmt;

use legwork_testkit::Call;

use super::plan::{Ending, Item, Later, Launch, Plan};
use super::seen::{ItemSeen, Seen, TaskSeen};
use crate::talk::Notice;

/// The ways in which it can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A task, an answer or a notice that should be there is not.
    Lost,
    /// Something is there twice.
    Doubled,
    /// Something is not finished, or not answered.
    Stuck,
    /// It did not end as it should.
    WrongOutcome,
    /// A session of nobody, or one that works for nobody.
    OrphanSession,
    /// A process of nobody.
    OrphanProcess,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Lost,
        Self::Doubled,
        Self::Stuck,
        Self::WrongOutcome,
        Self::OrphanSession,
        Self::OrphanProcess,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Stuck => "stuck",
            Self::WrongOutcome => "wrong outcome",
            Self::OrphanSession => "orphan session",
            Self::OrphanProcess => "orphan process",
        }
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub rule: Rule,
    /// The item of the plan, if it is about one.
    pub item: Option<usize>,
    /// The task, if it is about one.
    pub task: Option<String>,
    /// What is so.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.rule.name(), self.what)
    }
}

/// Who cancelled it when its parent did.
const BY_PARENT: &str = "Cancelled by the session that asked for it";

/// So often a run is asked to go on after its host ended.
const GOES_ON_MAX: usize = 3;

/// What a call is told while the daemon cannot be reached; whether it was done is not known then.
const UNAVAILABLE: &str = "legwork is not available";

/// Everything that is wrong.
pub fn check(plan: &Plan, seen: &Seen) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (number, (item, left)) in plan.items.iter().zip(&seen.items).enumerate() {
        let mut look = Look { number, item, left, kills: &seen.host_kills, broken: &mut broken };
        look.item();
    }
    for stranger in &seen.strangers {
        let what = stranger.clone();
        broken.push(Broken { rule: Rule::OrphanProcess, item: None, task: None, what });
    }
    broken
}

/// How the runs of the checked helpers ended, for people.
pub fn tally(seen: &Seen) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for task in seen.items.iter().flat_map(|item| &item.tasks) {
        let cut = task.status == "error" && task.text.contains("interrupted");
        let name = if cut { "interrupted".to_owned() } else { task.status.clone() };
        *counts.entry(name).or_default() += 1;
    }
    for call in seen.items.iter().flat_map(|item| &item.calls) {
        if call.tool == "background_task" && call.status == "error" {
            let away = call.text.contains(UNAVAILABLE);
            let name = if away { "launches while away" } else { "launches refused" };
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

struct Look<'a> {
    number: usize,
    item: &'a Item,
    left: &'a ItemSeen,
    kills: &'a [u64],
    broken: &'a mut Vec<Broken>,
}

impl Look<'_> {
    fn item(&mut self) {
        if self.left.began.is_none() {
            return self.add(Rule::Lost, None, "its turn was never begun".to_owned());
        }
        for helper in &self.item.helpers {
            self.helper(helper);
        }
        for child in &self.left.children {
            let of = |task: &&TaskSeen| task.session.as_deref() == Some(&*child.session);
            let owner = self.left.tasks.iter().find(of);
            if owner.is_none() {
                let what = format!("{} belongs to no task", child.session);
                self.add(Rule::OrphanSession, None, what);
            } else if child.busy {
                let what = format!("{} is still at work", child.session);
                self.add(Rule::OrphanSession, owner, what);
            }
        }
        let unanswered = |call: &&Call| matches!(&*call.status, "running" | "pending");
        if !self.cut(None)
            && let Some(call) = self.left.calls.iter().find(unanswered)
        {
            let what = format!("{} was never answered", call.tool);
            self.add(Rule::Stuck, None, what);
        }
    }

    fn helper(&mut self, helper: &Launch) {
        let of_it = |task: &&TaskSeen| task.name == helper.name;
        let tasks: Vec<&TaskSeen> = self.left.tasks.iter().filter(of_it).collect();
        match tasks[..] {
            [] => self.none(helper),
            [task] => self.task(helper, task),
            [task, ..] => {
                let what = format!("{} tasks of one launch of {}", tasks.len(), helper.name);
                self.add(Rule::Doubled, Some(task), what);
            }
        }
    }

    /// There is no task: refused, undone with OpenCode, or lost.
    fn none(&mut self, helper: &Launch) {
        let name = &helper.name;
        let of_it = |call: &&Call| {
            call.tool == "background_task" && call.input["description"] == *helper.name
        };
        let Some(call) = self.left.calls.iter().find(of_it) else {
            if !self.cut(None) {
                self.add(Rule::Lost, None, format!("the launch of {name} was never called"));
            }
            return;
        };
        match &*call.status {
            "completed" => {
                self.add(Rule::Lost, None, format!("{name} was launched and is not kept"));
            }
            "error" if helper.ending == Ending::NoAgent => {}
            "error" if self.cut(None) || call.text.contains(UNAVAILABLE) => {}
            "error" => {
                let what = format!("the launch of {name} was refused: {}", call.text);
                self.add(Rule::WrongOutcome, None, what);
            }
            // Unanswered calls are looked at for the whole item.
            _ => {}
        }
    }

    fn task(&mut self, helper: &Launch, task: &TaskSeen) {
        if task.ended.is_none() {
            return self.add(Rule::Stuck, Some(task), format!("it is still {}", task.status));
        }
        if task.pending {
            self.add(Rule::Stuck, Some(task), "its parent is still to be told".to_owned());
        }
        if task.resumes > 1 {
            self.add(Rule::Doubled, Some(task), format!("{} resumes of one", task.resumes));
        }
        if !self.is_right(helper, task) {
            let what = format!("it is {}: {}", task.status, first_line(&task.text));
            self.add(Rule::WrongOutcome, Some(task), what);
        }
        self.told(helper, task);
        self.prompted(task);
    }

    fn is_right(&self, helper: &Launch, task: &TaskSeen) -> bool {
        let last = match self.item.later {
            Some(Later::Resume(ending)) if task.resumes > 0 => ending,
            _ => helper.ending,
        };
        let words = helper.words(task.resumes);
        match &*task.status {
            "completed" => {
                matches!(last, Ending::Answers | Ending::Asks) && task.text.contains(&words)
            }
            "error" if last == Ending::Fails && task.text.contains(&words) => true,
            "error" => {
                let cut = self.cuts(task.ended) > GOES_ON_MAX;
                cut && task.text.contains("interrupted") && last != Ending::NoAgent
            }
            // What hangs may be cancelled by a person at the end as well.
            "cancelled" => last == Ending::Hangs,
            _ => false,
        }
    }

    /// Each run has one notice, except one that its parent cancelled; and a question has one.
    fn told(&mut self, helper: &Launch, task: &TaskSeen) {
        let of_it = |notice: &&Notice| notice.task == task.id;
        let all: Vec<&Notice> = self.left.notices.iter().filter(of_it).collect();
        let (questions, ends): (Vec<&Notice>, Vec<&Notice>) =
            all.into_iter().partition(|notice| notice.says == "TASK WAITING");
        let last = match (&*task.status, task.resumes) {
            ("completed", 0) => Some("TASK COMPLETED"),
            ("completed", _) => Some("RESUME COMPLETED"),
            ("error", 0) => Some("TASK FAILED"),
            ("error", _) => Some("RESUME FAILED"),
            _ if task.text.starts_with(BY_PARENT) => None,
            _ => Some("TASK CANCELLED"),
        };
        let first = (task.resumes > 0).then_some("TASK COMPLETED");
        let mut expected: Vec<&str> = first.into_iter().chain(last).collect();
        let mut found: Vec<&str> = ends.iter().map(|notice| &*notice.says).collect();
        expected.sort_unstable();
        found.sort_unstable();
        if expected != found {
            let rule = if found.len() > expected.len() { Rule::Doubled } else { Rule::Lost };
            self.add(rule, Some(task), format!("told {found:?}, expected {expected:?}"));
        }
        for notice in ends.iter().filter(|notice| notice.says.ends_with("COMPLETED")) {
            let run = u32::from(notice.says.starts_with("RESUME"));
            if !notice.result.contains(&helper.words(run)) {
                let what = format!("the notice of run {run} says {}", first_line(&notice.result));
                self.add(Rule::WrongOutcome, Some(task), what);
            }
        }
        let mut lines: Vec<&str> = questions.iter().map(|notice| &*notice.line).collect();
        lines.sort_unstable();
        if let Some(twice) = lines.windows(2).find(|two| two[0] == two[1]) {
            self.add(Rule::Doubled, Some(task), format!("told twice: {}", twice[0]));
        }
    }

    /// One session, with one prompt for each run. What ended before its prompt was taken may have
    /// none any more, or only that which asks it to go on.
    fn prompted(&mut self, task: &TaskSeen) {
        let Some(session) = &task.session else { return };
        let child = self.left.children.iter().find(|child| child.session == *session);
        let (runs, cuts) = (task.resumes as usize + 1, self.cuts(task.ended));
        if let Some(child) = child.filter(|child| child.go_ons > cuts) {
            let what = format!("asked to go on {} times after {cuts} kills", child.go_ons);
            self.add(Rule::Doubled, Some(task), what);
        }
        match child {
            None if task.status == "completed" => {
                self.add(Rule::Lost, Some(task), format!("its session {session} is gone"));
            }
            None => {}
            Some(child) if child.prompts > runs => {
                let what = format!("{} prompts for {runs} runs", child.prompts);
                self.add(Rule::Doubled, Some(task), what);
            }
            Some(child) if child.all_prompts() < runs && task.status == "completed" => {
                let what = format!("{} prompts for {runs} runs", child.all_prompts());
                self.add(Rule::Lost, Some(task), what);
            }
            Some(_) => {}
        }
    }

    /// Whether OpenCode was killed after the item began and, if that is known, before this moment.
    fn cut(&self, until: Option<u64>) -> bool {
        self.cuts(until) > 0
    }

    fn cuts(&self, until: Option<u64>) -> usize {
        let began = self.left.began.unwrap_or_default();
        let in_time = |kill: &&u64| **kill >= began && until.is_none_or(|until| **kill <= until);
        self.kills.iter().filter(in_time).count()
    }

    fn add(&mut self, rule: Rule, task: Option<&TaskSeen>, what: String) {
        let id = task.map(|task| task.id.clone());
        let who = id.clone().unwrap_or_else(|| format!("item {}", self.number));
        let what = format!("{who}: {what}");
        self.broken.push(Broken { rule, item: Some(self.number), task: id, what });
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("nothing").chars().take(120).collect()
}

#[cfg(test)]
mod tests;
