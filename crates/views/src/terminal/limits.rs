//! Every limit of the view, with its reason.

/// How long one question about the board or a conversation waits for news. The daemon answers
/// earlier when there is some; the answer without any says that it is still there.
pub const WAIT_MS: u64 = 10_000;

/// Without an answer for so long, what is shown is not called live: two waits and some room. A
/// machine that slept is noticed by it too.
pub const STALE_MS: u64 = 25_000;

/// Finished tasks that are asked for; older ones are found with `/`.
pub const FINISHED: usize = 100;

/// Older tasks that one search brings.
pub const FOUND_MAX: usize = 100;

/// A search is sent when nothing was typed for so long.
pub const FIND_AFTER_MS: u64 = 300;

/// Entries of a conversation that are kept, and bytes of their texts: a screen's worth many times.
/// The oldest go first; `legwork transcript` shows all.
pub const ENTRIES_MAX: usize = 2_000;
pub const CONVERSATION_MAX_BYTES: usize = 2 << 20;

/// Bytes of a result that are read. `legwork output` prints all of it.
pub const RESULT_MAX_BYTES: usize = 200_000;

/// Two pictures are at least so far apart: twenty a second are enough for any eye.
pub const FRAME_MS: u64 = 50;

/// Times on the screen are counted in seconds.
pub const TICK_MS: u64 = 1_000;

/// How long a message stands at the bottom.
pub const MESSAGE_MS: u64 = 6_000;

/// A conversation is read when its task has been chosen for so long, not while one runs past it.
pub const OPEN_AFTER_MS: u64 = 150;

/// Conversations that may be read at once: the one that is looked at, and those before it whose
/// last question has not come back.
pub const READERS_MAX: usize = 8;

/// What can be typed on one line. More belongs into a file, and `legwork resume` reads one.
pub const INPUT_MAX_CHARS: usize = 4_000;

/// Requests that wait for their turn. Nobody presses keys faster than they are done.
pub const REQUESTS_MAX: usize = 32;

/// News that wait to be drawn. Who has more waits until they are.
pub const NEWS_MAX: usize = 256;

/// Lines of a question that its card shows before the rest is to be scrolled to.
pub const CARD_LINES_MAX: usize = 8;
