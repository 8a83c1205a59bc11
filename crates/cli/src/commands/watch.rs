//! `legwork watch`.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use legwork_client::{Client, Fault as ClientFault, Following};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::News;

use crate::asking::connect;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mail;
use crate::screen::{BOLD, DIM, Screen, paint, remark};
use crate::words::clock;

/// Longer than any line that legwork writes about a task.
const LINE_MAX_CHARS: usize = 1_000;
/// A daemon starts in some 50 ms, and a plugin starts its bridge again after 100 ms.
const NEXT_MAX: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

/// See what happens, as it happens
///
/// Shows what is decided about tasks from now on, a line each, until Ctrl-C. What helpers
/// of `legwork run` found for you meanwhile is shown as it comes.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork watch
  legwork watch --json              one JSON object a line, for programs")]
pub struct Watch {}

impl Watch {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut news = connect()?.follow()?;
        if !screen.is_json() {
            remark(paint(DIM, "Watching. Ctrl-C ends."));
        }
        loop {
            match watch(news, screen)? {
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
}

/// Shows what one daemon tells, until it ends; gives how it did.
fn watch(news: Following, screen: &Screen) -> Result<ClientFault, Fault> {
    let mut mailbox = if screen.is_json() { None } else { mail::connect() };
    let mut show_mail =
        || mailbox.as_mut().map(|mailbox| mail::show_through(mailbox, mail::LINES_MAX));
    show_mail();
    for news in news {
        match news {
            Ok(news) if screen.is_json() => screen.value_line(&news)?,
            Ok(news) => {
                screen.line(line(&news))?;
                show_mail();
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
