//! The daemon's life: it starts as the only one of its user and ends when nobody needs it.

use std::fs::File;
use std::io;
use std::time::Duration;

use legwork_client::{Newest, Record};
use legwork_engine::{Hint, Input};
use legwork_host::{Kind, Opening};
use legwork_machine::{Folders, children, inherited};
use legwork_protocol::Settings;
use legwork_protocol::line::LINE_VERSION;
use legwork_store::{Opened, Store};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::Fault;
use crate::connection::accept::{self, ConnectionLimit, Listener};
use crate::connection::{Arrival, ConnectionId, Shared};
use crate::daemon::Daemon;
use crate::fault::chain;
use crate::host::Found;
use crate::limits::{FAREWELL_MAX, INBOX_MAX_LINES, LINGER};
use crate::log::Log;
use crate::notify::ReadNotify;
use crate::reading::{Read, Reads};
use crate::rendezvous::Rendezvous;
use crate::version::BUILD;

pub struct Hosts {
    pub kinds: Vec<Box<dyn Kind>>,
    /// Those that are part of this process.
    pub built_in: Vec<Opening>,
}

pub struct Options {
    pub folders: Folders,
    /// What the engine goes by.
    pub settings: Settings,
    /// What is wrong with the settings, for the log.
    pub complaints: Vec<String>,
    pub hosts: Hosts,
    /// How a person who is elsewhere is told.
    pub notify: ReadNotify,
    /// Run only if there are records already.
    pub only_if_kept: bool,
    /// Run in the foreground: the log goes to stderr as well, and Ctrl-C ends the daemon.
    pub log_to_stderr: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It ran, and was not needed any more.
    Ended,
    /// Another daemon of this user is there already.
    AlreadyRunning,
    /// There are no records, and it was to make none.
    NothingKept,
}

pub fn run(options: Options) -> Result<Outcome, Fault> {
    let log_to_stderr = options.log_to_stderr;
    let folders = &options.folders;
    inherited::leave_behind();
    if !log_to_stderr {
        // Whoever started it may go, and its terminal with it. A process that leads a group already
        // is refused this, and does not need it.
        let _ = rustix::process::setsid();
    }
    legwork_machine::check_owner(folders)?;
    // The store's lock is what makes a daemon the only one: nothing that another one has is touched
    // before.
    let claim = if options.only_if_kept { Store::claim_again } else { Store::claim };
    let claim = match claim(&folders.store) {
        Err(legwork_store::Fault::Locked { .. }) => return Ok(Outcome::AlreadyRunning),
        Err(legwork_store::Fault::Removed { .. }) => return Ok(Outcome::NothingKept),
        claim => claim?,
    };
    let record = Record::of_this_process(BUILD, LINE_VERSION);
    // Whoever waits for this daemon sees that it has begun. If that cannot be written, they wait
    // all the same.
    let _ = claim.note(&record.text());
    let log = Log::open(&folders.log, log_to_stderr)?;
    let outcome = claim.open().map_err(Fault::from).and_then(|opened| {
        if let Some(set_aside) = &opened.set_aside {
            log.warn(set_aside);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Fault::system("set up its runtime"))?;
        runtime.block_on(async {
            let born = born(opened, options, record, log.clone())?;
            if !log_to_stderr {
                // From now on nobody listens there.
                silence().map_err(Fault::system("close its output"))?;
            }
            born.live().await;
            Ok(Outcome::Ended)
        })
    });
    if let Err(fault) = &outcome {
        log.warn(format_args!("the daemon cannot run: {}", chain(fault)));
    }
    outcome
}

/// Closes stdin, stdout and stderr.
fn silence() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}

/// A daemon that listens and has not accepted a connection yet.
struct Born {
    life: Life,
    listener: Listener,
    shared: Shared,
    leave: watch::Sender<Option<String>>,
}

fn born(opened: Opened, options: Options, record: Record, log: Log) -> Result<Born, Fault> {
    options.complaints.iter().for_each(|what| log.warn(what));
    let signals = Signals::new().map_err(Fault::system("listen for signals"))?;
    // Without it an older legwork starts itself, and says so if it cannot read the records.
    if let Err(fault) = Newest::note(&options.folders.store, BUILD) {
        log.warn(format_args!("older versions may not find this one: {fault}"));
    }
    let (rendezvous, listener) =
        Rendezvous::listen(&options.folders, &opened.store, record, log.clone())?;
    let (findings, found) = mpsc::unbounded_channel();
    let (reads, read) = mpsc::unbounded_channel();
    let (hints, hinted) = mpsc::unbounded_channel();
    let (inbox, arrivals) = mpsc::channel(INBOX_MAX_LINES);
    let (leave, leaving) = watch::channel(None);
    let life = Life {
        daemon: Daemon::start(opened, options, (findings, Reads::new(reads)), &hints, log.clone())?,
        rendezvous,
        arrivals,
        found,
        read,
        hinted,
        signals,
        limit: ConnectionLimit::default(),
        linger: linger(),
        alone_since: None,
    };
    Ok(Born { life, listener, shared: Shared::new(inbox, leaving, log), leave })
}

impl Born {
    async fn live(self) {
        let Self { life, listener, shared, leave } = self;
        let (limit, log) = (life.limit.clone(), shared.log.clone());
        // The store, and with it the lock, is held until the socket is gone.
        let (mut life, why) = tokio::select! {
            ended = life.run() => ended,
            never = accept::keep(listener.clone(), limit.clone(), shared) => never,
        };
        log.info(format_args!("ends: {why}"));
        life.rendezvous.leave(life.daemon.store());
        leave.send_replace(Some(why.clone()));
        let farewell = async {
            accept::close(&listener, &why).await;
            limit.all_free().await;
        };
        // Whoever does not listen by then does not hear it.
        let _ = timeout(FAREWELL_MAX, farewell).await;
        // Nobody would look after them any more.
        children::end_all();
    }
}

/// `LEGWORK_LINGER_MS` is for tests, which cannot wait that long.
fn linger() -> Duration {
    let given = std::env::var("LEGWORK_LINGER_MS").ok().and_then(|ms| ms.parse().ok());
    given.map_or(LINGER, Duration::from_millis)
}

struct Life {
    daemon: Daemon,
    rendezvous: Rendezvous,
    arrivals: mpsc::Receiver<(ConnectionId, Arrival)>,
    found: mpsc::UnboundedReceiver<Found>,
    read: mpsc::UnboundedReceiver<Read>,
    hinted: mpsc::UnboundedReceiver<Hint>,
    signals: Signals,
    limit: ConnectionLimit,
    linger: Duration,
    /// Since when nobody is connected and nothing is unfinished.
    alone_since: Option<Instant>,
}

impl Life {
    /// Runs to the end; returns itself and why it ended.
    async fn run(mut self) -> (Self, String) {
        loop {
            let nap = self.daemon.nap().min(self.alone_for().unwrap_or(Duration::MAX));
            let nap = nap.min(self.rendezvous.check_in());
            let mut check = false;
            tokio::select! {
                Some((connection, arrival)) = self.arrivals.recv() => self.daemon.arrived(connection, arrival),
                Some((work, found)) = self.found.recv() => self.daemon.found(work, found),
                Some(read) = self.read.recv() => self.daemon.was_read(read),
                Some(hint) = self.hinted.recv() => self.daemon.step(Input::Hint(hint)),
                name = self.signals.next() => match name {
                    Some(name) => {
                        self.daemon.leaving = Some(format!("The legwork daemon got a {name}."));
                    }
                    None => check = true,
                },
                () = sleep(nap) => self.daemon.wake(),
            }
            // A home that was deleted must not be made again for a socket.
            if (check || self.rendezvous.check_in().is_zero())
                && self.daemon.check_records().is_none()
            {
                self.rendezvous.check(self.daemon.store());
                self.daemon.remove_what_is_left();
            }
            let at_work = self.daemon.built_in.at_work();
            self.rendezvous.at_work(at_work, self.daemon.store());
            self.daemon.make_way();
            if self.alone_for() == Some(Duration::ZERO) {
                self.daemon.leaving = Some("Nobody needs the legwork daemon.".to_owned());
            }
            if let Some(why) = self.daemon.leaving.take() {
                return (self, why);
            }
        }
    }

    /// How long it stays if nobody connects; none while it is needed.
    fn alone_for(&mut self) -> Option<Duration> {
        if self.limit.taken() > 0 || !self.daemon.has_nothing_to_do() {
            self.alone_since = None;
            return None;
        }
        let since = *self.alone_since.get_or_insert_with(Instant::now);
        Some(self.linger.saturating_sub(since.elapsed()))
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// A terminal that is closed is no reason to end, but whoever cannot reach us says so with it.
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The name of the next signal, if it is one to end.
    async fn next(&mut self) -> Option<&'static str> {
        tokio::select! {
            _ = self.terminate.recv() => Some("SIGTERM"),
            _ = self.interrupt.recv() => Some("SIGINT"),
            _ = self.hangup.recv() => None,
        }
    }
}
