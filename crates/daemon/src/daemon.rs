//! The daemon's state. Everything that comes in goes through here into the shell, one input after
//! the other; what was saved goes out to those who watch.

use std::sync::Arc;
use std::time::Duration;

use legwork_engine::shell::Shell;
use legwork_engine::text::toast;
use legwork_engine::{Change, Finding, Hint, HostError, Input, WorkId};
use legwork_host::{Host, Link};
use legwork_machine::Folders;
use legwork_protocol::line::{FromDaemon, HostLifetime, LINE_VERSION, Role};
use legwork_protocol::tools::tools;
use legwork_protocol::{HostId, Refusal, Time};
use legwork_store::{Opened, Store};
use tokio::sync::{mpsc, watch};

use crate::Fault;
use crate::board::Board;
use crate::clock::Clock;
use crate::connection::{Arrival, ConnectionId, Hello, Origin, Peer, SendQueue};
use crate::feed::{self, Feed};
use crate::host::{BuiltIns, Findings, HeadlessHosts, offer};
use crate::life::Options;
use crate::limits::CLIENTS_MAX;
use crate::log::Log;
use crate::notify::Notifier;
use crate::old_mail;
use crate::reading::Reads;
use crate::screens::Screens;
use crate::takeover::successor;
use crate::version::BUILD;
use crate::world::{Attached, Versions, World};

/// What a screen shows in a daemon that starts with empty records.
const SET_ASIDE_TITLE: &str = "legwork could not read its records";

#[derive(Debug)]
pub struct Daemon {
    pub(crate) shell: Shell<Feed, World>,
    pub(crate) clock: Clock,
    pub(crate) folders: Folders,
    pub(crate) started: Time,
    /// Set when it is to end: why.
    pub(crate) leaving: Option<String>,
    pub(crate) built_in: BuiltIns,
    /// The warning about records that could not be read when this daemon started.
    set_aside: Option<String>,
    wake_at: Option<Time>,
    screens: Screens,
    /// What those see who look at the board, if somebody does.
    pub(crate) board: Option<Board>,
    /// Something that was forgotten could not be removed from the files.
    forgotten_left: bool,
    pub(crate) notifier: Notifier,
    pub(crate) log: Log,
}

impl Daemon {
    /// Starts from what the store holds.
    pub fn start(
        Opened { mut store, set_aside }: Opened,
        Options { folders, settings, hosts, notify, .. }: Options,
        (findings, reads): (Findings, Reads),
        hints: &mpsc::UnboundedSender<Hint>,
        log: Log,
    ) -> Result<Self, Fault> {
        let mut clock = Clock::default();
        let started = clock.now();
        let detached = Arc::default();
        let built_in = BuiltIns::open(hosts.built_in, hints, &log, &detached)?;
        old_mail::take_over(&folders.sessions, &mut store)?;
        let headless = HeadlessHosts::new(detached, hints.clone(), log.clone());
        let world =
            World::new(built_in.clone(), hosts.kinds, (findings, reads), headless, log.clone());
        let shell = Shell::start(Feed { store, fresh: Vec::new() }, world, settings, started)?;
        let mut daemon = Self {
            shell,
            clock,
            folders,
            started,
            leaving: None,
            set_aside: set_aside.map(|set_aside| set_aside.to_string()),
            built_in,
            wake_at: Some(started),
            screens: Screens::default(),
            board: None,
            forgotten_left: false,
            notifier: Notifier::new(notify, log.clone()),
            log,
        };
        daemon.expire();
        daemon.attach_built_in();
        Ok(daemon)
    }

    /// What was kept for a while of tasks whose sessions were deleted.
    fn expire(&mut self) {
        if let Err(fault) = self.shell.journal().store.expire(self.started) {
            self.log.warn(format_args!("what is too old cannot be removed: {fault}"));
        }
    }

    /// The built-in hosts are there from the beginning to the end.
    fn attach_built_in(&mut self) {
        self.remove_forgotten();
        for here in self.built_in.clone().iter() {
            let host: Arc<dyn Host> = here.clone();
            let attached = Attached {
                connection: None,
                kind: here.kind(),
                place: here.place().clone(),
                lifetime: HostLifetime::Interactive,
                worker: self.shell.outside().worker(&host),
                is_there: watch::channel(()).0,
                host,
                requests: Arc::default(),
                versions: Versions::default(),
            };
            self.attach(here.id().clone(), attached);
        }
    }

    /// The host can be reached from now on.
    fn attach(&mut self, host: HostId, attached: Attached) {
        let (place, lifetime) = (attached.place.clone(), attached.lifetime);
        let serves = attached.host.serves();
        self.shell.outside().hosts.insert(host.clone(), attached);
        self.step(Input::Hint(Hint::HostCame { host, place, lifetime, serves }));
        self.shell.outside().hurry_readers(None);
    }

    pub fn nap(&mut self) -> Duration {
        let due = [self.wake_at, self.screens.due(), self.board_due()];
        let next = due.into_iter().flatten().min();
        self.clock.until(next)
    }

    pub fn wake(&mut self) {
        let now = self.clock.now();
        if self.wake_at.is_none_or(|at| at <= now) {
            self.step(Input::Tick);
        }
        if self.screens.due().is_some_and(|at| at <= now) {
            self.show_progress(now);
        }
        if self.board_due().is_some_and(|at| at <= now) {
            self.look_after_board(now);
        }
    }

    pub fn arrived(&mut self, connection: ConnectionId, arrival: Arrival) {
        match arrival {
            Arrival::Came(hello) => self.came(connection, hello),
            Arrival::Foreign { version, send_queue } => {
                self.foreign(connection, version, &send_queue)
            }
            Arrival::Line(line) => self.heard(connection, line),
            Arrival::Left { why } => self.left(connection, &why),
        }
    }

    pub fn store(&mut self) -> &Store {
        &self.shell.journal().store
    }

    /// Ends the daemon if its records were deleted or replaced while it has them open; says so.
    ///
    /// It could go on, but into a file that nobody finds: what it then accepts would be lost when
    /// it ends. It could write the records out again, but whoever deletes them means it, and who
    /// puts a backup in their place wants the backup. So it takes nothing more on, and the next
    /// daemon begins with what is there. Records that were moved are whole in their new place.
    pub fn check_records(&mut self) -> Option<Refusal> {
        let path = self.store().replaced()?.display().to_string();
        let why = Refusal::RecordsReplaced { path };
        self.log.warn(&why);
        self.leaving.get_or_insert_with(|| why.to_string());
        Some(why)
    }

    /// Whether nothing is unfinished; not while that cannot be known for certain.
    pub fn has_nothing_to_do(&mut self) -> bool {
        let now = self.clock.now();
        !self.shell.is_degraded()
            && !self.notifier.is_busy()
            && self
                .shell
                .read(now, |engine| engine.tally().unfinished == 0 && !engine.is_telling(now))
                == Some(true)
    }

    fn came(&mut self, connection: ConnectionId, hello: Hello) {
        let Hello { build, role, starts, send_queue, unanswered, origin } = hello;
        let successor = successor(&build, starts);
        if self.makes_way_for(successor.as_deref()) {
            return;
        }
        let (host, place, kind, lifetime, startup, plugin) = match role {
            Role::Client => {
                if !self.make_room(connection, &send_queue) {
                    return;
                }
                self.log.peer(format_args!("{connection}: a program of legwork {build}"));
                greet(&send_queue);
                let peer = Peer { successor, ..Peer::new(None, send_queue, origin) };
                self.shell.outside().peers.insert(connection, peer);
                return;
            }
            Role::Host { host, place, kind, lifetime, startup, plugin } => {
                (host, place, kind, lifetime, startup, plugin)
            }
        };
        if let Some(why) = self.refuses_host(&host, &kind, &origin) {
            self.log.peer(format_args!("{connection}: {why}"));
            send_queue.bye(&why, false);
            return;
        }
        self.displace(&host);
        if let Some(startup) = startup {
            let directory = startup.directory.clone();
            self.step(Input::Hint(Hint::HostIn { host: host.clone(), directory }));
            self.shell.outside().headless.remember(&place, *startup);
        }
        let kinds = self.shell.outside().kinds.clone();
        let Some(kind) = kinds.iter().find(|known| known.name() == kind) else { return };
        let link = Link::new(Arc::new(send_queue.clone()), unanswered);
        let requests = link.requests();
        let (kind, connected) = (kind.name(), kind.connect(host.clone(), link));
        self.log.info(format_args!("{connection}: {host} of {place} is there, legwork {build}"));
        greet(&send_queue);
        let _ = send_queue.send(&FromDaemon::Want { events: connected.wanted_events() });
        tokio::spawn(offer(connected.clone(), self.built_in.clone(), send_queue.clone()));
        let world = self.shell.outside();
        let peer = Peer { successor, ..Peer::new(Some(host.clone()), send_queue, origin) };
        world.peers.insert(connection, peer);
        let attached = Attached {
            connection: Some(connection),
            kind,
            place,
            lifetime,
            worker: world.worker(&connected),
            is_there: watch::channel(()).0,
            host: connected,
            requests,
            versions: Versions { bridge: build, plugin },
        };
        if let Some(message) = self.set_aside.clone().filter(|_| attached.has_screen()) {
            attached.worker.show(toast::warning(SET_ASIDE_TITLE, message));
        }
        self.attach(host, attached);
    }

    fn refuses_host(&mut self, host: &HostId, kind: &str, origin: &Origin) -> Option<String> {
        if let Some(inside) = self.standing(origin).refuses_host() {
            return Some(inside.text());
        }
        let is_known = self.shell.outside().kinds.iter().any(|known| known.name() == kind);
        (!is_known || self.built_in.contains(host))
            .then(|| format!("legwork {BUILD} does not know hosts of the kind {kind}. Update it."))
    }

    /// Ends the idlest of too many clients. If none is idle, this one cannot stay.
    fn make_room(&mut self, connection: ConnectionId, send_queue: &SendQueue) -> bool {
        match self.shell.outside().crowded() {
            Ok(None) => true,
            Ok(Some(idle)) => {
                if let Some(peer) = self.shell.outside().peers.get(&idle) {
                    // It may come again, and does so by itself when it has something to say.
                    peer.send_queue.bye("Others need the connection.", true);
                }
                self.left(idle, "others needed the connection");
                true
            }
            Err(()) => {
                let why = format!(
                    "{CLIENTS_MAX} programs wait for answers of the legwork daemon already."
                );
                self.log.peer(format_args!("{connection}: {why}"));
                send_queue.bye(&why, false);
                false
            }
        }
    }

    /// A host has one connection, the newest: the one before may be broken without our knowing.
    fn displace(&mut self, host: &HostId) {
        let Some(older) = self.shell.outside().hosts.get(host).and_then(|here| here.connection)
        else {
            return;
        };
        if let Some(peer) = self.shell.outside().peers.get(&older) {
            peer.send_queue.bye("The same host has connected again.", false);
        }
        self.left(older, "the same host has connected again");
    }

    fn foreign(&mut self, connection: ConnectionId, version: u32, send_queue: &SendQueue) {
        let why = format!(
            "This daemon (legwork {BUILD}) speaks version {LINE_VERSION} of the line format, the \
             other side version {version}."
        );
        self.log.peer(format_args!("{connection}: {why}"));
        if version > LINE_VERSION && self.is_alone() {
            self.leaving = Some(why);
        } else {
            let remedy = "Update the older one; `legwork daemon stop` lets the other start.";
            send_queue.bye(&format!("{why} {remedy}"), false);
        }
    }

    /// First the host is away, then its calls are dropped: what they waited for must not be told to
    /// a host that is not there. What it was asked has come to nothing before it may come again.
    fn left(&mut self, connection: ConnectionId, why: &str) {
        let Some(gone) = self.shell.outside().remove(connection) else { return };
        if let Some(host) = gone.host {
            self.log.info(format_args!("{connection}: {host} is away: {why}"));
            self.step(Input::Hint(Hint::HostAway { host }));
        } else {
            self.log.peer(format_args!("{connection}: gone: {why}"));
        }
        for call in gone.calls {
            self.step(Input::Dropped { call });
        }
        for work in gone.work {
            self.step(Input::Found { work, found: Err(HostError::Unreachable) });
        }
    }

    /// A host has answered, or will not.
    pub fn found(&mut self, work: WorkId, found: Result<Finding, HostError>) {
        if self.shell.outside().came_back(work) {
            self.step(Input::Found { work, found });
        }
    }

    /// Processes one input, and tells those who watch what came of it.
    pub(crate) fn step(&mut self, input: Input) {
        if input != Input::Tick {
            self.screens.stir();
        }
        if let Some(board) = &mut self.board {
            board.stir();
        }
        let now = self.clock.now();
        if let Some(ms) = self.clock.slept() {
            self.log.info(format_args!("nothing ran for {} s: no limit counts that", ms / 1000));
            self.wake_at = self.shell.step(Input::Slept { ms }, now);
        }
        self.wake_at = self.shell.step(input, now);
        let changes = std::mem::take(&mut self.shell.journal().fresh);
        if changes.is_empty() {
            return;
        }
        self.screens.stir();
        for change in &changes {
            if let Some(line) = feed::log_line(change) {
                self.log.info(line);
            }
            for news in feed::news(now, change) {
                self.shell.outside().tell(&news);
                if let Some(board) = &mut self.board {
                    board.touch(news.task);
                }
                self.shell.outside().hurry_readers(Some(news.task));
            }
        }
        self.notify(&changes, now);
        let forgets = |change: &Change| {
            use Change::{Cleared, Forgotten, StopDone};
            matches!(change, Forgotten { .. } | Cleared { .. } | StopDone { .. })
        };
        if changes.iter().any(forgets) {
            self.remove_forgotten();
        }
        let toasts = self.shell.read(now, |engine| engine.toasts(&changes));
        for (host, toast) in toasts.into_iter().flatten() {
            self.screens.taken(&host, &toast, now);
            self.shell.outside().show(&host, toast);
        }
    }

    /// What was forgotten leaves the files too, and the intent to remove it is a record: what no
    /// record names may belong to records that cannot be read, and stays. The session of a task
    /// that was at work goes when it is stopped.
    ///
    /// The record goes last: whatever ends this daemon before, the next one begins again.
    fn remove_forgotten(&mut self) {
        let store = &mut self.shell.journal().store;
        let removed = store.to_remove().and_then(|tasks| {
            if tasks.is_empty() {
                return Ok(());
            }
            let gone = self.built_in.forget(&tasks);
            store.compact()?;
            store.removed(&gone)
        });
        self.forgotten_left = removed.is_err();
        if let Err(fault) = removed {
            self.log.warn(format_args!("what was forgotten is still in the files: {fault}"));
        }
    }

    /// Tries again what could not be removed, on a full disk say.
    pub fn remove_what_is_left(&mut self) {
        if self.forgotten_left {
            self.remove_forgotten();
        }
    }

    fn show_progress(&mut self, now: Time) {
        let hosts: Vec<HostId> = self.shell.outside().hosts.keys().cloned().collect();
        self.screens.look_after(now, &hosts);
        if self.shell.is_degraded() {
            return;
        }
        for host in hosts {
            let toast = self.shell.read(now, |engine| engine.progress_toast(&host, now)).flatten();
            if let Some(toast) = self.screens.news(&host, toast, now) {
                self.shell.outside().show(&host, toast);
            }
        }
    }
}

fn greet(send_queue: &SendQueue) {
    let (version, build) = (LINE_VERSION, BUILD.to_owned());
    // Far shorter than a line may be.
    let _ = send_queue.send(&FromDaemon::Hello { version, build, tools: tools() });
}
