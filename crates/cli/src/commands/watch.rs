//! `legwork watch`.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use legwork_client::{Client, Fault as ClientFault};
use legwork_machine::epoch_ms;
use legwork_protocol::Time;
use legwork_protocol::api::board::BoardPage;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::News as Decision;

use super::{Exit, Fault, Screen};
use crate::asking::connect;
use crate::screen::{BOLD, DIM, paint, remark};
use crate::watching::{self, Changes, Table};
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
/// Pages that wait to be shown. Who reads no further does not make us ask further.
const PAGES_MAX: usize = 4;

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
    let (first, pages) = watching::begin()?;
    let mut changes = Changes::begin(&first);
    remark(paint(DIM, "Watching. Ctrl-C ends."));
    let mut mailbox = Mailbox(None);
    mailbox.show();
    let mut is_away = false;
    for page in pages {
        let was_away = std::mem::replace(&mut is_away, page.is_err());
        match page {
            Ok(page) => {
                if was_away {
                    remark(paint(DIM, "The daemon is there again."));
                }
                screen.lines(changes.lines(&page))?;
                mailbox.show();
            }
            Err(why) if !was_away => remark(format_args!("{why} It is tried again.")),
            Err(_) => {}
        }
    }
    Ok(Exit::Done)
}

/// A page of the board, or a signal that ends the table when its picture is whole.
enum News {
    Page(Result<Box<BoardPage>, Fault>),
    Signal(Exit),
}

fn table(screen: &Screen) -> Result<Exit, Fault> {
    let (first, mut pages) = watching::begin()?;
    let (tell, told) = sync_channel(PAGES_MAX);
    let signal = tell.clone();
    // Where signals cannot be heard they end it in the middle of a picture, if at all.
    let _ = signals::listen(move |exit| drop(signal.send(News::Signal(exit))));
    thread::spawn(move || pages.try_for_each(|page| tell.send(News::Page(page.map(Box::new)))));
    let mut table = Table::new(first);
    let mut mailbox = Mailbox(None);
    mailbox.show();
    loop {
        table.draw(screen, Time(epoch_ms()));
        match told.recv_timeout(TICK) {
            Ok(News::Page(Ok(page))) => {
                table.apply(*page);
                // Above the table, where it stays.
                table.live.clear();
                mailbox.show();
            }
            Ok(News::Page(Err(_))) => table.is_away = true,
            Ok(News::Signal(exit)) => {
                table.live.leave();
                return Ok(exit);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
        }
    }
}

fn every_decision(screen: &Screen) -> Result<Exit, Fault> {
    let mut daemon = Some(connect()?);
    let mut is_new = true;
    while let Some(client) = daemon {
        let mut mailbox = Mailbox(None);
        let news = client.follow()?;
        if !screen.is_json() {
            // What happens from here on is told.
            if std::mem::take(&mut is_new) {
                remark(paint(DIM, "Watching. Ctrl-C ends."));
            }
            mailbox.show();
        }
        for news in news {
            match news {
                Ok(news) if screen.is_json() => screen.value_line(&news)?,
                Ok(news) => {
                    screen.line(line(&news))?;
                    mailbox.show();
                }
                Err(ClientFault::Leaving) => break,
                Err(fault) => return Err(fault.into()),
            }
        }
        daemon = next();
    }
    remark("The daemon ended.");
    Ok(Exit::Done)
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

fn line(news: &Decision) -> String {
    let words = plain(&news.line, LINE_MAX_CHARS);
    format!("{}  {}  {words}", paint(DIM, clock(news.at)), paint(BOLD, news.task))
}
