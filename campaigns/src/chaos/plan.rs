//! What happens in a history, and when: helpers of all kinds, what a person and a parent do to
//! them, and kills. All of it follows from the seed; what the machine makes of it does not, so a
//! seed that fails once may need several replays.

use legwork_sim::host::Dice;
use legwork_testkit::{call, script};
use serde_json::{Value, json};

/// Between two kills, on average.
const KILL_EVERY_MS: u64 = 5_000;
/// Between two conversations.
const ITEM_MS: (u64, u64) = (700, 1_900);
/// At most so long after a launch a kill that aims at it comes.
const AIM_MS: u64 = 3_000;

/// How long somebody is stopped: longer than a poll at the most.
const STOP_MS: (u64, u64) = (300, 7_000);

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// The daemon.
    Daemon,
    /// The bridge.
    Bridge,
    /// OpenCode.
    Host,
}

impl Victim {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Daemon, Self::Bridge, Self::Host];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Bridge => "bridge",
            Self::Host => "OpenCode",
        }
    }
}

/// How a helper ends if nobody disturbs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// It answers.
    Answers,
    /// The provider refuses.
    Fails,
    /// There is no such agent, so it never begins.
    NoAgent,
    /// It hangs until somebody cancels it.
    Hangs,
    /// It asks for a permission, and answers when it has got it.
    Asks,
}

/// What is done with the first helper of an item later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// It is resumed by its parent.
    Resume(Ending),
    /// It is cancelled by its parent.
    Cancel,
    /// It is cancelled by a person.
    CancelByPerson,
}

/// One helper, as it is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Its name: unique in the history, and part of every text of it.
    pub name: String,
    /// How it ends.
    pub ending: Ending,
    /// What its model does first, and for how long.
    work: String,
}

/// One conversation with its helpers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its helpers, launched in one step.
    pub helpers: Vec<Launch>,
    /// Whether it waits for them.
    pub waits: bool,
    /// What comes later.
    pub later: Option<Later>,
}

/// Something that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// The turn in which an item's helpers are launched.
    Launch(usize),
    /// What is done with it later.
    Later(usize),
    /// A person answers what the item's helper asks.
    Answer(usize),
    /// A kill.
    Kill(Victim),
    /// A stop, and so many milliseconds later it goes on.
    Stop(Victim, u64),
}

/// Something at a time since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When, at the earliest.
    pub at_ms: u64,
    /// What.
    pub act: Act,
}

/// A history as it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The conversations.
    pub items: Vec<Item>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The same with every second kill, or so, only a stop for some seconds.
    #[must_use]
    pub fn with_stops(mut self, seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x5709);
        for step in &mut self.steps {
            if let Act::Kill(victim) = step.act
                && dice.chance(500)
            {
                step.act = Act::Stop(victim, dice.between(STOP_MS.0, STOP_MS.1));
            }
        }
        self
    }

    /// How many kills and stops it has.
    pub fn blows(&self) -> usize {
        let is_blow = |step: &&Step| matches!(step.act, Act::Kill(_) | Act::Stop(..));
        self.steps.iter().filter(is_blow).count()
    }

    /// The plan of a seed.
    pub fn new(seed: u64, kills: usize) -> Self {
        let mut dice = Dice::new(seed);
        let span_ms = KILL_EVERY_MS * kills.max(1) as u64;
        let mut plan = Self { items: Vec::new(), steps: Vec::new() };
        let mut now = 0;
        while now < span_ms {
            plan.add_item(&mut dice, now);
            now += dice.between(ITEM_MS.0, ITEM_MS.1);
        }
        let launches: Vec<u64> = plan.steps.iter().filter_map(Step::launched_at).collect();
        for number in 0..kills as u64 {
            let from = number * KILL_EVERY_MS;
            let near = launches.iter().filter(|at| (from..from + KILL_EVERY_MS).contains(at));
            let near: Vec<u64> = near.copied().collect();
            let aim = if near.is_empty() { from } else { *dice.pick(&near) };
            let at_ms = aim + dice.below(AIM_MS);
            plan.steps.push(Step { at_ms, act: Act::Kill(victim(&mut dice)) });
        }
        plan.steps.sort_by_key(|step| step.at_ms);
        plan
    }

    fn add_item(&mut self, dice: &mut Dice, at_ms: u64) {
        let number = self.items.len();
        let item = item(dice, number);
        let mut then = |delay: u64, act: Act| self.steps.push(Step { at_ms: at_ms + delay, act });
        then(0, Act::Launch(number));
        if item.later.is_some() {
            then(dice.between(1_500, 6_000), Act::Later(number));
        }
        if item.helpers[0].ending == Ending::Asks {
            then(dice.between(1_500, 6_000), Act::Answer(number));
        }
        self.items.push(item);
    }
}

impl Step {
    fn launched_at(&self) -> Option<u64> {
        matches!(self.act, Act::Launch(_)).then_some(self.at_ms)
    }
}

fn victim(dice: &mut Dice) -> Victim {
    *dice.pick(&[
        Victim::Daemon,
        Victim::Daemon,
        Victim::Daemon,
        Victim::Bridge,
        Victim::Bridge,
        Victim::Host,
        Victim::Host,
    ])
}

fn item(dice: &mut Dice, number: usize) -> Item {
    let one = |place: usize, ending: Ending, dice: &mut Dice| Launch {
        name: format!("h{number}x{place}"),
        ending,
        work: work(dice),
    };
    let kind = dice.below(12);
    let (endings, waits, later): (&[Ending], bool, Option<Later>) = match kind {
        0 | 1 => (&[Ending::Answers], false, None),
        2 => (&[Ending::Fails], false, None),
        3 => (&[Ending::Answers, Ending::Fails, Ending::Answers], false, None),
        4 => (&[Ending::NoAgent, Ending::Answers], false, None),
        5 => (&[Ending::Answers], true, None),
        6 | 7 => (&[Ending::Answers], false, Some(Later::Resume(Ending::Answers))),
        8 => (&[Ending::Answers], false, Some(Later::Resume(Ending::Fails))),
        9 => (&[Ending::Hangs], false, Some(Later::Cancel)),
        10 => (&[Ending::Hangs], false, Some(Later::CancelByPerson)),
        _ => (&[Ending::Asks], false, None),
    };
    let helpers = (0..).zip(endings).map(|(place, ending)| one(place, *ending, dice)).collect();
    Item { helpers, waits, later }
}

/// Some are done at once, some think, some stream slowly.
fn work(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => String::new(),
        1 => format!("wait {}\n", dice.between(100, 2_000)),
        2 => format!("stream {} {} word\n", dice.between(3, 12), dice.between(50, 200)),
        _ => format!("stream {} 250 slow\n", dice.between(8, 24)),
    }
}

impl Launch {
    /// What it answers, or why it fails, in this run.
    pub fn words(&self, run: u32) -> String {
        format!("{}-run{run}-words", self.name)
    }

    /// The line of a parent's script that launches it.
    pub fn line(&self) -> String {
        let (words, work) = (self.words(0), &self.work);
        let bash = json!({ "command": format!("echo {words}"), "description": "asks" });
        let (agent, steps) = match self.ending {
            Ending::Answers => ("general", vec![format!("{work}say {words}")]),
            Ending::Fails => ("general", vec![format!("fail 400 {words}")]),
            Ending::NoAgent => ("nobody", vec!["say never".to_owned()]),
            Ending::Hangs => ("general", vec![format!("{work}hang")]),
            Ending::Asks => {
                let ask = format!("{work}{}", call("bash", &bash));
                ("careful", vec![ask, format!("say {words}")])
            }
        };
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let prompt = script(&steps);
        let given = json!({ "description": self.name, "prompt": prompt, "agent": agent });
        call("background_task", &given)
    }

    /// The line that resumes it.
    pub fn resume(&self, task: &str, ending: Ending) -> String {
        let (words, work) = (self.words(1), &self.work);
        let step = if ending == Ending::Fails {
            format!("fail 400 {words}")
        } else {
            format!("{work}say {words}")
        };
        call("background_task", &json!({ "resume": task, "prompt": script(&[&step]) }))
    }
}

impl Item {
    /// The script of the turn that launches its helpers.
    pub fn script(&self) -> String {
        let launches: Vec<String> = self.helpers.iter().map(Launch::line).collect();
        let mut steps = vec![launches.join("\n")];
        if self.waits {
            let wait = json!({ "task_ids": ["{{last_task}}"], "timeout": 120_000 });
            steps.push(call("background_block", &wait));
        }
        steps.push("say ok".to_owned());
        script(&steps.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Settings of OpenCode that the plan needs: an agent that asks before it runs a command.
pub fn settings() -> Value {
    json!({ "agent": { "careful": { "mode": "subagent", "permission": { "bash": "ask" } } } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_is_one_plan_and_another_seed_another() {
        assert_eq!(Plan::new(7, 10), Plan::new(7, 10));
        assert_ne!(Plan::new(7, 10), Plan::new(8, 10));
    }

    #[test]
    fn a_plan_has_its_kills_in_time_and_everything_in_order() {
        for seed in 0..50 {
            let plan = Plan::new(seed, 12);
            let kills = plan.steps.iter().filter(|step| matches!(step.act, Act::Kill(_)));
            assert_eq!(kills.count(), 12);
            assert!(plan.steps.is_sorted_by_key(|step| step.at_ms));
            let launches = plan.steps.iter().filter(|step| matches!(step.act, Act::Launch(_)));
            assert_eq!(launches.count(), plan.items.len());
            assert!(plan.items.len() < 100, "a listing shows 200 tasks");
        }
    }

    #[test]
    fn stops_take_the_place_of_kills() {
        let plan = Plan::new(7, 20).with_stops(7);
        assert_eq!((plan.blows(), Plan::new(7, 20).blows()), (20, 20));
        let stops = plan.steps.iter().filter(|step| matches!(step.act, Act::Stop(..))).count();
        assert!((1..20).contains(&stops), "{stops}");
    }

    #[test]
    fn many_seeds_have_every_kind_of_everything() {
        let plans: Vec<Plan> = (0..20).map(|seed| Plan::new(seed, 10)).collect();
        let helpers = plans.iter().flat_map(|plan| &plan.items).flat_map(|item| &item.helpers);
        let endings: BTreeSet<Ending> = helpers.map(|helper| helper.ending).collect();
        assert_eq!(endings.len(), 5);
        let steps = plans.iter().flat_map(|plan| &plan.steps);
        let victims: BTreeSet<Victim> = steps
            .filter_map(|step| match step.act {
                Act::Kill(victim) => Some(victim),
                _ => None,
            })
            .collect();
        assert_eq!(victims.len(), 3);
        assert!(plans.iter().flat_map(|plan| &plan.items).any(|item| item.waits));
    }

    #[test]
    fn names_and_scripts_can_be_told_apart() {
        let plan = Plan::new(3, 20);
        let helpers = || plan.items.iter().flat_map(|item| &item.helpers);
        let names: BTreeSet<&str> = helpers().map(|helper| &*helper.name).collect();
        assert_eq!(names.len(), helpers().count());
        for item in &plan.items {
            let steps = legwork_testkit::parse(&item.script()).unwrap().unwrap();
            assert_eq!(steps.len(), if item.waits { 3 } else { 2 });
            assert_eq!(steps[0].len(), item.helpers.len());
        }
    }
}
