//! The answers to a model's tool calls, made of the values that every front gets.

use legwork_protocol::Status;
use legwork_protocol::api::{Answer, Awaited, Note, Refusal, Told};
use legwork_protocol::limits::{BLOCK_MAX_MS, ECHO_MAX_CHARS};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{ResultView, TaskView, Waiting};

use super::fence::{Fence, named, quoted};
use super::words::{self, counted, duration};
use super::{listing, pages};
use crate::input::Progress;

const TOLD_HERE: &str = "A notification with the whole result will follow in this conversation \
     when it is done: go on with other work, do not wait or poll.";
const TOLD_IN_HISTORY: &str = "This conversation ends as soon as you stop. The helper then goes on \
     without it, and a notification with the whole result is added to its history. If you need the \
     result in this conversation, call background_block before you finish.";
const TOLD_BEFORE_END: &str = "This conversation ends as soon as you stop, and its helpers end \
     with it. So before you finish, call background_block with the ids of your tasks; a \
     notification with the whole result will follow then.";

const TOLD_NEXT_CALL: &str = "You are not told by yourself in this conversation: the result comes \
     with the answer to your next call of any of these tools. If you need it, or if this \
     conversation would end before, call background_block with its id.";

/// What a model reads, be it a refusal.
pub fn text(answered: &Result<Answer, Refusal>, note: Option<Note>, fence: Fence) -> String {
    answered.as_ref().map_or_else(Refusal::text, |answered| answer(answered, note, fence))
}

/// What a model reads. The fence sets a result apart from our own words; whoever wrote the result
/// must not have known it.
pub fn answer(answer: &Answer, note: Option<Note>, fence: Fence) -> String {
    let text = match answer {
        Answer::Launched { task, told } => launched(task, *told),
        Answer::Resumed { task, told } => resumed(task, *told),
        Answer::Output(output) if output.task.status.is_unfinished() => progress(&output.task),
        Answer::Output(output) => outcome(output, fence),
        Answer::Waited { tasks, any, cut } => waited(tasks, *any, *cut),
        Answer::Listed(tasks) => listing::listing(tasks),
        Answer::Cancelled { task, stopping, told, noted } => {
            cancelled(task, *stopping, follows(*told, *noted))
        }
        Answer::Cleared { tasks, unfinished } => cleared(*tasks, *unfinished),
        Answer::Replied => "The helper has your answer.".to_owned(),
        // No tool is answered so.
        Answer::Board(_)
        | Answer::Collected { .. }
        | Answer::Ended(_)
        | Answer::Agents(_)
        | Answer::Costs(_)
        | Answer::Runs(_)
        | Answer::Task(_)
        | Answer::Log(_)
        | Answer::Transcript(_)
        | Answer::Status(_)
        | Answer::Mail(_)
        | Answer::Done => String::new(),
    };
    match note {
        None => text,
        Some(Note::ResumeIgnores) => {
            format!("Note: agent and description are ignored in resume mode.\n{text}")
        }
        Some(Note::OutputNeverWaits) => {
            format!("Note: background_output never waits. Use background_block to wait.\n\n{text}")
        }
    }
}

fn launched(task: &TaskView, told: Told) -> String {
    let queued = task.waiting.iter().find_map(|waiting| match waiting {
        Waiting::Slot { ahead } => Some(format!("It is {}. ", words::queued(*ahead))),
        _ => None,
    });
    let queued = queued.unwrap_or_default();
    format!("Task ID: {}\n{queued}{}", task.id, told_later(task, told))
}

/// The end of an answer that promises a notice; a call that is sent again may come after it.
fn told_later(task: &TaskView, told: Told) -> String {
    match (task.status, told) {
        (Status::Running | Status::Resumed, Told::Here) => TOLD_HERE.to_owned(),
        (Status::Running | Status::Resumed, Told::InHistory) => TOLD_IN_HISTORY.to_owned(),
        (Status::Running | Status::Resumed, Told::BeforeEnd) => TOLD_BEFORE_END.to_owned(),
        (Status::Running | Status::Resumed, Told::NextCall) => TOLD_NEXT_CALL.to_owned(),
        (status, _) => format!("Its status is {status} by now."),
    }
}

fn resumed(task: &TaskView, told: Told) -> String {
    let mut text = format!("Task ID: {}\n", task.id);
    if task.resumes > 1 {
        text.push_str(&format!("Resume count: {}\n", task.resumes));
    }
    text.push_str(&told_later(task, told));
    text
}

fn progress(task: &TaskView) -> String {
    let mut text = format!("Task ID: {}\nStatus: {}\n", task.id, task.status);
    text.push_str(&format!("Description: {}\nAgent: {}\n", task.description, task.agent));
    if let Some(session) = &task.session {
        text.push_str(&format!("Session ID: {session}\n"));
    }
    text.push_str(&format!("Time so far: {}\n", duration(task.elapsed_ms)));
    text.push_str(&format!("Tool calls: {}\n", task.tool_calls));
    if !task.last_tools.is_empty() {
        let tools: Vec<String> = task.last_tools.iter().map(|tool| named(tool)).collect();
        text.push_str(&format!("Last tools: {}\n", tools.join(", ")));
    }
    text.push_str(&format!("Last activity: {}\n", words::ago(task.quiet_ms.unwrap_or_default())));
    if let Some(tokens) = task.usage.tokens {
        text.push_str(&format!("Tokens: {tokens}\n"));
    }
    if let Some(cost) = task.usage.cost {
        text.push_str(&format!("Cost: {cost}\n"));
    }
    for waiting in waiting_for(task) {
        text.push_str(&format!("Waiting: {waiting}\n"));
    }
    text.push_str("The result comes by itself as a notification.");
    text
}

pub(super) fn waiting_for(task: &TaskView) -> Vec<String> {
    let waiting = task.waiting.iter().map(|waiting| match waiting {
        Waiting::Slot { ahead } => words::queued(*ahead),
        Waiting::AnotherHost => {
            "its host ended; it is looked up when another one is there".to_owned()
        }
        Waiting::Host => "its host cannot be reached at the moment".to_owned(),
        Waiting::Provider { attempt, why, in_ms } => {
            format!("provider retry {attempt} in {} ({why})", duration(*in_ms))
        }
    });
    let questions = task.questions.iter().map(|question| {
        let which = match question.number {
            0 => String::new(),
            number => format!(" question {number}"),
        };
        format!("for a person to answer{which}: {}", quoted(&words::question(question)))
    });
    waiting.chain(questions).collect()
}

fn outcome(output: &ResultView, fence: Fence) -> String {
    let ResultView { task, offset, text, .. } = output;
    let mut words = format!("Task ID: {}\nStatus: {}\n", task.id, task.status);
    let took = duration(task.elapsed_ms);
    words.push_str(&format!("Description: {}\nTook: {took}\n\n", task.description));
    words.push_str(&pages::page(task.id, text.as_deref().unwrap_or_default(), *offset, fence));
    words
}

/// A task was called off, by the session that would be told of it or by somebody else.
fn cancelled(task: &TaskView, stopping: bool, follows: &str) -> String {
    let stopping = if stopping { " Its session is being stopped." } else { "" };
    format!("Cancelled {} ({}).{stopping} {follows}", task.id, task.description)
}

fn follows(told: bool, noted: bool) -> &'static str {
    match (told, noted) {
        (true, _) => "Its parent is notified.",
        // Nothing keeps a client from telling its model how a task that it polls for has ended.
        (false, true) => "Your client notes that it is cancelled; nothing else follows.",
        (false, false) => "No notification follows.",
    }
}

fn cleared(all: usize, unfinished: usize) -> String {
    let cleared = counted(all, "task");
    match (all, unfinished) {
        (0, _) => "No background tasks to clear.".to_owned(),
        (_, 0) => format!("Cleared {cleared}; none was unfinished."),
        (_, some) => {
            format!("Cancelled {} and cleared {cleared}.", counted(some, "unfinished task"))
        }
    }
}

fn waited(tasks: &[Awaited], any: bool, cut: bool) -> String {
    let known = || tasks.iter().filter_map(|awaited| awaited.task.as_ref());
    let running = known().filter(|task| task.status.is_unfinished()).count();
    let finished = known().count() - running;
    let missing = match tasks.len() - known().count() {
        0 => String::new(),
        some => format!(", {some} not found"),
    };
    let mut text = match (finished, running) {
        (0, 0) => "None of these tasks was found.\n".to_owned(),
        (finished, 0) => format!("All finished: {}{missing}.\n", counted(finished, "task")),
        (1.., running) if any => {
            let finished = known().filter(|task| !task.status.is_unfinished());
            let finished: Vec<String> = finished.map(|task| task.id.to_string()).collect();
            format!("Finished: {}. {running} still running{missing}.\n", finished.join(", "))
        }
        (finished, running) => {
            format!("The time is up: {finished} finished, {running} still running{missing}.\n")
        }
    };
    if cut {
        text.push_str(&format!("Note: the timeout was cut to {BLOCK_MAX_MS} ms, the longest.\n"));
    }
    for Awaited { name, task } in tasks {
        text.push('\n');
        text.push_str(&match task {
            None => format!("{}  not found", plain(name, ECHO_MAX_CHARS)),
            Some(task) => {
                let took = duration(task.elapsed_ms);
                format!("{}  {}  {}  {took}", task.id, task.status, task.description)
            }
        });
    }
    if finished > 0 {
        text.push_str(
            "\n\nbackground_output reads the results now; what you were not told yet follows by \
             itself.",
        );
    }
    text
}

/// A sign of life to a blocked caller.
pub fn still_waiting(progress: Progress) -> String {
    let Progress { left, waited_ms } = progress;
    format!("Waiting for {} ({} so far)", counted(left, "task"), duration(waited_ms))
}
