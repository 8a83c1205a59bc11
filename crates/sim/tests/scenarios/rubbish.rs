//! Bad input and bounds: G2 and G3. Whatever callers and hosts send, it is refused or ignored in
//! words, nothing else changes, and everything that grows has an end.

use legwork_engine::shell::Shell;
use legwork_engine::text::answers;
use legwork_engine::text::fence::Fence;
use legwork_engine::work::{Finding, Observation, Question, Retry, RunState};
use legwork_engine::{
    Action, Caller, Hint, HostError, Input, Journal, Saved, Say, Serves, Work, WorkId,
};
use legwork_engine::{PromptUsage, Usage};
use legwork_protocol::api::{Ask, List, Reply, ToolCall};
use legwork_protocol::limits::{
    DELIVERY_MAX_NOTICES, DESCRIPTION_MAX_CHARS, DETAIL_MAX_BYTES, HOST_TEXT_MAX_CHARS,
    PAGE_MAX_BYTES, PROMPT_MAX_BYTES, QUESTIONS_MAX_NUMBERED, QUESTIONS_MAX_OPEN,
    QUESTIONS_MAX_TOLD, REFUSAL_MAX_CHARS,
};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{CallId, Cost, Currency, Refusal, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::fence::unfenced;
use legwork_sim::memory::Memory;
use legwork_sim::wire::Wire;
use legwork_sim::world::{START, name};
use serde_json::{Value, json};

const MEGABYTE: usize = 1 << 20;

/// A shell with nothing around it: a test is its host and its callers.
struct Bare {
    shell: Shell<Memory, Wire>,
    now: Time,
    calls: u64,
}

type Found = Result<Finding, HostError>;

impl Bare {
    /// One host is there.
    fn new() -> Self {
        let settings = Settings::default();
        let shell = Shell::start(Memory::default(), Wire::default(), settings, START).unwrap();
        let mut bare = Self { shell, now: START, calls: 0 };
        bare.host_came("host", "project");
        bare
    }

    fn host_came(&mut self, host: &str, place: &str) {
        self.step(Input::Hint(Hint::HostCame {
            host: name(host),
            place: name(place),
            lifetime: HostLifetime::Interactive,
            serves: Serves::OwnPlace,
        }));
        self.pass(5_000);
    }

    fn step(&mut self, input: Input) -> Vec<Work> {
        self.now = self.now.plus(1);
        self.shell.step(input, self.now);
        std::mem::take(&mut self.shell.outside().work)
    }

    fn pass(&mut self, ms: u64) -> Vec<Work> {
        self.now = self.now.plus(ms);
        self.step(Input::Tick)
    }

    fn hint(&mut self, hint: Hint) -> Vec<Work> {
        self.step(Input::Hint(hint))
    }

    fn found(&mut self, work: &Work, found: Found) -> Vec<Work> {
        self.step(Input::Found { work: work.id, found })
    }

    fn ask_from(&mut self, host: &str, session: &str, ask: Ask) -> (CallId, Vec<Work>) {
        self.calls += 1;
        let call = CallId(self.calls);
        let caller = Caller::Session {
            host: name(host),
            session: name(session),
            key: name(&format!("key-{}", self.calls)),
            message: name("msg_tool"),
            agent: "build".to_owned(),
            directory: "project".to_owned(),
            taken_over: Vec::new(),
        };
        let spare = TaskId::from_number(self.calls);
        (call, self.step(Input::Ask { call, caller, ask, spare }))
    }

    fn ask(&mut self, ask: Ask) -> (CallId, Vec<Work>) {
        self.ask_from("host", "ses_main", ask)
    }

    /// What a call has heard, and whether it was refused.
    fn heard(&mut self, call: CallId) -> Option<(bool, String)> {
        let said = self.shell.outside().said.iter().filter(|(to, _)| *to == call);
        let mut answers = said.filter_map(|(_, said)| match said {
            Say::Answer(answer) => {
                Some((answer.is_err(), answers::text(answer, None, Fence::of("", ""))))
            }
            Say::Progress(_) => None,
        });
        answers.next()
    }

    fn answer(&mut self, ask: Ask) -> String {
        let (call, _) = self.ask(ask);
        self.heard(call).unwrap().1
    }

    fn saved(&mut self) -> Saved {
        self.shell.journal().load().unwrap()
    }

    /// The work on the agent of a new launch.
    fn check_agent(&mut self) -> (CallId, Work) {
        let (call, mut work) = self.ask(Ask::Launch {
            prompt: "work".to_owned(),
            description: "Work".to_owned(),
            agent: "general".to_owned(),
            fork: false,
            collects: false,
        });
        (call, work.remove(0))
    }

    /// A task that is at work in `ses_helper`.
    fn at_work(&mut self) -> TaskId {
        let (call, check_agent) = self.check_agent();
        let open = self.found(&check_agent, Ok(Finding::AgentKnown)).remove(0);
        let session = name("ses_helper");
        let prompt = self.found(&open, Ok(Finding::Opened { session })).remove(0);
        self.found(&prompt, Ok(Finding::Done));
        assert!(self.heard(call).is_some());
        TaskId::from_number(self.calls)
    }

    /// The work on looking at `ses_helper`.
    fn look(&mut self) -> Work {
        self.hint(Hint::Changed { session: name("ses_helper") }).remove(0)
    }

    fn output(&mut self, task: TaskId, offset: u64) -> String {
        let answer = self.answer(Ask::Output { task: task.to_string(), offset });
        unfenced(&answer).unwrap()
    }
}

fn seen(state: RunState) -> Found {
    Ok(Finding::Observed(Observation {
        state,
        tool_calls: 0,
        usage: Usage::default(),
        moved: None,
    }))
}

/// One finding of each kind, and one error of each kind.
fn all_findings() -> Vec<Found> {
    let huge = || "\u{0}x\n".repeat(MEGABYTE);
    vec![
        Ok(Finding::Done),
        Ok(Finding::AgentKnown),
        Ok(Finding::NoSuchAgent { known: vec![huge(); 3] }),
        Ok(Finding::Opened { session: name("ses_stranger") }),
        seen(RunState::Answered { text: huge() }),
        seen(RunState::Failed { reason: huge() }),
        seen(RunState::Busy),
        seen(RunState::Still { text: huge() }),
        Ok(Finding::Polled {
            busy: vec![(name("ses_stranger"), None)],
            questions: vec![(
                name("ses_stranger"),
                Question::permission(name("per_stranger"), huge()),
            )],
        }),
        Ok(Finding::Delivered),
        Ok(Finding::UndoPending),
        Ok(Finding::Quiet),
        Err(HostError::Unreachable),
        Err(HostError::Busy),
        Err(HostError::Gone),
        Err(HostError::Rejected { why: huge() }),
    ]
}

/// Hints about somebody whom nobody knows.
fn strange_hints() -> Vec<Hint> {
    let session = || name("ses_stranger");
    let host = || name("host-stranger");
    let question = || Question::permission(name("per_stranger"), "?".repeat(MEGABYTE));
    let cost = Some(Cost { micros: u64::MAX, currency: Currency::USD });
    let usage = Usage { tokens: Some(u64::MAX), cost, model: Some("m".repeat(MEGABYTE).into()) };
    let used = PromptUsage { prompt: name("msg_stranger"), usage };
    let progress = |tool| Hint::Progress { session: session(), tool, used: Some(used.clone()) };
    vec![
        Hint::HostAway { host: host() },
        Hint::HostGone { host: host() },
        Hint::Changed { session: session() },
        Hint::Deleted { host: name("host"), session: session() },
        Hint::Errored { session: session(), why: "x".repeat(MEGABYTE) },
        progress(None),
        progress(Some("tool".repeat(MEGABYTE))),
        Hint::Asked { session: session(), question: question() },
        Hint::Answered { session: session(), question: name("per_stranger"), reply: None },
        Hint::Answered { session: name("ses_helper"), question: name("per_stranger"), reply: None },
        Hint::Used { host: host(), session: session() },
        Hint::Used { host: name("host"), session: session() },
    ]
}

#[test]
fn g2_arguments_of_any_shape_are_read_or_refused_in_words() {
    let values = || {
        let long = "x".repeat(MEGABYTE);
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        let odd = [json!(null), json!(true), json!(-1), json!(1e300), json!(u64::MAX), json!("")];
        odd.into_iter().chain([json!([]), json!({}), json!(["a", 1]), json!(long), deep])
    };
    let keys = ["prompt", "description", "agent", "resume", "task_id", "offset", "task_ids"];
    let tools = legwork_protocol::tools::tools();
    let names = tools.iter().map(|tool| tool.name.as_str());
    for tool in names.chain(["background_nothing", ""]) {
        let objects = keys.iter().chain(&["timeout", "status", "all", "\u{0}"]).flat_map(|key| {
            values()
                .map(move |value| Value::Object([((*key).to_owned(), value)].into_iter().collect()))
        });
        for arguments in values().chain(objects) {
            if let Err(refusal) = ToolCall::read(tool, arguments) {
                let text = refusal.text();
                assert!(text.chars().count() <= REFUSAL_MAX_CHARS, "{text}");
                assert!(!text.chars().any(char::is_control), "{text}");
            }
        }
    }
}

#[test]
fn g2_ids_of_nobody_are_refused_and_nobody_else_notices() {
    let mut story = Story::new();
    let task = story.launch("Bystander", "wait 30000; say here");
    let long = "bg_".repeat(MEGABYTE);
    let other = task.to_string().to_uppercase();
    for id in ["bg_00000000", "../../etc", "bg_\u{0}\n", "ßß", "bg_12345678 OR 1=1", &other, &long]
    {
        for tool in ["background_output", "background_cancel"] {
            let answer = story.ask(tool, json!({ "task_id": id }));
            assert!(answer.starts_with("Task not found: "), "{answer}");
            assert!(story.world.calls.last().unwrap().refused());
            assert!(answer.chars().count() <= REFUSAL_MAX_CHARS);
            assert!(!answer.chars().any(char::is_control));
        }
        let resumed = story.ask("background_task", json!({ "resume": id, "prompt": "say x" }));
        assert!(resumed.starts_with("Task not found: "), "{resumed}");
    }
    assert_eq!(story.status(task), Some(Status::Running));
    story.until_status(task, Status::Completed);
    story.end();
}

#[test]
fn g2_a_task_of_another_place_is_not_found() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    bare.host_came("far", "another-project");
    let id = task.to_string();
    let asks = [
        Ask::Output { task: id.clone(), offset: 0 },
        Ask::Cancel { task: id.clone() },
        Ask::Resume { task: id.clone(), prompt: "x".to_owned(), collects: false },
    ];
    let exact = Refusal::NotFound(id.clone()).text();
    let before = bare.saved();
    for ask in asks {
        let (call, work) = bare.ask_from("far", "ses_far", ask);
        assert_eq!(bare.heard(call), Some((true, exact.clone())));
        assert!(work.is_empty());
    }
    let all = Ask::List(List { all: true, ..List::default() });
    let (call, _) = bare.ask_from("far", "ses_far", all);
    assert_eq!(bare.heard(call).unwrap().1, "No background tasks found.");
    let block = Ask::Wait { tasks: vec![id.clone()], any: false, timeout_ms: 60_000 };
    let (call, _) = bare.ask_from("far", "ses_far", block);
    assert!(bare.heard(call).unwrap().1.contains(&format!("{id}  not found")));
    assert_eq!(bare.saved(), before);
}

#[test]
fn g2_a_huge_prompt_is_refused_and_a_huge_description_cut() {
    let arguments = |prompt: usize, description: usize| {
        let (prompt, description) = ("p".repeat(prompt), "d\n".repeat(description));
        json!({ "prompt": prompt, "description": description, "agent": "general" })
    };
    let refused = ToolCall::read("background_task", arguments(10 * MEGABYTE, 1)).unwrap_err();
    assert!(refused.text().contains("10485760 bytes"), "{}", refused.text());
    assert!(ToolCall::read("background_task", arguments(PROMPT_MAX_BYTES + 1, 1)).is_err());
    let mut story = Story::new();
    let longest = arguments(PROMPT_MAX_BYTES, 5 * MEGABYTE);
    story.ask("background_task", longest);
    let task = story.world.calls.last().unwrap().task().unwrap();
    story.until_status(task, Status::Completed);
    let session = story.session_of(task);
    let there = story.world.oc.get(&session).unwrap();
    assert!(there.title.chars().count() <= DESCRIPTION_MAX_CHARS, "{}", there.title);
    assert_eq!(there.prompts().next().unwrap().1.parts[0].text.len(), PROMPT_MAX_BYTES);
    story.end();
}

#[test]
fn g2_a_block_on_nothing_but_unknown_ids_is_answered_at_once() {
    let mut story = Story::new();
    let ids = |count| (0..count).map(|n| format!("bg_{n:08}")).collect::<Vec<_>>();
    let at = story.world.now;
    let answer = story.ask("background_block", json!({ "task_ids": ids(256) }));
    assert!(story.world.now.since(at) < 10, "at once");
    assert_eq!(answer.lines().filter(|line| line.ends_with("  not found")).count(), 256);
    assert!(!answer.contains("All finished"), "{answer}");
    let many = ToolCall::read("background_block", json!({ "task_ids": ids(257) }));
    assert!(many.unwrap_err().text().contains("at most 256"));
    story.end();
}

#[test]
fn g2_an_offset_beyond_everything_is_answered_in_words() {
    let mut story = Story::new();
    let done = story.launch("Done", "say done");
    let running = story.launch("Running", "wait 20000; say running");
    story.until_status(done, Status::Completed);
    let far = |task: TaskId| json!({ "task_id": task.to_string(), "offset": u64::MAX });
    let answer = story.ask("background_output", far(done));
    assert!(answer.contains("there is nothing from 18446744073709551615 on"), "{answer}");
    let answer = story.ask("background_output", far(running));
    assert!(answer.contains("Status: running"), "{answer}");
    story.end();
}

#[test]
fn g2_news_of_strangers_changes_nothing() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    let before = bare.saved();
    for hint in strange_hints() {
        let work = bare.hint(hint.clone());
        assert!(work.is_empty(), "{work:?}");
        assert_eq!(bare.saved(), before);
    }
    let shown = bare.output(task, 0);
    assert!(shown.contains("Status: running\n") && shown.contains("Tool calls: 0\n"), "{shown}");
    assert!(!shown.contains("Waiting"), "{shown}");
    let reply = Ask::Reply { question: name("per_stranger"), reply: Reply::Always };
    let (call, work) = bare.ask(reply);
    assert_eq!(bare.heard(call).map(|(refused, _)| refused), Some(true));
    assert!(work.is_empty());
}

#[test]
fn g2_answers_to_what_nobody_asked_change_nothing() {
    let mut bare = Bare::new();
    bare.at_work();
    let look = bare.look();
    let before = bare.saved();
    for work in [WorkId(u64::MAX), WorkId(0), WorkId(look.id.0 + 1)] {
        for found in all_findings() {
            assert!(bare.step(Input::Found { work, found }).is_empty());
        }
    }
    for call in [CallId(0), CallId(u64::MAX), CallId(1)] {
        assert!(bare.step(Input::Dropped { call }).is_empty());
    }
    assert_eq!(bare.saved(), before);
    let ended = bare.found(&look, seen(RunState::Answered { text: "done".to_owned() }));
    assert!(matches!(ended[0].action, Action::Deliver { .. }), "and the one that was asked counts");
}

#[test]
fn g2_a_wrong_answer_about_an_agent_is_a_refusal() {
    for found in all_findings().into_iter().filter(|found| *found != Ok(Finding::AgentKnown)) {
        let mut bare = Bare::new();
        let (call, check_agent) = bare.check_agent();
        let work = bare.found(&check_agent, found);
        let (refused, text) = bare.heard(call).unwrap();
        assert!(refused);
        assert!(text.chars().count() <= REFUSAL_MAX_CHARS);
        assert!(work.is_empty());
        assert_eq!(bare.saved(), Saved::default(), "nothing is left behind");
    }
}

#[test]
fn g2_a_wrong_answer_to_a_delivery_or_a_stop_ends_neither_too_soon() {
    for found in all_findings() {
        let mut bare = Bare::new();
        bare.at_work();
        let look = bare.look();
        let tell =
            bare.found(&look, seen(RunState::Answered { text: "done".to_owned() })).remove(0);
        let over = matches!(found, Ok(Finding::Delivered) | Err(HostError::Gone));
        bare.found(&tell, found.clone());
        assert_eq!(bare.saved().notices.is_empty(), over, "{found:?}");
        let mut bare = Bare::new();
        let task = bare.at_work();
        let stop = bare.ask(Ask::Cancel { task: task.to_string() }).1.remove(0);
        bare.found(&stop, found);
        assert_eq!(bare.saved().stops.len(), 1, "one answer never ends a stop");
    }
}

#[test]
fn g2_a_wrong_answer_to_a_poll_or_a_census_changes_nothing() {
    for found in all_findings() {
        let mut bare = Bare::new();
        bare.at_work();
        let poll = bare.pass(6_000).remove(0);
        assert!(matches!(poll.action, Action::Poll { .. }));
        let find_missing =
            bare.hint(Hint::Deleted { host: name("host"), session: name("ses_main") }).remove(0);
        assert!(matches!(find_missing.action, Action::FindMissing { .. }));
        let before = bare.saved();
        bare.found(&poll, found.clone());
        bare.found(&find_missing, found);
        assert_eq!(bare.saved(), before);
    }
}

#[test]
fn g2_a_wrong_answer_to_a_run_does_not_end_it() {
    let ends = |found: &Found| matches!(found, Ok(Finding::Observed(_)) | Err(_));
    for found in all_findings().into_iter().filter(|found| !ends(found)) {
        let mut bare = Bare::new();
        let task = bare.at_work();
        let look = bare.look();
        bare.found(&look, found);
        assert!(bare.output(task, 0).contains("Status: running"));
        let again =
            bare.pass(6_000).into_iter().find(|work| matches!(work.action, Action::Observe { .. }));
        let look = again.unwrap();
        bare.found(&look, seen(RunState::Answered { text: "done".to_owned() }));
        assert!(bare.output(task, 0).ends_with("done"));
    }
}

fn ask_number(number: usize) -> Hint {
    let question = Question::permission(name(&format!("per_{number}")), format!("May I {number}?"));
    Hint::Asked { session: name("ses_helper"), question }
}

#[test]
fn g3_a_flood_of_open_questions_is_remembered_up_to_a_bound() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    for number in 0..40 {
        bare.hint(ask_number(number));
        bare.hint(ask_number(number));
    }
    let shown = bare.output(task, 0);
    assert_eq!(shown.matches("Waiting: for a person").count(), QUESTIONS_MAX_OPEN);
    assert_eq!(bare.saved().tasks[0].run.asked.ids.len(), QUESTIONS_MAX_OPEN);
    let poll = bare.pass(6_000).into_iter().find(|work| matches!(work.action, Action::Poll { .. }));
    let questions = (0..1_000).map(|number| match ask_number(number) {
        Hint::Asked { session, question } => (session, question),
        _ => unreachable!(),
    });
    let found = Finding::Polled { busy: Vec::new(), questions: questions.collect() };
    bare.found(&poll.unwrap(), Ok(found));
    let shown = bare.output(task, 0);
    assert_eq!(shown.matches("Waiting: for a person").count(), QUESTIONS_MAX_OPEN);
}

#[test]
fn g3_a_helper_that_asks_without_end_is_told_of_up_to_a_bound() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    let most = QUESTIONS_MAX_NUMBERED as usize + 50;
    for number in 0..most {
        bare.hint(ask_number(number));
        let shown = bare.output(task, 0);
        assert!(shown.contains(&format!("May I {number}?")), "every one of them is shown: {shown}");
        let question = name(&format!("per_{number}"));
        bare.hint(Hint::Answered { session: name("ses_helper"), question, reply: None });
    }
    let saved = bare.saved();
    assert_eq!(saved.tasks[0].run.asked.ids.len() as u32, QUESTIONS_MAX_NUMBERED);
    assert!(saved.notices.len() as u32 <= QUESTIONS_MAX_TOLD);
}

#[test]
fn g3_more_ends_than_fit_in_one_delivery_make_two() {
    let mut story = Story::new();
    let tasks: Vec<TaskId> =
        (0..12).map(|n| story.launch(&format!("Task {n}"), "wait 9000; say it")).collect();
    let ids: Vec<String> = tasks.iter().map(TaskId::to_string).collect();
    // While it waits for them nothing is told, so that all of it is pending at one moment.
    story.ask("background_block", json!({ "task_ids": ids }));
    story.until_settled();
    let told = story.told();
    let sizes: Vec<usize> = told.iter().map(|delivery| delivery.results.len()).collect();
    assert_eq!(sizes, [DELIVERY_MAX_NOTICES, 12 - DELIVERY_MAX_NOTICES]);
    for task in tasks {
        let head = format!("[BACKGROUND TASK COMPLETED] {task} ");
        let lines = told.iter().flat_map(|delivery| delivery.headline.lines());
        assert_eq!(lines.filter(|line| line.starts_with(&head)).count(), 1);
    }
    story.end();
}

#[test]
fn g3_a_huge_result_is_kept_told_and_shown_within_bounds() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    let look = bare.look();
    let text = "word ".repeat(2 * MEGABYTE);
    let tell = bare.found(&look, seen(RunState::Answered { text })).remove(0);
    let Action::Deliver { parts, .. } = tell.action else { panic!("{tell:?}") };
    let told: usize = parts.iter().map(|part| format!("{:?}", part.text).len()).sum();
    let most = Settings::default().max_result_chars as usize + 1_000;
    assert!(told < most, "{told}");
    let kept = bare.shell.journal().detail(task, 0).unwrap().unwrap();
    assert!(kept.len() < DETAIL_MAX_BYTES + 100, "{}", kept.len());
    for offset in [0, 1_000_000] {
        let page = bare.output(task, offset);
        assert!(page.len() < PAGE_MAX_BYTES + 1_000, "{}", page.len());
        assert!(page.contains("Read on with"));
    }
}

/// More than a host has to say on one line, with what breaks a line.
fn chatter() -> String {
    "huge\n\u{0}".repeat(MEGABYTE)
}

/// What is shown of an unfinished task while its host says too much.
fn shown_within_bounds(bare: &mut Bare, task: TaskId) {
    let shown = bare.output(task, 0);
    assert!(shown.chars().count() < 4 * HOST_TEXT_MAX_CHARS, "{}", shown.chars().count());
    let listed = bare.answer(Ask::List(List::default()));
    assert_eq!(listed.lines().count(), 1, "one line a task");
    assert!(listed.chars().count() < 2 * HOST_TEXT_MAX_CHARS, "{}", listed.chars().count());
}

#[test]
fn g3_questions_and_tool_names_of_megabytes_are_cut() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    let session = || name("ses_helper");
    let tool = Some(chatter());
    bare.hint(Hint::Progress { session: session(), tool, used: None });
    shown_within_bounds(&mut bare, task);
    let question = Question::permission(name("per_1"), chatter());
    bare.hint(Hint::Asked { session: session(), question });
    shown_within_bounds(&mut bare, task);
    let headline = bare.saved().notices[0].headline.clone();
    assert!(headline.chars().count() < 2 * HOST_TEXT_MAX_CHARS);
    assert_eq!(headline.lines().count(), 1);
}

#[test]
fn g3_a_reason_to_retry_of_megabytes_is_cut() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    let poll = bare.pass(6_000).remove(0);
    let retry = Retry { attempt: 1, why: chatter(), next: bare.now.plus(5_000) };
    let busy = vec![(name("ses_helper"), Some(retry))];
    bare.found(&poll, Ok(Finding::Polled { busy, questions: Vec::new() }));
    assert!(bare.output(task, 0).contains("provider retry 1"));
    shown_within_bounds(&mut bare, task);
}

#[test]
fn g3_errors_and_refusals_of_megabytes_are_cut() {
    let mut bare = Bare::new();
    let task = bare.at_work();
    let errored = Hint::Errored { session: name("ses_helper"), why: chatter() };
    let mut looks = bare.hint(errored);
    while !bare.saved().tasks[0].is_finished() {
        assert!(bare.now.since(START) < 60_000, "it is not looked at for ever");
        for look in looks.iter().filter(|work| matches!(work.action, Action::Observe { .. })) {
            bare.found(look, seen(RunState::Still { text: String::new() }));
        }
        looks = bare.pass(1_000);
    }
    let kept = bare.shell.journal().detail(task, 0).unwrap().unwrap();
    assert!(kept.starts_with("huge"), "{kept}");
    assert!(kept.chars().count() <= HOST_TEXT_MAX_CHARS, "{}", kept.chars().count());
    let (call, check_agent) = bare.check_agent();
    bare.found(&check_agent, Err(HostError::Rejected { why: chatter() }));
    assert!(bare.heard(call).unwrap().1.chars().count() <= REFUSAL_MAX_CHARS);
}
