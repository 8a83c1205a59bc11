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
/// Lines that wait to be read by an agent, in bytes: the longest prompt, escaped, and then some.
/// One that leaves more does not read, and is ended.
pub const OUTGOING_MAX_BYTES: usize = 16 << 20;
/// What an agent says of itself in one word: a name, a version, a way to log in.
pub const NAME_MAX_CHARS: usize = 200;
/// Ways to log in that are remembered.
pub const LOGINS_MAX: usize = 10;
/// Models of an agent that are looked at: some pass on the catalogue of a provider.
pub const MODELS_MAX: usize = 2_000;
/// Options of a permission that are looked at: agents offer four.
pub const OPTIONS_MAX: usize = 100;
/// Tool calls of one turn that are told apart by their ids; further ones are only counted. Of an id
/// only its hash is kept, however long it is.
pub const TOOL_CALLS_MAX: usize = 10_000;
/// Beginnings of tool calls that are passed on in the time of one progress; further ones are only
/// counted. Nobody can read more, and each is a record that waits.
pub const TOOLS_SHOWN_MAX: u32 = 20;
/// Entries of one turn that are kept for people to read; further ones are counted.
pub const SAID_MAX_ENTRIES: usize = 2_000;
/// The same in bytes of text, beside the answer: the whole log is read at once.
pub const SAID_MAX_BYTES: usize = 4 << 20;
/// What a tool was given or gave back, as kept.
pub const TOOL_TEXT_MAX_BYTES: usize = 64 << 10;
/// A thought, as kept.
pub const THOUGHT_MAX_BYTES: usize = 256 << 10;
/// Tool calls at work at once; of more the oldest counts as it is.
pub const SAID_MAX_OPEN: usize = 64;
/// Steps of a plan that are kept: agents plan a dozen.
pub const PLAN_MAX_STEPS: usize = 50;
/// What is kept of a step.
pub const STEP_MAX_CHARS: usize = 200;
/// Open questions of one turn; OpenCode asks one at a time, others a few.
pub const QUESTIONS_MAX: usize = 32;
/// A tool's title, as shown.
pub const TITLE_MAX_CHARS: usize = 80;
/// What happens in a turn is passed on this often, except the beginning of a tool call.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(500);
/// A turn that was called off is to end within this time; then its process is ended.
pub const CANCEL_MAX: Duration = Duration::from_secs(5);
/// A process whose stdin was closed is to end within this time; then it is asked to.
pub const END_MAX: Duration = Duration::from_secs(2);
/// What an agent has left, and was asked to end (SIGTERM), is to end within this time; then it is
/// killed. Long enough to write a file, short enough that a person who cancels does not wait.
pub const LEAVE_MAX: Duration = Duration::from_secs(1);
/// Interval for checking whether it has ended. Reading the process table takes milliseconds.
pub const LEAVE_LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often what does not stop starting processes is killed again.
pub const WALKS_MAX: usize = 5;
/// Interval for scanning the process tree while agents run. Processes orphaned within one interval
/// are attributed by start time only.
///
/// On macOS a scan runs `ps`, which takes some 20 ms.
pub const SCAN_EVERY: Duration =
    Duration::from_millis(if cfg!(target_os = "macos") { 2_000 } else { 500 });
/// When the system has no file or process left for an agent, it is tried again this often.
pub const START_AGAIN: Duration = Duration::from_secs(1);
/// And for so long, before the run fails for it.
pub const START_AGAIN_MAX: Duration = Duration::from_secs(600);
/// Environments of terminals that are remembered: one for each `legwork run`. The oldest is
/// forgotten first, and what it still wants to start gets that of the daemon.
pub const ENVIRONMENTS_MAX: usize = 4_096;
/// The same in bytes. An environment has some 5 KB.
pub const ENVIRONMENTS_MAX_BYTES: usize = 64 << 20;
/// PATHs of terminals in which an agent is looked for, the newest first.
pub const PATHS_MAX: usize = 8;
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
/// Terminals that no helper was asked for by are kept so long: one whose helper waits in the queue
/// has no helper yet.
pub const TERMINALS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
