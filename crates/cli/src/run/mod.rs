//! `legwork run` at work: this terminal is the parent of helpers, launches them, looks after them
//! and shows what each of them found.
//!
//! One loop (`attend.rs`) owns the screen and everything that is known; whatever waits does so on a
//! thread of its own and tells the loop: the launches (`launch.rs`), the looks (`follow.rs`),
//! signals and keys. So Ctrl-C is heard whatever the daemon does. Nothing is decided here about
//! tasks.

mod attend;
mod follow;
mod keys;
mod launch;
mod party;
pub mod prompts;
mod signals;

use std::env;
use std::time::SystemTime;

use legwork_protocol::TaskId;
use legwork_protocol::line::Context;
use legwork_protocol::view::{ResultView, TaskView};

pub use self::attend::attend;
pub use self::launch::{Launched, Order, detach};
use crate::fault::Fault;

/// Everything that can happen while helpers are looked after.
#[derive(Debug)]
enum Event {
    /// What came of an order, by its number.
    Launched(usize, Launched),
    /// A helper at work.
    Seen(TaskView),
    /// A helper that has finished.
    Ended(ResultView),
    /// A task that somebody forgot, in the daemon's words.
    Gone(TaskId, String),
    /// Somebody pressed Ctrl-C.
    Interrupt,
    /// This process is to end.
    Terminate,
    /// A key was pressed in answer to a question; none if the terminal is gone.
    Key(Option<u8>),
    /// The daemon cannot be asked any more.
    Failed(Fault),
}

/// This terminal as a parent: a session that no other call of the program has.
pub fn terminal() -> Result<Context, Fault> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let unique = format!("{:x}_{:x}", now.as_nanos(), std::process::id());
    let directory = env::current_dir().map_err(|source| Fault::File {
        tried: "find",
        path: "the current folder".into(),
        source,
    })?;
    match (format!("term_{unique}").parse(), format!("msg_{unique}").parse()) {
        (Ok(session), Ok(message)) => Ok(Context {
            session,
            message,
            agent: "terminal".to_owned(),
            directory: directory.to_string_lossy().into_owned(),
        }),
        _ => unreachable!("digits make an id"),
    }
}
