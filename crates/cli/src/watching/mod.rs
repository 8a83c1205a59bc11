//! The tasks as they change, for who watches: a table that is drawn anew in its place, or a line
//! for each thing that happens.

mod changes;
mod table;

use legwork_protocol::api::board::{BoardPage, Glance};

use crate::asking::{BOARD_WAIT_MS, board, connect};
use crate::fault::Fault;

pub use changes::Changes;
pub use table::Table;

/// Finished tasks that are looked at: more than a screen shows.
const FINISHED: usize = 200;

/// The board now, and as it changes from then on. The first page is awaited here, so that a daemon
/// that cannot be asked is a fault at once.
pub fn begin() -> Result<(BoardPage, impl Iterator<Item = Result<BoardPage, Fault>> + Send), Fault>
{
    let mut glance = Glance { after: None, wait_ms: BOARD_WAIT_MS, finished: FINISHED };
    let first = connect()?.next(&mut glance)?.map_err(Fault::Denied)?;
    Ok((first, board(glance)?))
}
