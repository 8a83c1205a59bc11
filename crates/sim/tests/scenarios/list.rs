//! `background_list`: S1 to S6.

use std::collections::BTreeSet;

use legwork_engine::text::answers;
use legwork_engine::text::fence::Fence;
use legwork_engine::text::words::duration;
use legwork_engine::work::{Observation, Retry, RunState};
use legwork_engine::{
    Action, Caller, Engine, Finding, Hint, Input, Reaction, Say, Serves, Usage, Work,
};
use legwork_protocol::Ask;
use legwork_protocol::api::{List, ToolCall};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::view::TaskView;
use legwork_protocol::{CallId, MessageId, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::host::Nasty;
use legwork_sim::world::name;
use serde_json::json;

/// An engine without a world around it, for what the story's one project cannot tell: two projects,
/// and hosts that say more than the virtual one does.
pub struct Bare {
    engine: Engine,
    now: Time,
    calls: u64,
    /// The prompt of the last launch.
    pub prompt: Option<MessageId>,
}

/// The answer in a reaction.
fn text_of(reaction: &Reaction) -> String {
    let answers = reaction.says.iter().filter_map(|(_, say)| match say {
        Say::Answer(answer) => Some(answers::text(answer, None, Fence::of("", ""))),
        Say::Progress(_) => None,
    });
    answers.collect()
}

impl Bare {
    pub fn new() -> Self {
        Self {
            engine: Engine::new(Settings::default()),
            now: Time(1_000_000),
            calls: 0,
            prompt: None,
        }
    }

    pub fn on(&mut self, input: Input) -> Reaction {
        self.now = self.now.plus(10);
        self.engine.on(input, self.now)
    }

    pub fn host_comes(&mut self, host: &str, place: &str) {
        let _ = self.on(Input::Hint(Hint::HostCame {
            host: name(host),
            place: name(place),
            lifetime: HostLifetime::Interactive,
            serves: Serves::OwnPlace,
        }));
    }

    fn put(&mut self, host: &str, session: &str, ask: Ask) -> Reaction {
        self.calls += 1;
        let caller = Caller::Session {
            host: name(host),
            session: name(session),
            key: name(&format!("call-{}", self.calls)),
            message: name("msg_tool"),
            agent: "build".to_owned(),
            directory: "project".to_owned(),
            taken_over: Vec::new(),
        };
        let spare = TaskId::from_number(self.calls);
        self.on(Input::Ask { call: CallId(self.calls), caller, ask, spare })
    }

    pub fn ask(&mut self, host: &str, session: &str, ask: Ask) -> String {
        text_of(&self.put(host, session, ask))
    }

    /// The first work of a reaction is done, and this came of it.
    fn done(&mut self, reaction: &Reaction, finding: Finding) -> Reaction {
        let work = reaction.work[0].id;
        self.on(Input::Found { work, found: Ok(finding) })
    }

    /// Time passes; what is to be done meanwhile.
    pub fn wait(&mut self, ms: u64) -> Vec<Work> {
        self.now = self.now.plus(ms);
        self.on(Input::Tick).work
    }

    /// A helper's session falls idle, and a look finds this answer; what is to be done then.
    pub fn answered(&mut self, helper: &str, text: &str) -> Vec<Work> {
        let look = self.on(Input::Hint(Hint::Changed { session: name(helper) }));
        let state = RunState::Answered { text: text.to_owned() };
        self.done(
            &look,
            Finding::Observed(Observation {
                state,
                tool_calls: 0,
                usage: Usage::default(),
                moved: None,
            }),
        )
        .work
    }

    pub fn view(&self, task: TaskId) -> TaskView {
        self.engine.view(&task.to_string(), self.now).unwrap()
    }

    /// A task that is at work in this session.
    pub fn launch(&mut self, host: &str, from: &str, description: &str, helper: &str) -> TaskId {
        let (prompt, agent) = ("work".to_owned(), "general".to_owned());
        let description = description.to_owned();
        let check_agent = self.put(
            host,
            from,
            Ask::Launch { prompt, description, agent, fork: false, collects: false },
        );
        let open = self.done(&check_agent, Finding::AgentKnown);
        let prompt = self.done(&open, Finding::Opened { session: name(helper) });
        if let Action::Prompt { message, .. } = &prompt.work[0].action {
            self.prompt = Some(message.clone());
        }
        let _ = self.done(&prompt, Finding::Done);
        let answer = text_of(&open);
        let id = answer.lines().find_map(|line| line.strip_prefix("Task ID: "));
        id.and_then(|id| id.parse().ok()).unwrap()
    }
}

fn list(story: &mut Story) -> String {
    story.ask("background_list", json!({}))
}

fn listed(story: &mut Story, arguments: serde_json::Value) -> Vec<TaskId> {
    let answer = story.ask("background_list", arguments);
    if answer == "No background tasks found." {
        return Vec::new();
    }
    answer.lines().map(|line| line[..11].parse().unwrap()).collect()
}

/// The columns of a line: two or more spaces apart.
fn columns(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// The columns on a screen that a text takes; for the characters in these tests.
fn width(text: &str) -> usize {
    let of = |c: char| match c {
        '\u{300}'..='\u{36f}' => 0,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{d7ff}' | '\u{ff00}'..='\u{ff60}' => 2,
        '\u{1f300}'..='\u{1faff}' => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

#[test]
fn s1_the_line_of_the_example_has_exactly_this_form() {
    let mut story = Story::new();
    let task = story.launch("Explore codebase", "say found it");
    story.until_settled();
    story.resume(task, "wait 2000; say more");
    story.until_settled();
    let answer = list(&mut story);
    let example = format!("{task} (resumed)    completed    Explore codebase    general    2s");
    assert_eq!(answer, example);
    story.end();
}

#[test]
fn s1_one_line_a_task_in_columns_and_newest_first() {
    let mut story = Story::new();
    let old = story.launch("Read the manual", "say done");
    let failed = story.launch("Fix", "fail 400");
    let new = story.launch("Write a longer text", "tool bash 60000; say done");
    story.pass(5_000);
    let answer = list(&mut story);
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 3);
    let (new, failed, old) = (new.to_string(), failed.to_string(), old.to_string());
    let row = columns(lines[0]);
    assert_eq!(row[..4], [&*new, "running", "Write a longer text", "general"]);
    assert_eq!(row[4..], ["5s", "bash, 4s ago"]);
    assert_eq!(columns(lines[1])[..4], [&*failed, "error", "Fix", "general"]);
    assert_eq!(columns(lines[2])[..4], [&*old, "completed", "Read the manual", "general"]);
    for word in ["general", "Write", "running"] {
        assert!(lines[0].contains(word));
    }
    let starts: BTreeSet<Option<usize>> = lines.iter().map(|line| line.find("general")).collect();
    assert_eq!(starts.len(), 1, "the columns are not in line:\n{answer}");
    story.end();
}

#[test]
fn s1_a_resume_does_not_change_the_order() {
    let mut story = Story::new();
    let old = story.launch("Old", "say one");
    let new = story.launch("New", "say two");
    story.until_settled();
    story.resume(old, "wait 30000; say more");
    assert_eq!(listed(&mut story, json!({})), [new, old]);
    story.end();
}

#[test]
fn s1_the_activity_shows_what_a_task_waits_for() {
    let settings = Settings { max_running: 1, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let asks = story.launch("Asks", "ask rm -r build; say done");
    story.launch("Waits", "say done");
    story.pass(2_000);
    let answer = list(&mut story);
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].ends_with("    waits: queued, next in line"), "{answer}");
    let waits = "    waits: for a person to answer question 1: «rm -r build»";
    assert!(lines[1].ends_with(waits), "{answer}");
    story.person(Ask::Cancel { task: asks.to_string() });
    story.end();
}

#[test]
fn s1_words_of_a_provider_cannot_make_a_second_line() {
    let mut bare = Bare::new();
    bare.host_comes("here", "one");
    bare.launch("here", "ses_a", "Explore", "ses_helper");
    bare.now = bare.now.plus(5_000);
    let poll = bare.on(Input::Tick);
    assert!(matches!(poll.work[0].action, Action::Poll { .. }));
    let next = bare.now.plus(30_000);
    let retry = Retry { attempt: 1, why: "overloaded\n\ttry later".to_owned(), next };
    let busy = vec![(name("ses_helper"), Some(retry))];
    let _ = bare.done(&poll, Finding::Polled { busy, questions: Vec::new() });
    let answer = bare.ask("here", "ses_a", Ask::List(List::default()));
    let wait = duration(next.since(bare.now));
    assert!(answer.contains(&format!("provider retry 1 in {wait} (overloaded")), "{answer}");
    assert_eq!(answer.lines().count(), 1, "{answer}");
}

#[test]
fn s2_resumed_stands_after_the_id_from_the_first_resume_on() {
    let mut story = Story::new();
    let plain = story.launch("Plain", "say one");
    let again = story.launch("Again", "say one");
    story.until_settled();
    assert!(!list(&mut story).contains("(resumed)"));
    story.resume(again, "wait 5000; say two");
    let running = list(&mut story);
    assert!(running.starts_with(&format!("{again} (resumed)    resumed      Again")), "{running}");
    story.until_settled();
    story.world.restart_daemon();
    story.pass(10_000);
    let answer = list(&mut story);
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(columns(lines[0])[..2], [&*format!("{again} (resumed)"), "completed"]);
    assert_eq!(columns(lines[1])[..2], [&*plain.to_string(), "completed"]);
    story.end();
}

#[test]
fn s3_a_status_shows_the_tasks_that_have_it_and_no_others() {
    let mut story = Story::new();
    let completed = story.launch("Completed", "say one");
    let error = story.launch("Error", "fail 400");
    let resumed = story.launch("Resumed", "say two");
    let cancelled = story.launch("Cancelled", "hang");
    story.ask("background_cancel", json!({ "task_id": cancelled.to_string() }));
    story.until_settled();
    story.resume(resumed, "wait 30000; say three");
    let running = story.launch("Running", "wait 30000; say four");
    let all = [
        (Status::Running, running),
        (Status::Completed, completed),
        (Status::Error, error),
        (Status::Cancelled, cancelled),
        (Status::Resumed, resumed),
    ];
    for (status, task) in all {
        let own = listed(&mut story, json!({ "status": status.as_str() }));
        assert_eq!(own, [task], "{status}");
        let every = listed(&mut story, json!({ "status": status.as_str(), "all": true }));
        assert_eq!(every, [task], "{status}");
    }
    let everything = listed(&mut story, json!({}));
    assert_eq!(everything, [running, cancelled, resumed, error, completed]);
    story.end();
}

#[test]
fn s3_a_value_that_is_no_status_is_refused_and_the_five_are_named() {
    for wrong in ["done", "RUNNING", "queued", "running ", "failed"] {
        let refusal = ToolCall::read("background_list", json!({ "status": wrong })).unwrap_err();
        let text = refusal.text();
        for status in Status::ALL {
            assert!(text.contains(status.as_str()), "{text}");
        }
        assert!(text.contains(wrong.trim()), "{text}");
    }
    for status in Status::ALL {
        let ask = ToolCall::read("background_list", json!({ "status": status.as_str() }));
        let list = List { status: Some(status), ..List::default() };
        assert_eq!(ask, Ok(Ask::List(list).into()));
    }
    for wrong in [json!({ "status": 5 }), json!({ "status": ["running"] })] {
        assert!(ToolCall::read("background_list", wrong).is_err());
    }
}

#[test]
fn s4_a_session_sees_its_own_tasks_and_with_all_those_of_the_others() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let own = story.launch("Own", "say one");
    let others = story.launch_from(&other, "Of the other", "say two");
    assert_eq!(listed(&mut story, json!({})), [own]);
    assert_eq!(listed(&mut story, json!({ "all": false })), [own]);
    assert_eq!(listed(&mut story, json!({ "all": true })), [others, own]);
    let answer = story.call(&other, "background_list", json!({}));
    assert!(answer.starts_with(&others.to_string()) && answer.lines().count() == 1, "{answer}");
    let answer = story.person(Ask::List(List::default()));
    assert_eq!(answer.lines().count(), 2, "a person sees everything:\n{answer}");
    story.end();
}

#[test]
fn s4_two_windows_of_one_project_see_the_same() {
    let mut story = Story::new();
    let second = story.world.boot();
    story.pass(1_000);
    let other = story.conversation_in(second, "other");
    let own = story.launch("Own", "wait 10000; say one");
    let call = story.start_in(second, &other, "background_list", json!({ "all": true }));
    assert!(story.answer(call).starts_with(&own.to_string()));
    let call = story.start_in(second, &other, "background_list", json!({}));
    assert_eq!(story.answer(call), "No background tasks found.");
    story.end();
}

#[test]
fn s4_all_does_not_reach_into_another_project() {
    let mut bare = Bare::new();
    bare.host_comes("here", "one");
    bare.host_comes("there", "two");
    let here = bare.launch("here", "ses_a", "Here", "ses_ha");
    let there = bare.launch("there", "ses_b", "There", "ses_hb");
    for status in [None, Some(Status::Running)] {
        let all = Ask::List(List { status, all: true, ..List::default() });
        let seen = bare.ask("here", "ses_other", all.clone());
        assert!(seen.starts_with(&here.to_string()) && seen.lines().count() == 1, "{seen}");
        let seen = bare.ask("there", "ses_a", all);
        assert!(seen.starts_with(&there.to_string()) && seen.lines().count() == 1, "{seen}");
    }
}

#[test]
fn s5_nothing_to_show_has_exactly_this_text() {
    let mut story = Story::new();
    assert_eq!(list(&mut story), "No background tasks found.");
    let other = story.conversation("other");
    story.launch_from(&other, "Of the other", "say done");
    story.until_settled();
    let mine = list(&mut story);
    assert_eq!(mine, "No background tasks found.");
    let failed = story.ask("background_list", json!({ "status": "error", "all": true }));
    assert_eq!(failed, "No background tasks found.");
    story.call(&other, "background_clear", json!({}));
    let all = story.ask("background_list", json!({ "all": true }));
    assert_eq!(all, "No background tasks found.");
    assert!(!story.world.calls.last().unwrap().refused());
    story.end();
}

#[test]
fn s6_line_breaks_and_wide_characters_keep_one_line_and_the_columns() {
    let mut story = Story::new();
    let descriptions = [
        "Plain words",
        "Two\nlines\r\nand\u{b}more\u{85}of\u{2028}them\u{2029}here",
        "A\ttab\tor two",
        "探索代码库",
        "🚀 ship it",
        "cafe\u{301} re\u{301}sume\u{301}",
        "\u{1b}[31mred\u{0}\u{7}",
    ];
    for description in descriptions {
        story.launch(description, "say done");
    }
    story.until_settled();
    let answer = list(&mut story);
    let breaks = |c: char| c != '\n' && (c.is_control() || "\u{2028}\u{2029}".contains(c));
    assert!(!answer.contains(breaks), "{answer:?}");
    assert_eq!(answer.split('\n').count(), descriptions.len());
    let before = |line: &str| width(line.split_once("general").unwrap().0);
    let starts: BTreeSet<usize> = answer.lines().map(before).collect();
    assert_eq!(starts.len(), 1, "the columns are not in line:\n{answer}");
    for line in answer.lines() {
        assert!(line.starts_with("bg_"), "{answer}");
        assert_eq!(columns(line)[3], "general", "a gap looks like a column:\n{answer}");
    }
    story.end();
}

#[test]
fn s6_a_huge_description_is_cut() {
    let mut story = Story::new();
    story.launch(&"very long 漢字 ".repeat(1_000), "say done");
    story.until_settled();
    let answer = list(&mut story);
    assert_eq!(answer.lines().count(), 1);
    assert!(answer.chars().count() < 200, "{answer}");
    assert!(answer.contains('…'));
    story.end();
}

// No transcript: three hundred launches are not read by anybody.
#[test]
fn s6_a_listing_of_very_many_tasks_is_bounded_and_says_how_many_more() {
    let settings = Settings { max_tasks_per_root: 0, max_running: 0, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let mut launched = Vec::new();
    for number in 0..300 {
        launched.push(story.launch(&format!("Number {number}"), "say done"));
    }
    story.until_settled();
    for arguments in [json!({}), json!({ "all": true }), json!({ "status": "completed" })] {
        let answer = story.ask("background_list", arguments);
        let lines: Vec<&str> = answer.lines().collect();
        assert_eq!(lines.len(), 201);
        assert!(lines[200].contains("100"), "{}", lines[200]);
        assert!(answer.len() < 50_000);
        let shown: Vec<TaskId> = lines[..200].iter().map(|l| l[..11].parse().unwrap()).collect();
        let newest: Vec<TaskId> = launched.iter().rev().take(200).copied().collect();
        assert_eq!(shown, newest);
    }
    story.end();
}
