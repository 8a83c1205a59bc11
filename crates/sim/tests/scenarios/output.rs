//! `background_output`: O1 to O6.

use legwork_engine::text::words::duration;
use legwork_engine::{Action, Hint, HostError, Input, Journal, PromptUsage, Usage};
use legwork_protocol::api::{Ask, Reply};
use legwork_protocol::{Cost, Currency, Settings, Status, TaskId, Time};
use legwork_sim::Story;
use legwork_sim::audit::NoticeFact;
use legwork_sim::books::Keeper;
use legwork_sim::host::{Nasty, Status as Doing};
use legwork_store::Store;
use serde_json::json;

use crate::list::Bare;

const NOT_THERE: &str = "Task not found: bg_00000000. Use background_list to see available tasks.";

fn output(story: &mut Story, task: TaskId) -> String {
    story.ask("background_output", json!({ "task_id": task.to_string() }))
}

fn reading(task: TaskId) -> Ask {
    Ask::Output { task: task.to_string(), offset: 0 }
}

fn has(answer: &str, line: &str) {
    assert!(answer.lines().any(|known| known == line), "no line {line:?} in:\n{answer}");
}

fn notice(story: &mut Story, task: TaskId, run: u32) -> NoticeFact {
    story.world.audit().runs[&(task, run)].notice
}

/// A session that waits for both tasks, the first of which is finished: its notice is held.
fn one_of_two_is_done(story: &mut Story) -> (TaskId, TaskId) {
    let first = story.launch("First", "wait 1000; say one");
    let second = story.launch("Second", "wait 20000; say two");
    let main = story.main.clone();
    let ids = json!({ "task_ids": [first.to_string(), second.to_string()] });
    story.start(&main, "background_block", ids);
    story.until_status(first, Status::Completed);
    story.pass(1_000);
    assert_eq!(notice(story, first, 0), NoticeFact::Pending);
    assert!(story.told().is_empty());
    (first, second)
}

#[test]
fn o1_an_unknown_id_is_refused_with_the_fixed_text() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say done");
    for id in ["bg_00000000", " bg_00000000"] {
        let answer = story.ask("background_output", json!({ "task_id": id }));
        assert!(answer.starts_with("Task not found: "), "{answer}");
        assert!(story.world.calls.last().unwrap().refused());
    }
    let answer = story.ask("background_output", json!({ "task_id": "bg_00000000" }));
    assert_eq!(answer, NOT_THERE);
    let short = task.to_string()[..6].to_owned();
    let answer = story.ask("background_output", json!({ "task_id": short }));
    let wanted = format!("Task not found: {short}. Use background_list to see available tasks.");
    assert_eq!(answer, wanted);
    story.end();
}

#[test]
fn o1_a_task_of_another_project_is_unknown() {
    let mut bare = Bare::new();
    bare.host_comes("here", "one");
    bare.host_comes("there", "two");
    let task = bare.launch("here", "ses_a", "Explore", "ses_helper");
    let read = Ask::Output { task: task.to_string(), offset: 0 };
    let own = bare.ask("here", "ses_a", read.clone());
    assert!(own.contains("Status: running"), "{own}");
    let foreign = bare.ask("there", "ses_b", read);
    let wanted = format!("Task not found: {task}. Use background_list to see available tasks.");
    assert_eq!(foreign, wanted);
}

#[test]
fn o2_a_running_task_shows_what_it_has_done_so_far() {
    let mut story = Story::new();
    let script = "text hm; tool read 1000; tool grep 1000; tool bash 1000; tool edit 60000; say x";
    let task = story.launch("Explore", script);
    story.pass(10_000);
    let answer = output(&mut story, task);
    has(&answer, &format!("Task ID: {task}"));
    has(&answer, "Status: running");
    has(&answer, "Time so far: 10s");
    has(&answer, "Tool calls: 4");
    has(&answer, "Last tools: grep, bash, edit");
    has(&answer, "Last activity: 6s ago");
    has(&answer, "Tokens: 41");
    has(&answer, "Cost: 0.0001 USD");
    assert!(!answer.contains("Waiting"), "{answer}");
    assert_eq!(story.status(task), Some(Status::Running));
    story.end();
}

#[test]
fn o2_a_resumed_task_shows_the_new_run_only() {
    let mut story = Story::new();
    let task = story.launch("Explore", "tool read; tool grep; say x");
    story.until_settled();
    story.pass(120_000);
    story.resume(task, "wait 30000; tool bash 30000; say y");
    story.pass(20_000);
    let answer = output(&mut story, task);
    has(&answer, "Status: resumed");
    has(&answer, "Time so far: 20s");
    has(&answer, "Tool calls: 0");
    assert!(!answer.contains("read") && !answer.contains("grep"), "{answer}");
    story.pass(15_000);
    let answer = output(&mut story, task);
    has(&answer, "Tool calls: 1");
    has(&answer, "Last tools: bash");
    has(&answer, "Last activity: 4s ago");
    story.end();
}

#[test]
fn o2_a_queued_task_shows_its_place_and_moves_up() {
    let settings = Settings { max_running: 1, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let first = story.launch("First", "wait 10000; say one");
    let second = story.launch("Second", "wait 10000; say two");
    let third = story.launch("Third", "say three");
    let answer = output(&mut story, second);
    has(&answer, "Status: running");
    has(&answer, "Waiting: queued, next in line");
    has(&output(&mut story, third), "Waiting: queued, 1 task before it");
    story.until_status(first, Status::Completed);
    story.pass(1_000);
    has(&output(&mut story, third), "Waiting: queued, next in line");
    assert!(!output(&mut story, second).contains("Waiting"));
    story.end();
}

#[test]
fn o2_a_provider_retry_is_shown_with_its_next_time() {
    let mut story = Story::new();
    let task = story.launch("Explore", "retry 2; tool bash 30000; say done");
    story.pass(6_000);
    let answer = output(&mut story, task);
    let process = story.world.windows[0].process;
    let doing: Vec<Doing> = story.world.oc.status(process).map(|(_, doing)| doing).collect();
    let [Doing::Retry { attempt, next }] = doing[..] else { panic!("{doing:?}") };
    assert_eq!(attempt, 2);
    let wait = duration(next.since(story.world.now));
    has(&answer, &format!("Waiting: provider retry 2 in {wait} (the provider failed)"));
    story.pass(10_000);
    let answer = output(&mut story, task);
    assert!(!answer.contains("retry"), "{answer}");
    has(&answer, "Last tools: bash");
    story.end();
}

#[test]
fn o2_a_permission_that_it_waits_for_is_shown_until_it_is_given() {
    let mut story = Story::new();
    let task = story.launch("Clean up", "ask rm -r build; tool bash 20000; say done");
    story.pass(2_000);
    let process = story.world.windows[0].process;
    let question = story.world.oc.questions(process)[0].id.clone();
    let answer = output(&mut story, task);
    has(&answer, "Status: running");
    has(&answer, "Waiting: for a person to answer question 1: «rm -r build»");
    // No event tells that it was answered.
    story.world.deafen(0, true);
    story.person(Ask::Reply { question, reply: Reply::Once });
    let answer = output(&mut story, task);
    assert!(!answer.contains("Waiting"), "{answer}");
    story.world.deafen(0, false);
    story.end();
}

#[test]
fn o2_a_host_that_cannot_be_reached_is_shown() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 20000; say done");
    story.world.cut_link(0);
    story.pass(5);
    assert!(!story.world.windows[0].linked);
    let answer = story.person(reading(task));
    has(&answer, "Status: running");
    has(&answer, "Waiting: its host cannot be reached at the moment");
    story.end();
}

#[test]
fn o2_cost_is_shown_where_the_host_tells_it() {
    let mut bare = Bare::new();
    bare.host_comes("here", "one");
    let task = bare.launch("here", "ses_a", "Explore", "ses_helper");
    let before = bare.ask("here", "ses_a", reading(task));
    assert!(!before.contains("Tokens") && !before.contains("Cost"), "{before}");
    let cost = Some(Cost { micros: 1_234_500, currency: Currency::USD });
    let usage = Usage { tokens: Some(12_345), cost, model: None };
    let used = PromptUsage { prompt: bare.prompt.clone().unwrap(), usage };
    let _ = bare.on(Input::Hint(Hint::Progress {
        session: "ses_helper".parse().unwrap(),
        tool: Some("bash".to_owned()),
        used: Some(used),
    }));
    let answer = bare.ask("here", "ses_a", reading(task));
    has(&answer, "Tokens: 12345");
    has(&answer, "Cost: 1.2345 USD");
    has(&answer, "Last tools: bash");
}

#[test]
fn o2_after_a_restart_the_tool_calls_are_counted_as_before() {
    let mut story = Story::new();
    let script = "tool read 1000; tool grep 1000; tool bash 60000; say done";
    let task = story.launch("Explore", script);
    story.pass(10_000);
    story.world.restart_daemon();
    story.pass(10_000);
    let answer = output(&mut story, task);
    has(&answer, "Time so far: 20s");
    has(&answer, "Tool calls: 3");
    insta::assert_snapshot!(story.end());
}

#[test]
fn o2_a_restart_does_not_make_an_old_activity_look_new() {
    let mut story = Story::new();
    let task = story.launch("Explore", "tool read 1000; tool bash 300000; say done");
    story.pass(120_000);
    has(&output(&mut story, task), "Last activity: 1m 58s ago");
    story.world.restart_daemon();
    story.pass(10_000);
    let answer = output(&mut story, task);
    let line = answer.lines().find(|line| line.starts_with("Last activity: ")).unwrap();
    assert!(line.starts_with("Last activity: 2m "), "{answer}");
    story.end();
}

#[test]
fn o3_a_completed_task_gives_its_whole_result() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let result = "first line\n\n  second: é 漢 🚀";
    let task = story.launch("Explore", &format!("text hm; tool read; say {result}"));
    story.until_status(task, Status::Completed);
    let answer = output(&mut story, task);
    has(&answer, "Status: completed");
    let (_, shown) = answer.split_once("\n\n").unwrap();
    assert_eq!(shown, result);
    story.end();
}

#[test]
fn o3_after_a_resume_the_newest_result_is_given() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say old news");
    story.until_settled();
    story.resume(task, "say new news");
    story.until_settled();
    let answer = output(&mut story, task);
    assert!(answer.ends_with("\n\nnew news"), "{answer}");
    assert!(!answer.contains("old news"), "{answer}");
    story.end();
}

/// Reads page by page as the answers say, and puts the pages together.
fn read_on(story: &mut Story, task: TaskId) -> (String, usize) {
    let (mut whole, mut pages, mut offset) = (String::new(), 0, Some(0));
    while let Some(from) = offset {
        let arguments = json!({ "task_id": task.to_string(), "offset": from });
        let answer = story.ask("background_output", arguments);
        assert!(answer.len() < 50_000 && answer.lines().count() < 2_000);
        pages += 1;
        let (_, page) = answer.split_once("\n\n").unwrap();
        let (page, rest) = match page.rsplit_once("\n\n(Characters ") {
            Some((page, rest)) => (page, Some(rest)),
            None => (page, None),
        };
        whole.push_str(page);
        offset = rest.map(|rest| {
            assert!(rest.contains(&format!("background_output(task_id: \"{task}\", offset: ")));
            let (_, next) = rest.rsplit_once("offset: ").unwrap();
            next.trim_end_matches(".)").trim_end_matches(')').parse::<u64>().unwrap()
        });
    }
    (whole, pages)
}

// No transcript: it would hold the long result several times.
#[test]
fn o3_pages_of_a_long_result_put_together_are_the_result() {
    let deliveries = |n: u32| match n % 61 {
        0 => '\n',
        7 => 'é',
        8 => '漢',
        9 => '🚀',
        _ => 'x',
    };
    let long: String = std::iter::once('a').chain((1..100_000).map(deliveries)).collect();
    let long = format!("{long}z");
    let lines = format!("a{}z", "\n".repeat(4_000));
    let settings = Settings { max_result_chars: 0, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    for (result, wanted) in [(long, 3), (lines, 3), ("short".to_owned(), 1)] {
        let task = story.launch("Explore", &format!("say {result}"));
        story.until_status(task, Status::Completed);
        let (whole, pages) = read_on(&mut story, task);
        assert!(whole == result, "{} of {} bytes", whole.len(), result.len());
        assert_eq!(pages, wanted);
    }
    story.end();
}

#[test]
fn o3_an_offset_past_the_end_is_answered_in_words() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say done");
    story.until_status(task, Status::Completed);
    let arguments = json!({ "task_id": task.to_string(), "offset": 1_000 });
    let answer = story.ask("background_output", arguments);
    assert!(answer.contains("4 characters"), "{answer}");
    assert!(!story.world.calls.last().unwrap().refused());
    story.end();
}

#[test]
fn o3_the_first_reading_sets_the_retrieved_time_for_good() {
    let outer = tempfile::tempdir().unwrap();
    let kept = tempfile::Builder::new().disable_cleanup(true).tempdir_in(outer.path()).unwrap();
    let folder = kept.path().to_owned();
    let keeper = Keeper::File(kept, None);
    let mut story = Story::kept_in(keeper, Settings::default(), Nasty::calm());
    let read = story.launch("Read", "say done");
    let unread = story.launch("Unread", "say done too");
    output(&mut story, read);
    story.until_settled();
    story.pass(5_000);
    output(&mut story, read);
    let first: Time = story.world.calls.last().unwrap().answer.as_ref().unwrap().0;
    story.pass(60_000);
    output(&mut story, read);
    story.world.restart_daemon();
    story.pass(10_000);
    output(&mut story, read);
    story.end();
    let saved = Store::open(&folder).unwrap().store.load().unwrap();
    let retrieved = |id| saved.tasks.iter().find(|task| task.id == id).unwrap().retrieved;
    assert_eq!(retrieved(read), Some(first));
    assert_eq!(retrieved(unread), None);
}

#[test]
fn o4_a_failed_task_gives_the_cause_also_after_a_restart() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "tool read; fail 400");
    story.until_status(task, Status::Error);
    let before = output(&mut story, task);
    has(&before, "Status: error");
    assert!(before.ends_with("\n\nAPIError: fake failure 400"), "{before}");
    story.world.restart_daemon();
    story.pass(10_000);
    assert_eq!(output(&mut story, task), before);
    story.end();
}

#[test]
fn o4_a_cancelled_task_says_who_called_it_off() {
    let mut story = Story::new();
    let own = story.launch("Own", "wait 60000; say x");
    let other = story.launch("Other", "wait 60000; say x");
    story.ask("background_cancel", json!({ "task_id": own.to_string() }));
    story.person(Ask::Cancel { task: other.to_string() });
    let answer = output(&mut story, own);
    has(&answer, "Status: cancelled");
    assert!(answer.ends_with("\n\nCancelled by the session that asked for it."), "{answer}");
    let answer = output(&mut story, other);
    assert!(answer.ends_with("\n\nCancelled by a person."), "{answer}");
    story.end();
}

#[test]
fn o5_a_result_read_while_its_notice_is_held_is_not_told_again() {
    let mut story = Story::new();
    let (first, second) = one_of_two_is_done(&mut story);
    assert!(output(&mut story, first).ends_with("\n\none"));
    assert_eq!(notice(&mut story, first, 0), NoticeFact::Withdrawn);
    story.until_settled();
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.contains(&second.to_string()));
    assert!(!told[0].headline.contains(&first.to_string()), "{told:?}");
    assert_eq!(told[0].results.len(), 1);
    story.end();
}

#[test]
fn o5_what_another_session_or_a_person_read_is_told_all_the_same() {
    let mut story = Story::new();
    let other = story.conversation("other");
    let (first, second) = one_of_two_is_done(&mut story);
    let arguments = json!({ "task_id": first.to_string() });
    assert!(story.call(&other, "background_output", arguments).ends_with("\n\none"));
    assert!(story.person(reading(first)).ends_with("\n\none"));
    assert_eq!(notice(&mut story, first, 0), NoticeFact::Pending);
    story.until_settled();
    let told = story.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].headline.contains(&first.to_string()));
    assert!(told[0].headline.contains(&second.to_string()));
    assert!(story.deliveries(&other).is_empty());
    story.end();
}

#[test]
fn o5_a_result_read_after_a_restart_before_the_notice_has_gone_is_not_told() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 3000; say done");
    story.pass(1_000);
    story.world.kill_daemon();
    story.pass(10_000);
    story.world.start_daemon();
    story.until_status(task, Status::Completed);
    assert_eq!(notice(&mut story, task, 0), NoticeFact::Pending);
    let turns = story.turns(&story.main);
    assert!(output(&mut story, task).ends_with("\n\ndone"));
    story.until_settled();
    story.pass(60_000);
    assert!(story.told().is_empty());
    assert_eq!(story.turns(&story.main), turns);
    insta::assert_snapshot!(story.end());
}

#[test]
fn o5_a_result_read_through_another_window_while_the_first_is_away_is_not_told() {
    let mut story = Story::new();
    let second = story.world.boot();
    story.pass(1_000);
    let main = story.main.clone();
    let launch = legwork_sim::story::launch("Explore", "wait 2000; say done");
    let call = story.start_in(second, &main, "background_task", launch);
    story.answer(call);
    story.pass(100);
    let task = story.world.calls[call].task().unwrap();
    // From here on the parent is told through the first window.
    story.ask("background_list", json!({}));
    let helper = story.session_of(task);
    story.pass(1_000);
    story.until("its answer", |story| !story.world.oc.runs(&helper));
    story.world.cut_link(0);
    story.until_status(task, Status::Completed);
    assert!(!story.world.windows[0].linked);
    assert_eq!(notice(&mut story, task, 0), NoticeFact::Pending);
    let arguments = json!({ "task_id": task.to_string() });
    let call = story.start_in(second, &main, "background_output", arguments);
    assert!(story.answer(call).ends_with("\n\ndone"));
    assert_eq!(notice(&mut story, task, 0), NoticeFact::Withdrawn);
    story.pass(60_000);
    assert!(story.told().is_empty());
    insta::assert_snapshot!(story.end());
}

#[test]
fn o5_a_result_read_while_an_undo_is_pending_is_not_told() {
    let mut story = Story::new();
    let main = story.main.clone();
    let task = story.launch("Explore", "wait 1000; say done");
    let process = story.world.windows[0].process;
    story.world.oc.set_revert(process, &main).unwrap();
    story.until_status(task, Status::Completed);
    story.pass(2_000);
    assert!(output(&mut story, task).ends_with("\n\ndone"));
    assert_eq!(notice(&mut story, task, 0), NoticeFact::Withdrawn);
    story.world.oc.clear_revert(process, &main).unwrap();
    story.pass(60_000);
    assert!(story.told().is_empty());
    insta::assert_snapshot!(story.end());
}

#[test]
fn o5_a_result_read_after_the_host_refused_its_notice_is_not_sent_again() {
    let mut bare = Bare::new();
    bare.host_comes("here", "one");
    bare.wait(5_000);
    let task = bare.launch("here", "ses_a", "Explore", "ses_helper");
    let told = bare.answered("ses_helper", "done");
    let [Action::Deliver { .. }] = told.iter().map(|work| &work.action).collect::<Vec<_>>()[..]
    else {
        panic!("{told:?}")
    };
    let why = "not now".to_owned();
    let found = Err(HostError::Rejected { why });
    let _ = bare.on(Input::Found { work: told[0].id, found });
    let answer = bare.ask("here", "ses_a", reading(task));
    has(&answer, "Status: completed");
    let later = bare.wait(60_000);
    assert!(later.iter().all(|work| !matches!(work.action, Action::Deliver { .. })), "{later:?}");
}

#[test]
fn o5_a_result_read_after_its_notice_stays_told_once() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "say done");
    story.until_settled();
    let turns = story.turns(&story.main);
    assert!(output(&mut story, task).ends_with("\n\ndone"));
    story.pass(60_000);
    assert_eq!(notice(&mut story, task, 0), NoticeFact::Told);
    assert_eq!(story.told().len(), 1);
    assert_eq!(story.turns(&story.main), turns);
    story.end();
}

#[test]
fn o5_reading_a_finished_run_does_not_withdraw_the_notice_of_the_next() {
    let mut story = Story::new();
    let task = story.launch("Explore", "say one");
    story.until_settled();
    output(&mut story, task);
    story.resume(task, "wait 2000; say two");
    output(&mut story, task);
    story.until_settled();
    assert_eq!(notice(&mut story, task, 1), NoticeFact::Told);
    let told = story.told();
    assert_eq!(told.len(), 2);
    assert!(told[1].headline.starts_with(&format!("[BACKGROUND RESUME COMPLETED] {task} ")));
    story.end();
}

#[test]
fn o6_block_and_timeout_do_not_wait_and_the_answer_says_what_does() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 20000; say done");
    for old in [json!({ "block": true }), json!({ "timeout": 60_000 }), json!({ "block": false })] {
        let mut arguments = json!({ "task_id": task.to_string() });
        arguments.as_object_mut().unwrap().extend(old.as_object().unwrap().clone());
        let answer = story.ask("background_output", arguments);
        let call = story.world.calls.last().unwrap();
        assert!(call.answer.as_ref().unwrap().0.since(call.made) < 10, "it waited");
        assert!(!call.refused());
        assert!(answer.starts_with("Note: "), "{answer}");
        assert!(answer.lines().next().unwrap().contains("background_block"), "{answer}");
        has(&answer, "Status: running");
    }
    story.until_settled();
    let plain = output(&mut story, task);
    let arguments = json!({ "task_id": task.to_string(), "block": true, "timeout": -5 });
    let noted = story.ask("background_output", arguments);
    let (note, rest) = noted.split_once("\n\n").unwrap();
    assert!(note.contains("background_block"));
    assert_eq!(rest, plain);
    assert!(!plain.contains("background_block"));
    story.end();
}
