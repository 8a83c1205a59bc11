//! What a host is to the daemon. A host keeps sessions and works in them: it performs the engine's
//! actions, and its events become hints.
//!
//! The daemon knows hosts by the traits of this crate only, and each kind of host is a crate that
//! implements them; the binary puts both together. A host either connects over the daemon's socket
//! ([`Kind`], [`Link`]) or is part of the daemon's process ([`BuiltIn`]). The traits are not in
//! `shell`, because they are asynchronous and the simulation, which shares the shell, is not.
//! `docs/adding-a-host.md` says how to add one.

mod built_in;
mod conversation;
mod host;
mod kind;
mod lines;
mod link;

pub use built_in::{BuiltIn, Opening, Outside, Reader};
pub use conversation::{Page, page};
pub use host::{Host, HostFuture, unsupported};
pub use kind::{HowToStart, Kind, Starting};
pub use lines::{append_line, draft_of, read_lines, rewrite_lines, sync_file};
pub use link::{Link, Outgoing, Request, Unanswered, Unreachable};
