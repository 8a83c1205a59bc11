//! The user's one daemon: the socket, the connections, the hosts, and the loop that feeds
//! everything through the shell, one input after the other.
//!
//! One thread, one loop, no locks to wait for: connections and hosts are small tasks that pass on
//! lines and findings and own nothing else. This crate decides nothing about tasks and knows no
//! host's format; it keeps order, keeps limits, and keeps out whoever is not the user.
//!
//! Read in this order: `life.rs`, `daemon.rs`, `calls.rs`, `queries.rs`; then the way in
//! (`socket.rs`, `around.rs`, `door.rs`, `silent.rs`, `origin.rs`, `peer.rs`, `send_queue.rs`),
//! then the way to the hosts (`world.rs`, `driver.rs`, `lanes.rs`, `link.rs`).

mod accept;
mod agents;
mod around;
mod calls;
mod clock;
mod config;
mod connection;
mod daemon;
mod driver;
mod fault;
mod feed;
mod lanes;
mod life;
mod limits;
mod link;
mod local_host;
mod log;
mod opencode;
mod origin;
mod peer;
mod requests;
mod screens;
mod send_queue;
mod silent;
mod socket;
mod version;
mod world;

pub use agents::agents;
pub use config::{Config, ConfigFault, Problem, read_config};
pub use fault::Fault;
pub use life::{Options, Outcome, run};
