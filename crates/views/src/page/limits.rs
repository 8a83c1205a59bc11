//! Every bound of the front on what waits or grows, with its reason.

use std::time::Duration;

use legwork_client::Habits;

// Requests.

/// Bytes of a request's body: a prompt that somebody types, or the ids of a few thousand tasks.
pub const BODY_MAX_BYTES: usize = 64 << 10;
/// Bytes of a request's head. Browsers send less than 2 KB.
pub const HEAD_MAX_BYTES: usize = 16 << 10;
/// How long a request may take until its answer begins, its own head and body included.
pub const REQUEST_MAX: Duration = Duration::from_secs(30);
/// How long whoever reads an answer may take nothing of it. A tab that was asleep asks again.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// Connections at once: a browser makes six to one server, and somebody may have a few of them. A
/// stranger's goes when there are more.
pub const CONNECTIONS_MAX: usize = 64;
/// Streams at once: four tabs, each with a board and a conversation.
pub const STREAMS_MAX: usize = 8;
/// Requests to the daemon at once, besides those of streams.
pub const ASKED_AT_ONCE: usize = 8;
/// Threads for what blocks: to find the daemon, and to start it.
pub const THREADS_MAX: usize = 4;

/// Folders that somebody can choose from to launch in: a list to look through.
pub const FOLDERS_MAX: usize = 500;

// Streams.

/// Events that were made for a tab and not read yet. The daemon is asked for the next one when
/// there is room, so a slow tab gets fewer and newer ones, and none is kept for it.
pub const EVENTS_AHEAD: usize = 1;
/// How long the daemon may wait for a change. Then a comment shows that the stream is alive.
pub const WAIT_MS: u64 = 10_000;
/// Only open tabs hold the daemon: between two questions of one there is hardly a moment. Whoever
/// waits is told why, and it is tried again.
pub const HABITS: Habits = Habits { idle_max: Duration::from_secs(1), hears_soon: true };
/// Finished tasks of a whole board; older ones are asked for page by page.
pub const FINISHED: usize = 100;

// The way in.

/// Codes that nobody has used yet: each is a browser that was opened and has not come.
pub const CODES_MAX: usize = 16;
/// How long a code is good: a person copies it, perhaps to another machine.
pub const CODE_MAX: Duration = Duration::from_secs(10 * 60);
/// How long the page of a detached front may be closed before it ends: long enough to reload it, or
/// to come back to it.
pub const LINGER: Duration = Duration::from_secs(60);
/// How long a running front may take to give out a code.
pub const CODE_ASKED_MAX: Duration = Duration::from_secs(10);
/// Bytes of a front's answer to that, and of its record: a few words and numbers.
pub const RECORD_MAX_BYTES: u64 = 4 << 10;
/// How long a front that is just being started may take until it says where it listens.
pub const START_MAX: Duration = Duration::from_secs(10);
/// Bytes of a text that is being written, kept until it is whole; a longer one is shown as it is.
/// So a stream keeps 64 MB at the most, and in truth a few KB.
pub const OPEN_TEXT_MAX_BYTES: usize = 1 << 20;
/// Between two looks at a conversation that has nothing new and cannot be waited for.
pub const PAUSE: Duration = Duration::from_millis(250);
