//! Clients that poll: programs outside of every host whose sessions ask for runs, as those over MCP
//! do. Each keeps its open runs on disk, and has a front that polls for them until it has their
//! ends. A client or its front may die at any moment; the client comes back under the same id and
//! polls for all that it does not have.
//!
//! Their sessions are kept by one host that is part of the daemon, and most have an inbox there.
//! What is not put into it is read by the front, with the answer to a call.

mod check;
mod front;
mod inbox;
mod reading;

use std::collections::{BTreeMap, BTreeSet};

use legwork_engine::Unread;
use legwork_protocol::{Ask, MessageId, Place, QuestionId, SessionId, TaskId};

pub use check::told_one_way;

use crate::calls::CallNo;
use crate::host::{CLIENTS, NewSession};
use crate::world::{Happening, World, name};

/// One run of a task.
pub type RunNo = (TaskId, u32);

/// All clients, and what the checkers want to know of them.
#[derive(Debug, Default)]
pub struct Clients {
    /// The host that keeps their sessions.
    pub window: Option<usize>,
    pub all: Vec<Client>,
    /// Calls of fronts: the client, and which of its fronts.
    calls: BTreeMap<CallNo, (usize, u32)>,
    /// Runs whose end a front gave to its client, and died before the daemon knew.
    pub unsure: BTreeSet<RunNo>,
    /// The ends that stood in each message which a front has shown.
    pub shown: BTreeMap<MessageId, BTreeSet<RunNo>>,
    /// Messages that a front has shown, and died before the daemon knew.
    shown_unsure: BTreeSet<MessageId>,
}

#[derive(Debug)]
pub struct Client {
    pub session: SessionId,
    /// Which of its processes runs, if one does.
    pub process: Option<u32>,
    /// Which of its fronts lives, if one does.
    pub front: Option<u32>,
    started: u32,
    /// Whether it can be woken from outside.
    pub has_inbox: bool,
    /// What its front has read and will show.
    showing: Vec<Unread>,
    /// What its front has shown, and the daemon does not know so of yet.
    acknowledging: Vec<MessageId>,
    /// What it keeps on disk of each run.
    pub runs: BTreeMap<RunNo, Kept>,
    /// Runs whose end its front gave it, and that the daemon does not know so of yet.
    handing: BTreeSet<RunNo>,
    /// The questions that it knows of; its front keeps them.
    questions: BTreeMap<RunNo, Vec<QuestionId>>,
}

/// What a client keeps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It polls for it.
    Open,
    /// Its model was given this end.
    Told(End),
    /// There is no such run any more.
    Gone,
}

/// The end of a run as a client is given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Whole,
    /// One line: the conversation has it already.
    Known,
}

/// What a client or its front does after a while.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Polls {
        front: u32,
        run: RunNo,
    },
    Fetches {
        front: u32,
        run: RunNo,
    },
    HandsOver {
        front: u32,
        run: RunNo,
    },
    Records {
        process: u32,
        run: RunNo,
        end: End,
    },
    /// The front gives its client what it has read.
    Shows {
        front: u32,
    },
    /// The front finds the daemon again and asks again what has no answer.
    Reconnects {
        front: u32,
    },
    FrontEnds {
        front: u32,
    },
    Returns,
}

impl Client {
    /// The runs that it does not have the end of.
    pub fn open(&self) -> Vec<RunNo> {
        let open = self.runs.iter().filter(|(_, kept)| **kept == Kept::Open);
        open.map(|(run, _)| *run).collect()
    }
}

impl World {
    /// The host that keeps the sessions of clients. It is a part of the daemon, always the same.
    pub fn boot_clients(&mut self) {
        if self.clients.window.is_none() {
            let number = self.boot_on(CLIENTS, clients_place());
            self.clients.window = Some(number);
        }
    }

    /// A client starts, with a new session.
    pub fn client(&mut self) -> usize {
        self.boot_clients();
        let session = self.oc.create(NewSession { database: CLIENTS, ..NewSession::default() });
        self.trace.tell(|| format!("a client starts with {session}"));
        let (process, front) = (Some(0), Some(0));
        self.clients.all.push(Client {
            session,
            process,
            front,
            started: 0,
            has_inbox: true,
            showing: Vec::new(),
            acknowledging: Vec::new(),
            runs: BTreeMap::new(),
            handing: BTreeSet::new(),
            questions: BTreeMap::new(),
        });
        self.clients.all.len() - 1
    }

    /// A client asks through its front, if that lives.
    pub fn client_asks(&mut self, client: usize, ask: Ask) -> Option<CallNo> {
        let (window, front) = (self.clients.window?, self.clients.all[client].front?);
        let session = self.clients.all[client].session.clone();
        let number = self.ask(window, &session, ask);
        self.clients.calls.insert(number, (client, front));
        Some(number)
    }

    /// The front dies, and nobody starts it again.
    pub fn kill_front(&mut self, client: usize) {
        let Some(front) = self.clients.all[client].front.take() else { return };
        let session = self.clients.all[client].session.clone();
        self.trace.tell(|| format!("the front of {session} dies"));
        self.clients.all[client].questions.clear();
        let unsaid = std::mem::take(&mut self.clients.all[client].handing);
        self.clients.unsure.extend(unsaid);
        self.clients.all[client].showing.clear();
        self.acknowledged(client, false);
        let own =
            |(number, by): (&CallNo, &(usize, u32))| (*by == (client, front)).then_some(*number);
        let calls: Vec<CallNo> = self.clients.calls.iter().filter_map(own).collect();
        for number in calls {
            self.clients.calls.remove(&number);
            if self.calls[number].answer.is_some() {
                continue;
            }
            self.calls[number].dropped = true;
            if let Some(call) = self.calls[number].id {
                // After everything that it has sent.
                self.arrives(4, legwork_engine::Input::Dropped { call });
            }
        }
    }

    /// The client's process ends at once, and soon its front.
    pub fn kill_client(&mut self, client: usize) {
        if self.clients.all[client].process.take().is_none() {
            return;
        }
        let session = self.clients.all[client].session.clone();
        self.trace.tell(|| format!("the client of {session} is killed"));
        match self.clients.all[client].front {
            Some(front) if self.dice.chance(500) => {
                let ms = self.dice.between(1, 20);
                self.plan(ms, Happening::Client(client, Step::FrontEnds { front }));
            }
            _ => self.kill_front(client),
        }
    }

    /// The client is started again with the same session, and polls for what it does not have.
    pub fn return_client(&mut self, client: usize) {
        if self.clients.all[client].process.is_some() {
            return;
        }
        self.kill_front(client);
        let this = &mut self.clients.all[client];
        this.started += 1;
        this.process = Some(this.started);
        let session = this.session.clone();
        self.trace.tell(|| format!("the client of {session} is there again"));
        self.connect_front(client);
    }

    /// A new front for a client whose front died, which takes up all of its open runs.
    pub fn connect_front(&mut self, client: usize) {
        let this = &mut self.clients.all[client];
        if this.process.is_none() || this.front.is_some() {
            return;
        }
        this.started += 1;
        let front = this.started;
        this.front = Some(front);
        for run in self.clients.all[client].open() {
            let ms = self.dice.between(100, 2_000);
            self.plan(ms, Happening::Client(client, Step::Polls { front, run }));
        }
    }

    /// The daemon is there again: every front finds it after a while.
    pub(crate) fn reconnect_fronts(&mut self) {
        for client in 0..self.clients.all.len() {
            if let Some(front) = self.clients.all[client].front {
                let ms = self.dice.between(1, 2_000);
                self.plan(ms, Happening::Client(client, Step::Reconnects { front }));
            }
        }
    }

    /// The client that has this session.
    pub fn client_of(&self, session: &SessionId) -> Option<&Client> {
        self.clients.all.iter().find(|client| client.session == *session)
    }

    pub(crate) fn is_clients(&self, window: usize) -> bool {
        self.clients.window == Some(window)
    }

    pub(crate) fn client_step(&mut self, client: usize, step: Step) {
        let Client { front, process, .. } = self.clients.all[client];
        match step {
            Step::Polls { front: by, run } if front == Some(by) => self.poll(client, run),
            Step::Fetches { front: by, run } if front == Some(by) => self.fetch(client, run),
            Step::HandsOver { front: by, run } if front == Some(by) => self.hand_over(client, run),
            Step::Records { process: by, run, end } if process == Some(by) => {
                self.record(client, run, end);
            }
            Step::Shows { front: by } if front == Some(by) => self.show(client),
            Step::Reconnects { front: by } if front == Some(by) => self.resend_calls(client),
            Step::FrontEnds { front: by } if front == Some(by) => self.kill_front(client),
            Step::Returns => self.return_client(client),
            // Of a process or front that is dead.
            _ => {}
        }
    }

    /// Who is away now stays away.
    pub(crate) fn forget_returns(&mut self) {
        self.agenda.retain(|_, what| !matches!(what, Happening::Client(_, Step::Returns)));
    }

    /// The client comes back after so long.
    pub fn return_later(&mut self, client: usize, ms: u64) {
        self.plan(ms, Happening::Client(client, Step::Returns));
    }
}

/// Where the sessions of clients are kept.
pub fn clients_place() -> Place {
    name("clients")
}
