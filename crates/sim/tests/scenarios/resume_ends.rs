//! What a resume ignores and how it ends: R7 to R9.

use legwork_protocol::{Settings, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::host::{Finish, Nasty};
use serde_json::{Value, json};

use crate::restarts::fails;
use crate::resume::{completed, output, prompts, record, refused, until_asked};

const NOTE: &str = "Note: agent and description are ignored in resume mode.";

fn failed(story: &mut Story, task: TaskId) -> String {
    let delivery = story.told().pop().unwrap();
    let headline = format!("[BACKGROUND RESUME FAILED] {task} Explore ");
    assert!(delivery.headline.starts_with(&headline), "{}", delivery.headline);
    let [result] = delivery.results.as_slice() else { panic!("{:?}", delivery.results) };
    result.strip_prefix(&format!("What came of {task}:\n\n")).unwrap().to_owned()
}

#[test]
fn r7_agent_and_description_are_ignored_with_a_note() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    for extra in [
        json!({ "agent": "plan" }),
        json!({ "description": "Something else" }),
        json!({ "agent": "nobody", "description": "Something else" }),
    ] {
        let mut arguments = json!({ "resume": task.to_string(), "prompt": "say more" });
        for (key, value) in extra.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        let answer = story.ask("background_task", arguments);
        assert!(!refused(&story));
        let lines: Vec<&str> = answer.lines().collect();
        assert_eq!(lines[..2], [NOTE, &format!("Task ID: {task}")]);
        story.until_settled();
    }
    let kept = record(&mut story, task);
    assert_eq!((&*kept.agent, &*kept.description, kept.run.number), ("general", "Explore", 3));
    let asked = prompts(&mut story, task);
    assert!(asked.len() == 4 && asked.iter().all(|(agent, _)| agent == "general"), "{asked:?}");
    story.end();
}

#[test]
fn r7_blank_ones_need_no_note() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    for blank in [Value::Null, json!(""), json!("  \n")] {
        let id = task.to_string();
        let arguments =
            json!({ "resume": id, "prompt": "say more", "agent": blank, "description": blank });
        let answer = story.ask("background_task", arguments);
        assert!(answer.starts_with(&format!("Task ID: {task}\n")), "{answer}");
        story.until_settled();
    }
    story.end();
}

#[test]
fn r8_the_notice_of_a_resume_carries_the_new_answer_in_full_and_only_it() {
    let mut story = Story::new();
    let task = completed(&mut story, "say the first answer");
    let long = "second ".repeat(2_000).trim().to_owned();
    story.resume(task, &format!("text early words; tool bash; wait 2000; say {long}"));
    story.pass(1_000);
    assert_eq!(story.status(task), Some(Status::Resumed));
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Completed));
    let deliveries = story.told();
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[0].results, [format!("What came of {task}:\n\nthe first answer")]);
    let headline = format!("[BACKGROUND RESUME COMPLETED] {task} Explore ");
    assert!(deliveries[1].headline.starts_with(&headline), "{}", deliveries[1].headline);
    assert_eq!(deliveries[1].results, [format!("What came of {task}:\n\n{long}")]);
    let main = story.main.clone();
    assert_eq!(story.turns(&main), 3, "one for the person and one for each notice");
    let answer = output(&mut story, task);
    assert!(answer.ends_with(&long) && !answer.contains("the first answer"));
}

#[test]
fn r8_the_old_answer_and_late_events_of_the_run_before_end_nothing() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    story.world.faults.hint_doubled = 1_000;
    let task = story.launch("Explore", "tool bash; say first");
    story.until_status(task, Status::Completed);
    // At once, while the events of the first run are still on their way.
    story.resume(task, "text hm; tool bash 3000; wait 5000; say second");
    assert_eq!(story.status(task), Some(Status::Resumed));
    let session = story.session_of(task);
    story.until("the end of the resume", |story| {
        let done = story.status(task) == Some(Status::Completed);
        let mut replies = story.world.oc.once(&session).unwrap().replies();
        let said = replies.any(|it| &*it.text == "second" && it.finish == Some(Finish::Stop));
        assert!(said || !done, "completed before it was answered");
        done
    });
    story.until_settled();
    let results: Vec<String> = story.told().into_iter().flat_map(|it| it.results).collect();
    let expected = ["first", "second"].map(|said| format!("What came of {task}:\n\n{said}"));
    assert_eq!(results, expected);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r8_a_notice_of_the_launch_that_is_still_owed_keeps_its_own_answer() {
    let mut story = Story::new();
    let task = story.launch("Explore", "wait 3000; say first");
    let (main, process) = (story.main.clone(), story.world.windows[0].process);
    story.world.oc.set_revert(process, &main).unwrap();
    story.until_status(task, Status::Completed);
    story.pass(5_000);
    story.resume(task, "say second");
    story.until_status(task, Status::Completed);
    story.pass(5_000);
    assert!(story.told().is_empty());
    story.world.oc.clear_revert(process, &main).unwrap();
    story.until_settled();
    let results: Vec<String> = story.told().into_iter().flat_map(|it| it.results).collect();
    let expected = ["first", "second"].map(|said| format!("What came of {task}:\n\n{said}"));
    assert_eq!(results, expected);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r9_a_resume_that_fails_ends_as_error_with_its_details_and_a_notice() {
    let mut story = Story::with(Settings::default(), Nasty::scripted());
    let task = completed(&mut story, "say one");
    let answer = story.resume(task, "wait 2000; fail 400");
    assert!(answer.starts_with(&format!("Task ID: {task}\n")));
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Error));
    assert_eq!(story.told().len(), 2);
    assert_eq!(failed(&mut story, task), "APIError: fake failure 400");
    assert!(output(&mut story, task).contains("APIError: fake failure 400"));
    let text = "Only completed tasks can be resumed. Current status: error";
    assert_eq!(story.resume(task, "say two"), text);
    story.end();
}

#[test]
fn r9_a_session_deleted_after_the_resume_was_accepted_is_told_as_a_failure() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let session = story.session_of(task);
    story.resume(task, "say two");
    assert_eq!(story.status(task), Some(Status::Resumed));
    story.world.delete_session(0, &session);
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Error));
    let why = "The session was deleted before the helper got its prompt.";
    assert_eq!(failed(&mut story, task), why);
    story.end();
}

#[test]
fn r9_a_prompt_that_cannot_be_handed_over_is_told_as_a_failure() {
    let mut story = Story::new();
    let task = completed(&mut story, "say one");
    let main = story.main.clone();
    let arguments = json!({ "resume": task.to_string(), "prompt": "say two" });
    let call = story.start(&main, "background_task", arguments);
    until_asked(&mut story);
    story.world.faults.lost_before = 1_000;
    story.answer(call);
    story.until_status(task, Status::Error);
    story.world.faults.lost_before = 0;
    story.until_settled();
    let why = failed(&mut story, task);
    assert!(why.starts_with("The host could not be reached in "), "{why}");
    assert_eq!(prompts(&mut story, task).len(), 1);
    insta::assert_snapshot!(story.end());
}

#[test]
fn r9_a_resume_cut_off_with_its_host_is_told_as_a_failure() {
    let mut story = Story::with(fails(), Nasty::scripted());
    let task = completed(&mut story, "say one");
    story.resume(task, "wait 60000; say two");
    story.pass(5_000);
    story.world.kill_window(0);
    story.pass(1_000);
    story.world.boot();
    story.until_settled();
    assert_eq!(story.status(task), Some(Status::Error));
    let why = failed(&mut story, task);
    assert!(why.starts_with("interrupted"), "{why}");
    assert_eq!(story.told().len(), 2);
    assert!(story.told()[1].quiet, "nobody is there to pay for a turn");
    insta::assert_snapshot!(story.end());
}
