//! What happens in a history in which windows come and go: rounds of three helpers at work, and
//! blows against whatever runs them. All of it follows from the seed.

use legwork_sim::host::Dice;
use legwork_testkit::{call, script};
use serde_json::json;

/// A run goes on three times at the most, so no more of its hosts are ended.
const ENDS_MAX: usize = 3;
/// Kills in one round.
const KILLS: (u64, u64) = (2, 5);
/// At most so long after the last blow, or after that for which it waited, a blow comes. A headless
/// OpenCode is ordered two seconds after the end of a window and takes two or three to start.
const AFTER_MS: u64 = 5_000;
/// The same after the process of a headless OpenCode was seen that is to be hit while it starts.
const STARTING_MS: u64 = 1_500;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blow {
    /// A person closes the window.
    Close,
    /// The window is killed.
    KillWindow,
    /// The headless OpenCode is killed.
    KillHeadless(Aim),
    /// The daemon is killed.
    KillDaemon,
    /// A person opens a window again.
    Open,
}

/// When a headless OpenCode is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aim {
    /// As soon as its process is there.
    Starting,
    /// When the helpers go on in it.
    AtWork,
}

impl Blow {
    /// What counts as a kill, with its name in sums.
    pub fn kill(self) -> Option<&'static str> {
        match self {
            Self::Close => Some("window by SIGTERM"),
            Self::KillWindow => Some("window"),
            Self::KillHeadless(Aim::Starting) => Some("headless OpenCode while it starts"),
            Self::KillHeadless(Aim::AtWork) => Some("headless OpenCode at work"),
            Self::KillDaemon => Some("daemon"),
            Self::Open => None,
        }
    }

    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Close,
        Self::KillWindow,
        Self::KillHeadless(Aim::Starting),
        Self::KillHeadless(Aim::AtWork),
        Self::KillDaemon,
        Self::Open,
    ];

    /// Whether it ends what helpers may run in.
    pub fn ends_a_host(self) -> bool {
        !matches!(self, Self::KillDaemon | Self::Open)
    }
}

/// A blow, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Since the last blow; against a headless OpenCode since it is there, or at work.
    pub after_ms: u64,
    /// What is done.
    pub blow: Blow,
}

/// Three helpers, and what happens while they work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Its number.
    pub number: usize,
    /// The blows.
    pub steps: Vec<Step>,
    /// After this step a person answers what is asked, besides at the end.
    pub answered_after: usize,
    /// Whether the helpers may end before a window is open again.
    pub ends_alone: bool,
}

/// What a helper does until it may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is in the middle of a tool call.
    Tool,
    /// It streams.
    Stream,
    /// It waits for a permission, and has it asked again whenever it has to go on.
    Ask,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tool, Self::Stream, Self::Ask];

    fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Stream => "stream",
            Self::Ask => "ask",
        }
    }
}

/// A history as it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The rounds, one after the other.
    pub rounds: Vec<Round>,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(seed: u64, kills: usize) -> Self {
        let mut dice = Dice::new(seed);
        let (mut rounds, mut left) = (Vec::new(), kills);
        while left > 0 {
            let round = Round::new(&mut dice, rounds.len(), left);
            left -= round.kills();
            rounds.push(round);
        }
        Self { rounds }
    }
}

impl Round {
    fn new(dice: &mut Dice, number: usize, left: usize) -> Self {
        let kills = usize::try_from(dice.between(KILLS.0, KILLS.1)).unwrap_or(left).min(left);
        let mut round = Self { number, steps: Vec::new(), answered_after: 0, ends_alone: true };
        while round.kills() < kills {
            let soon = dice.chance(800);
            let blow = *dice.pick(&round.possible(soon));
            let starting = blow == Blow::KillHeadless(Aim::Starting);
            let after_ms = dice.below(if starting { STARTING_MS } else { AFTER_MS });
            round.steps.push(Step { after_ms, blow });
        }
        round.answered_after = dice.below(2 * round.steps.len() as u64) as usize;
        round.ends_alone = dice.chance(500);
        round
    }

    /// What may come next. Mostly the first is an end of the window.
    fn possible(&self, soon: bool) -> Vec<Blow> {
        let last = self.steps.iter().rev().map(|step| step.blow);
        let open = last.into_iter().find_map(|blow| match blow {
            Blow::Close | Blow::KillWindow => Some(false),
            Blow::Open => Some(true),
            Blow::KillHeadless(_) | Blow::KillDaemon => None,
        });
        let of = |wanted: &dyn Fn(Blow) -> bool| {
            self.steps.iter().filter(|step| wanted(step.blow)).count()
        };
        let may_end = of(&Blow::ends_a_host) < ENDS_MAX;
        let mut possible = Vec::new();
        if open.unwrap_or(true) {
            if may_end {
                possible.extend([Blow::Close, Blow::KillWindow]);
            }
            if !(may_end && soon && self.steps.is_empty()) {
                possible.push(Blow::KillDaemon);
            }
            return possible;
        }
        possible.extend([Blow::KillDaemon, Blow::Open]);
        if may_end {
            possible.push(Blow::KillHeadless(Aim::AtWork));
        }
        // After a start that fails the next is ten seconds later, and the third is the last.
        if may_end && of(&|blow| blow == Blow::KillHeadless(Aim::Starting)) == 0 {
            possible.push(Blow::KillHeadless(Aim::Starting));
        }
        possible
    }

    /// How many kills it has.
    pub fn kills(&self) -> usize {
        self.steps.iter().filter(|step| step.blow.kill().is_some()).count()
    }

    /// A helper's name, which is part of every text of it.
    pub fn name(&self, kind: Kind) -> String {
        format!("r{}-{}", self.number, kind.name())
    }

    /// What a helper says at its end.
    pub fn words(&self, kind: Kind) -> String {
        format!("{}-words", self.name(kind))
    }

    /// The gate that lets the helpers go on to their end.
    pub fn gate(&self) -> String {
        format!("r{}-go", self.number)
    }

    /// A file of the project that the tool call makes at its beginning.
    pub fn begun(&self) -> String {
        format!("r{}-begun", self.number)
    }

    /// The script of the turn that launches the helpers, in one step.
    pub fn script(&self) -> String {
        let lines: Vec<String> = Kind::ALL.iter().map(|kind| self.launch(*kind)).collect();
        script(&[&lines.join("\n"), "say ok"])
    }

    fn launch(&self, kind: Kind) -> String {
        let (gate, words) = (self.gate(), self.words(kind));
        let bash = |command: String| {
            let given =
                json!({ "command": command, "description": kind.name(), "timeout": 600_000 });
            call("bash", &given)
        };
        let (agent, steps) = match kind {
            // What a killed OpenCode leaves behind ends at the same gate.
            Kind::Tool => {
                let wait =
                    format!("for i in $(seq 1500); do test -e {gate} && break; sleep 0.2; done");
                (
                    "general",
                    [bash(format!("touch {}; {wait}", self.begun())), format!("say {words}")],
                )
            }
            Kind::Stream => {
                let stream = format!("stream-until {gate} 150 word\nsay {words}");
                ("general", [stream, String::new()])
            }
            Kind::Ask => {
                ("careful", [bash(format!("echo {words}")), format!("gate {gate}\nsay {words}")])
            }
        };
        let steps: Vec<&str> =
            steps.iter().map(String::as_str).filter(|step| !step.is_empty()).collect();
        let given =
            json!({ "description": self.name(kind), "prompt": script(&steps), "agent": agent });
        call("background_task", &given)
    }
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
    fn a_plan_has_its_kills_and_no_run_loses_more_hosts_than_it_survives() {
        for seed in 0..200 {
            let plan = Plan::new(seed, 10);
            assert_eq!(plan.rounds.iter().map(Round::kills).sum::<usize>(), 10);
            for round in &plan.rounds {
                let ends = round.steps.iter().filter(|step| step.blow.ends_a_host()).count();
                assert!(ends <= ENDS_MAX, "{round:?}");
            }
        }
    }

    #[test]
    fn a_window_is_open_to_be_ended_and_closed_to_be_opened() {
        for round in (0..200).flat_map(|seed| Plan::new(seed, 10).rounds) {
            let mut open = true;
            for step in &round.steps {
                match step.blow {
                    Blow::Close | Blow::KillWindow => assert!(std::mem::replace(&mut open, false)),
                    Blow::Open => assert!(!std::mem::replace(&mut open, true)),
                    Blow::KillHeadless(_) => assert!(!open, "{round:?}"),
                    Blow::KillDaemon => {}
                }
            }
        }
    }

    #[test]
    fn many_seeds_have_every_kind_of_blow() {
        let rounds: Vec<Round> = (0..20).flat_map(|seed| Plan::new(seed, 10).rounds).collect();
        let steps = rounds.iter().flat_map(|round| &round.steps);
        let blows: BTreeSet<Blow> = steps.map(|step| step.blow).collect();
        assert_eq!(blows.len(), Blow::ALL.len());
        assert!(rounds.iter().any(|round| round.ends_alone));
        assert!(rounds.iter().any(|round| !round.ends_alone));
    }

    #[test]
    fn a_round_launches_its_three_helpers_in_one_step() {
        let plan = Plan::new(3, 10);
        for round in &plan.rounds {
            let steps = legwork_testkit::parse(&round.script()).unwrap().unwrap();
            assert_eq!((steps.len(), steps[0].len()), (2, 3));
            assert!(Kind::ALL.iter().all(|kind| round.script().contains(&round.words(*kind))));
        }
    }
}
