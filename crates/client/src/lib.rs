//! How our processes reach the user's one daemon: finding it, starting it if it is not there, and
//! asking it.
//!
//! This crate blocks and decides nothing: it passes on what is asked and what is answered. It does
//! not know what a task is, prints nothing, and keeps nothing but which programs were the daemon,
//! or could not be. A link that breaks is opened again once, or for as long as its user wants; what
//! is sent again carries the same key, so nothing happens twice.

mod client;
mod failed;
mod fault;
mod link;
mod newest;
mod note;
mod record;
mod start;
mod terminal;
mod version;

pub use client::{Answered, Client, Following, new_key};
pub use fault::Fault;
pub use newest::Newest;
pub use record::{Holder, Record, holder};
pub use start::Start;
pub use terminal::{own_environment, terminal, unique};
pub use version::is_newer;
