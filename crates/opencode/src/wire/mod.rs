//! OpenCode's HTTP API: how requests travel, and what its JSON says.

pub mod choice;
pub mod entries;
pub mod error;
pub mod event;
pub mod events;
pub mod history;
pub mod mark;
pub mod message;
pub mod question;
pub mod remote;
pub mod rules;
pub mod stream;
pub mod transport;
pub mod usage;
