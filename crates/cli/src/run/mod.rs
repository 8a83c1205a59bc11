//! `legwork run` at work: this terminal is the parent of helpers, launches them, looks after them
//! and shows what each of them found. `legwork answer` on a terminal is the same without helpers of
//! its own.
//!
//! One loop (`run_view.rs`) owns the screen and everything that is known; whatever waits does so on
//! a thread of its own and tells the loop: the launches (`launch.rs`), the board and the results
//! (`follow.rs`), signals and keys. So Ctrl-C is heard whatever the daemon does. Nothing is decided
//! here about tasks.

mod follow;
mod helpers;
mod keys;
mod launch;
pub mod prompts;
pub mod questions;
mod resume;
mod run_view;

use std::env;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use legwork_protocol::TaskId;
use legwork_protocol::api::board::BoardPage;
use legwork_protocol::api::{Refusal, Reply};
use legwork_protocol::line::{BadEnvironment, Context};
use legwork_protocol::view::{QuestionView, ResultView};

pub use self::launch::{LaunchSpec, Launched, detach};
pub use self::resume::{Resume, resume, retry};
pub use self::run_view::{answer, attend};
use crate::exit::Exit;
use crate::fault::Fault;

/// Who looks after helpers.
#[derive(Debug)]
pub struct Attendant {
    /// The terminal that launches them.
    pub launches_as: Context,
    /// The session whose notices are read here. None when a person resumes the task of another
    /// session, which is notified itself.
    pub reads_as: Option<Context>,
    /// When the person does not want to wait any longer.
    pub until: Option<Instant>,
}

impl Attendant {
    /// A terminal that looks after its own helpers.
    pub fn of(session: Context, timeout: Option<Duration>) -> Self {
        let reads_as = Some(Context { environment: None, ..session.clone() });
        let until = timeout.map(|timeout| Instant::now() + timeout);
        Self { launches_as: session, reads_as, until }
    }
}

#[derive(Debug)]
pub enum Event {
    Launched(usize, Launched),
    /// What has changed of the tasks.
    Board(Box<BoardPage>),
    Ended(ResultView),
    /// A task that somebody forgot.
    Gone(TaskId, Refusal),
    /// A signal that would end the process so.
    Signal(Exit),
    /// Something was typed; nothing if the terminal is gone.
    Typed(Option<Vec<u8>>),
    /// What came of a person's answer.
    Replied(Box<QuestionView>, Reply, Result<(), Refusal>),
    /// The daemon cannot be asked any more.
    Failed(Fault),
}

/// Does something on a thread of its own, and tells of it if it fails. The loop may have ended
/// before.
fn spawn(
    tell: &Sender<Event>,
    work: impl FnOnce(&Sender<Event>) -> Result<(), Fault> + Send + 'static,
) {
    let tell = tell.clone();
    thread::spawn(move || {
        if let Err(fault) = work(&tell) {
            let _ = tell.send(Event::Failed(fault));
        }
    });
}

/// This terminal as a parent: a session that no other call of the program has, whose helpers have
/// this model.
pub fn terminal(model: Option<&str>) -> Result<Context, Fault> {
    let here = Path::new("the current folder");
    let directory = env::current_dir().map_err(Fault::file("find", here))?;
    legwork_client::terminal(&directory, model).map_err(not_passed_on)
}

fn not_passed_on(bad: BadEnvironment) -> Fault {
    Fault::Refused(format!("The environment of this terminal cannot be passed on: {bad}."))
}
