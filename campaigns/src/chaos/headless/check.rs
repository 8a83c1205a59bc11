//! What may not be at the end of such a history. It is stricter than for other kills: each helper
//! has to go on and to end with its own words, whatever was killed.

use super::super::check::{Broken, Rule};
use super::super::seen::{ItemSeen, Seen, TaskSeen};
use super::plan::{Kind, Round};
use crate::talk::Notice;

/// Everything that is wrong.
pub fn check(rounds: &[Round], seen: &Seen) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (round, left) in rounds.iter().zip(&seen.items) {
        let mut look = Look { round, left, broken: &mut broken };
        look.round();
    }
    for stranger in &seen.strangers {
        let what = stranger.clone();
        broken.push(Broken { rule: Rule::OrphanProcess, item: None, task: None, what });
    }
    broken
}

struct Look<'a> {
    round: &'a Round,
    left: &'a ItemSeen,
    broken: &'a mut Vec<Broken>,
}

impl Look<'_> {
    fn round(&mut self) {
        if self.left.began.is_none() {
            return self.add(Rule::Lost, None, "its turn was never begun".to_owned());
        }
        for kind in Kind::ALL {
            let name = self.round.name(kind);
            let tasks: Vec<&TaskSeen> =
                self.left.tasks.iter().filter(|task| task.name == name).collect();
            match tasks[..] {
                [] => self.add(Rule::Lost, None, format!("{name} is not kept")),
                [task] => self.task(kind, task),
                [task, ..] => {
                    let what = format!("{} tasks of one launch of {name}", tasks.len());
                    self.add(Rule::Doubled, Some(task), what);
                }
            }
        }
        for child in &self.left.children {
            let of = |task: &&TaskSeen| task.session.as_deref() == Some(&*child.session);
            let owner = self.left.tasks.iter().find(of);
            if owner.is_none() || child.busy {
                let what = format!("{} belongs to no task, or is still at work", child.session);
                self.add(Rule::OrphanSession, owner, what);
            }
        }
    }

    fn task(&mut self, kind: Kind, task: &TaskSeen) {
        let words = self.round.words(kind);
        if task.ended.is_none() {
            return self.add(Rule::Stuck, Some(task), format!("it is still {}", task.status));
        }
        if task.pending {
            self.add(Rule::Stuck, Some(task), "its parent is still to be told".to_owned());
        }
        if task.status != "completed" || !task.text.contains(&words) {
            let what = format!("it is {}: {}", task.status, task.text);
            self.add(Rule::WrongOutcome, Some(task), what);
        }
        let ends = |notice: &&Notice| notice.task == task.id && notice.says != "TASK WAITING";
        let told: Vec<&Notice> = self.left.notices.iter().filter(ends).collect();
        match told[..] {
            [] => self.add(Rule::Lost, Some(task), "its parent was never told".to_owned()),
            [one] if one.says == "TASK COMPLETED" && one.result.contains(&words) => {}
            [one] => {
                let what = format!("its parent was told {}: {}", one.says, one.result);
                self.add(Rule::WrongOutcome, Some(task), what);
            }
            [..] => {
                let what = format!("its parent was told {} times", told.len());
                self.add(Rule::Doubled, Some(task), what);
            }
        }
        self.prompted(task);
    }

    /// One prompt, and one more for each host that ended under it.
    fn prompted(&mut self, task: &TaskSeen) {
        let session = task.session.as_deref().unwrap_or_default();
        let Some(child) = self.left.children.iter().find(|child| child.session == session) else {
            return self.add(Rule::Lost, Some(task), format!("its session {session} is gone"));
        };
        let ends = self.round.steps.iter().filter(|step| step.blow.ends_a_host()).count();
        if child.prompts > 1 || child.go_ons > ends {
            let (prompts, go_ons) = (child.prompts, child.go_ons);
            let what = format!("{prompts} prompts, and asked to go on {go_ons} of {ends} times");
            self.add(Rule::Doubled, Some(task), what);
        }
    }

    fn add(&mut self, rule: Rule, task: Option<&TaskSeen>, what: String) {
        let number = self.round.number;
        let id = task.map(|task| task.id.clone());
        let who = task.map_or(String::new(), |task| format!(", {} {}", task.name, task.id));
        let what = format!("round {number}{who}: {what}");
        self.broken.push(Broken { rule, item: Some(number), task: id, what });
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::seen::ChildSeen;
    use super::super::plan::Plan;
    use super::*;

    /// A round in which a host ended, and all went well.
    fn well() -> (Vec<Round>, Seen) {
        let ended = |round: &Round| round.steps.iter().any(|step| step.blow.ends_a_host());
        let mut rounds: Vec<Round> = Plan::new(1, 10).rounds;
        rounds.retain(ended);
        rounds.truncate(1);
        let mut left = ItemSeen { began: Some(1), ..ItemSeen::default() };
        for kind in Kind::ALL {
            let (name, words) = (rounds[0].name(kind), rounds[0].words(kind));
            let (id, session) = (format!("bg_{name}"), format!("ses_{name}"));
            left.notices.push(Notice {
                says: "TASK COMPLETED".to_owned(),
                task: id.clone(),
                line: String::new(),
                result: words.clone(),
                stored: 2,
            });
            left.children.push(ChildSeen {
                session: session.clone(),
                prompts: 1,
                go_ons: 1,
                busy: false,
            });
            left.tasks.push(TaskSeen {
                id,
                name,
                status: "completed".to_owned(),
                session: Some(session),
                ended: Some(2),
                text: words,
                ..TaskSeen::default()
            });
        }
        (rounds, Seen { items: vec![left], ..Seen::default() })
    }

    fn broken_by(change: impl Fn(&mut ItemSeen)) -> Vec<Rule> {
        let (rounds, mut seen) = well();
        change(&mut seen.items[0]);
        check(&rounds, &seen).iter().map(|broken| broken.rule).collect()
    }

    #[test]
    fn what_ended_well_breaks_nothing() {
        assert_eq!(broken_by(|_| {}), []);
    }

    #[test]
    fn every_task_ends_with_its_words_and_is_told_once() {
        assert_eq!(broken_by(|left| drop(left.notices.remove(0))), [Rule::Lost]);
        let twice = |left: &mut ItemSeen| left.notices.push(left.notices[1].clone());
        assert_eq!(broken_by(twice), [Rule::Doubled]);
        let other = |left: &mut ItemSeen| left.notices[0].result = "other".to_owned();
        assert_eq!(broken_by(other), [Rule::WrongOutcome]);
        let cut = |left: &mut ItemSeen| left.tasks[2].status = "error".to_owned();
        assert_eq!(broken_by(cut), [Rule::WrongOutcome]);
        assert_eq!(broken_by(|left| left.tasks[0].ended = None), [Rule::Stuck]);
        assert_eq!(broken_by(|left| left.tasks[0].pending = true), [Rule::Stuck]);
    }

    #[test]
    fn one_task_and_one_prompt_for_each_launch() {
        let lost = [Rule::Lost, Rule::OrphanSession];
        assert_eq!(broken_by(|left| drop(left.tasks.remove(0))), lost);
        let twice = |left: &mut ItemSeen| left.tasks.push(left.tasks[1].clone());
        assert_eq!(broken_by(twice), [Rule::Doubled]);
        assert_eq!(broken_by(|left| left.children[0].prompts = 2), [Rule::Doubled]);
        assert_eq!(broken_by(|left| left.children[0].go_ons = 9), [Rule::Doubled]);
        assert_eq!(broken_by(|left| left.children[0].busy = true), [Rule::OrphanSession]);
    }

    #[test]
    fn processes_of_nobody_are_found() {
        let (rounds, mut seen) = well();
        seen.strangers.push("process 9 x".to_owned());
        assert_eq!(check(&rounds, &seen)[0].rule, Rule::OrphanProcess);
    }
}
