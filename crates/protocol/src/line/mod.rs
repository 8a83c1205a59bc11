//! The line format between our processes: plugin and bridge, bridge and daemon, commands and
//! daemon. One JSON object a line, told apart by its `type`.
//!
//! Both sides say hello first; a peer with another [`LINE_VERSION`] is refused there and then, so
//! everything after hello has one meaning. Fields that are not known are passed over: adding one
//! that may be missing needs no new version, everything else does.
//!
//! This crate has no sockets and does not wait. Lines become words in [`decode_to_daemon`] and
//! [`decode_from_daemon`]; what does not fit is a [`BadLine`].

mod code;
mod environment;
mod repair;
mod startup;
mod waiter;
mod words;

pub use code::{
    BadLine, Line, beginning, check_size, decode_from_daemon, decode_to_daemon, encode,
};
pub use environment::{BadEnvironment, Environment};
pub use repair::repair_surrogates;
pub use startup::Startup;
pub use waiter::{Waiter, waiter_of};
pub use words::{
    ClientSession, Closely, Context, FromDaemon, HostLifetime, HostReply, HostResult, Method,
    Reach, Role, ToDaemon, Wanted,
};

/// The number of this format. Both sides must have the same.
pub const LINE_VERSION: u32 = 2;
