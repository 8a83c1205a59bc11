//! Any agent that speaks the Agent Client Protocol (ACP) as a host: an agent is a subprocess, and
//! is spoken to over its stdin and stdout; the sessions are kept here.
//!
//! The only crate that knows ACP. It performs actions, says what it found and gives hints; it knows
//! no rules of tasks.

mod agent;
pub mod agents;
mod limits;
mod local_host;
pub mod orphans;
mod session;
mod turn;
pub mod wire;

/// What this kind of host is called.
pub const KIND: &str = "acp";

pub use agent::connection::{Introduction, Login, Program, check};
pub use agent::failure::Failure;
pub use local_host::{AgentSettings, LocalHost, Setup, opening};
