//! Every stage of a run against everything that can happen to it. What comes of each pair is
//! written down in `stages.txt`; a pair that is not written there fails.
//!
//! Beside the four stages and three ends there are the moments in which the engine waits for
//! something: an agent to be looked up, a poll, a person, a host that ended. Only findings that
//! fit the work under way are tried; what a host may answer is said at each `Action`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod desk;

use std::collections::BTreeMap;

use desk::{
    DAWN, Desk, PARENT, PLACE, answered, failed, host_id, kind_of, launch, parent, seen, session,
    session_id,
};
use legwork_engine::WorkId;
use legwork_engine::input::{Caller, Hint, Input, Reaction, Say, Serves};
use legwork_engine::record::{About, Change};
use legwork_engine::task::{Stage, Task};
use legwork_engine::work::{Finding, HostError, Question, Retry, RunState};
use legwork_protocol::api::List;
use legwork_protocol::api::Reply;
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{Ask, CallId, Interrupted, Settings, Status, Time};

const TABLE: &str = include_str!("stages.txt");

const STAGES: [&str; 23] = [
    "pending_launch",
    "queued",
    "opening",
    "prompting",
    "working",
    "looking",
    "awaited",
    "polling",
    "asking",
    "replying",
    "completed",
    "failed",
    "cancelled",
    "counted",
    "resuming",
    "working again",
    "queued cut off",
    "opening cut off",
    "prompting cut off",
    "working cut off",
    "looking cut off",
    "read elsewhere",
    "read to go on",
];

const ALWAYS: [&str; 28] = [
    "launch again",
    "resume",
    "output",
    "block",
    "list",
    "cancel by parent",
    "cancel by person",
    "clear",
    "forget by person",
    "reply",
    "dropped",
    "host came",
    "another host came",
    "host away",
    "host gone",
    "changed",
    "errored",
    "session deleted",
    "parent deleted",
    "progress",
    "asked",
    "answered",
    "used",
    "tick when due",
    "tick at quiet limit",
    "tick at run limit",
    "found nobody's",
    "slept past both limits",
];

const ERRORS: [&str; 4] = ["unreachable", "busy", "gone", "rejected"];

const MINUTE_MS: u64 = 60_000;
const NAMES_WIDTH: usize = 38;

/// The findings that answer a kind of work.
fn findings(kind: &str) -> &'static [&'static str] {
    match kind {
        "check_agent" => &["agent_checked", "no such agent"],
        "probe" | "prompt" | "answer" => &["done"],
        "find_missing" => &["none missing", "parent missing"],
        "open" => &["opened"],
        "look" => &["seen answered", "seen failed", "seen aborted", "seen busy", "seen still"],
        "poll" => &["poll busy", "poll retry", "poll silent", "poll question"],
        "tell" => &["told", "done", "undo pending"],
        "stop" | "stop opened" | "stop marked" => &["quiet", "done"],
        other => panic!("{other} has no findings"),
    }
}

fn finding(name: &str) -> Finding {
    let polled = |busy, questions| Finding::Polled { busy, questions };
    let child = || session_id("ses_child");
    match name {
        "done" => Finding::Done,
        "agent_checked" => Finding::AgentKnown,
        "no such agent" => Finding::NoSuchAgent { known: vec!["build".to_owned()] },
        "none missing" => Finding::Missing { sessions: Vec::new() },
        "parent missing" => Finding::Missing { sessions: vec![session_id(PARENT)] },
        "opened" => Finding::Opened { session: child() },
        "seen answered" => seen(answered("It is done.")),
        "seen failed" => seen(failed("The provider said no.")),
        "seen busy" => seen(RunState::Busy),
        "seen aborted" => seen(RunState::Aborted { text: String::new() }),
        "seen still" => seen(RunState::Still { text: String::new() }),
        "poll busy" => polled(vec![(child(), None)], Vec::new()),
        "poll retry" => {
            let retry = Retry { attempt: 2, why: "overloaded".to_owned(), next: DAWN };
            polled(vec![(child(), Some(retry))], Vec::new())
        }
        "poll silent" => polled(Vec::new(), Vec::new()),
        "poll question" => polled(vec![(child(), None)], vec![(child(), question())]),
        "told" => Finding::Delivered,
        "undo pending" => Finding::UndoPending,
        "quiet" => Finding::Quiet,
        other => panic!("no finding {other}"),
    }
}

fn found(name: &str) -> Result<Finding, HostError> {
    match name {
        "unreachable" => Err(HostError::Unreachable),
        "busy" => Err(HostError::Busy),
        "gone" => Err(HostError::Gone),
        "rejected" => Err(HostError::Rejected { why: "not like this".to_owned() }),
        name => Ok(finding(name)),
    }
}

fn question() -> Question {
    Question::permission("per_1".parse().unwrap(), "May I run rm?")
}

/// The engine at a stage. The task is the parent's; its first call is `call_1`.
fn at(stage: &str) -> Desk {
    let goes_on = ["queued cut off", "opening cut off", "read to go on"].contains(&stage);
    let interrupted = if goes_on { Interrupted::Continue } else { Interrupted::Fail };
    let settings = Settings { max_running: 1, interrupted, ..Settings::default() };
    let mut desk = Desk::new(settings);
    let changed = Hint::Changed { session: session_id("ses_child") };
    match stage {
        "pending_launch" => {
            desk.ask(parent("call_1"), launch("Explore"));
        }
        "queued" | "queued cut off" => {
            desk.working(session("ses_other", "call_0"), "Hold the place", "ses_holder");
            desk.opening(parent("call_1"), "Explore");
        }
        "opening" | "opening cut off" => {
            desk.opening(parent("call_1"), "Explore");
        }
        "prompting" | "prompting cut off" => {
            desk.opening(parent("call_1"), "Explore");
            let _ = desk.found("open", Ok(finding("opened")));
        }
        "asking" | "replying" => {
            desk.working(parent("call_1"), "Explore", "ses_child");
            let session = session_id("ses_child");
            desk.hint(Hint::Asked { session, question: question() });
            desk.pass(200);
            let _ = desk.found("tell", Ok(Finding::Delivered));
        }
        _ => {
            desk.working(parent("call_1"), "Explore", "ses_child");
        }
    }
    match stage {
        "looking" | "looking cut off" => desk.hint(changed),
        "awaited" => {
            desk.hint(changed);
            desk.ask(parent("call_block"), block(the_task(&desk)));
        }
        "polling" => desk.pass(5_000),
        "replying" => {
            desk.ask(Caller::Person, reply());
        }
        "completed" => desk.ends("ses_child", answered("It is done.")),
        "counted" => {
            desk.ends("ses_child", answered("It is done."));
            let _ = desk.found("tell", Ok(Finding::Delivered));
            desk.host_comes("host_1");
        }
        "failed" => desk.ends("ses_child", failed("The provider said no.")),
        "cancelled" => {
            desk.ask(parent("call_2"), Ask::Cancel { task: the_task(&desk) });
        }
        "resuming" | "working again" => come_back(&mut desk, stage),
        _ => {}
    }
    if stage.ends_with("cut off") || stage.starts_with("read") {
        desk.hint(Hint::HostGone { host: host_id("host_1") });
    }
    if stage.starts_with("read") {
        desk.host_comes("host_2");
    }
    desk.pass(0);
    desk
}

/// Completed, told, and asked to go on.
fn come_back(desk: &mut Desk, stage: &str) {
    desk.ends("ses_child", answered("It is done."));
    let _ = desk.found("tell", Ok(Finding::Delivered));
    let resume = Ask::Resume { task: the_task(desk), prompt: "More.".to_owned(), collects: false };
    desk.ask(parent("call_3"), resume);
    if stage == "working again" {
        let _ = desk.found("probe", Ok(Finding::Done));
        let _ = desk.found("prompt", Ok(Finding::Done));
    }
}

fn block(task: String) -> Ask {
    Ask::Wait { tasks: vec![task], any: false, timeout_ms: 60_000 }
}

fn reply() -> Ask {
    Ask::Reply { question: question().id, reply: Reply::Once }
}

fn task_of(desk: &Desk) -> Option<&Task> {
    desk.tasks.values().find(|task| task.parent.as_str() == PARENT)
}

/// The id of the task of the table, or the one that it would have had.
fn the_task(desk: &Desk) -> String {
    task_of(desk).map_or_else(|| desk::task_id(1), |task| task.id).to_string()
}

/// What the stage waits for a host to answer, for the task of the table.
fn under_way(stage: &str, desk: &Desk) -> Option<(WorkId, &'static str)> {
    // The holder of the place has work of its own.
    let own = !stage.starts_with("queued");
    let counted = stage == "counted";
    let wanted = |kind: &str| own && (counted || kind != "find_missing");
    let mut newest = desk.under_way.iter().rev().map(|work| (work.id, kind_of(&work.action)));
    newest.find(|(_, kind)| wanted(kind))
}

fn inputs(stage: &str) -> Vec<String> {
    let mut all: Vec<String> = ALWAYS.iter().map(|name| (*name).to_owned()).collect();
    if let Some((_, kind)) = under_way(stage, &at(stage)) {
        let names = findings(kind).iter().chain(&ERRORS);
        all.extend(names.map(|name| format!("found {name}")));
    }
    all
}

/// The input, and the moment at which it comes.
fn input(name: &str, stage: &str, desk: &Desk) -> (Input, Time) {
    let now = desk.now.plus(1);
    if let Some(name) = name.strip_prefix("found ") {
        let (work, found) = match under_way(stage, desk) {
            Some((work, _)) if name != "nobody's" => (work, found(name)),
            _ => (WorkId(u64::MAX), Ok(Finding::Done)),
        };
        return (Input::Found { work, found }, now);
    }
    if let Some(hint) = hint(name) {
        return (Input::Hint(hint), now);
    }
    let begun = task_of(desk).map_or(desk.now, |task| task.run.started);
    match name {
        "dropped" => (Input::Dropped { call: newest_call(desk) }, now),
        "tick when due" => (Input::Tick, desk.wake_at.unwrap_or(now)),
        "tick at quiet limit" => (Input::Tick, begun.plus(30 * MINUTE_MS)),
        "tick at run limit" => (Input::Tick, begun.plus(120 * MINUTE_MS)),
        "slept past both limits" => {
            let ms = 180 * MINUTE_MS;
            (Input::Slept { ms }, now.plus(ms))
        }
        name => {
            let (caller, ask) = ask(name, the_task(desk));
            (Input::Ask { call: CallId(99), caller, ask, spare: desk::task_id(99) }, now)
        }
    }
}

/// The call of the parent's that was made last.
fn newest_call(desk: &Desk) -> CallId {
    CallId(if desk.tasks.len() > 1 { 2 } else { desk.calls })
}

fn ask(name: &str, task: String) -> (Caller, Ask) {
    let person = Caller::Person;
    match name {
        "launch again" => (parent("call_1"), launch("Explore")),
        "resume" => {
            let prompt = "Go deeper.".to_owned();
            (parent("call_9"), Ask::Resume { task, prompt, collects: false })
        }
        "output" => (parent("call_9"), Ask::Output { task, offset: 0 }),
        "block" => (parent("call_9"), block(task)),
        "list" => (parent("call_9"), Ask::List(List::default())),
        "cancel by parent" => (parent("call_9"), Ask::Cancel { task }),
        "cancel by person" => (person, Ask::Cancel { task }),
        "clear" => (parent("call_9"), Ask::Clear),
        "forget by person" => (person, Ask::Forget { tasks: vec![task] }),
        "reply" => (person, reply()),
        other => panic!("no input {other}"),
    }
}

fn hint(name: &str) -> Option<Hint> {
    let session = session_id("ses_child");
    let (place, lifetime) = (PLACE.parse().unwrap(), HostLifetime::Interactive);
    Some(match name {
        "host came" => {
            Hint::HostCame { host: host_id("host_1"), place, lifetime, serves: Serves::OwnPlace }
        }
        "another host came" => {
            Hint::HostCame { host: host_id("host_2"), place, lifetime, serves: Serves::OwnPlace }
        }
        "host away" => Hint::HostAway { host: host_id("host_1") },
        "host gone" => Hint::HostGone { host: host_id("host_1") },
        "changed" => Hint::Changed { session },
        "errored" => Hint::Errored { session, why: "no such model".to_owned() },
        "session deleted" => Hint::Deleted { host: host_id("host_1"), session },
        "parent deleted" => Hint::Deleted { host: host_id("host_1"), session: session_id(PARENT) },
        "progress" => Hint::Progress { session, tool: Some("grep".to_owned()), used: None },
        "asked" => Hint::Asked { session, question: question() },
        "answered" => Hint::Answered { session, question: question().id, reply: None },
        "used" => Hint::Used { host: host_id("host_1"), session: session_id(PARENT) },
        _ => return None,
    })
}

/// What came of it: the stage, what was said, the work given out, what became of notices.
fn outcome(desk: &Desk, reaction: &Reaction, asked: bool) -> String {
    let task = task_of(desk);
    let said: Vec<&str> = reaction.says.iter().map(|(_, say)| said(say)).collect();
    let said = if asked && said.is_empty() { vec!["later"] } else { said };
    let work = reaction.work.iter().map(|work| kind_of(&work.action)).collect();
    let notices = reaction.save.iter().filter_map(notice).collect();
    [vec![task.map_or("none", stage_word)], said, work, notices]
        .map(|words| if words.is_empty() { "-".to_owned() } else { words.join(" + ") })
        .join(" | ")
}

fn stage_word(task: &Task) -> &'static str {
    task.stage.name().as_str()
}

fn said(say: &Say) -> &'static str {
    match say {
        Say::Progress(_) => "progress",
        Say::Answer(Ok(_)) => "done",
        Say::Answer(Err(_)) => "refused",
    }
}

fn notice(change: &Change) -> Option<&'static str> {
    match change {
        Change::Enqueued(notice) if notice.id.about == About::End => Some("pending"),
        Change::Enqueued(_) => Some("question pending"),
        Change::Withdrawn(_) => Some("withdrawn"),
        Change::DeliveryWithdrawn { .. } => Some("held"),
        Change::DeliveryDone { .. } => Some("settled"),
        _ => None,
    }
}

/// What holds of every pair, whatever comes of it.
fn sound(after: Option<&Task>, reaction: &Reaction) {
    for change in &reaction.save {
        if let Change::Moved { task, from } | Change::Ended { task, from, .. } = change {
            let to = task.stage.name();
            assert!(from.may_become(to), "{from:?} became {to:?}");
        }
    }
    if let Some(after) = after.filter(|task| !matches!(task.stage, Stage::Finished(_))) {
        let again = after.run.number > 0;
        assert_eq!(after.status(), if again { Status::Resumed } else { Status::Running });
    }
    let mut answered: Vec<CallId> = Vec::new();
    for (call, say) in &reaction.says {
        if matches!(say, Say::Answer(_)) {
            assert!(!answered.contains(call), "{call:?} is answered twice");
            answered.push(*call);
        }
    }
}

/// One pair, done four times: twice alike, once with a clock that ran backwards, and once more.
fn pair(stage: &str, name: &str) -> String {
    let mut desk = at(stage);
    let (it, now) = input(name, stage, &desk);
    let asked = matches!(it, Input::Ask { .. });
    desk.now = now;
    let reaction = desk.on(it.clone());
    sound(task_of(&desk), &reaction);

    let mut twin = at(stage);
    twin.now = now;
    assert_eq!(twin.on(it.clone()), reaction, "{stage}, {name}: not the same twice");

    let (mut early, mut level) = (at(stage), at(stage));
    let last = early.now;
    early.now = Time(0);
    assert_eq!(early.on(it.clone()), level.on(it.clone()), "{stage}, {name}: at no time");
    assert_eq!(level.now, last);

    let shown = outcome(&desk, &reaction, asked);
    // A hint or an answer that comes twice must not do any harm either.
    let _ = desk.on(it);
    desk.pass(10 * MINUTE_MS);
    shown
}

/// The table as it would have to be: inputs with the same outcome stand together.
fn written(actual: &[(&str, Vec<(String, String)>)]) -> String {
    let mut all = String::new();
    for (stage, pairs) in actual {
        let mut outcomes: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, outcome) in pairs {
            match outcomes.iter_mut().find(|(known, _)| known == outcome) {
                Some((_, lines)) => add(lines, name),
                None => outcomes.push((outcome, vec![name.clone()])),
            }
        }
        for (outcome, names) in outcomes
            .iter()
            .flat_map(|(outcome, lines)| lines.iter().map(move |names| (outcome, names)))
        {
            all.push_str(&format!("{stage:<17} | {names:<NAMES_WIDTH$} | {outcome}\n"));
        }
        all.push('\n');
    }
    all
}

fn add(lines: &mut Vec<String>, name: &str) {
    match lines.last_mut() {
        Some(line) if line.len() + name.len() + 2 <= NAMES_WIDTH => {
            line.push_str(", ");
            line.push_str(name);
        }
        _ => lines.push(name.to_owned()),
    }
}

fn listed() -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    for line in lines {
        let columns: Vec<&str> = line.splitn(3, '|').map(str::trim).collect();
        let [stage, names, outcome] = columns[..] else { panic!("not a line: {line}") };
        let outcome = outcome.split('|').map(str::trim).collect::<Vec<_>>().join(" | ");
        for name in names.split(',').map(str::trim) {
            let pair = (stage.to_owned(), name.to_owned());
            assert!(all.insert(pair, outcome.clone()).is_none(), "twice: {stage} | {name}");
        }
    }
    all
}

#[test]
fn every_stage_meets_every_input() {
    let mut listed = listed();
    let mut wrong = Vec::new();
    let mut actual = Vec::new();
    for stage in STAGES {
        let mut pairs = Vec::new();
        for name in inputs(stage) {
            let outcome = pair(stage, &name);
            match listed.remove(&(stage.to_owned(), name.clone())) {
                Some(expected) if expected == outcome => {}
                Some(expected) => {
                    wrong.push(format!("{stage} | {name} | {outcome}\n    listed: {expected}"));
                }
                None => wrong.push(format!("{stage} | {name} | {outcome}\n    not listed")),
            }
            pairs.push((name, outcome));
        }
        actual.push((stage, pairs));
    }
    wrong.extend(listed.keys().map(|(stage, name)| format!("{stage} | {name}: no such pair")));
    let (count, table) = (wrong.len(), written(&actual));
    assert!(wrong.is_empty(), "{count} differ:\n{}\n\nas it is:\n{table}", wrong.join("\n"));
}
