//! Any agent that speaks the Agent Client Protocol (ACP) as a host: an agent is a subprocess, and
//! is spoken to over its stdin and stdout; the sessions are kept here.
//!
//! The only crate that knows ACP. It performs actions, says what it found and gives hints; it knows
//! no rules of tasks.

mod active_turn;
pub mod agents;
mod connection;
mod conversation;
mod environment;
mod failure;
pub mod keep;
mod limits;
mod local_host;
mod mail;
pub mod orphans;
mod permission;
mod process;
mod session_log;
mod transcript;
mod turn;
pub mod wire;

/// What this kind of host is called.
pub const KIND: &str = "acp";

pub use connection::{Introduction, check};
pub use failure::Failure;
pub use local_host::{AgentSettings, LocalHost, Setup, opening};
