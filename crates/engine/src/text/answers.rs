//! The answers of the six tools.

use legwork_protocol::limits::{BLOCK_MAX_MS, ECHO_MAX_CHARS};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::refusal::plain;
use legwork_protocol::{SessionId, Status, Time};

use super::fence::{Fence, named, quoted};
use super::words::{self, counted, duration};
use super::{Answer, Piece, Text, View};
use crate::run::Volatile;
use crate::task::{Stage, Task};
use crate::tasks::{Live, Tasks};

const TOLD_LATER: &str = "A notification with the whole result will follow in this conversation \
     when it is done: go on with other work, do not wait or poll.";
const TOLD_BEFORE_END: &str = "This conversation ends as soon as you stop, and its helpers end \
     with it. So before you finish, call background_block with the ids of your tasks; a \
     notification with the whole result will follow then.";
const WAITS_NOTE: &str = "Note: background_output never waits. Use background_block to wait.\n\n";

/// A person's reply reached the helper.
pub const ANSWERED: &str = "The helper has your answer.";

/// A launch was accepted.
pub fn launched(task: &Task, ahead: Option<usize>, lifetime: HostLifetime) -> Answer {
    let session = match (&task.session, ahead) {
        (Some(session), _) => session.to_string(),
        (None, Some(ahead)) => {
            format!("none yet (queued, {})", words::ahead(ahead))
        }
        (None, None) => "none".to_owned(),
    };
    let mut text = format!("Task ID: {}\nSession ID: {session}\n", task.id);
    text.push_str(&told_later(task, lifetime));
    Answer::done(text)
}

/// The end of an answer that promises a notice; a call that is sent again may come after it.
fn told_later(task: &Task, lifetime: HostLifetime) -> String {
    match (task.status(), lifetime) {
        (Status::Running | Status::Resumed, HostLifetime::Interactive) => TOLD_LATER.to_owned(),
        (Status::Running | Status::Resumed, HostLifetime::OneShot) => TOLD_BEFORE_END.to_owned(),
        (status, _) => format!("Its status is {status} by now."),
    }
}

/// A resume was accepted.
pub fn resumed(task: &Task, extra: bool, lifetime: HostLifetime) -> Answer {
    let mut text = String::new();
    if extra {
        text.push_str("Note: agent and description are ignored in resume mode.\n");
    }
    text.push_str(&format!("Task ID: {}\n", task.id));
    if task.run.number > 1 {
        text.push_str(&format!("Resume count: {}\n", task.run.number));
    }
    text.push_str(&told_later(task, lifetime));
    Answer::done(text)
}

/// Who holds the places under a root session.
pub(crate) fn holders(tasks: &Tasks, root: &SessionId, held: usize) -> String {
    let (finished, unfinished) = tasks.counts(root);
    let nested = held.saturating_sub(finished + unfinished);
    let mut words = format!("{finished} finished and {unfinished} unfinished of its own");
    if nested > 0 {
        words.push_str(&format!(", {nested} of its helpers"));
    }
    words
}

/// What an unfinished run is doing.
pub(crate) fn progress(
    live: &Live,
    ahead: Option<usize>,
    away: bool,
    now: Time,
    waits: bool,
) -> Answer {
    let Live { task, watch } = live;
    let mut text = if waits { WAITS_NOTE.to_owned() } else { String::new() };
    text.push_str(&format!("Task ID: {}\nStatus: {}\n", task.id, task.status()));
    text.push_str(&format!("Description: {}\nAgent: {}\n", task.description, task.agent));
    text.push_str(&format!("Time so far: {}\n", duration(task.elapsed_ms(now))));
    text.push_str(&format!("Tool calls: {}\n", task.run.tool_calls));
    if !watch.tools.is_empty() {
        let tools: Vec<String> = watch.tools.iter().map(|tool| named(tool)).collect();
        text.push_str(&format!("Last tools: {}\n", tools.join(", ")));
    }
    text.push_str(&format!("Last activity: {}\n", words::ago(watch.quiet_ms(now))));
    if let Some(tokens) = watch.tokens {
        text.push_str(&format!("Tokens: {tokens}\n"));
    }
    if let Some(micros) = watch.cost_micros {
        text.push_str(&format!("Cost: {}.{:04}\n", micros / 1_000_000, micros % 1_000_000 / 100));
    }
    for waiting in waiting_for(watch, ahead, away, now) {
        text.push_str(&format!("Waiting: {waiting}\n"));
    }
    text.push_str("The result comes by itself as a notification.");
    Answer::done(text)
}

/// What a run waits for, in words.
pub(crate) fn waiting_for(
    watch: &Volatile,
    ahead: Option<usize>,
    away: bool,
    now: Time,
) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(ahead) = ahead {
        all.push(format!("in the queue, {}", words::ahead(ahead)));
    }
    if watch.host_ended() {
        all.push("its host ended; it is looked up when another one is there".to_owned());
    } else if away {
        all.push("its host cannot be reached at the moment".to_owned());
    }
    if let Some(retry) = &watch.retry {
        let next = duration(retry.next.since(now));
        all.push(format!("provider retry {} in {next} ({})", retry.attempt, retry.why));
    }
    for (id, text) in &watch.questions {
        all.push(format!("for a person to answer {id}: {}", quoted(text)));
    }
    all
}

/// What came of a finished run.
pub fn outcome(task: &Task, offset: u64, waits: bool, fence: Fence) -> Answer {
    let mut head = if waits { WAITS_NOTE.to_owned() } else { String::new() };
    let took = duration(task.elapsed_ms(task.created));
    head.push_str(&format!("Task ID: {}\nStatus: {}\n", task.id, task.status()));
    head.push_str(&format!("Description: {}\nTook: {took}\n\n", task.description));
    let (run, view) = (task.run.number, View::Page { offset });
    let detail = Piece::Detail { task: task.id, run, view, fence };
    Answer::done(Text(vec![Piece::Plain(head), detail]))
}

/// A task was called off, by the session that would be told of it or by somebody else.
pub fn cancelled(task: &Task, by_asker: bool) -> Answer {
    let told = if by_asker { "No notification follows." } else { "Its parent is told." };
    let stopped = if task.stage == Stage::Queued { "" } else { " Its session is being stopped." };
    Answer::done(format!("Cancelled {} ({}).{stopped} {told}", task.id, task.description))
}

/// Tasks were forgotten.
pub fn cleared(all: usize, unfinished: usize) -> Answer {
    if all == 0 {
        return Answer::done("No background tasks to clear.");
    }
    let cleared = counted(all, "task");
    Answer::done(match unfinished {
        0 => format!("Cleared {cleared}; none was unfinished."),
        some => format!("Cancelled {} and cleared {cleared}.", counted(some, "unfinished task")),
    })
}

/// How the tasks that a caller waited for are doing.
pub fn block_summary(tasks: Vec<(&str, Option<&Task>)>, now: Time, cut: bool) -> Answer {
    let known = || tasks.iter().filter_map(|(_, task)| *task);
    let running = known().filter(|task| !task.is_finished()).count();
    let finished = known().count() - running;
    let missing = match tasks.len() - known().count() {
        0 => String::new(),
        some => format!(", {some} not found"),
    };
    let mut text = match (finished, running) {
        (0, 0) => "None of these tasks was found.\n".to_owned(),
        (finished, 0) => format!("All finished: {}{missing}.\n", counted(finished, "task")),
        (finished, running) => {
            format!("The time is up: {finished} finished, {running} still running{missing}.\n")
        }
    };
    if cut {
        text.push_str(&format!("Note: the timeout was cut to {BLOCK_MAX_MS} ms, the longest.\n"));
    }
    for (name, task) in &tasks {
        text.push('\n');
        text.push_str(&match task {
            None => format!("{}  not found", plain(name, ECHO_MAX_CHARS)),
            Some(task) => {
                let took = duration(task.elapsed_ms(now));
                format!("{}  {}  {}  {took}", task.id, task.status(), task.description)
            }
        });
    }
    if finished > 0 {
        text.push_str(
            "\n\nbackground_output reads the results now; what you were not told yet follows by \
             itself.",
        );
    }
    Answer::done(text)
}

/// A sign of life to a blocked caller.
pub fn still_waiting(left: usize, ms: u64) -> String {
    format!("Waiting for {} ({} so far)", counted(left, "task"), duration(ms))
}
