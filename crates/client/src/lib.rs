//! How our processes reach the user's one daemon: finding it, starting it if it is not there, and
//! asking it.
//!
//! A command asks one thing after the other and waits (`client.rs`); a front that asks many things
//! at once shares one link among them (`daemon.rs`). A link that breaks is opened again, and what
//! is sent again carries the same key, so nothing happens twice.
//!
//! This crate decides nothing: it passes on what is asked and what is answered. It prints nothing,
//! and keeps nothing but which programs were the daemon, or could not be.

mod backoff;
mod client;
mod daemon;
mod failed;
mod fault;
mod follow;
mod link;
mod newest;
mod note;
mod record;
mod start;
mod terminal;
mod version;

pub use backoff::Backoff;
pub use client::{Answered, Client, Following, new_key};
pub use daemon::{Daemon, Habits, Trouble};
pub use fault::Fault;
pub use follow::{Conversation, Follower, Pages};
pub use link::Wire;
pub use newest::Newest;
pub use record::{Holder, Record, holder};
pub use start::Start;
pub use terminal::{own_environment, terminal, unique};
pub use version::is_newer;
