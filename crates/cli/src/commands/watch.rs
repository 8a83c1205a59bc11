//! `legwork watch`.

use std::sync::mpsc::{RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use legwork_client::{Client, Fault as ClientFault, Following};
use legwork_machine::epoch_ms;
use legwork_protocol::Time;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::News;

use super::{Exit, Fault, Screen};
use crate::asking::connect;
use crate::screen::{BOLD, DIM, paint, remark};
use crate::watching::{self, Changes, Table, Told};
use crate::words::clock;
use crate::{mail, signals};

/// Longer than any line that legwork writes about a task.
const LINE_MAX_CHARS: usize = 1_000;

/// A daemon starts in some 50 ms, and a plugin starts its bridge again after 100 ms; on a busy
/// machine all of that takes longer. As long as whoever starts a daemon waits for it.
const NEXT_MAX: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(100);

/// Times in the table are counted in seconds.
const TICK: Duration = Duration::from_secs(1);

/// See what happens, as it happens
///
/// On a terminal: the tasks of `legwork list`, unfinished ones first, drawn anew as they change,
/// until Ctrl-C. In a pipe: a line for each thing that happens from now on (a launch, a question,
/// an end). What helpers of `legwork run` found for you meanwhile is shown as it comes.
///
/// With --verbose: every decision as a line, also how prompts and notices are handed over. You need
/// that only to find a fault.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork watch                     the tasks, live
  legwork watch | tee today.txt     what happens, a line each
  legwork watch --verbose           every decision
  legwork watch --json              every decision, one JSON object a line, for programs
  legwork top                       the same with questions, conversations and results")]
pub struct Watch {
    /// Show every decision, also how prompts and notices are handed over
    #[arg(long, short)]
    verbose: bool,
}

impl super::Command for Watch {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        if screen.is_json() || self.verbose {
            return every_decision(screen);
        }
        if screen.columns().is_some() { table(screen) } else { lines(screen) }
    }
}

/// What helpers found, as it comes.
struct Mailbox(Option<Client>);

impl Mailbox {
    fn show(&mut self) -> usize {
        if self.0.is_none() {
            self.0 = mail::connect();
        }
        self.0.as_mut().map_or(0, |mailbox| mail::show_through(mailbox, mail::LINES_MAX))
    }
}

fn lines(screen: &Screen) -> Result<Exit, Fault> {
    let (first, told, _sender) = watching::begin()?;
    let mut changes = Changes::begin(&first);
    remark(paint(DIM, "Watching. Ctrl-C ends."));
    let mut mailbox = Mailbox(None);
    mailbox.show();
    let mut is_away = false;
    for told in told {
        match told {
            Told::Page(page) => {
                if std::mem::take(&mut is_away) {
                    remark(paint(DIM, "The daemon is there again."));
                }
                screen.lines(changes.lines(&page))?;
                mailbox.show();
            }
            Told::Away(why) => {
                if !std::mem::replace(&mut is_away, true) {
                    remark(format_args!("{why} It is tried again."));
                }
            }
            Told::Signal(exit) => return Ok(exit),
        }
    }
    Ok(Exit::Done)
}

fn table(screen: &Screen) -> Result<Exit, Fault> {
    let (first, told, sender) = watching::begin()?;
    hear_signals(sender);
    let mut table = Table::default();
    table.apply(first);
    let mut mailbox = Mailbox(None);
    mailbox.show();
    loop {
        table.draw(screen, Time(epoch_ms()))?;
        match told.recv_timeout(TICK) {
            Ok(Told::Page(page)) => {
                table.apply(*page);
                // Above the table, where it stays.
                table.clear()?;
                mailbox.show();
            }
            Ok(Told::Away(_)) => table.lose(),
            Ok(Told::Signal(exit)) => return Ok(exit),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
        }
    }
}

/// So that the last picture is whole. Who cannot hear them ends in the middle of one, if at all.
fn hear_signals(sender: SyncSender<Told>) {
    let _ = signals::listen(move |exit| drop(sender.send(Told::Signal(exit))));
}

fn every_decision(screen: &Screen) -> Result<Exit, Fault> {
    let mut news = connect()?.follow()?;
    if !screen.is_json() {
        remark(paint(DIM, "Watching. Ctrl-C ends."));
    }
    loop {
        match decisions_of_one(news, screen)? {
            ClientFault::Leaving => {}
            fault => return Err(fault.into()),
        }
        let Some(next) = next() else {
            remark("The daemon ended.");
            return Ok(Exit::Done);
        };
        news = next.follow()?;
    }
}

/// What one daemon tells, until it ends; gives how it did.
fn decisions_of_one(news: Following, screen: &Screen) -> Result<ClientFault, Fault> {
    let mut mailbox = Mailbox(None);
    if !screen.is_json() {
        mailbox.show();
    }
    for news in news {
        match news {
            Ok(news) if screen.is_json() => screen.value_line(&news)?,
            Ok(news) => {
                screen.line(line(&news))?;
                mailbox.show();
            }
            Err(fault) => return Ok(fault),
        }
    }
    Ok(ClientFault::Leaving)
}

/// The daemon that follows one that has ended. A newer legwork that takes over is there soon; who
/// ended it for good starts none, and neither does whoever watches.
fn next() -> Option<Client> {
    let deadline = Instant::now() + NEXT_MAX;
    loop {
        if let Some(client) = mail::connect() {
            return Some(client);
        }
        if Instant::now() > deadline {
            return None;
        }
        thread::sleep(PAUSE);
    }
}

fn line(news: &News) -> String {
    let words = plain(&news.line, LINE_MAX_CHARS);
    format!("{}  {}  {words}", paint(DIM, clock(news.at)), paint(BOLD, news.task))
}
