//! The tasks as they change, for who watches: a table that is drawn anew in its place, or a line
//! for each thing that happens.

mod changes;
mod table;

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use legwork_client::Client;
use legwork_protocol::api::Request;
use legwork_protocol::api::board::BoardPage;
use legwork_views::model::Board;

use crate::asking::{connect, get};
use crate::exit::Exit;
use crate::fault::Fault;

pub use changes::Changes;
pub use table::Table;

/// How long one question waits for something new.
const WAIT_MS: u64 = 10_000;
/// Finished tasks that are looked at: more than a screen shows.
const FINISHED: usize = 200;
/// Pages that wait to be shown. Who reads no further does not make us ask further.
const PAGES_MAX: usize = 4;
/// Between two attempts to reach a daemon that is away.
const PAUSE: Duration = Duration::from_secs(1);

/// What there is to show.
#[derive(Debug)]
pub enum Told {
    Page(Box<BoardPage>),
    /// The daemon cannot be asked; why. It is tried again.
    Away(String),
    /// It is to end.
    Signal(Exit),
}

/// Asks for the board on a thread of its own from now on. The first page is awaited here, so that a
/// daemon that cannot be asked is a fault at once.
pub fn begin() -> Result<(BoardPage, Receiver<Told>, SyncSender<Told>), Fault> {
    let mut client = connect()?;
    let first = next(&mut client, &Board::default())?;
    let (told, pages) = sync_channel(PAGES_MAX);
    let mut board = Board::default();
    board.apply(first.clone());
    let reader = told.clone();
    thread::spawn(move || {
        let mut client = Some(client);
        while follow(&mut client, &mut board, &reader).is_continue() {}
    });
    Ok((first, pages, told))
}

fn follow(
    client: &mut Option<Client>,
    board: &mut Board,
    told: &SyncSender<Told>,
) -> ControlFlow<()> {
    let read = match client.take() {
        Some(client) => Ok(client),
        None => connect(),
    }
    .and_then(|mut open| {
        let page = next(&mut open, board)?;
        *client = Some(open);
        Ok(page)
    });
    let tell = match read {
        Ok(page) => {
            board.apply(page.clone());
            Told::Page(Box::new(page))
        }
        Err(fault) => {
            thread::sleep(PAUSE);
            Told::Away(fault.to_string())
        }
    };
    if told.send(tell).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn next(client: &mut Client, board: &Board) -> Result<BoardPage, Fault> {
    get(client, Request::Board(board.glance(WAIT_MS, FINISHED)))
}
