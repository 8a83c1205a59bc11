//! `legwork bridge board`: the board as JSON lines, for a view inside of a host. The first page is
//! whole, each next one has what changed since; a page comes at least every ten seconds, so silence
//! means that something hangs. What is wrong with the daemon is a line `{"trouble": "..."}`, after
//! which it is tried again; the next page is whole then.
//!
//! Whoever reads it has no other hold on it than its pipes, so it ends when either of them is
//! closed, whatever it waits for. It does not start the daemon: where nobody needs one there is
//! nothing to see.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use legwork_client::{Backoff, Follower, Start};
use legwork_machine::Folders;
use legwork_protocol::api::board::Glance;
use serde::Serialize;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

/// How long a page is waited for. The page that comes then, though nothing happened, shows that
/// this is alive, and finds out whether anybody reads it.
const WAIT_MS: u64 = 10_000;
/// The finished tasks of a whole page: more than a dialog in a terminal is scrolled through.
const FINISHED: usize = 50;
/// The longest pause between two attempts to reach the daemon. The first are short, because its
/// host starts it again at once.
const PAUSE_MAX: Duration = Duration::from_secs(30);

#[derive(Serialize)]
struct Trouble {
    trouble: String,
}

pub fn run() -> Result<Exit, Fault> {
    let folders = Folders::from_env()?;
    let (tell, ended) = mpsc::channel();
    let reader = tell.clone();
    thread::spawn(move || {
        // Nobody says anything here; its end is all that counts.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = reader.send(());
    });
    thread::spawn(move || {
        // Fails when nobody reads any more.
        let _ = write_pages(folders);
        let _ = tell.send(());
    });
    let _ = ended.recv();
    Ok(Exit::Done)
}

fn write_pages(folders: Folders) -> Result<(), Fault> {
    let glance = Glance { after: None, wait_ms: WAIT_MS, finished: FINISHED };
    let pages = Follower::new(folders, Start::Never, glance).pausing(Backoff::up_to(PAUSE_MAX));
    for page in pages {
        match page.map_err(Fault::from).and_then(|page| page.map_err(Fault::Denied)) {
            Ok(page) => write(&page)?,
            Err(fault) => write(&Trouble { trouble: fault.in_full() })?,
        }
    }
    Ok(())
}

fn write(line: &impl Serialize) -> Result<(), Fault> {
    Screen::new(true).value_line(line)?;
    io::stdout().flush().map_err(Fault::Output)
}
