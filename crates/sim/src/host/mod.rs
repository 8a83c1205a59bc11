//! A virtual OpenCode: the host as legwork meets it, with all of its bad habits, as a plain value.
//!
//! One [`OpenCode`] is one project: its databases and any number of processes (windows, servers),
//! each with one of them open.
//! Time comes in only by [`OpenCode::advance`], chance only by the seed, so that a history replays
//! exactly. Calls take effect at once and events come out in the order in which they happen; to
//! delay, lose or double either is the caller's business. This crate knows nothing of legwork's
//! decisions; it models what was seen in 1.18.33, or read in the source of 1.18.18 where the
//! comment says so.

pub mod api;
pub mod dice;
pub mod events;
mod facts;
pub mod nasty;
pub mod process;
pub mod prompt;
pub mod script;
pub mod storage;
mod turn;
mod world;

use std::sync::Arc;

use legwork_protocol::Time;

pub use api::{Agent, ApiError, CLIENTS, NewSession, Reply, SHARED, SPECIALIST};
pub use dice::Dice;
pub use events::{Event, Kind, ProcessNo, Status};
pub use nasty::Nasty;
pub use process::Question;
pub use prompt::Prompt;
pub use storage::{
    Assistant, Body, Finish, Message, Part, Session, SessionFacts, Spent, Storage, Tally, User,
};

use process::Process;
use turn::Turn;
use world::{Due, Key, What, World};

/// One project: its databases and its processes.
#[derive(Debug, Clone)]
pub struct OpenCode {
    storage: Storage,
    processes: Vec<Process>,
    agents: Vec<Agent>,
    default_agent: Arc<str>,
    world: World,
}

impl OpenCode {
    /// An empty place without a process. The number keeps the ids of two places apart.
    pub fn new(place: u8, seed: u64, nasty: Nasty) -> Self {
        let agent = |name: &str, hidden| Agent { name: name.into(), hidden };
        Self {
            storage: Storage::default(),
            processes: Vec::new(),
            agents: vec![
                agent(api::DEFAULT_AGENT, false),
                agent("explore", false),
                agent("general", false),
                agent("plan", false),
                agent(api::SPECIALIST, false),
                agent("compaction", true),
                agent("summary", true),
                agent("title", true),
            ],
            default_agent: api::DEFAULT_AGENT.into(),
            world: World::new(place, seed, nasty),
        }
    }

    /// Its habits, to be switched by a scenario at any time.
    pub fn nasty(&mut self) -> &mut Nasty {
        &mut self.world.nasty
    }

    /// The moment up to which everything has happened.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// A process begins. Nothing that another one left is taken up by it (seen in 1.18.33).
    pub fn boot(&mut self) -> ProcessNo {
        self.boot_on(0)
    }

    /// A process begins with another database than the first: it knows none of the sessions there.
    pub fn boot_on(&mut self, database: u8) -> ProcessNo {
        self.processes.push(Process::new(database));
        ProcessNo(self.processes.len() as u32 - 1)
    }

    /// The database that a process has open.
    pub fn database(&self, process: ProcessNo) -> u8 {
        self.processes.get(process.0 as usize).map_or(0, |process| process.database)
    }

    /// The machine sleeps: whatever would have happened happens so much later.
    pub fn sleep(&mut self, ms: u64) {
        let later = |(at, count): Key| (at.plus(ms), count);
        let agenda = std::mem::take(&mut self.world.agenda);
        self.world.agenda = agenda.into_iter().map(|(key, due)| (later(key), due)).collect();
        for turn in self.processes.iter_mut().flat_map(|process| &mut process.turns) {
            turn.timer = turn.timer.map(later);
        }
    }

    /// Whether the process is there.
    pub fn alive(&self, process: ProcessNo) -> bool {
        self.processes.get(process.0 as usize).is_some_and(|process| process.alive)
    }

    /// The process ends by a signal: its turns, its questions and its events are lost, and what was
    /// half written stays so (seen in 1.18.33).
    pub fn kill(&mut self, process: ProcessNo) {
        let Some(place) = self.processes.get_mut(process.0 as usize) else { return };
        place.alive = false;
        place.questions.clear();
        for turn in place.turns.drain(..) {
            self.storage.sessions[turn.session].facts.ran_until = Some(self.world.now);
        }
        self.world.agenda.retain(|_, due| due.process != process);
        self.world.out.retain(|event| event.process != process);
    }

    /// The process ends in good order: as a kill, but what was half written gets its error (seen in
    /// 1.18.33 for a disposed instance).
    pub fn quit(&mut self, process: ProcessNo) {
        let Some(place) = self.processes.get(process.0 as usize) else { return };
        for turn in &place.turns {
            if let Some(open) = &turn.open {
                let why = &self.world.words.aborted;
                self.storage.sessions[turn.session].fail(open, why, self.world.now);
            }
        }
        self.kill(process);
    }

    /// When something will happen by itself. A moment that has passed means that events wait.
    pub fn next_due(&self) -> Option<Time> {
        let waiting = self.world.out.first().map(|event| event.at);
        waiting.or_else(|| self.world.agenda.first_key_value().map(|((at, _), _)| *at))
    }

    /// Lets everything happen that is due up to this moment, and hands over the events since the
    /// last time. A moment in the past changes nothing.
    pub fn advance(&mut self, now: Time, events: &mut Vec<Event>) {
        while let Some(entry) = self.world.agenda.first_entry()
            && entry.key().0 <= now
        {
            let ((at, _), due) = entry.remove_entry();
            self.world.now = self.world.now.max(at);
            self.happen(due);
        }
        self.world.now = self.world.now.max(now);
        events.append(&mut self.world.out);
    }

    fn happen(&mut self, due: Due) {
        let Due { process, session, what } = due;
        match what {
            What::Step => self.drive(process, session, Turn::step),
            What::Accept(prompt) => self.accept(process, session, *prompt),
            What::Error(why) => {
                let session = &self.storage.sessions[session].id;
                self.world.emit(process, session, Kind::Error { why });
            }
            What::Rest { open, why } => {
                let session = &mut self.storage.sessions[session];
                if let Some(open) = open {
                    session.fail(&open, &why, self.world.now);
                }
                if self.world.nasty.idle_twice {
                    self.world.emit_idle(process, &session.id);
                }
            }
        }
    }
}
