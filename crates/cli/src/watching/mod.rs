//! The tasks as they change, for who watches: a table that is drawn anew in its place, or a line
//! for each thing that happens.

mod changes;
mod table;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use legwork_client::{Follower, Start};
use legwork_machine::Folders;
use legwork_protocol::api::board::{BoardPage, Glance};

use crate::asking::connect;
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
    let mut glance = Glance { after: None, wait_ms: WAIT_MS, finished: FINISHED };
    let first = connect()?.next(&mut glance)?.map_err(Fault::Denied)?;
    let pages = Follower::new(Folders::from_env()?, Start::IfNeeded, glance);
    let (told, heard) = sync_channel(PAGES_MAX);
    let reader = told.clone();
    thread::spawn(move || {
        for page in pages {
            let tell = match page.map_err(Fault::from).and_then(|page| page.map_err(Fault::Denied))
            {
                Ok(page) => Told::Page(Box::new(page)),
                Err(fault) => Told::Away(fault.to_string()),
            };
            if reader.send(tell).is_err() {
                return;
            }
        }
    });
    Ok((first, heard, told))
}
