//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Messages in the first page of a history. The end of a run is its last message; three more show
/// what it answers.
pub const FIRST_PAGE: usize = 4;
/// Messages in each further page. One holds at most some 50 KB of tool output, so a page stays far
/// below the longest line between our processes.
pub const PAGE: usize = 32;
/// Pages that one question reads; the rest of so long a history is not looked at.
pub const PAGES_MAX: usize = 100;

/// Sessions, newest first, among which one that was opened a moment ago is looked for.
pub const RECENT_SESSIONS: usize = 200;
/// Sessions among which it is looked for when it is not there; a listing of so many still fits one
/// line.
pub const ALL_SESSIONS: usize = 10_000;

/// How long the list of agents is good for. OpenCode reads its settings when an instance starts,
/// and that ends the plugin's link; a server without the plugin may have done so unseen.
pub const AGENTS_KEPT: Duration = Duration::from_secs(60);
/// Sessions whose model is remembered until they are prompted.
pub const MODELS_KEPT: usize = 200;

/// Conversations of which it is remembered what events told. Each is some hundred bytes.
pub const CONVERSATIONS_KEPT: usize = 1_000;

/// Prompts to which a reply is listened for.
pub const REPLIES_KEPT: usize = 1_000;
/// The longest reply that is kept in mind instead of being read.
pub const REPLY_MAX_BYTES: usize = 64 << 10;

/// Replies to one prompt whose figures are kept apart: more than any run has. Of further ones the
/// oldest are added up.
pub const SPENDING_MAX_REPLIES: usize = 2_000;

/// An HTTP request, from connecting to the last byte. A directory's first request boots an
/// instance, which was seen to take 3.5 s.
pub const REQUEST: Duration = Duration::from_secs(10);
/// An event stream on which nothing comes is dead: OpenCode sends a sign of life every 10 s.
pub const STREAM_SILENCE: Duration = Duration::from_secs(30);
/// First pause before a stream is opened again; doubles each time.
pub const STREAM_PAUSE_FIRST: Duration = Duration::from_millis(250);
/// Longest pause before a stream is opened again.
pub const STREAM_PAUSE_MAX: Duration = Duration::from_secs(10);

/// Text that comes piece by piece shows that a helper is alive; more often is of no use.
pub const DELTA_EVERY: Duration = Duration::from_secs(1);

/// A session is followed so long after somebody last asked for it. Whoever follows asks at least
/// every 20 s.
pub const FOLLOW_LINGER: Duration = Duration::from_secs(30);
/// Sessions of one host that are followed at once; people look at a few.
pub const FOLLOWED_MAX: usize = 64;
/// Text of one session that is not stored yet. What is over it is seen when it is stored.
pub const LIVE_MAX_BYTES: usize = 4 << 20;
/// Sessions of which it is remembered when their last event passed.
pub const SIEVE_SESSIONS: usize = 1_000;
