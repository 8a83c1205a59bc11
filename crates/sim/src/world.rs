//! The world: the windows of a project, hosts of other places, one daemon, callers and a person, on
//! one virtual clock. Everything that will happen is on the agenda, in order.

use std::collections::{BTreeMap, BTreeSet};

use legwork_engine::shell::Shell;
use legwork_engine::{Hint, Input, Lane, Serves, Usage, WorkId};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{CallId, HostId, MessageId, Place, SessionId, Settings, TaskId, Time};

use crate::adapter::Write;
use crate::audit::Audit;
use crate::books::{Books, Keeper};
use crate::calls::{Call, CallNo};
use crate::clients::{Clients, Step};
use crate::host::{CLIENTS, Dice, Event, Nasty, NewSession, OpenCode, ProcessNo, SHARED};
use crate::links::Flight;
use crate::trace::Trace;
use crate::wire::Wire;

/// Where every history begins.
pub const START: Time = Time(1_700_000_000_000);

/// What goes wrong between the daemon and everything else, in so many cases of a thousand.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The daemon dies somewhere within a step.
    pub crash_in_step: u32,
    /// A request does not reach the host.
    pub lost_before: u32,
    /// A request does its work, and its answer is lost.
    pub lost_after: u32,
    /// A request, and with it all later ones to that host, takes long.
    pub slow: u32,
    /// An event does not arrive.
    pub hint_lost: u32,
    /// An event arrives twice.
    pub hint_doubled: u32,
    /// An event arrives late, after others.
    pub hint_late: u32,
    /// A headless host does not start.
    pub headless_fails: u32,
}

/// An OpenCode process with its plugin and its link to the daemon.
#[derive(Debug)]
pub struct Window {
    pub process: ProcessNo,
    /// Its name to the daemon.
    pub host: HostId,
    /// Where it says that its sessions are kept.
    pub place: Place,
    /// Who may have helpers there.
    pub serves: Serves,
    /// How long it stays.
    pub lifetime: HostLifetime,
    /// Whether it runs where the daemon cannot see whether it has ended, as in a container.
    pub unseen: bool,
    /// Whether it is connected with the daemon that lives now.
    pub linked: bool,
    /// Until when nothing at all is done.
    pub slow_until: Time,
    /// Until when each lane is busy; what is asked in one lane is done in order.
    pub free_at: BTreeMap<Lane, Time>,
    /// The requests that are between their reads and their write.
    pub writing: BTreeMap<Lane, (u32, WorkId)>,
    /// Whether events reach the daemon.
    pub stream: bool,
    /// When its link was last cut.
    pub cut_at: Time,
    /// When it was last connected.
    pub linked_at: Time,
}

/// Where the key of a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// The plugin makes one for each call.
    Own,
    /// From the provider's id, as plugins did once, with a provider that has only two. (Of resumes
    /// nobody can tell two from one sent twice, once they are over.)
    Providers,
}

/// Something that will happen.
#[derive(Debug)]
pub(crate) enum Happening {
    /// Something reaches the daemon of this life.
    Arrives(u32, Box<Input>),
    Alarm(u32),
    /// The host begins with a piece of work.
    Reads(u32, WorkId),
    /// It makes its one write.
    Writes(u32, WorkId, Box<Write>),
    /// The daemon hears no answer in time.
    GivesUp(u32, WorkId),
    Links(usize),
    /// A headless host is up, with this database.
    Boots(u8, Place),
    Starts,
    /// A client does something, or its front.
    Client(usize, Step),
}

pub struct World {
    pub now: Time,
    pub faults: Faults,
    pub oc: OpenCode,
    pub windows: Vec<Window>,
    /// All calls that were ever made.
    pub calls: Vec<Call>,
    /// Programs that poll for the ends of their runs.
    pub clients: Clients,
    pub trace: Trace,
    /// The settings of the daemon.
    pub settings: Settings,
    /// Sessions in which a person or model was active, by process.
    pub used: BTreeSet<(ProcessNo, SessionId)>,
    /// Sessions that a window has shown, by process, and since when it did so last.
    pub(crate) shown: BTreeMap<(ProcessNo, SessionId), Time>,
    /// What screens show now, of those that have told it.
    pub(crate) screens: BTreeMap<ProcessNo, Option<SessionId>>,
    /// When the daemon has heard each call.
    pub(crate) heard: BTreeMap<CallId, Time>,
    /// Deliveries that were sent at least once.
    pub(crate) first_tell: BTreeSet<MessageId>,
    /// When a message was last sent to a session.
    pub(crate) last_sent: BTreeMap<SessionId, Time>,
    /// Since when nothing goes wrong any more.
    pub calm_since: Option<Time>,
    /// How many requests the hosts have had.
    pub requests: u64,
    pub(crate) dice: Dice,
    pub(crate) life: u32,
    pub(crate) daemon: Option<Shell<Books, Wire>>,
    pub(crate) books: Option<Books>,
    pub(crate) in_flight: BTreeMap<(u32, WorkId), Flight>,
    pub(crate) last_work: Option<WorkId>,
    pub(crate) by_call: BTreeMap<CallId, CallNo>,
    pub(crate) next_call: u64,
    pub(crate) ended: BTreeSet<HostId>,
    /// When the machine slept, and for how long.
    pub(crate) naps: Vec<(Time, u64)>,
    /// How calls are named: once for each, or as a careless provider names them.
    pub keys: Keys,
    /// Whether windows of one place have different databases, which cannot be.
    pub(crate) hidden_database: bool,
    /// Tasks whose records were set aside.
    pub(crate) set_aside: BTreeSet<TaskId>,
    /// What prompts used up, as it was told with their answers.
    pub(crate) answers_told: BTreeMap<MessageId, Usage>,
    pub(crate) agenda: BTreeMap<(Time, u64), Happening>,
    count: u64,
    pub(crate) alarm: Option<Time>,
    pub(crate) events: Vec<Event>,
}

impl World {
    /// A world with a daemon and no window.
    pub fn new(seed: u64, nasty: Nasty, settings: Settings, keeper: Keeper, trace: Trace) -> Self {
        let mut dice = Dice::new(seed);
        let mut oc = OpenCode::new(0, dice.roll(), nasty);
        oc.advance(START, &mut Vec::new());
        let audit = Audit::new(&settings);
        let mut world = Self {
            now: START,
            faults: Faults::default(),
            oc,
            windows: Vec::new(),
            calls: Vec::new(),
            clients: Clients::default(),
            books: Some(Books::new(keeper, audit, trace.clone())),
            trace,
            settings,
            used: BTreeSet::new(),
            shown: BTreeMap::new(),
            screens: BTreeMap::new(),
            heard: BTreeMap::new(),
            first_tell: BTreeSet::new(),
            calm_since: None,
            last_sent: BTreeMap::new(),
            requests: 0,
            dice,
            life: 0,
            daemon: None,
            in_flight: BTreeMap::new(),
            last_work: None,
            by_call: BTreeMap::new(),
            next_call: 0,
            ended: BTreeSet::new(),
            naps: Vec::new(),
            keys: Keys::Own,
            hidden_database: false,
            set_aside: BTreeSet::new(),
            answers_told: BTreeMap::new(),
            agenda: BTreeMap::new(),
            count: 0,
            alarm: None,
            events: Vec::new(),
        };
        world.start_daemon();
        world
    }

    pub(crate) fn plan(&mut self, ms: u64, what: Happening) {
        self.count += 1;
        self.agenda.insert((self.now.plus(ms), self.count), what);
    }

    /// The daemon wants to be woken at this moment.
    pub(crate) fn set_alarm(&mut self, at: Option<Time>) {
        let Some(at) = at else { return };
        if self.alarm.is_none_or(|set| at < set) {
            self.alarm = Some(at);
            self.plan(at.since(self.now), Happening::Alarm(self.life));
        }
    }

    pub(crate) fn forget_alarm(&mut self) {
        self.alarm = None;
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        let agenda = self.agenda.first_key_value().map(|((at, _), _)| *at);
        [agenda, self.oc.next_due()].into_iter().flatten().min().map(|at| at.max(self.now))
    }

    /// Lets the next thing happen. False if nothing ever will.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.next() else { return false };
        self.now = at;
        self.trace.at(at);
        self.host_events();
        if let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= at
        {
            let what = entry.remove();
            self.happen(what);
        }
        true
    }

    /// Lets everything happen up to a moment.
    pub fn run_until(&mut self, end: Time) {
        while self.next().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = self.now.max(end);
        self.trace.at(self.now);
        self.host_events();
    }

    /// Lets everything happen for so many milliseconds.
    pub fn run_for(&mut self, ms: u64) {
        self.run_until(self.now.plus(ms));
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Arrives(life, input) => {
                if life == self.life {
                    self.daemon_step(*input);
                }
            }
            Happening::Alarm(life) => {
                if life == self.life && self.alarm.is_some_and(|at| at <= self.now) {
                    self.alarm = None;
                    self.daemon_step(Input::Tick);
                }
            }
            Happening::Reads(life, work) => self.work_reads(life, work),
            Happening::Writes(life, work, write) => self.work_writes(life, work, *write),
            Happening::GivesUp(life, work) => self.work_given_up(life, work),
            Happening::Links(window) => self.link(window),
            Happening::Boots(database, place) => self.boot_headless(database, place),
            Happening::Starts => self.start_daemon(),
            Happening::Client(client, step) => self.client_step(client, step),
        }
    }

    /// What the hosts announce since the last time reaches the daemon, more or less.
    pub(crate) fn host_events(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        self.oc.advance(self.now, &mut events);
        for event in events.drain(..) {
            self.carry(event);
        }
        self.events = events;
    }

    /// Opens an OpenCode window; it connects with the daemon by itself.
    pub fn boot(&mut self) -> usize {
        self.boot_on(0, place())
    }

    /// Opens one with this database, which says that its sessions are kept in this place.
    pub fn boot_on(&mut self, database: u8, place: Place) -> usize {
        let process = self.oc.boot_on(database);
        let number = self.windows.len();
        let host = match database {
            CLIENTS => name("clients"),
            _ => name(&format!("opencode-{}", number + 1)),
        };
        self.trace.tell(|| format!("{host} starts"));
        self.windows.push(Window {
            process,
            host,
            place,
            serves: match database {
                SHARED => Serves::Everyone,
                CLIENTS => Serves::Nobody,
                _ => Serves::OwnPlace,
            },
            lifetime: HostLifetime::Interactive,
            unseen: false,
            linked: false,
            slow_until: self.now,
            free_at: BTreeMap::new(),
            writing: BTreeMap::new(),
            stream: true,
            cut_at: Time::default(),
            linked_at: Time::default(),
        });
        self.plan(1, Happening::Links(number));
        number
    }

    /// Starts a host that serves everyone, with an agent that the others lack.
    pub fn boot_shared(&mut self) -> usize {
        self.boot_on(SHARED, shared_place())
    }

    /// The window's process ends at once.
    pub fn kill_window(&mut self, number: usize) {
        let (process, host) = (self.windows[number].process, self.windows[number].host.clone());
        if !self.oc.alive(process) {
            return;
        }
        self.trace.tell(|| format!("{host} is killed"));
        self.host_events();
        self.oc.kill(process);
        let unseen = self.windows[number].unseen;
        if !unseen {
            self.ended.insert(host.clone());
            if let Some(daemon) = &mut self.daemon {
                daemon.outside().ended.insert(host.clone());
            }
        }
        // Its end is seen at once where the link is up, else when it is looked for.
        // Often only the broken link is seen first.
        if self.windows[number].linked {
            let hint = match !unseen && self.dice.chance(500) {
                true => Hint::HostGone { host },
                false => Hint::HostAway { host },
            };
            self.arrives(1, Input::Hint(hint));
        }
        self.unlink(number);
        self.drop_calls(number);
    }

    /// The windows whose process lives. The host of clients is none.
    pub fn alive(&self) -> Vec<usize> {
        let alive = |w: &usize| self.oc.alive(self.windows[*w].process) && !self.is_clients(*w);
        (0..self.windows.len()).filter(alive).collect()
    }

    /// A conversation that a person has in a window.
    pub fn conversation(&mut self, window: usize) -> SessionId {
        let database = self.oc.database(self.windows[window].process);
        let session = self.oc.create(NewSession { database, ..NewSession::default() });
        self.use_session(window, &session);
        session
    }

    /// A person writes into a session, in a window.
    pub fn use_session(&mut self, window: usize, session: &SessionId) {
        let process = self.windows[window].process;
        if self.oc.shares(process, session)
            && self.oc.used(process, session, &"build".into(), "Hello").is_ok()
        {
            self.trace.tell(|| format!("a person writes into {session}"));
            self.used.insert((process, session.clone()));
        }
    }

    /// A person opens a session in a window and only looks at it.
    pub fn show_session(&mut self, window: usize, session: &SessionId) {
        let process = self.windows[window].process;
        if self.windows[window].linked && self.oc.shares(process, session) {
            self.trace.tell(|| format!("{session} is shown"));
            let screen = self.screens.insert(process, Some(session.clone()));
            if screen.flatten().as_ref() != Some(session) {
                self.shown.insert((process, session.clone()), self.now);
            }
            self.tell_screen(window);
        }
    }

    /// A person leaves the session that a window shows.
    pub fn show_nothing(&mut self, window: usize) {
        let process = self.windows[window].process;
        if self.windows[window].linked && self.oc.alive(process) {
            self.trace.tell(|| format!("{} shows no session", self.windows[window].host));
            self.screens.insert(process, None);
            self.tell_screen(window);
        }
    }

    /// The part of a window for the terminal UI tells what is there, if there is one.
    pub(crate) fn tell_screen(&mut self, window: usize) {
        let Window { process, host, .. } = &self.windows[window];
        let Some(session) = self.screens.get(process).cloned() else { return };
        let host = host.clone();
        self.arrives(1, Input::Hint(Hint::Shown { host, session }));
    }

    /// A session is deleted in a window.
    pub fn delete_session(&mut self, window: usize, session: &SessionId) {
        let process = self.windows[window].process;
        if self.oc.shares(process, session) && self.oc.delete(process, session).is_ok() {
            self.trace.tell(|| format!("{session} is deleted"));
        }
    }

    /// The auditor, with what he has found.
    pub fn audit(&mut self) -> &mut Audit {
        match (&mut self.daemon, &mut self.books) {
            (Some(daemon), _) => &mut daemon.journal().audit,
            (None, Some(books)) => &mut books.audit,
            (None, None) => unreachable!("the books are with the daemon or here"),
        }
    }

    /// Makes the disk full, or not.
    pub fn set_full(&mut self, full: bool) {
        self.trace.tell(|| if full { "the disk fills up" } else { "there is room" }.to_owned());
        match (&mut self.daemon, &mut self.books) {
            (Some(daemon), _) => daemon.journal().full = full,
            (None, Some(books)) => books.full = full,
            (None, None) => {}
        }
    }
}

/// The place of the first database.
pub fn place() -> Place {
    name("project")
}

/// The place of another.
pub fn other_place() -> Place {
    name("project-elsewhere")
}

/// The place of hosts that serve everyone.
pub fn shared_place() -> Place {
    name("shared")
}

/// An id that is known to be one.
pub fn name<T: std::str::FromStr>(text: &str) -> T {
    match text.parse() {
        Ok(id) => id,
        Err(_) => unreachable!("{text} is an id"),
    }
}
