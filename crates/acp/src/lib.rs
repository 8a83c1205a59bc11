//! Any agent that speaks the Agent Client Protocol (ACP) as a host: an agent is a subprocess, and
//! is spoken to over its stdin and stdout; the sessions are kept here.
//!
//! The only room that knows ACP. It does what it is asked (`Action`), says what it found
//! (`Finding`) and gives hints; it knows no rules of tasks. `rehearsal` is an agent of our own that
//! follows a script and needs no model.

mod active_turn;
pub mod agents;
mod connection;
mod conversation;
mod environment;
mod failure;
mod host;
pub mod keep;
mod limits;
mod lock;
mod mail;
pub mod orphans;
mod permission;
mod process;
pub mod rehearsal;
mod session_log;
mod transcript;
mod turn;
pub mod wire;

/// What this kind of host is called.
pub const KIND: &str = "acp";

pub use connection::{Introduction, check};
pub use failure::Failure;
pub use host::{Host, Outside};
