//! `legwork mcp`: the six tools for any client over the Model Context Protocol, on stdin and
//! stdout.
//!
//! A thin front: it knows the protocol and who is asking, and passes calls to the daemon. It keeps
//! nothing but open requests, so it can be killed at any time; to the client a daemon that goes
//! away is a call that takes longer. What a session is told, and when, the daemon decides.
//!
//! Both eras of the protocol are spoken, each request by its own rules (`era.rs`). A client that
//! has the tasks extension polls for the end of a run (`tasks.rs`) and wakes its model by that.
//! Others are woken by the daemon, or read what is new with the answer to their next call
//! (`calls.rs`).

mod asker;
mod block;
mod calls;
mod era;
mod forms;
mod limits;
mod polls;
mod questions;
mod server;
mod tasks;
mod tools;

pub use asker::{session_of_process, sessions_of_claude};
pub use server::{Options, run};
