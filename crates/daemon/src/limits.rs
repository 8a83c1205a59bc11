//! Every bound of the daemon on what waits or grows, with its reason. The bounds of the line format
//! are in `legwork_protocol::limits`.

use std::time::Duration;

use legwork_protocol::limits::POLL_EVERY_MS;

// Connections.

/// Connections at once: many windows and commands; each costs two buffers.
pub const CONNECTIONS_MAX: usize = 256;
/// Those of people's programs among them. The rest is for hosts, which are not to be kept out by a
/// script that forgets to close what it opens. Over it the one that was silent longest goes.
pub const CLIENTS_MAX: usize = 192;
/// Those that have not said hello among them. Over it the one that waited longest goes: ours say it
/// at once.
pub const SILENT_MAX: usize = 32;
/// A connection says hello by then or is sent away. Ours say it at once.
pub const HELLO_MAX: Duration = Duration::from_secs(5);
/// How long a new connection waits for the permit of one that has to go.
pub const PERMIT_MAX: Duration = Duration::from_secs(1);
/// Places of which it is remembered how their hosts are started; each has an environment.
pub const STARTUPS_MAX: usize = 32;
/// Bad lines of one connection before it is disconnected.
pub const BAD_LINES_MAX: u32 = 100;
/// Bad lines of one connection that are logged one by one.
pub const BAD_LINES_LOGGED: u32 = 3;
/// Calls and queries of one connection without an answer: a session makes a few at once.
pub const OPEN_CALLS_MAX: usize = 1_000;
/// From here on an unfinished line is a long one. All connections together hold 70 MB of shorter
/// ones at most.
pub const LONG_LINE_BYTES: usize = 256 << 10;
/// Long lines that are read at once, of all peers together; the others wait for their turn. So
/// unfinished lines take at most 128 MB more: a line's buffer may be twice as long as the line.
pub const LONG_LINES_AT_ONCE: usize = 4;
/// How long a long line may take to come in; between processes of one machine it takes
/// milliseconds.
pub const LONG_LINE_MAX: Duration = Duration::from_secs(30);
/// Lines queued for the loop, of all peers together. Few, because each may be long; a connection
/// whose line does not fit waits for its turn, behind the others.
pub const INBOX_MAX_LINES: usize = 16;
/// What may be queued for one connection: two of the longest lines. One that leaves more is cut
/// off.
pub const SEND_QUEUE_MAX_BYTES: usize = 32 << 20;
/// The same in lines.
pub const SEND_QUEUE_MAX_LINES: usize = 10_000;
/// A connection that takes nothing for this long is cut off.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// Lines that a watcher may be behind before some are left out for it.
pub const WATCHER_MAX_BEHIND: usize = 256;

// Conversations.

/// Conversations that are read at once, of all readers together: each may have megabytes.
pub const READS_AT_ONCE: usize = 4;
/// How long what changes is gathered before a reader is told: text comes word by word.
pub const READ_GATHER: Duration = Duration::from_millis(100);
/// How long reading one may take: a long one is asked for page by page.
pub const READ_MAX: Duration = Duration::from_secs(30);

// The board.

/// How often those who look are told what changed, in milliseconds: quicker than anybody reads.
pub const BOARD_EVERY_MS: u64 = 250;
/// The same while nothing can be saved: then every look reads all records.
pub const BOARD_DEGRADED_EVERY_MS: u64 = 5_000;
/// A helper that has shown nothing for so long is said to be quiet.
pub const BOARD_QUIET_MS: u64 = 60_000;
/// How long it is kept for somebody who is late to ask again.
pub const BOARD_KEEP_MS: u64 = 60_000;
/// Forgotten tasks that it remembers. Who has missed more gets the whole board.
pub const BOARD_GONE_MAX: usize = 1_000;

// Time.

/// More than this between two looks at the clock, and nothing ran in between: the loop sleeps for
/// one poll at the most, and a disk that is slow is slow for seconds.
pub const AWAKE_GAP_MS: u64 = 3 * POLL_EVERY_MS;

// Hosts.

/// Work of one host in flight at once. OpenCode answers most in milliseconds.
pub const AT_ONCE: usize = 16;
/// Work that takes longer, queued or in flight, is answered as unreachable.
pub const UNIT_MAX: Duration = Duration::from_secs(10);
/// A host that has just connected is asked so often which agents it has.
pub const OFFER_TRIES: u32 = 5;
/// The pause between two of these tries.
pub const OFFER_PAUSE: Duration = Duration::from_secs(2);
/// Toasts queued for one host: as many as tasks may end in one moment. More would be old news.
pub const TOASTS_MAX: usize = 16;
/// A toast waits so long for what it is about to reach its session and its model. Nobody sees the
/// difference.
pub const TOAST_AFTER: Duration = Duration::from_millis(250);
/// How soon it is shown that something goes on.
pub const PROGRESS_EVERY_MS: u64 = 500;
/// The pause after progress was first shown; it doubles each time.
pub const PROGRESS_PAUSE_FIRST_MS: u64 = 10_000;
/// The longest pause between two showings of progress.
pub const PROGRESS_PAUSE_MAX_MS: u64 = 60_000;

// Notifications.

/// Under way at once: a burst of ends. What is more is left out, and listed all the same.
pub const NOTIFY_AT_ONCE: usize = 16;
/// How long one may take: a program that sends a message over a slow network.
pub const NOTIFY_MAX: Duration = Duration::from_secs(10);
/// How often it is looked whether one has ended.
pub const NOTIFY_LOOK_EVERY: Duration = Duration::from_millis(20);
/// Of a result or a reason that a notification carries: more than any message shows.
pub const NOTIFY_DETAIL_MAX_CHARS: usize = 2_000;
/// Times to retry reading the output of a program that has exited.
pub const NOTIFY_WORDS_LOOKS: u32 = 10;
/// Of what a program says of its failure, for the log.
pub const NOTIFY_WORDS_MAX_BYTES: u64 = 1 << 10;

// Life.

/// How long the daemon stays when nobody is connected and nothing is unfinished: a window that is
/// closed and opened again finds it there.
pub const LINGER: Duration = Duration::from_secs(30);
/// How long saying goodbye to everybody may take.
pub const FAREWELL_MAX: Duration = Duration::from_secs(2);
/// Whoever connects in this time before the end is still told to start another daemon.
pub const LAST_KNOCK: Duration = Duration::from_millis(10);
/// A pause after a connection that could not be taken: the system is out of files.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often the daemon checks that its socket, its records and its log are still there. As often
/// as it wakes up anyway.
pub const CHECK_SOCKET_EVERY: Duration = Duration::from_secs(5);

// Files.

/// When a new log file is begun: some days of ordinary use.
pub const LOG_MAX_BYTES: u64 = 1 << 20;
/// Old log files that are kept.
pub const OLD_LOGS: u32 = 3;
/// One line of the log; what is longer is cut.
pub const LOG_LINE_MAX_CHARS: usize = 1_000;
/// Lines in a minute that peers can cause: a broken one must not wash out the rest.
pub const PEER_LINES_A_MINUTE: u32 = 120;

/// Bytes of whole prompts in one line: escaped they may be six times as many, and a line has 16 MB.
pub const RUNS_MAX_BYTES: usize = 2 << 20;
/// Characters of a prompt for which there is no room.
pub const PROMPT_CUT_CHARS: usize = 500;
