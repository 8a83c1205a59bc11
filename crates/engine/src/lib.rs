//! Every decision of legwork. [`Engine::on`] takes an input and the time, and gives back records to
//! save, answers to give and work for hosts.
//!
//! The crate has no clock, socket, file, thread, randomness or host format. An engine is a plain
//! value that changes only in `on`: the same inputs at the same times give the same history.
//! [`shell`] puts its decisions into effect, in the daemon and in the simulation alike.
//!
//! Read `run/task.rs` for the lifecycle and `engine.rs` for the way in, then `run/` (the life of a
//! run), `outbox/` (telling sessions), `asks/` (what is answered from what is known) and `hosts/`.
//! The vocabulary is in `input.rs`, `work.rs` and `record.rs`.

mod asks;
mod engine;
mod hosts;
pub mod input;
mod kept;
mod outbox;
mod quick;
pub mod record;
mod restore;
mod run;
pub mod shell;
mod slept;
mod tasks;
pub mod text;
mod timers;
pub mod work;

pub use engine::Engine;
pub use input::{Caller, Headless, Hint, Input, Reaction, Say, Serves};
pub use legwork_protocol::Usage;
pub use outbox::pulled::Unread;
pub use record::{Change, Forget, Journal, Saved};
pub use run::Volatile;
pub use run::task::{self, Stage, Task};
pub use work::{Action, Finding, HostError, Lane, PromptUsage, Work, WorkId};
