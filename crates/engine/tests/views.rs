//! Everything that a model or a person reads, as it reads it. The snapshots are meant to be read:
//! a text that is awkward there is awkward in life.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "views/across.rs"]
mod across;
mod desk;
#[path = "views/pages.rs"]
mod pages;
#[path = "views/timeline.rs"]
mod timeline;

use desk::{Desk, PARENT, answered, failed, host_id, launch, parent, seen, session, session_id};
use insta::assert_snapshot;
use legwork_engine::input::{Caller, Hint, Input, Say};
use legwork_engine::text::fence::Fence;
use legwork_engine::text::{answers, words};
use legwork_engine::work::{
    Action, Finding, HostError, Part, Question, Retry, RunState, Shown, Wake,
};
use legwork_engine::{PromptUsage, Usage};
use legwork_protocol::api::{Answer, List, Note, Reply};
use legwork_protocol::{
    Ask, CallId, Cost, Currency, Interrupted, Refusal, SessionId, Settings, Status, TaskId,
};

const MINUTE_MS: u64 = 60_000;

/// Texts under their names, one after the other.
#[derive(Default)]
struct Page(String);

impl Page {
    fn add(&mut self, name: &str, text: impl AsRef<str>) {
        let text = squeezed(text.as_ref());
        self.0.push_str(&format!("=== {name}\n{}\n\n", text.trim_end()));
    }
}

/// A long run of one character as a number.
fn squeezed(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let mut count = 1;
        while rest.next_if_eq(&c).is_some() {
            count += 1;
        }
        match count {
            200.. => all.push_str(&format!("<{count} x {c:?}>")),
            _ => all.extend(std::iter::repeat_n(c, count)),
        }
    }
    all
}

impl Desk {
    /// What a caller was answered, as it reads it.
    fn answer(&self, call: CallId) -> String {
        self.noted(call, None)
    }

    fn noted(&self, call: CallId, note: Option<Note>) -> String {
        let fence = Fence::of(&desk::task_id(call.0).to_string(), "");
        let said = self.said.iter().filter(|(to, _)| *to == call);
        let answers = said.filter_map(|(_, say)| match say {
            Say::Progress(_) => None,
            Say::Answer(answer) => {
                let mut answer = answer.clone();
                if let Ok(Answer::Output(output)) = &mut answer {
                    output.text = self.details.get(&(output.task.id, output.task.resumes)).cloned();
                }
                let refused = if answer.is_err() { "(refused) " } else { "" };
                Some(format!("{refused}{}", answers::text(&answer, note, fence)))
            }
        });
        answers.collect::<Vec<_>>().join("\n--- and again ---\n")
    }

    fn asks(&mut self, caller: Caller, ask: Ask) -> String {
        let call = self.ask(caller, ask);
        self.answer(call)
    }

    fn output(&mut self, task: TaskId, offset: u64, waits: bool) -> String {
        let call = self.ask(Caller::Person, Ask::Output { task: task.to_string(), offset });
        self.noted(call, waits.then_some(Note::OutputNeverWaits))
    }

    /// The deliveries that are on their way, as the session gets them.
    fn deliveries(&self) -> String {
        let deliveries = self.under_way.iter().filter_map(|work| match &work.action {
            Action::Deliver { session, parts, wake, .. } => {
                Some(self.delivery(session, parts, *wake))
            }
            _ => None,
        });
        deliveries.collect::<Vec<_>>().join("\n")
    }

    fn delivery(&self, to: &SessionId, parts: &[Part], wake: Wake) -> String {
        let wake = match wake {
            Wake::StartTurn => "starts a turn",
            Wake::StayIdle => "waits in the history",
            Wake::WhenIdle => "waits in the history, once nobody works there",
        };
        let mut all = format!("(to {to}, {wake})\n");
        for part in parts {
            let shown = match part.shown {
                Shown::ToAll => "everybody",
                Shown::ToModel => "the model",
            };
            let result = part.result.as_ref().map(|result| {
                let kept = self.details.get(&(result.task, result.run)).map_or("", String::as_str);
                result.of(kept)
            });
            let (text, result) = (&part.text, result.unwrap_or_default());
            all.push_str(&format!("(for {shown})\n{text}{result}\n"));
        }
        all
    }

    fn resume(&mut self, task: TaskId, key: &str, extra: bool) -> String {
        let prompt = "Now look at the tests too.".to_owned();
        let call =
            self.ask(parent(key), Ask::Resume { task: task.to_string(), prompt, collects: false });
        let _ = self.found("probe", Ok(Finding::Done));
        let _ = self.found("prompt", Ok(Finding::Done));
        self.noted(call, extra.then_some(Note::ResumeIgnores))
    }

    fn asked(&mut self, session: &str, id: &str, text: &str) {
        let session = session_id(session);
        self.hint(Hint::Asked { session, question: question(id, text) });
    }

    fn told(&mut self) {
        let _ = self.found("tell", Ok(Finding::Delivered));
    }
}

fn settings() -> Settings {
    Settings { max_running: 2, ..Settings::default() }
}

fn question(id: &str, text: &str) -> Question {
    Question::permission(id.parse().unwrap(), text)
}

fn progress(desk: &Desk, session: &str, tool: &str) -> Hint {
    let task = desk.tasks.values().find(|task| task.session == Some(session_id(session))).unwrap();
    let cost = Some(Cost { micros: 132_460, currency: Currency::USD });
    let usage = Usage { tokens: Some(48_213), cost, model: None };
    let used = Some(PromptUsage { prompt: task.stage.prompt().unwrap().clone(), usage });
    Hint::Progress { session: session_id(session), tool: Some(tool.to_owned()), used }
}

#[test]
fn launching() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    let call = desk.ask(parent("call_1"), launch("Explore the codebase"));
    let _ = desk.found("check_agent", Ok(Finding::AgentKnown));
    let _ = desk.found("open", Ok(Finding::Opened { session: session_id("ses_one") }));
    let _ = desk.found("prompt", Ok(Finding::Done));
    page.add("its session is open", desk.answer(call));
    desk.working(parent("call_2"), "Read the docs", "ses_two");
    for (key, name) in [("call_3", "queued, the first"), ("call_4", "queued, the second")] {
        let call = desk.ask(parent(key), launch("Count the lines"));
        let _ = desk.found("check_agent", Ok(Finding::AgentKnown));
        page.add(name, desk.answer(call));
    }
    page.add("the same call again, queued", desk.asks(parent("call_4"), launch("Count the lines")));
    desk.ends("ses_one", answered("Done."));
    page.add(
        "the same call again, completed",
        desk.asks(parent("call_1"), launch("Explore the codebase")),
    );
    page.add("another call with its id", desk.asks(parent("call_1"), launch("Count the lines")));
    assert_snapshot!(page.0);
}

#[test]
fn resuming() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    let task = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.ends("ses_one", answered("Done."));
    page.add("for the first time", desk.resume(task, "call_2", false));
    desk.ends("ses_one", answered("Done."));
    page.add("for the second time", desk.resume(task, "call_3", false));
    desk.ends("ses_one", answered("Done."));
    page.add("with an agent named", desk.resume(task, "call_4", true));
    assert_snapshot!(page.0);
}

#[test]
fn output_of_a_run() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    let first = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    page.add("just begun", desk.output(first, 0, false));
    let second = desk.opening(parent("call_2"), "Read the docs");
    page.add("its session is being opened", desk.output(second, 0, false));
    let third = desk.opening(parent("call_3"), "Count the lines");
    page.add("queued", desk.output(third, 0, false));
    desk.pass(75_000);
    for tool in ["glob", "grep", "read", "bash"] {
        let hint = progress(&desk, "ses_one", tool);
        desk.hint(hint);
    }
    desk.pass(12_000);
    page.add("with tools, tokens and cost", desk.output(first, 0, false));
    let retry = Retry { attempt: 3, why: "Overloaded".to_owned(), next: desk.now.plus(20_000) };
    let busy = vec![(session_id("ses_one"), Some(retry))];
    let questions = [
        question("per_7", "Allow bash: cargo test?"),
        question("que_8", "Which of the two databases is meant?"),
    ];
    let questions = questions.map(|question| (session_id("ses_one"), question)).to_vec();
    let _ = desk.found("poll", Ok(Finding::Polled { busy, questions }));
    desk.hint(Hint::HostAway { host: host_id("host_1") });
    page.add("with everything", desk.output(first, 0, false));
    page.add("with the old arguments", desk.output(first, 0, true));
    desk.hint(Hint::HostGone { host: host_id("host_1") });
    page.add("its host ended", desk.output(first, 0, false));
    assert_snapshot!(page.0);
}

#[test]
fn output_of_an_end() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    let one = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.pass(133_000);
    desk.ends("ses_one", answered("Three callers:\n\n- a.rs:10\n- b.rs:20\n- c.rs:30"));
    page.add("completed", desk.output(one, 0, false));
    page.add("completed, with the old arguments", desk.output(one, 0, true));
    page.add("from an offset past its end", desk.output(one, 9_000, false));
    let two = desk.working(parent("call_2"), "Read the docs", "ses_two");
    desk.ends("ses_two", failed("The model is overloaded."));
    page.add("failed", desk.output(two, 0, false));
    let three = desk.working(parent("call_3"), "Count the lines", "ses_three");
    desk.asks(Caller::Person, Ask::Cancel { task: three.to_string() });
    page.add("cancelled", desk.output(three, 0, false));
    let four = desk.working(parent("call_4"), "Say nothing", "ses_four");
    desk.ends("ses_four", answered(""));
    page.add("completed without a word", desk.output(four, 0, false));
    let five = desk.working(parent("call_5"), "Write a book", "ses_five");
    desk.ends("ses_five", answered(&"x".repeat(90_000)));
    page.add("a long one", desk.output(five, 0, false));
    page.add("a long one, the middle", desk.output(five, 40_000, false));
    page.add("a long one, its end", desk.output(five, 80_000, false));
    assert_snapshot!(page.0);
}

#[test]
fn reasons() {
    let mut page = Page::default();
    let rejected = HostError::Rejected { why: "Model not found: acme/m1.".to_owned() };
    page.add("the host refused", words::could_not_start(&rejected, 1));
    page.add("the host did not answer", words::could_not_start(&HostError::Unreachable, 9));
    page.add("the host was busy", words::could_not_start(&HostError::Busy, 9));
    page.add("never answered", words::never_answered(None, ""));
    page.add("never answered, with words", words::never_answered(None, "I will now look."));
    page.add("never answered, with an error", words::never_answered(Some("No credit."), "I will."));
    page.add("too long", words::ran_too_long(120));
    page.add("too quiet", words::was_silent_too_long(30));
    let fixed = [
        words::CANCELLED_BY_PARENT,
        words::CANCELLED_BY_SESSION,
        words::CANCELLED_BY_PERSON,
        words::CANCELLED_WITH_PARENT,
        words::SESSION_DELETED,
        words::SESSION_GONE_BEFORE_PROMPT,
        words::INTERRUPTED,
    ];
    page.add("fixed", fixed.join("\n"));
    page.add("a prompt to go on", words::go_on("Find every caller of parse() and list them."));
    assert_snapshot!(page.0);
}

fn block(tasks: &[TaskId], unknown: &[&str], timeout_ms: u64) -> Ask {
    let known = tasks.iter().map(TaskId::to_string);
    let tasks = known.chain(unknown.iter().map(|name| (*name).to_owned())).collect();
    Ask::Wait { tasks, any: false, timeout_ms }
}

#[test]
fn blocking() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    let one = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    let two = desk.working(parent("call_2"), "Read the docs", "ses_two");
    let three = desk.opening(parent("call_3"), "Count the lines");
    desk.pass(20_000);
    let call = desk.ask(parent("call_4"), block(&[one, two, three], &["bg_nope", "x\ny"], 45_000));
    desk.pass(25_000);
    desk.ends("ses_one", answered("Done."));
    desk.pass(20_000);
    page.add("time is up", desk.answer(call));
    let signs = desk.said.iter().filter_map(|(_, say)| match say {
        Say::Progress(progress) => Some(answers::still_waiting(*progress)),
        Say::Answer(_) => None,
    });
    let signs = signs.collect::<Vec<_>>().join("\n");
    page.add("signs of life", signs);
    let call = desk.ask(parent("call_5"), block(&[two], &[], 700_000));
    desk.ends("ses_two", failed("The model is overloaded."));
    page.add("all finished, the one failed, cut", desk.answer(call));
    desk.asks(Caller::Person, Ask::Cancel { task: three.to_string() });
    page.add("all finished", desk.asks(parent("call_6"), block(&[one, two, three], &[], 45_000)));
    page.add("one is unknown", desk.asks(parent("call_7"), block(&[one], &["bg_nope"], 45_000)));
    page.add("none is known", desk.asks(parent("call_8"), block(&[], &["bg_nope"], 45_000)));
    let four = desk.working(parent("call_9"), "Draw a map", "ses_four");
    let call = desk.ask(parent("call_10"), block(&[four], &[], 45_000));
    desk.asks(parent("call_11"), Ask::Clear);
    page.add("cleared meanwhile", desk.answer(call));
    assert_snapshot!(page.0);
}

fn list(status: Option<Status>) -> Ask {
    Ask::List(List { status, ..List::default() })
}

/// One task of every kind.
fn many_kinds() -> Desk {
    let mut desk = Desk::new(Settings { max_running: 4, ..Settings::default() });
    let back = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.ends("ses_one", answered("Done."));
    desk.working(parent("call_2"), "Überprüfe die Größe", "ses_two");
    desk.ends("ses_two", failed("The model is overloaded."));
    let three = desk.working(parent("call_3"), "Count\nthe\tlines", "ses_three");
    desk.asks(parent("call_4"), Ask::Cancel { task: three.to_string() });
    desk.resume(back, "call_5", false);
    desk.ends("ses_one", answered("Done."));
    desk.working(parent("call_6"), "翻訳する 日本語のファイル", "ses_six");
    desk.resume(back, "call_7", false);
    desk.pass(100_000);
    let hint = progress(&desk, "ses_six", "grep");
    desk.hint(hint);
    desk.pass(5_000);
    desk.asked("ses_one", "per_1", "Allow bash: rm -r target?");
    desk.opening(parent("call_8"), "Open a session");
    desk.working(session("ses_other", "call_9"), "Another session's", "ses_nine");
    desk.opening(parent("call_10"), "Wait for a place");
    desk.opening(parent("call_11"), &"a very long description ".repeat(10));
    desk
}

#[test]
fn listing() {
    let (mut desk, mut page) = (many_kinds(), Page::default());
    page.add("one's own", desk.asks(parent("call_l"), list(None)));
    let all = Ask::List(List { all: true, ..List::default() });
    page.add("of all sessions", desk.asks(session("ses_third", "call_l"), all));
    page.add("a person's", desk.asks(Caller::Person, list(None)));
    page.add("errors only", desk.asks(parent("call_l"), list(Some(Status::Error))));
    page.add("none", desk.asks(session("ses_third", "call_l"), list(None)));
    let mut full = Desk::new(Settings { max_tasks_per_root: 0, ..Settings::default() });
    for number in 0..203 {
        let key = format!("call_{number}");
        full.working(parent(&key), &format!("Task {number}"), &format!("ses_{number}"));
        full.ends(&format!("ses_{number}"), answered("Done."));
        full.told();
    }
    let long = full.asks(parent("call_l"), list(None));
    let lines: Vec<&str> = long.lines().collect();
    let ends = [&lines[..2], &["..."], &lines[lines.len() - 2..]].concat();
    page.add("more than fit", ends.join("\n"));
    assert_snapshot!(page.0);
}

#[test]
fn calling_off() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    let cancel = |task: TaskId| Ask::Cancel { task: task.to_string() };
    let one = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    page.add("cancelled by its parent", desk.asks(parent("call_c"), cancel(one)));
    let two = desk.working(parent("call_2"), "Read the docs", "ses_two");
    page.add("cancelled by a person", desk.asks(Caller::Person, cancel(two)));
    let three = desk.working(parent("call_3"), "Count the lines", "ses_three");
    page.add("by another session", desk.asks(session("ses_x", "call_c"), cancel(three)));
    desk.working(parent("call_4"), "Draw a map", "ses_four");
    desk.working(parent("call_5"), "Write a poem", "ses_five");
    let queued = desk.opening(parent("call_6"), "Wait for a place");
    page.add("one that waits, by its parent", desk.asks(parent("call_c"), cancel(queued)));
    let call = desk.ask(parent("call_7"), launch("Wait for a place"));
    let _ = desk.found("check_agent", Ok(Finding::AgentKnown));
    page.add("(a launch that waits)", desk.answer(call));
    page.add("cleared", desk.asks(parent("call_c"), Ask::Clear));
    page.add("nothing to clear", desk.asks(parent("call_c"), Ask::Clear));
    desk.working(parent("call_8"), "One alone", "ses_eight");
    desk.ends("ses_eight", answered("Done."));
    page.add("cleared one", desk.asks(parent("call_c"), Ask::Clear));
    let call = desk.ask(parent("call_9"), launch("Begin"));
    let _ = desk.found("check_agent", Ok(Finding::AgentKnown));
    desk.asks(parent("call_c"), Ask::Clear);
    page.add("a launch that was cleared before it began", desk.answer(call));
    assert_snapshot!(page.0);
}

#[test]
fn refusing() {
    let mut page = Page::default();
    let text = str::to_owned;
    let known = ["build", "explore", "general"].map(text).to_vec();
    let all = [
        Refusal::Missing(["description", "agent"].map(text).to_vec()),
        Refusal::PromptRequired,
        Refusal::NotFound(text("bg_nope")),
        Refusal::BeingResumed,
        Refusal::NotCompleted(Status::Error),
        Refusal::SessionExpired,
        Refusal::UnknownAgent { agent: text("explorer"), known },
        Refusal::UnknownAgent { agent: text("explorer"), known: Vec::new() },
        Refusal::TooDeep { limit: 1 },
        Refusal::TooManyTasks { limit: 200, held: 200, finished: 12, unfinished: 180 },
        Refusal::CannotCancel(Status::Completed),
        Refusal::NoSuchStatus(text("done")),
        Refusal::BadArguments { tool: text("background_block"), why: text("task_ids: name one") },
        Refusal::NoSuchTool(text("background_resume")),
        Refusal::HostUnreachable,
        Refusal::NotStarted(words::could_not_start(&HostError::Unreachable, 9)),
        Refusal::NotStarted(text(words::INTERRUPTED)),
        Refusal::NotDone(text("Permission request per_1 not found")),
        Refusal::CallRepeated,
        Refusal::CannotSave,
        Refusal::CannotRead,
        Refusal::NoSuchQuestion(text("per_1")),
        Refusal::NotASession,
        Refusal::Forgotten {
            task: desk::task_id(1),
            description: text("Explore the codebase"),
            days_left: 6,
            found: text("It is in src/login.rs."),
        },
    ];
    for refusal in all {
        let name = format!("{refusal:?}");
        let name = name.split(['(', ' ']).next().unwrap_or_default();
        page.add(name, refusal.text());
    }
    assert_snapshot!(page.0);
}

#[test]
fn replying() {
    let (mut desk, mut page) = (Desk::new(settings()), Page::default());
    desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.asked("ses_one", "per_1", "Allow bash?");
    let errors = [HostError::Unreachable, HostError::Rejected { why: "not yours".to_owned() }];
    for found in errors.map(Err).into_iter().chain([Ok(Finding::Done)]) {
        let question = "per_1".parse().unwrap();
        let call = desk.ask(Caller::Person, Ask::Reply { question, reply: Reply::Once });
        let _ = desk.found("answer", found.clone());
        page.add(&format!("{found:?}"), desk.answer(call));
    }
    assert_snapshot!(page.0);
}

/// A task with this end; the delivery that tells of it.
fn told_of(end: impl FnOnce(&mut Desk, TaskId)) -> String {
    let mut desk = Desk::new(Settings { max_result_chars: 60, ..settings() });
    let task = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.pass(64_000);
    end(&mut desk, task);
    desk.deliveries()
}

fn again(desk: &mut Desk, task: TaskId) {
    desk.ends("ses_one", answered("Done."));
    desk.told();
    desk.resume(task, "call_2", false);
    desk.pass(9_000);
}

#[test]
fn notices() {
    let mut page = Page::default();
    let done = || answered("Three callers:\n\n- a.rs:10\n- b.rs:20");
    page.add("completed", told_of(|desk, _| desk.ends("ses_one", done())));
    let overloaded = || failed("The model is overloaded.");
    page.add("failed", told_of(|desk, _| desk.ends("ses_one", overloaded())));
    let person = |desk: &mut Desk, task: TaskId| {
        desk.ask(Caller::Person, Ask::Cancel { task: task.to_string() });
    };
    page.add("cancelled", told_of(person));
    let resumed = |desk: &mut Desk, task| {
        again(desk, task);
        desk.ends("ses_one", done());
    };
    page.add("resume completed", told_of(resumed));
    let resume_failed = |desk: &mut Desk, task| {
        again(desk, task);
        desk.ends("ses_one", overloaded());
    };
    page.add("resume failed", told_of(resume_failed));
    let resume_cancelled = |desk: &mut Desk, task| {
        again(desk, task);
        person(desk, task);
    };
    page.add("resume cancelled", told_of(resume_cancelled));
    let cut = |desk: &mut Desk, _| desk.ends("ses_one", answered(&"word ".repeat(40)));
    page.add("cut", told_of(cut));
    let asked = |desk: &mut Desk, _| {
        desk.asked("ses_one", "per_1", "Allow bash: ls?");
        desk.pass(200);
    };
    page.add("a question", told_of(asked));
    assert_snapshot!(page.0);
}

#[test]
fn several_notices_in_one_letter() {
    let mut desk = Desk::new(Settings { max_running: 4, ..Settings::default() });
    for (number, name) in
        ["Explore the codebase", "Read the docs", "Count", "Ask"].iter().enumerate()
    {
        desk.working(parent(&format!("call_{number}")), name, &format!("ses_{number}"));
    }
    desk.pass(5 * MINUTE_MS);
    desk.ends("ses_0", answered("Three callers."));
    desk.ends("ses_1", failed("The model is overloaded."));
    desk.ends("ses_2", answered("1,204 lines."));
    desk.asked("ses_3", "per_1", "Allow bash: ls?");
    desk.pass(200);
    assert_snapshot!(desk.deliveries());
}

#[test]
fn a_parent_that_nobody_used_since_is_told_in_its_history() {
    let mut desk = Desk::new(Settings { interrupted: Interrupted::Fail, ..settings() });
    desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.pass(30_000);
    desk.hint(Hint::HostGone { host: host_id("host_1") });
    desk.host_comes("host_2");
    let _ = desk.found("look", Ok(seen(RunState::Still { text: String::new() })));
    desk.pass(2_000);
    assert_snapshot!(desk.deliveries());
}

#[test]
fn a_prompt_after_an_interruption_says_so() {
    let mut desk = Desk::new(settings());
    desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    desk.hint(Hint::HostGone { host: host_id("host_1") });
    desk.host_comes("host_2");
    let _ = desk.found("look", Ok(seen(RunState::Still { text: String::new() })));
    let prompts = desk.under_way.iter().filter_map(|work| match &work.action {
        Action::Prompt { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_snapshot!(prompts.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_dropped_caller_hears_nothing_more() {
    let mut desk = Desk::new(settings());
    let task = desk.working(parent("call_1"), "Explore the codebase", "ses_one");
    let call = desk.ask(parent("call_2"), block(&[task], &[], 45_000));
    let _ = desk.on(Input::Dropped { call });
    desk.ends("ses_one", answered("Done."));
    assert_eq!(desk.answer(call), "");
    assert!(desk.deliveries().contains(PARENT));
}

#[test]
fn timeline() {
    assert_snapshot!(timeline::timeline());
}
