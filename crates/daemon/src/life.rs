//! From the first moment of the daemon to the last: one per user, gone when nobody needs it.

use std::time::Duration;

use legwork_client::Folders;
use legwork_engine::Hint;
use legwork_store::{Opened, Store};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::config::read_config;
use crate::daemon::Daemon;
use crate::door::{self, Seats};
use crate::driver::Found;
use crate::fault::chain;
use crate::limits::{FAREWELL_MAX, INBOX_MAX_LINES, LINGER};
use crate::log::Log;
use crate::peer::{Arrival, Entrance, PeerId};
use crate::version::BUILD;
use crate::{Fault, socket};

/// How the daemon is to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where its files are.
    pub folders: Folders,
    /// It runs before a person's eyes: what it logs is shown as well, and Ctrl-C ends it.
    pub log_to_stderr: bool,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It ran, and was not needed any more.
    Ended,
    /// Another daemon of this user is there already.
    AlreadyRunning,
}

/// Runs the daemon until it is not needed any more.
pub fn run(options: Options) -> Result<Outcome, Fault> {
    if !options.log_to_stderr {
        // Whoever started it may go, and its terminal with it. A process that leads a group already
        // is refused this, and does not need it.
        let _ = rustix::process::setsid();
    }
    // Opening takes the store's lock, and that is what makes a daemon the only one: nothing that
    // another one has is touched before.
    let opened = match Store::open(&options.folders.store) {
        Err(legwork_store::Fault::Locked { .. }) => return Ok(Outcome::AlreadyRunning),
        opened => opened,
    };
    let log = Log::open(&options.folders.log, options.log_to_stderr)?;
    let outcome = opened.map_err(Fault::from).and_then(|opened| {
        if let Some(set_aside) = &opened.set_aside {
            log.warn(set_aside);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Fault::system("set up its runtime"))?;
        runtime.block_on(live(opened, options.folders, log.clone()))
    });
    if let Err(fault) = &outcome {
        log.warn(format_args!("the daemon cannot run: {}", chain(fault)));
    }
    outcome
}

async fn live(store: Opened, folders: Folders, log: Log) -> Result<Outcome, Fault> {
    let config = read_config(&folders.config).unwrap_or_else(|fault| {
        fault.to_string().lines().for_each(|line| log.warn(line));
        *fault.config
    });
    let signals = Signals::new().map_err(Fault::system("listen for signals"))?;
    let listener = socket::bind(&folders.socket)?;
    let path = folders.socket.clone();
    log.info(format_args!("legwork {BUILD} listens on {}", path.display()));
    let (findings, found) = mpsc::unbounded_channel();
    let (hints, hinted) = mpsc::unbounded_channel();
    let (inbox, arrivals) = mpsc::channel(INBOX_MAX_LINES);
    let (leave, leaving) = watch::channel(None);
    let seats = Seats::default();
    let life = Life {
        daemon: Daemon::start(store, config.settings, folders, findings, hints, log.clone())?,
        arrivals,
        found,
        hinted,
        signals,
        seats: seats.clone(),
        linger: linger(),
        alone_since: None,
    };
    let entrance = Entrance { inbox, leaving, log: log.clone() };
    // The store, and with it the lock, is held until the socket is gone.
    let (_daemon, why) = tokio::select! {
        ended = life.run() => ended,
        never = door::keep(&listener, seats.clone(), entrance) => never,
    };
    log.info(format_args!("ends: {why}"));
    let _ = socket::remove(&path);
    leave.send_replace(Some(why.clone()));
    farewell(&listener, &seats, &why).await;
    Ok(Outcome::Ended)
}

async fn farewell(listener: &UnixListener, seats: &Seats, why: &str) {
    let said = async {
        door::close(listener, why).await;
        seats.all_free().await;
    };
    // Whoever does not listen by then does not hear it.
    let _ = timeout(FAREWELL_MAX, said).await;
}

/// `LEGWORK_LINGER_MS` is for tests, which cannot wait that long.
fn linger() -> Duration {
    let given = std::env::var("LEGWORK_LINGER_MS").ok().and_then(|ms| ms.parse().ok());
    given.map_or(LINGER, Duration::from_millis)
}

struct Life {
    daemon: Daemon,
    arrivals: mpsc::Receiver<(PeerId, Arrival)>,
    found: mpsc::UnboundedReceiver<Found>,
    hinted: mpsc::UnboundedReceiver<Hint>,
    signals: Signals,
    seats: Seats,
    linger: Duration,
    /// Since when nobody is there and nothing is to be done.
    alone_since: Option<Instant>,
}

impl Life {
    /// Gives back what it was about, and why it ended.
    async fn run(mut self) -> (Daemon, String) {
        loop {
            let nap = self.daemon.nap().min(self.alone_for().unwrap_or(Duration::MAX));
            tokio::select! {
                Some((peer, arrival)) = self.arrivals.recv() => self.daemon.arrived(peer, arrival),
                Some((work, found)) = self.found.recv() => self.daemon.found(work, found),
                Some(hint) = self.hinted.recv() => self.daemon.hinted(hint),
                name = self.signals.next() => {
                    self.daemon.leaving = Some(format!("The legwork daemon got a {name}."));
                }
                () = sleep(nap) => self.daemon.wake(),
            }
            if self.alone_for() == Some(Duration::ZERO) {
                self.daemon.leaving = Some("Nobody needs the legwork daemon.".to_owned());
            }
            if let Some(why) = self.daemon.leaving.take() {
                return (self.daemon, why);
            }
        }
    }

    /// How long it still stays if nobody comes; nothing while it is needed.
    fn alone_for(&mut self) -> Option<Duration> {
        if self.seats.taken() > 0 || !self.daemon.has_nothing_to_do() {
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
    /// Passed over: a terminal that is closed is no reason to end.
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

    /// The name of the next signal to end.
    async fn next(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => {}
            }
        }
    }
}
