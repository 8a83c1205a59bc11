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

use legwork_client::{Client, Start};
use legwork_machine::Folders;
use legwork_protocol::api::Request;
use legwork_protocol::api::board::{BoardPage, BoardPosition, Glance};
use serde::Serialize;

use crate::asking::{connect_soon, get};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

/// How long a page is waited for. The page that comes then, though nothing happened, shows that
/// this is alive, and finds out whether anybody reads it.
const WAIT_MS: u64 = 10_000;
/// The finished tasks of a whole page: more than a dialog in a terminal is scrolled through.
const FINISHED: usize = 50;
/// Between two attempts to reach the daemon: soon, because its host starts it again at once, then
/// more and more rarely.
const PAUSES_MS: [u64; 7] = [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];

#[derive(Serialize)]
struct Trouble {
    trouble: String,
}

pub fn run() -> Result<Exit, Fault> {
    let (tell, ended) = mpsc::channel();
    let reader = tell.clone();
    thread::spawn(move || {
        // Nobody says anything here; its end is all that counts.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = reader.send(());
    });
    thread::spawn(move || {
        // Fails when nobody reads any more.
        let _ = write_pages();
        let _ = tell.send(());
    });
    let _ = ended.recv();
    Ok(Exit::Done)
}

fn write_pages() -> Result<(), Fault> {
    let mut failures = 0;
    loop {
        let Err(fault) = follow(&mut failures);
        if matches!(fault, Fault::Output(_)) {
            return Err(fault);
        }
        write(&Trouble { trouble: fault.in_full() })?;
        let pause = PAUSES_MS[usize::min(failures, PAUSES_MS.len() - 1)];
        failures += 1;
        thread::sleep(Duration::from_millis(pause));
    }
}

/// Writes pages for as long as there are any.
fn follow(failures: &mut usize) -> Result<std::convert::Infallible, Fault> {
    let mut client = connect_soon(&Folders::from_env()?, Start::Never)?;
    let mut after = None;
    loop {
        let page = next(&mut client, after)?;
        *failures = 0;
        after = Some(page.next);
        write(&page)?;
    }
}

fn next(client: &mut Client, after: Option<BoardPosition>) -> Result<BoardPage, Fault> {
    get(client, Request::Board(Glance { after, wait_ms: WAIT_MS, finished: FINISHED }))
}

fn write(line: &impl Serialize) -> Result<(), Fault> {
    Screen::new(true).value_line(line)?;
    io::stdout().flush().map_err(Fault::Output)
}
