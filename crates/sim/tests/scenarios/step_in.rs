//! What a person may do with a task that is over: P1.

use legwork_protocol::{Ask, Refusal, Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::Nasty;

use crate::restarts::fails;
use crate::resume::{completed, prompts, record};

/// A person has it go on; the key tells one call from another.
fn step_in(story: &mut Story, task: TaskId, script: &str) -> Option<Refusal> {
    let number = story.world.calls.len();
    let key = format!("person-{number}").parse().unwrap();
    story.person(Ask::ResumeAny { task: task.to_string(), prompt: script.to_owned(), key });
    story.world.calls[number].answer.clone().unwrap().1.err()
}

/// The same once its last run is stopped.
fn step_in_at_last(story: &mut Story, task: TaskId, script: &str) {
    for _ in 0..20 {
        match step_in(story, task, script) {
            None => return,
            Some(Refusal::BeingStopped) => story.pass(500),
            Some(other) => panic!("{other}"),
        }
    }
    panic!("its last run is never stopped");
}

fn is_told_of_the_resume(story: &mut Story, task: TaskId) {
    let told = story.told();
    let last = told.last().unwrap();
    assert!(last.headline.starts_with(&format!("[BACKGROUND RESUME COMPLETED] {task} ")));
    assert_eq!(last.results, [format!("What came of {task}:\n\ntwo")]);
}

#[test]
fn p1_a_person_goes_on_with_what_completed_failed_or_was_cancelled_and_the_parent_is_told() {
    for (script, status) in [
        ("say one", Status::Completed),
        ("text so far; fail 400", Status::Error),
        ("hang", Status::Cancelled),
    ] {
        let mut story = Story::new();
        let task = story.launch("Explore", script);
        if status == Status::Cancelled {
            story.pass(2_000);
            story.person(Ask::Cancel { task: task.to_string() });
        }
        story.until_status(task, status);
        step_in_at_last(&mut story, task, "say two");
        assert_eq!(story.status(task), Some(Status::Resumed));
        assert_eq!(step_in(&mut story, task, "say three"), Some(Refusal::BeingResumed));
        story.until_settled();
        let kept = record(&mut story, task);
        assert_eq!((kept.status(), kept.run.number), (Status::Completed, 1));
        assert_eq!(kept.run.asker, story.main, "whoever launched it");
        let asked = prompts(&mut story, task).into_iter().map(|(_, text)| text);
        assert_eq!(asked.collect::<Vec<_>>(), [script, "say two"]);
        is_told_of_the_resume(&mut story, task);
        story.end();
    }
}

#[test]
fn p1_r4_a_session_still_resumes_what_is_completed_only() {
    let mut story = Story::new();
    let task = story.launch("Explore", "fail 400");
    story.until_settled();
    let answer = story.resume(task, "say two");
    assert_eq!(answer, "Only completed tasks can be resumed. Current status: error");
    step_in_at_last(&mut story, task, "say two");
    story.until_settled();
    assert!(story.resume(task, "say three").starts_with(&format!("Task ID: {task}\n")));
    story.until_settled();
    story.end();
}

#[test]
fn p1_a_task_that_was_interrupted_goes_on_in_the_next_window() {
    let mut story = Story::with(fails(), Nasty::calm());
    let task = story.launch("Explore", "hang");
    story.pass(2_000);
    story.world.kill_window(0);
    story.until_status(task, Status::Error);
    assert_eq!(step_in(&mut story, task, "say two"), Some(Refusal::HostUnreachable));
    let window = story.world.boot();
    story.pass(2_000);
    let main = story.main.clone();
    story.world.use_session(window, &main);
    step_in_at_last(&mut story, task, "say two");
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Completed));
    is_told_of_the_resume(&mut story, task);
    story.end();
}

#[test]
fn p1_what_is_at_work_or_has_no_session_any_more_is_refused_and_stays_as_it_is() {
    let mut story = Story::new();
    let at_work = story.launch("Explore", "wait 5000; say one");
    let refused = step_in(&mut story, at_work, "say two");
    assert_eq!(refused, Some(Refusal::NotCompleted(Status::Running)));
    let task = completed(&mut story, "say one");
    let session = story.session_of(task);
    story.world.delete_session(0, &session);
    story.pass(100);
    assert_eq!(step_in(&mut story, task, "say two"), Some(Refusal::SessionExpired));
    let kept = record(&mut story, task);
    assert_eq!((kept.status(), kept.run.number), (Status::Completed, 0));
    let nobody = TaskId::from_number(1);
    let unknown = step_in(&mut story, nobody, "say two");
    assert_eq!(unknown, Some(Refusal::NotFound(nobody.to_string())));
    story.until_settled();
    story.end();
}

#[test]
fn p1_a_daemon_killed_at_any_moment_of_it_makes_one_run() {
    for ms in 0..40 {
        let mut story = Story::with(Settings::default(), Nasty::scripted());
        let task = completed(&mut story, "say one");
        let key = "person-1".parse().unwrap();
        let ask = Ask::ResumeAny { task: task.to_string(), prompt: "say two".to_owned(), key };
        let call = story.world.person(ask.clone());
        story.pass(ms);
        story.world.kill_daemon();
        story.world.start_daemon();
        story.answer(call);
        // The window is back later than the person.
        if let Some((_, Err(why))) = &story.world.calls[call].answer {
            assert_eq!(*why, Refusal::HostUnreachable, "killed after {ms} ms");
            story.pass(2_000);
        }
        // The same call again, whether or not it was refused.
        story.person(ask);
        assert!(!story.world.calls.last().unwrap().refused(), "killed after {ms} ms");
        story.until_settled();
        assert_eq!(record(&mut story, task).run.number, 1, "killed after {ms} ms");
        assert_eq!((prompts(&mut story, task).len(), story.told().len()), (2, 2));
        story.end();
    }
}
