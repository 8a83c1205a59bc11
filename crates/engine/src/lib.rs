//! Every decision of legwork: [`Engine::on`] takes an input and the time, and gives back records
//! to save and work to do.
//!
//! This crate knows no clock, socket, file, thread, die or host format. It is a plain value that
//! changes only in `on`, so that the same inputs at the same times always give the same history.
//! Read `task.rs` for the lifecycle, then `engine.rs`, then whatever it calls.

mod asks;
mod engine;
mod hosts;
pub mod input;
mod outbox;
mod quick;
pub mod record;
mod restore;
mod run;
mod slept;
mod tasks;
pub mod text;
mod timers;
pub mod views;
mod waits;
pub mod work;

pub use engine::Engine;
pub use input::{Caller, Hint, Input, Reaction, Say, Serves};
pub use record::{Change, Forget, Journal, Saved};
pub use run::Volatile;
pub use run::task::{self, Stage, Task};
pub use work::{Action, Finding, HostError, Lane, Work, WorkId};
