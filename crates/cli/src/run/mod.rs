//! `legwork run` at work: this terminal is the parent of helpers, launches them, looks after them
//! and shows what each of them found.
//!
//! One loop (`run_view.rs`) owns the screen and everything that is known; whatever waits does so on
//! a thread of its own and tells the loop: the launches (`launch.rs`), the looks (`follow.rs`),
//! signals and keys. So Ctrl-C is heard whatever the daemon does. Nothing is decided here about
//! tasks.

mod follow;
mod helpers;
mod keys;
mod launch;
pub mod prompts;
mod run_view;

use std::env;
use std::path::Path;
use std::sync::mpsc::Sender;

use legwork_machine::since_epoch;
use legwork_protocol::TaskId;
use legwork_protocol::api::Refusal;
use legwork_protocol::line::{BadEnvironment, Context};
use legwork_protocol::view::{ResultView, TaskView};

pub use self::launch::{LaunchSpec, Launched, detach};
pub use self::run_view::attend;
use crate::environment;
use crate::exit::Exit;
use crate::fault::Fault;

#[derive(Debug)]
enum Event {
    Launched(usize, Launched),
    Seen(TaskView),
    Ended(ResultView),
    /// A task that somebody forgot.
    Gone(TaskId, Refusal),
    /// A signal that would end the process so.
    Signal(Exit),
    /// A key was pressed in answer to a question; none if the terminal is gone.
    Key(Option<u8>),
    /// The daemon cannot be asked any more.
    Failed(Fault),
}

/// How a thread ended, if that is a fault. The loop may have ended before.
fn report(ended: Result<(), Fault>, tell: &Sender<Event>) {
    if let Err(fault) = ended {
        let _ = tell.send(Event::Failed(fault));
    }
}

/// This terminal as a parent: a session that no other call of the program has.
pub fn terminal() -> Result<Context, Fault> {
    let now = since_epoch();
    let unique = format!("{:x}_{:x}", now.as_nanos(), std::process::id());
    let here = Path::new("the current folder");
    let directory = env::current_dir().map_err(Fault::file("find", here))?;
    match (format!("term_{unique}").parse(), format!("msg_{unique}").parse()) {
        (Ok(session), Ok(message)) => Ok(Context {
            session,
            message,
            agent: "terminal".to_owned(),
            directory: directory.to_string_lossy().into_owned(),
            environment: Some(environment::own().map_err(not_passed_on)?),
        }),
        _ => unreachable!("digits make an id"),
    }
}

fn not_passed_on(bad: BadEnvironment) -> Fault {
    Fault::Refused(format!("The environment of this terminal cannot be passed on: {bad}."))
}
