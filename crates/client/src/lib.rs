//! How our processes reach the user's one daemon: where its files are, connecting, starting it if
//! it is not there, and asking it. Also how a process is told from another that later has its
//! number, because both ends of the link must agree on it.
//!
//! This crate blocks and decides nothing: it passes on what is asked and what is answered. It does
//! not know what a task is, prints nothing, and keeps nothing. A link that breaks is opened again
//! once, or for as long as its user wants; what is sent again carries the same key, so nothing
//! happens twice.

mod client;
mod fault;
mod folders;
mod hash;
pub mod inherited;
mod link;
mod owner;
pub mod process;
mod record;
mod start;
pub mod table;

pub use client::{Answered, Client, Following};
pub use fault::Fault;
pub use folders::{Folders, check_private};
pub use hash::hash8;
pub use owner::{check_owner, check_owner_of, make_private};
pub use record::{Holder, Record, holder};
pub use start::{Start, program};
