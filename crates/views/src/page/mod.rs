//! The page: a server on loopback for one person, and what their browser shows.
//!
//! A client of the daemon like any command, which asks and decides nothing. The daemon speaks no
//! HTTP; its only door stays its socket. Files of the page are in `page/`, and built in.

mod api;
mod browser;
mod crowd;
mod door;
mod fault;
mod files;
mod guard;
mod headers;
mod launch;
pub mod limits;
mod live;
mod patient;
mod query;
mod record;
mod secret;
mod server;
mod stream;

pub use browser::{left_behind, open, remove_all};
pub use fault::Fault;
pub use record::{Found, Place, find, is_running};
pub use server::Front;
