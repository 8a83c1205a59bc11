//! What is pending and what it says: N1 to N3. Exactly one notice for each run, whatever dies.

use std::collections::BTreeSet;

use legwork_engine::record::{About, NoticeId};
use legwork_protocol::Ask;
use legwork_protocol::api::List;
use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::audit::NoticeFact;
use legwork_sim::host::Nasty;
use serde_json::json;

use crate::ends::{answered, count, detail, on_disk, process, told_of, until_answered};

const DEATH: &str = "the daemon dies in the middle of a step";

/// The daemon dies in one of its next steps, after as many effects as the dice say.
fn die_in_a_step(story: &mut Story) {
    let before = count(story, DEATH);
    story.world.faults.crash_in_step = 1000;
    for _ in 0..60 {
        if count(story, DEATH) > before || !story.world.step() {
            break;
        }
    }
    story.world.faults.crash_in_step = 0;
}

/// A story in which the dice fall another way.
fn other_story(number: usize, nasty: Nasty) -> Story {
    let mut story = Story::with(Settings::default(), nasty);
    for _ in 0..number {
        story.person(Ask::List(List { all: true, ..List::default() }));
    }
    story
}

/// What the daemon did last before it died, as far as it shows.
fn last_action(story: &Story) -> Option<String> {
    let transcript = story.transcript();
    let lines: Vec<&str> = transcript.lines().collect();
    let at = lines.iter().position(|line| *line == DEATH)?;
    Some(lines[at - 1].trim().to_owned())
}

#[test]
fn n1_one_notice_though_the_daemon_dies_anywhere_between_the_answer_and_the_telling() {
    let mut seen = BTreeSet::new();
    for number in 0..8 {
        for steps in 0..24 {
            let mut story = other_story(number, Nasty::calm());
            let task = story.launch("Explore", "say found it");
            until_answered(&mut story, task);
            for _ in 0..steps {
                story.world.step();
            }
            die_in_a_step(&mut story);
            seen.extend(last_action(&story));
            story.until_settled();
            story.pass(30_000);
            let told = told_of(&story, task);
            assert_eq!(told.len(), 1, "story {number}, {steps} steps: {told:?}");
            assert_eq!(story.told()[0].results, [format!("What came of {task}:\n\nfound it")]);
            story.end();
        }
    }
    insta::assert_snapshot!(seen.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn n1_one_notice_though_the_daemon_is_killed_between_any_two_steps() {
    for nasty in [Nasty::calm(), Nasty::scripted()] {
        for steps in 0..40 {
            let mut story = Story::with(Settings::default(), nasty.clone());
            let task = story.launch("Explore", "say found it");
            until_answered(&mut story, task);
            for _ in 0..steps {
                story.world.step();
            }
            story.world.kill_daemon();
            story.pass(700);
            story.world.start_daemon();
            story.until_settled();
            story.pass(30_000);
            assert_eq!(told_of(&story, task).len(), 1, "killed after {steps} steps");
            story.end();
        }
    }
}

#[test]
fn n1_one_notice_though_a_daemon_on_a_real_file_dies_again_and_again() {
    for steps in [0, 3, 6, 9, 12] {
        let (_, keeper) = on_disk();
        let mut story = Story::kept_in(keeper, Settings::default(), Nasty::scripted());
        let task = story.launch("Explore", "say one");
        story.until_status(task, Status::Completed);
        story.resume(task, "say two");
        for _ in 0..4 {
            for _ in 0..steps {
                story.world.step();
            }
            die_in_a_step(&mut story);
        }
        story.until_settled();
        story.pass(30_000);
        assert_eq!(told_of(&story, task).len(), 2, "every {steps} steps");
        story.end();
    }
}

#[test]
fn n1_one_notice_though_the_host_is_killed_at_any_moment() {
    for steps in 0..60 {
        let mut story = Story::with(Settings::default(), Nasty::scripted());
        let task = story.launch("Explore", "say found it");
        for _ in 0..steps {
            story.world.step();
        }
        story.world.kill_window(0);
        story.pass(20_000);
        story.world.boot();
        story.until_settled();
        story.pass(30_000);
        let told = told_of(&story, task);
        assert_eq!(told.len(), 1, "killed after {steps} steps: {told:?}");
        story.end();
    }
}

#[test]
fn n1_a_run_is_told_to_the_session_that_asked_for_it() {
    let mut story = Story::new();
    let other = story.conversation("other");
    story.pass(1_000);
    let task = story.launch("Explore", "say one");
    story.until_settled();
    let resume = json!({ "resume": task.to_string(), "prompt": "say two" });
    story.call(&other, "background_task", resume);
    story.until_settled();
    let (told, told_other) = (story.told(), story.deliveries(&other));
    assert_eq!((told.len(), told_other.len()), (1, 1));
    assert!(told[0].headline.starts_with("[BACKGROUND TASK COMPLETED] "));
    assert!(told_other[0].headline.starts_with("[BACKGROUND RESUME COMPLETED] "));
    insta::assert_snapshot!(story.end());
}

#[test]
fn n1_each_run_of_a_task_is_told() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "say run 0");
    for run in 1..=3 {
        story.until_settled();
        story.resume(task, &format!("say run {run}"));
    }
    story.until_settled();
    let results: Vec<String> = story.told().into_iter().flat_map(|told| told.results).collect();
    let expected = [0, 1, 2, 3].map(|run| format!("What came of {task}:\n\nrun {run}"));
    assert_eq!(results, expected);
    story.end();
}

/// The only delivery that `main` has, and what it says of how many there are.
fn only_delivery(story: &mut Story) -> (String, String) {
    story.until_settled();
    let mut told = story.told();
    let last = told.pop().unwrap();
    let (first, rest) = last.headline.split_once('\n').unwrap();
    (first.to_owned(), rest.to_owned())
}

#[test]
fn n2_a_task_that_completed() {
    let mut story = Story::new();
    let task = story.launch("Explore codebase", "wait 4900; say found it");
    let (first, counts) = only_delivery(&mut story);
    assert_eq!(first, format!("[BACKGROUND TASK COMPLETED] {task} Explore codebase (5s)"));
    assert_eq!(counts, "1 background task finished, 0 still running.");
    assert_eq!(story.told()[0].results, [format!("What came of {task}:\n\nfound it")]);
    story.end();
}

#[test]
fn n2_a_task_that_failed() {
    let mut story = Story::new();
    let task = story.launch("Explore codebase", "wait 4900; fail 400");
    let (first, _) = only_delivery(&mut story);
    assert_eq!(first, format!("[BACKGROUND TASK FAILED] {task} Explore codebase (5s)"));
    let result = format!("What came of {task}:\n\nAPIError: fake failure 400");
    assert_eq!(story.told()[0].results, [result]);
    story.end();
}

#[test]
fn n2_a_task_that_was_cancelled() {
    let mut story = Story::new();
    let task = story.launch("Explore codebase", "hang");
    story.pass(5_000);
    story.person(Ask::Cancel { task: task.to_string() });
    let (first, _) = only_delivery(&mut story);
    assert_eq!(first, format!("[BACKGROUND TASK CANCELLED] {task} Explore codebase (5s)"));
    story.end();
}

#[test]
fn n2_a_resume_that_completed() {
    let mut story = Story::new();
    let task = story.launch("Explore codebase", "say one");
    story.until_settled();
    story.resume(task, "wait 4900; say two");
    let (first, counts) = only_delivery(&mut story);
    assert_eq!(first, format!("[BACKGROUND RESUME COMPLETED] {task} Explore codebase (5s)"));
    assert_eq!(counts, "1 background task finished, 0 still running.");
    assert_eq!(story.told()[1].results, [format!("What came of {task}:\n\ntwo")]);
    story.end();
}

#[test]
fn n2_a_resume_that_failed() {
    let mut story = Story::new();
    let task = story.launch("Explore codebase", "say one");
    story.until_settled();
    story.resume(task, "wait 4900; fail 400");
    let (first, _) = only_delivery(&mut story);
    assert_eq!(first, format!("[BACKGROUND RESUME FAILED] {task} Explore codebase (5s)"));
    story.end();
}

#[test]
fn n2_the_counts_are_those_of_the_moment_and_of_this_parent() {
    let mut story = Story::new();
    let other = story.conversation("other");
    story.pass(1_000);
    story.launch_from(&other, "Not ours", "wait 30000; say c");
    story.launch("First", "wait 2000; say a");
    story.launch("Second", "wait 10000; say b");
    story.until("the first delivery", |story| story.told().len() == 1);
    let counts =
        |story: &mut Story, n: usize| story.told()[n].headline.lines().last().unwrap().to_owned();
    assert_eq!(counts(&mut story, 0), "1 background task finished, 1 still running.");
    story.until("the second delivery", |story| story.told().len() == 2);
    assert_eq!(counts(&mut story, 1), "2 background tasks finished, 0 still running.");
    story.end();
}

#[test]
fn n2_a_long_result_is_cut_at_the_limit_with_the_call_that_reads_the_rest() {
    let settings = Settings { max_result_chars: 10, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let task = story.launch("Explore", "say abcdefghijKLMNOP");
    story.until_settled();
    let call = format!("background_output(task_id: \"{task}\", offset: 10)");
    let cut = format!(
        "What came of {task}:\n\nabcdefghij\n\n\
         (The first 10 of 16 characters. Read on with {call}.)"
    );
    assert_eq!(story.told()[0].results, [cut]);
    let rest = json!({ "task_id": task.to_string(), "offset": 10 });
    let rest = story.ask("background_output", rest);
    assert!(rest.ends_with("\n\nKLMNOP"), "{rest}");
}

#[test]
fn q8_the_results_of_one_message_share_the_limit() {
    let settings = Settings { max_result_chars: 20, ..Settings::default() };
    let mut story = Story::with(settings, Nasty::calm());
    let end = story.world.now.plus(10_000);
    for long in ["ééé".to_owned(), "é".repeat(100)] {
        let wait = end.since(story.world.now);
        story.launch("Explore", &format!("wait {wait}; say {long}"));
    }
    story.until_settled();
    assert_eq!(story.told().len(), 1);
    let mut shown: Vec<usize> =
        story.told()[0].results.iter().map(|text| text.matches('é').count()).collect();
    shown.sort_unstable();
    // Who comes second has what the first has left.
    assert!(shown == [3, 17] || shown == [3, 10], "{shown:?}");
}

#[test]
fn n2_a_result_as_long_as_the_limit_is_told_in_full() {
    for (max_result_chars, length) in [(30_000, 30_000), (0, 100_000)] {
        let settings = Settings { max_result_chars, ..Settings::default() };
        let mut story = Story::with(settings, Nasty::calm());
        let long = "é".repeat(length);
        let task = story.launch("Explore", &format!("say {long}"));
        story.until_settled();
        assert_eq!(story.told()[0].results, [format!("What came of {task}:\n\n{long}")]);
        story.end();
    }
}

/// Goes on step by step; at each, an end that is saved has its notice, and nothing is told that
/// is not pending.
fn watch_each_step(story: &mut Story, task: TaskId) {
    let notice = NoticeId { task, run: 0, about: About::End };
    story.until("the notice", |story| {
        let finished = story.world.audit().rows[&task].task.is_finished();
        let fact = story.world.audit().runs[&(task, 0)].notice;
        assert_eq!(finished, fact != NoticeFact::None, "an end without its notice");
        let pending = story.world.audit().pending.contains(&notice);
        let told = !told_of(story, task).is_empty();
        assert!(!told || pending || fact == NoticeFact::Told, "told without being pending");
        fact == NoticeFact::Told
    });
}

#[test]
fn n3_at_no_moment_is_there_an_end_without_its_notice_or_a_delivery_without_a_debt() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = story.launch("Explore", "tool grep 100; say found it");
    watch_each_step(&mut story, task);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n3_what_cannot_be_saved_is_neither_ended_nor_told() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 1000; say found it");
    story.pass(500);
    story.world.set_full(true);
    until_answered(&mut story, task);
    story.pass(60_000);
    assert_eq!(story.status(task), Some(Status::Running));
    assert!(story.world.audit().pending.is_empty());
    assert!(story.told().is_empty());
    assert_eq!(count(&story, ", with a turn"), 0, "nothing is sent before it is saved");
    story.world.set_full(false);
    watch_each_step(&mut story, task);
    assert_eq!(told_of(&story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn n3_a_daemon_that_dies_while_it_saves_an_end_has_saved_neither_or_both() {
    let mut ends = BTreeSet::new();
    for number in 0..40 {
        let mut story = other_story(number, Nasty::calm());
        let task = story.launch("Explore", "say found it");
        until_answered(&mut story, task);
        story.until("the look", |story| count(story, "how far is") == 1);
        die_in_a_step(&mut story);
        let ended = story.world.audit().runs[&(task, 0)].ended.is_some();
        let pending = story.world.audit().runs[&(task, 0)].notice != NoticeFact::None;
        assert_eq!(ended, pending, "story {number}");
        ends.insert(ended);
        let before = answered(&mut story, task);
        assert!(before <= story.world.now);
        story.until_settled();
        assert_eq!(detail(&mut story, task, 0), "found it");
        assert_eq!(told_of(&story, task).len(), 1);
        assert!(story.world.oc.alive(process(&story)));
        story.end();
    }
    assert_eq!(ends.len(), 2, "deaths before and after the save were both to be seen");
}
