//! Every bound on what an agent may do to us, with its reason.

use std::time::Duration;

/// A line of an agent. Some send whole files in one; more is a flood.
pub const LINE_MAX_BYTES: usize = 16 << 20;
/// All text of one turn. A result is kept up to 4 MB; an agent that writes twice that does not
/// answer anything.
pub const TEXT_MAX_BYTES: usize = 8 << 20;
/// Lines that are no message before an agent is given up. Some log a little to the wrong place.
pub const RUBBISH_MAX_LINES: u32 = 50;
/// What is kept of the end of an agent's stderr.
pub const TAIL_BYTES: usize = 4 << 10;
/// Tool calls of one turn that are told apart by their ids; further ones are only counted.
pub const TOOL_CALLS_MAX: usize = 10_000;
/// Open questions of one turn; OpenCode asks one at a time, others a few.
pub const QUESTIONS_MAX: usize = 32;
/// A tool's title, as shown.
pub const TITLE_MAX_CHARS: usize = 80;
/// What happens in a turn is passed on this often, except the beginning of a tool call.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(500);
/// A turn that was called off is to end within this time; then its process is ended.
pub const CANCEL_MAX: Duration = Duration::from_secs(5);
/// A process whose stdin was closed is to end within this time; then its group is killed.
pub const END_MAX: Duration = Duration::from_secs(2);
/// How long an agent may take to say whether it still has a conversation. Whoever resumes a task
/// waits for it, and after ten seconds its host would count as not reachable. What is not said by
/// then shows when the prompt is handed over.
pub const PROBE_MAX: Duration = Duration::from_secs(8);
/// An agent that was asked to be quiet after it took up a conversation, and does not answer that.
pub const QUIET_MAX: Duration = Duration::from_secs(2);
/// After a conversation was taken up for a prompt that then does not come, and after a turn of an
/// agent that can only load a whole conversation. Gemini (seen in 0.61.0) names its file of a
/// conversation after the minute, so that one which is loaded in the minute in which it began is
/// overwritten: not less than a minute.
pub const LOADED_MAX: Duration = Duration::from_secs(60);
/// Processes that are kept without anything to do, because their agent could not take up the
/// conversation later. The one that waited longest goes first.
pub const IDLE_MAX: usize = 8;
/// When the end of a turn cannot be written down, it is tried again this often.
pub const SAVE_AGAIN: Duration = Duration::from_secs(1);
/// Ids of shown messages that are remembered, so that one sent twice is taken once. A message is
/// sent again within a minute if at all.
pub const SHOWN_MAX: usize = 1_000;
