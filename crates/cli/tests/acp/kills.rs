//! What happens when a process is killed in the middle: the right outcome, told once, and nothing
//! left running.

use std::fs;

use legwork_protocol::Stage as RunStage;
use legwork_protocol::view::TaskView;
use legwork_testkit::legwork::eventually;

use crate::bad::bad_agent;
use crate::stage::{Stage, first_of, kill, processes_in};

#[test]
fn n1_k2_a_killed_agent_is_an_error_that_is_told_once() {
    let mut stage = Stage::with(&bad_agent("rehearsal", None));
    let task = stage.launch("say on my way\nspawn 600\nwait 600s");
    let work = stage.home.path("work");
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    let agent = eventually("the agent and what it started", || {
        let both = processes_in(&work);
        (both.len() >= 2).then(|| first_of(&both)).flatten()
    });
    kill(agent);
    let view = stage.until(&task, "it is over", |task| !task.status.is_unfinished());
    assert_eq!(view.status.to_string(), "error");
    let (_, text) = stage.result(&task);
    assert!(text.contains("signal: 9"), "{text}");
    eventually("what it started is gone too", || processes_in(&work).is_empty().then_some(()));
    let mail = stage.all_mail();
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert!(mail[0].starts_with("[BACKGROUND TASK FAILED]"), "{mail:?}");
}

#[test]
fn n1_k2_a_killed_daemon_interrupts_what_ran_and_tells_it_once() {
    let mut stage = Stage::with(&format!(
        "[recovery]\ninterrupted = \"fail\"\n{}",
        bad_agent("rehearsal", None)
    ));
    let done = stage.launch("say early");
    stage.finish(&done);
    let task = stage.launch("spawn 600\nwait 600s");
    let work = stage.home.path("work");
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    eventually("its processes run", || (processes_in(&work).len() >= 2).then_some(()));
    stage.kill_daemon();
    let (status, text) = stage.result(&task);
    assert_eq!(status, "error");
    assert!(text.contains("nterrupted"), "{text}");
    eventually("nothing is left running", || processes_in(&work).is_empty().then_some(()));
    let mail = stage.all_mail();
    let about = |task: &str| mail.iter().filter(|text| text.contains(task)).count();
    assert_eq!((about(&task), about(&done)), (1, 1), "{mail:?}");
    assert_eq!(stage.result(&done), ("completed".to_owned(), "early".to_owned()));
    // What was told stays told.
    stage.kill_daemon();
    assert_eq!(stage.all_mail().len(), mail.len());
}

#[test]
fn k2_what_was_cut_off_goes_on() {
    let mut stage = Stage::new();
    let task = stage.launch("ask to go on\ncount");
    stage.until(&task, "it asks", |task| !task.questions.is_empty());
    stage.kill_daemon();
    // It was asked a second time, in the same conversation, and asks again itself.
    eventually("it is answered", || {
        (stage.home.run(["answer", &task, "once"]).code == 0).then_some(())
    });
    let (status, text) = stage.result(&task);
    assert!(status == "completed" && text.ends_with('2'), "{status}: {text}");
}

fn micros(task: &TaskView) -> Option<u64> {
    task.usage.cost.map(|cost| cost.micros)
}

/// An agent tells what its conversation has cost, which it has not forgotten.
#[test]
fn p4_what_was_used_up_before_a_daemon_was_killed_is_counted_once() {
    let mut stage = Stage::new();
    let task = stage.launch("cost 1.10 USD\ntool a long look for 5s\nsay done");
    stage.until(&task, "its cost is known", |task| micros(task) == Some(1_100_000));
    stage.kill_daemon();
    stage.finish(&task);
    assert_eq!(micros(&stage.view(&task)), Some(1_100_000));
}

#[test]
fn r6_k2_a_resume_after_a_restart_takes_up_the_agents_session() {
    let mut stage = Stage::new();
    let task = stage.launch("say remember the milk");
    stage.finish(&task);
    stage.kill_daemon();
    stage.resume(&task, "recall");
    let (status, text) = stage.result(&task);
    assert!(status == "completed" && text.contains("remember the milk"), "{status} {text}");
}

#[test]
fn r5_an_agent_that_lost_the_conversation_says_that_it_expired() {
    let mut stage = Stage::new();
    let task = stage.launch("say x");
    stage.finish(&task);
    fs::remove_dir_all(stage.home.path("legwork/sessions/rehearsal")).unwrap();
    let arguments = serde_json::json!({ "resume": task, "prompt": "recall" });
    assert_eq!(
        stage.refused("background_task", arguments),
        "Session expired or was deleted. Start a new background_task to continue."
    );
}

#[test]
fn n1_kills_at_any_moment_lose_and_double_nothing() {
    let mut stage = Stage::new();
    let mut tasks = Vec::new();
    for round in 0..6 {
        for number in 0..3 {
            tasks.push(stage.launch(&format!("wait {}ms\nsay {round} {number}", number * 40)));
        }
        stage.kill_daemon();
    }
    for task in &tasks {
        stage.until(task, "it is over", |task| !task.status.is_unfinished());
    }
    let mail = stage.all_mail();
    for task in &tasks {
        let told = mail.iter().filter(|text| text.contains(task.as_str())).count();
        assert_eq!(told, 1, "{task} in {mail:#?}");
        let (status, text) = stage.result(task);
        assert!(status == "completed" || text.contains("nterrupted"), "{status}: {text}");
    }
    eventually("nothing is left running", || {
        processes_in(&stage.home.path("work")).is_empty().then_some(())
    });
}

#[test]
fn g1_the_sessions_are_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut stage = Stage::new();
    let task = stage.launch("say x");
    stage.finish(&task);
    stage.all_mail();
    let folder = stage.home.path("legwork/sessions");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}
