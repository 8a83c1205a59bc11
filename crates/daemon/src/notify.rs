//! Tells a person who is elsewhere that a run has ended or that a helper asks: by a program of
//! theirs, by their desktop, or not at all, which is the default.
//!
//! An event goes out after it was saved, and at most once: what a crash cuts off is not sent again,
//! because the record of the task is there to be read. Nobody waits for it: there is a bound on how
//! many are under way at once and on how long one may take, and what goes wrong is in the
//! log alone.
//!
//! The environment of the program is what a login has, from the daemon's own: where the home, the
//! programs and the desktop are, and the language. The rest is that of whoever happened to start
//! the daemon, with the keys of one project or agent in it, and none of it is meant for this
//! program.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use legwork_engine::text::notification;
use legwork_engine::{Change, Task};
use legwork_machine::children::OwnChild;
use legwork_machine::inherited;
use legwork_protocol::notify::Notify;
use legwork_protocol::refusal::{cut, plain};
use legwork_protocol::view::QuestionView;
use legwork_protocol::{TaskId, Time};
use serde::Serialize;

use crate::daemon::Daemon;
use crate::limits::{
    NOTIFY_AT_ONCE, NOTIFY_DETAIL_MAX_CHARS, NOTIFY_LOOK_EVERY, NOTIFY_MAX, NOTIFY_WORDS_LOOKS,
    NOTIFY_WORDS_MAX_BYTES,
};
use crate::log::Log;

/// How the settings are read, whenever they are needed.
pub type ReadNotify = Arc<dyn Fn() -> Notify + Send + Sync>;

/// The variables that the program gets, if they are set; and all that begin with `LC_` or `XDG_`.
const VARIABLES: [&str; 15] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "LEGWORK_HOME",
    "LEGWORK_BIN",
];

/// What has happened, as the program reads it. The words come first.
#[derive(Debug, Clone, Serialize)]
struct Event {
    text: String,
    event: Kind,
    at: Time,
    task: TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    description: String,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    elapsed_ms: u64,
    /// The result or the reason, if it is short; else its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<QuestionView>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    End,
    Question,
}

#[derive(Clone)]
pub struct Notifier {
    read: ReadNotify,
    /// Events that are under way.
    open: Arc<AtomicUsize>,
    log: Log,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Notifier").field("open", &self.open).finish_non_exhaustive()
    }
}

impl Daemon {
    /// Passes on what was just saved and a person may want to hear.
    pub(crate) fn notify(&mut self, changes: &[Change], now: Time) {
        for change in changes {
            let event = match change {
                Change::Ended { task, detail, .. } => Some(ended(task, detail, now)),
                Change::Asked { task, question, .. } => self.asked(*task, question, now),
                _ => None,
            };
            if let Some(event) = event {
                self.notifier.send(event);
            }
        }
    }

    fn asked(&mut self, task: TaskId, question: &QuestionView, now: Time) -> Option<Event> {
        let view = self.shell.read(now, |engine| engine.view(&task.to_string(), now))?.ok()?;
        Some(Event {
            text: notification::asked(&view.description, question),
            event: Kind::Question,
            at: now,
            task,
            status: None,
            description: view.description,
            agent: view.agent,
            directory: None,
            elapsed_ms: view.elapsed_ms,
            detail: None,
            question: Some(question.clone()),
        })
    }
}

fn ended(task: &Task, detail: &str, now: Time) -> Event {
    Event {
        text: notification::ended(task, detail),
        event: Kind::End,
        at: now,
        task: task.id,
        status: Some(task.status().to_string()),
        description: task.description.to_string(),
        agent: task.agent.to_string(),
        directory: Some(task.directory.to_string()),
        elapsed_ms: task.elapsed_ms(task.run.started),
        detail: Some(cut(detail, NOTIFY_DETAIL_MAX_CHARS)),
        question: None,
    }
}

impl Notifier {
    pub fn new(read: ReadNotify, log: Log) -> Self {
        Self { read, open: Arc::default(), log }
    }

    /// Whether something is under way that would be cut off.
    pub fn is_busy(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Starts what is to be started on a thread of its own, unless too many are under way.
    fn send(&self, event: Event) {
        if self.open.fetch_add(1, Ordering::Relaxed) >= NOTIFY_AT_ONCE {
            self.open.fetch_sub(1, Ordering::Relaxed);
            self.log.warn("too many notifications are under way; one was left out");
            return;
        }
        let (this, open) = (self.clone(), Under(self.open.clone()));
        let started = thread::Builder::new().name("notify".to_owned()).spawn(move || {
            let _open = open;
            this.tell(&event);
        });
        if let Err(error) = started {
            self.log.warn(format_args!("a notification could not be sent: {error}"));
        }
    }

    fn tell(&self, event: &Event) {
        let settings = (self.read)();
        let wanted = match event.event {
            Kind::End => settings.ends,
            Kind::Question => settings.questions,
        };
        if !wanted {
            return;
        }
        if let [program, arguments @ ..] = &settings.command[..] {
            let mut command = Command::new(program);
            command.args(arguments);
            let mut line = serde_json::to_vec(event).unwrap_or_default();
            line.push(b'\n');
            self.run("notify.command", command, line);
        }
        if settings.desktop {
            self.run("notify.desktop", desktop(event), Vec::new());
        }
    }

    fn run(&self, setting: &str, command: Command, input: Vec<u8>) {
        if let Err(why) = run(command, input) {
            self.log.warn(format_args!("{setting}: {why}"));
        }
    }
}

/// Counts one that is under way until it is dropped.
struct Under(Arc<AtomicUsize>);

impl Drop for Under {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn run(mut command: Command, input: Vec<u8>) -> Result<(), String> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).env_clear();
    for (name, value) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        let prefixes = ["LC_", "XDG_"];
        if VARIABLES.contains(&&*shown) || prefixes.iter().any(|prefix| shown.starts_with(prefix)) {
            command.env(name, value);
        }
    }
    let program = Path::new(command.get_program()).display().to_string();
    let mut own = OwnChild::start(|| inherited::spawning(None, || command.spawn()))
        .map_err(|error| format!("{program} could not be started ({error})"))?;
    // Threads of their own, so that one that neither reads nor ends can be given up.
    let (stdin, stderr) = (own.child.stdin.take(), own.child.stderr.take());
    thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let words = thread::spawn(move || {
        let mut words = Vec::new();
        // What cannot be read was not said.
        let _ = stderr.map(|it| it.take(NOTIFY_WORDS_MAX_BYTES).read_to_end(&mut words));
        words
    });
    let Some(status) = wait(own) else {
        return Err(format!("{program} took longer than {} s and was ended", NOTIFY_MAX.as_secs()));
    };
    if status.success() {
        return Ok(());
    }
    // What it left behind may hold its stderr open: that is not waited for.
    for _ in 0..NOTIFY_WORDS_LOOKS {
        if words.is_finished() {
            break;
        }
        thread::sleep(NOTIFY_LOOK_EVERY);
    }
    let words = if words.is_finished() { words.join().unwrap_or_default() } else { Vec::new() };
    let words = String::from_utf8_lossy(&words);
    Err(format!("{program} failed ({status}): {}", plain(words.trim(), 200)))
}

/// How it ended; nothing if it had to be ended.
fn wait(mut own: OwnChild) -> Option<ExitStatus> {
    let deadline = Instant::now() + NOTIFY_MAX;
    loop {
        if let Ok(Some(status)) = own.child.try_wait() {
            return Some(status);
        }
        if Instant::now() > deadline {
            // It may have ended just now.
            let _ = own.child.kill();
            let _ = own.child.wait();
            return None;
        }
        thread::sleep(NOTIFY_LOOK_EVERY);
    }
}

/// What shows a few words on this system's desktop. They are arguments and no script.
fn desktop(event: &Event) -> Command {
    let title = match event.event {
        Kind::End => "legwork",
        Kind::Question => "legwork: a helper waits for you",
    };
    if cfg!(target_os = "macos") {
        let mut command = Command::new("osascript");
        let show = "display notification (item 2 of argv) with title (item 1 of argv)";
        for line in ["on run argv", show, "end run"] {
            command.args(["-e", line]);
        }
        command.args(["--", title, &event.text]);
        return command;
    }
    let mut command = Command::new("notify-send");
    // The body may be read as markup.
    let body = event.text.replace('&', "&amp;").replace('<', "&lt;");
    command.args(["--app-name=legwork", "--", title, &body]);
    command
}
