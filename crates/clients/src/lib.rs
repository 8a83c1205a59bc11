//! The host of sessions that live in clients over MCP: Claude Code, Codex and others. It runs no
//! helpers. It knows which sessions there are, and puts messages into them: into the inbox of
//! Claude Code and into the queue of Codex. For everybody else a message waits in the outbox, until
//! the front of the session asks for it before it answers the next call.
//!
//! Nothing here speaks MCP, and nothing here decides what a session is told.

mod claude;
mod codex;
mod host;
mod limits;
mod sessions;
mod told;

pub use host::{KIND, opening};
