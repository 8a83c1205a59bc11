//! OpenCode as a host: an engine's work becomes calls of its HTTP API, and its events become hints.
//!
//! This is the only room that knows OpenCode's JSON. It knows no rules of tasks: what to do is
//! asked of it ([`perform`]), what came of it is told, and nothing is remembered in between but
//! what saves a request ([`LinkCache`]). How a call travels is the affair of a [`Transport`]:
//! through the plugin inside of OpenCode, or over HTTP ([`Remote`]). What OpenCode says is read
//! leniently; what makes no sense is an error, never a panic. Facts about OpenCode are those of
//! 1.18.33.

mod agents;
mod answer;
mod choice;
mod conversation;
mod error;
mod event_cache;
mod events;
mod history;
mod host;
mod limits;
mod link_cache;
mod mark;
mod message;
mod observe;
mod open;
mod perform;
mod question;
mod remote;
mod reply;
mod rules;
mod send;
mod stop;
mod stream;
mod toast;
mod transport;

/// What this kind of host is called, in a hello and in a host's id.
pub const KIND: &str = "opencode";

/// The plugin's text, with holes for what a machine and a build know.
pub const PLUGIN: &str = include_str!("../plugin/legwork.js");

pub use error::Fault;
pub use event_cache::{EventCache, MISSED};
pub use events::{hints, project, wanted};
pub use host::OpenCode;
pub use link_cache::LinkCache;
pub use perform::perform;
pub use remote::{DEFAULT_USER, Remote};
pub use stream::{Events, Heard};
pub use toast::toast;
pub use transport::Transport;
