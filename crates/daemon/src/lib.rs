//! The user's one daemon: the socket, the connections, the hosts, and the loop that feeds
//! everything through the shell, one input after the other.
//!
//! One thread, one loop, no locks to wait for: connections and hosts are small tasks that pass on
//! lines and findings and own nothing else. This crate decides nothing about tasks and knows no
//! kind of host; it keeps order, keeps limits, and keeps out whoever is not the user. The caller of
//! [`run`] says which hosts there are.
//!
//! Read `life.rs`, `daemon.rs`, `calls.rs` and `requests.rs` first, then `connection/` and `host/`.

mod board;
mod calls;
mod clock;
mod connection;
mod daemon;
mod fault;
mod feed;
mod host;
mod life;
mod limits;
mod log;
mod notify;
mod old_mail;
mod reading;
mod rendezvous;
mod requests;
mod screens;
mod takeover;
mod version;
mod world;

pub use fault::Fault;
pub use life::{Hosts, Options, Outcome, run};
pub use notify::ReadNotify;
