//! Every bound on what waits or grows, with its reason. What a person may change is in
//! [`crate::settings`]; what is here follows from hosts, models and memory.

// Sizes.

/// An id of a host or client: theirs are under 40 bytes; longer is a mistake or an attack.
pub const ID_MAX_BYTES: usize = 200;
/// One line between our processes. Holds the longest prompt or result, escaped, with room to
/// spare; a longer one is cut off unread so that no peer can fill our memory.
pub const LINE_MAX_BYTES: usize = 16 << 20;
/// A prompt. Some 250,000 tokens: over what models read at once.
pub const PROMPT_MAX_BYTES: usize = 1 << 20;
/// A description as kept; it titles a session and a line of a listing. The rest is cut.
pub const DESCRIPTION_MAX_CHARS: usize = 120;
/// An agent's name; OpenCode's are file names.
pub const AGENT_MAX_BYTES: usize = 200;
/// Agents that a model is told of, and how much of what each is good for: it pays for every word of
/// them with every request.
pub const AGENTS_MAX_OFFERED: usize = 24;
/// See [`AGENTS_MAX_OFFERED`].
pub const PURPOSE_MAX_CHARS: usize = 160;
/// A directory's path; Linux allows no more.
pub const DIRECTORY_MAX_BYTES: usize = 4096;
/// The environment that comes with a launch. A shell's has some 5 KB, and with more than this Linux
/// starts few programs.
pub const ENVIRONMENT_MAX_BYTES: usize = 1 << 20;
/// Tasks named in one `background_block`: more than a root session may keep by default.
pub const BLOCK_MAX_TASKS: usize = 256;
/// A refusal: a model reads it whole.
pub const REFUSAL_MAX_CHARS: usize = 600;
/// A rejected value, an id or an agent's name as a refusal repeats it.
pub const ECHO_MAX_CHARS: usize = 80;
/// The result of one run as kept. Answers of models are some kilobytes; this keeps one runaway
/// from filling the disk.
pub const DETAIL_MAX_BYTES: usize = 4 << 20;
/// Bytes of a result in one `background_output`: OpenCode cuts tool output at 50 KB (1.18.33), and
/// what it cuts the model has to fetch with other tools.
pub const PAGE_MAX_BYTES: usize = 40_000;
/// Lines of a result in one `background_output`: OpenCode cuts at 2,000 lines.
pub const PAGE_MAX_LINES: usize = 1_800;
/// Bytes of a result in one line to a person's program, as they are written there: a control
/// character takes six. The rest is asked for.
pub const RESULT_LINE_MAX_BYTES: usize = 8 << 20;
/// Bytes of one result in a notice, as they are written in a line. Ten notices go in one line, and
/// a mark may stand before every line of a result.
pub const NOTICE_MAX_BYTES: usize = 512 << 10;
/// Tasks in one listing; the answer says how many there are besides.
pub const LIST_MAX_TASKS: usize = 200;
/// A text that tasks are searched for: a description has no more.
pub const SEARCH_MAX_BYTES: usize = 1 << 10;
/// Bytes of one page of a conversation, as they are written in a line. One entry may be longer.
pub const TRANSCRIPT_PAGE_MAX_BYTES: usize = 1 << 20;
/// Entries of a page: each is some hundred bytes beside its text.
pub const TRANSCRIPT_PAGE_MAX_ENTRIES: usize = 1_000;
/// Bytes of what a tool was given, and of what it gave back, where they are told in short.
pub const TRANSCRIPT_SHORT_BYTES: usize = 4 << 10;
/// Entries of a position that may still change, the newest ones: more than a helper has tools at
/// work at once. Older ones count as settled.
pub const TRANSCRIPT_OPEN_MAX: usize = 64;
/// Notices in one message: ten full results are already more than a model likes.
pub const DELIVERY_MAX_NOTICES: usize = 10;
/// Tools shown as a helper's last ones.
pub const LAST_TOOLS: usize = 3;
/// Parents that a host is asked about at once, whether they still exist.
pub const FIND_MISSING_MAX_SESSIONS: usize = 200;
/// Words of the command that a host was started with: a program and a script.
pub const COMMAND_MAX_WORDS: usize = 4;
/// Hosts of one session that are remembered before those that ended are forgotten.
pub const HOSTS_MAX_REMEMBERED: usize = 32;
/// Tasks in one toast: it covers a corner of a terminal.
pub const TOAST_MAX_TASKS: usize = 5;
/// Questions of one run that its parent is told of; a helper that asks more is still shown.
pub const QUESTIONS_MAX_TOLD: u32 = 100;
/// Questions of one run that get a number and are remembered after their answer. Who asks more in
/// one run is answered by the ids of its questions.
pub const QUESTIONS_MAX_NUMBERED: u32 = 1_000;
/// Open questions of one run that are remembered.
pub const QUESTIONS_MAX_OPEN: usize = 32;
/// The subject of a question: a person sees all of what they allow. A command that is longer is
/// shown to its beginning, and says that it was cut.
pub const SUBJECT_MAX_CHARS: usize = 8_000;
/// Options of one question that are shown; a dialog of a host has fewer.
pub const OPTIONS_MAX: usize = 16;
/// Root sessions whose costs are remembered for `limits.max_cost`, also when their tasks are
/// cleared. Each takes some hundred bytes; a person opens so many in years.
pub const LEDGERS_MAX: usize = 10_000;
/// Tokens of one run, or millionths that it costs: a million dollars. A host that says more is
/// wrong, and sums over all runs stay far from overflowing.
pub const USED_UP_MAX: u64 = 1_000_000_000_000;
/// A question, a reason or another text from a host, as shown on one line.
pub const HOST_TEXT_MAX_CHARS: usize = 500;

// Times, in milliseconds.

/// `background_block` without a `timeout`.
pub const BLOCK_DEFAULT_MS: u64 = 60_000;
/// The longest `background_block`.
pub const BLOCK_MAX_MS: u64 = 600_000;
/// A silent call is given a sign of life this often. MCP clients give up after 60 s of silence.
pub const KEEP_AWAKE_EVERY_MS: u64 = 10_000;
/// The longest wait for something new in a conversation: a command gives a silent daemon up after
/// 60 s.
pub const TRANSCRIPT_WAIT_MAX_MS: u64 = 20_000;
/// How long a front may wait for a change of the board.
pub const BOARD_WAIT_MAX_MS: u64 = 20_000;
/// The longest time that a client's poll for the end of a run is held. Claude Code asks again after
/// 60 s (2.1.325), and shows what a helper is doing as often as it is answered.
pub const COLLECT_WAIT_MAX_MS: u64 = 20_000;
/// Whoever collects a run is given so long between two polls, or to come back after it was killed
/// or the daemon was; then the run's notices go out another way.
pub const COLLECT_LEASE_MS: u64 = 10_000;
/// A daemon that nobody needs stays so long for a notice that it cannot get rid of; the next one
/// tries again.
pub const TELLING_MAX_MS: u64 = 60 * 60 * 1_000;
/// How often unfinished work is looked up when no event comes.
pub const POLL_EVERY_MS: u64 = 5_000;
/// A helper that shows nothing for so long may wait for a person. One at work shows something every
/// second: a word, a step or what a tool prints.
pub const QUIET_MS: u64 = 2_000;
/// Notices of one parent that fall due within this time become one message, if others of its
/// tasks still run. Short enough that a person does not see it.
pub const GATHER_MS: u64 = 120;
/// A prompt that the host took but shows neither as busy nor as answered, after the host spoke of
/// an error: the error is written some 300 ms after its event (1.18.33).
pub const STILL_AFTER_ERROR_MS: u64 = 3_000;
/// The same without an error: a loop that a rejected permission stopped, or a host that forgot.
pub const STILL_MS: u64 = 15_000;
/// A run waits so long in a row for its provider to be tried again; limits of a week's use are
/// longer than anybody should keep a slot. That wait counts for no other limit.
pub const PROVIDER_WAIT_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// How often such a wait is saved while it lasts: a restart of the daemon forgets the rest of it.
pub const PROVIDER_WAIT_SAVED_EVERY_MS: u64 = 5 * 60 * 1_000;
/// When to look again at such a prompt.
pub const STILL_LOOK_EVERY_MS: u64 = 1_000;
/// A turn that ends with an error, or is aborted, says that it is idle before it is: a prompt that
/// comes before the second idle, some 300 ms later, is stored and never run (1.18.33). So long
/// nothing is sent.
pub const ERROR_SETTLES_MS: u64 = 1_000;
/// A stop counts when the session was quiet twice this far apart: an abort that overtakes the
/// start of a turn stops nothing and says that it did.
pub const STOP_CONFIRM_MS: u64 = 3_000;
/// A message that was sent is looked for after this time: a host takes a prompt for an agent that
/// it does not have, and stores nothing.
pub const DELIVERY_CONFIRM_MS: u64 = 1_000;
/// A question that was kept from a session that is at work is tried again after this time. The
/// person has seen it; only the model's history waits.
pub const QUESTION_RETRY_MS: u64 = 10_000;
/// A run whose host process ended before our eyes waits so long for another host of its place to
/// read how far it came; then it counts as interrupted. One whose host ended out of our sight waits
/// for its limits.
pub const CUT_OFF_GRACE_MS: u64 = 60_000;
/// A place whose runs have lost their host gets a headless one after this time: a window that is
/// only being reconnected, after a restart of the daemon, comes first.
pub const HEADLESS_AFTER_MS: u64 = 2_000;
/// A headless host that is not there after this time has failed to start. One takes two seconds, on
/// a busy machine ten.
pub const HEADLESS_START_MS: u64 = 60_000;
/// The pause before it is tried again.
pub const HEADLESS_RETRY_MS: u64 = 10_000;
/// A headless host that nothing needs is looked at twice, so far apart, and then ended.
pub const HEADLESS_IDLE_MS: u64 = 10_000;
/// A run that is past a limit is ended so long after that was noticed, if its host could not be
/// asked by then whether the answer is there.
pub const LIMIT_GRACE_MS: u64 = 60_000;
/// When a host is there again, notices wait this long for blocked callers to ask again: a parent is
/// not told what it is waiting for.
pub const RESEND_MS: u64 = 1_000;
/// First pause after a failed attempt; doubles each time.
pub const RETRY_FIRST_MS: u64 = 500;
/// Longest pause between two sendings.
pub const RETRY_MAX_MS: u64 = 60_000;

// Counts.

/// Attempts to open a session or hand over a prompt before the run ends as `error`; with the
/// pauses above some two minutes.
pub const START_MAX_TRIES: u32 = 9;
/// Times that a host may refuse a notice before the delivery ends; with the pauses above most of a
/// day. Being unreachable does not count.
pub const DELIVERY_MAX_REFUSALS: u32 = 1_000;
/// Times that an abort is tried on a host that is there; then the session is given up as beyond
/// our reach.
pub const STOP_MAX_TRIES: u32 = 200;
/// Polls that do not ask for questions, in a row: half a minute. A helper that does several
/// things at once can ask and be busy.
pub const POLLS_UNASKED_MAX: u32 = 5;
/// Tries to start a headless host before the runs that wait for it end as interrupted.
pub const HEADLESS_MAX_TRIES: u32 = 3;
/// Times that one run is asked to go on after its host ended, so that a run that kills its host
/// cannot do so for ever.
pub const CONTINUE_MAX: u32 = 3;

/// The part of `limits.max_cost`, in percent, at which the person is told that it is nearly used
/// up.
pub const BUDGET_WARN_PERCENT: u64 = 80;

// Lines between our processes.

/// Values in one line. A small object takes a hundred times the memory of its text, so the length
/// alone does not bound what reading a line costs: the worst line within this one takes some
/// 300 MB, without it over 2 GB. Hosts' listings have about 30 bytes a value, so the longest fits.
pub const LINE_MAX_VALUES: usize = 1 << 19;
/// A build, a kind of host or the name of an event: ours and the hosts' are under 60 bytes.
pub const WORD_MAX_BYTES: usize = 200;
/// What is wrong with a line, in words; goes into logs and into the last line to a peer.
pub const BAD_LINE_MAX_CHARS: usize = 300;
