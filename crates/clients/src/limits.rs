//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Sessions that are remembered; the one that spoke longest ago goes first. A person has a few a
/// day, so this is years.
pub const SESSIONS_MAX: usize = 10_000;
/// A line to the inbox of Claude Code is written at once or not at all.
pub const INBOX_MAX: Duration = Duration::from_secs(3);
/// How much of the end of a transcript is searched for a message that may have been written: more
/// than anything that is said between a crash and the next look.
pub const TRANSCRIPT_TAIL_BYTES: u64 = 32 << 20;
/// What one exchange with Codex may take altogether. The daemon gives up on an action after ten.
pub const CODEX_MAX: Duration = Duration::from_secs(8);
/// Messages of a thread that are looked through for ours: a delivery is looked for within minutes.
pub const CODEX_ITEMS: u32 = 100;
/// One message of Codex's server; a list of items has the texts of them.
pub const CODEX_MESSAGE_MAX_BYTES: usize = 64 << 20;
/// The longest text that is handed to `codex queue`, whose arguments the system bounds.
pub const CODEX_ARGUMENT_MAX_BYTES: usize = 100 << 10;
/// Tasks that a session has taken over. A client takes over what is unfinished, and only the newest
/// are worth listing.
pub const TAKEN_OVER_MAX: usize = 200;
