//! Every bound of this crate, with its reason.

use std::time::Duration;

use legwork_client::Habits;

/// A request of a client; the longest prompt, escaped, fits.
pub const LINE_MAX_BYTES: usize = 16 << 20;
/// Requests that one client has open at the same time. Each task of a client is one poll.
pub const OPEN_MAX: usize = 512;
/// A poll is held so long, and then answered with what the helper is doing: that is how often a
/// person sees it change.
pub const POLL_HOLD_MS: u64 = 3_000;
/// How soon a client may poll again. Claude Code takes less than this for this (2.1.325).
pub const POLL_EVERY_MS: u64 = 250;
/// A poll is held so long for a daemon that cannot be reached; then the person reads why. Claude
/// Code polls again after 60 s without an answer.
pub const AWAY_MAX: Duration = Duration::from_secs(40);
/// A link on which nothing is asked is closed after a while, so that a window which has no helpers
/// does not keep the daemon running. A model that waits for a daemon which is slow is not told so.
pub const HABITS: Habits = Habits { idle_max: Duration::from_secs(60), hears_soon: false };
/// How long the list of tools waits for the agents in it; without them it still is a list.
pub const AGENTS_MAX: Duration = Duration::from_secs(5);
/// A person's look at a form; then the question is left to the other ways to answer it.
pub const FORM_MAX: Duration = Duration::from_secs(60 * 60);
/// How often, and how many times, the lease of a run is renewed once a form about it was filled in.
/// Claude Code polls again up to 11 s later (2.1.328), and a lease lasts 10 s.
pub const AFTER_FORM_EVERY: Duration = Duration::from_secs(5);
pub const AFTER_FORM_LEASES: u32 = 3;
/// No person reads a form and says no in less.
pub const READ_MIN: Duration = Duration::from_millis(300);
/// Ancestors among which the client is looked for: it may have started us by a launcher.
pub const ANCESTORS_MAX: usize = 4;
/// A client's own note about a session.
pub const SESSION_FILE_MAX_BYTES: u64 = 64 << 10;
/// What is left of a client's limit when a wait is answered.
pub const BLOCK_MARGIN_MS: u64 = 20_000;
/// How often it is tried to tell the daemon what the client has been given. Each takes some seconds
/// if there is no daemon, and what cannot be told is said once more.
pub const TELL_TRIES: u32 = 6;
/// How long a call that ends runs waits for the client's polls to be answered. Claude Code polls
/// again within 250 ms (2.1.327).
pub const ENDS_GIVEN_MAX: Duration = Duration::from_secs(1);
/// What Claude Code needs until an end that it was given is in the turn that goes on (2.1.327).
pub const END_TAKEN: Duration = Duration::from_millis(300);
