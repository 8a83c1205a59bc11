//! OpenCode as a host: an engine's work becomes calls of its HTTP API, and its events become hints.
//!
//! The only crate that knows OpenCode's JSON. It knows no rules of tasks: it performs actions
//! (`operations/`) and remembers nothing in between but what saves a request (`cache/`). A request
//! travels through the plugin inside of OpenCode or over HTTP ([`Transport`], `wire/`). What
//! OpenCode says is read leniently; what makes no sense is an error, never a panic. Facts about
//! OpenCode are those of 1.18.33.

mod cache;
mod headless;
mod host;
mod limits;
mod operations;
mod wire;

/// What this kind of host is called, in a hello and in a host's id.
pub const KIND: &str = "opencode";

/// The plugin's text, with holes for what a machine and a build know.
pub const PLUGIN: &str = include_str!("../plugin/legwork.js");

/// The text of its part for the terminal UI, with the same holes.
pub const TUI_PLUGIN: &str = include_str!("../plugin/tui.js");

pub use cache::event_cache::EventCache;
pub use cache::link_cache::LinkCache;
pub use headless::STARTED;
pub use host::OpenCode;
pub use operations::perform;
pub use operations::toast::toast;
pub use wire::error::Fault;
pub use wire::event::{Event, MISSED};
pub use wire::events::{hints, project, wanted};
pub use wire::remote::{DEFAULT_USER, Remote};
pub use wire::stream::{Events, Heard};
pub use wire::transport::Transport;
