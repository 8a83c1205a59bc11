//! An agent's process, and the conversation with it until a session is open.

pub mod connection;
pub mod environment;
pub mod failure;
mod model;
pub mod process;
