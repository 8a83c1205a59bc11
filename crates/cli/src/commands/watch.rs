//! `legwork watch`.

use clap::Args;
use legwork_client::Fault as ClientFault;
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
        let news = connect()?.follow()?;
        if !screen.is_json() {
            remark(paint(DIM, "Watching. Ctrl-C ends."));
        }
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
                Err(ClientFault::Leaving) => {
                    remark("The daemon ended.");
                    return Ok(Exit::Done);
                }
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(Exit::Done)
    }
}

fn line(news: &News) -> String {
    let words = plain(&news.line, LINE_MAX_CHARS);
    format!("{}  {}  {words}", paint(DIM, clock(news.at)), paint(BOLD, news.task))
}
