//! The requirements of the six tools that a host can show, with agents over ACP.

use legwork_protocol::{Stage as RunStage, Usage};
use legwork_testkit::legwork::{eventually, script_agent};
use serde_json::json;

use crate::stage::{Stage, task_in};

#[test]
fn l3_n1_n2_a_launch_is_answered_at_once_and_its_end_is_told_once() {
    let mut stage = Stage::with(&script_agent(
        "gated",
        "until [ -e open ]; do sleep 0.05; done\nsay 'all is well'",
    ));
    let arguments = json!({ "prompt": "go", "description": "Look", "agent": "gated" });
    let answer = stage.done("background_task", arguments);
    let task = task_in(&answer);
    assert_eq!(stage.view(&task).status.to_string(), "running");
    std::fs::write(stage.home.path("work/open"), "").unwrap();
    // Nobody blocks, so the end is told.
    stage.until(&task, "it is finished", |task| !task.status.is_unfinished());
    let mail = stage.all_mail();
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert!(mail[0].starts_with("[BACKGROUND TASK COMPLETED]"), "{mail:?}");
    assert!(mail[0].contains(&task), "{mail:?}");
    assert_eq!(stage.result(&task), ("completed".to_owned(), "all is well".to_owned()));
}

#[test]
fn l4_an_unknown_agent_is_refused_with_those_that_there_are() {
    let mut stage = Stage::with("[agents.mine]\ncommand = [\"true\"]\n");
    let arguments = json!({ "prompt": "say x", "description": "x", "agent": "nobody" });
    let text = stage.refused("background_task", arguments);
    assert!(text.contains("mine") && !text.contains("rehearsal"), "{text}");
    assert_eq!(stage.done("background_list", json!({})), "No background tasks found.");
}

#[test]
fn r6_r8_a_resume_has_the_whole_history_and_tells_only_the_new_answer() {
    let mut stage = Stage::new();
    let task = stage.launch("say the answer is 42");
    stage.finish(&task);
    let answer = stage.resume(&task, "recall");
    assert!(!answer.contains("Resume count"), "{answer}");
    let (status, text) = stage.result(&task);
    assert_eq!(status, "completed");
    assert!(text.contains("the answer is 42"), "{text}");
    let answer = stage.resume(&task, "say only this\ncount");
    assert!(answer.contains("Resume count: 2"), "{answer}");
    let (_, text) = stage.result(&task);
    assert!(text.contains("only this") && text.contains('3'), "{text}");
    assert!(!text.contains("42"), "{text}");
}

#[test]
fn r5_an_agent_that_forgets_says_that_the_session_expired() {
    let mut stage = Stage::with(&no_load());
    let task = stage.launch_as("forgetful", "say once");
    stage.finish(&task);
    // While its process waits, it can go on.
    stage.resume(&task, "count");
    assert_eq!(stage.result(&task), ("completed".to_owned(), "2".to_owned()));
    stage.kill_daemon();
    let arguments = json!({ "resume": task, "prompt": "count" });
    assert_eq!(
        stage.refused("background_task", arguments),
        "Session expired or was deleted. Start a new background_task to continue."
    );
    let view = stage.view(&task);
    assert_eq!((view.status.to_string().as_str(), view.resumes), ("completed", 1));
}

fn no_load() -> String {
    let legwork = env!("CARGO_BIN_EXE_legwork");
    format!("[agents.forgetful]\ncommand = [{legwork:?}, \"rehearsal\"]\n")
}

#[test]
fn r9_d3_a_failed_turn_is_an_error_with_its_cause() {
    let mut stage = Stage::new();
    let task = stage.launch("say first\nfail the provider is out");
    let (status, text) = stage.result(&task);
    assert_eq!(status, "error");
    assert!(text.contains("rehearsal") && text.contains("the provider is out"), "{text}");
    assert!(text.contains("first"), "{text}");
}

#[test]
fn o2_what_a_helper_does_is_shown() {
    let mut stage = Stage::new();
    let task = stage.launch("tool read the map\ntool find the road for 30s\nsay there");
    stage.until(&task, "two tools", |task| task.last_tools.len() == 2);
    let text = stage.done("background_output", json!({ "task_id": task }));
    assert!(text.contains("find the road"), "{text}");
    assert_eq!(stage.view(&task).tool_calls, 2);
    stage.done("background_cancel", json!({ "task_id": task }));
}

#[test]
fn x1_a_cancelled_helper_is_stopped_with_its_process_and_no_notice_comes() {
    let mut stage = Stage::with(&crate::bad::bad_agent("rehearsal", None));
    let task = stage.launch("spawn 600\nwait 600s\nsay late");
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    let work = stage.home.path("work");
    eventually("its processes run", || {
        (crate::stage::processes_in(&work).len() >= 2).then_some(())
    });
    stage.done("background_cancel", json!({ "task_id": task }));
    assert_eq!(stage.view(&task).status.to_string(), "cancelled");
    eventually("its processes are gone", || {
        crate::stage::processes_in(&work).is_empty().then_some(())
    });
    assert_eq!(stage.all_mail(), Vec::<String>::new());
}

#[test]
fn x1_one_that_ignores_being_cancelled_is_killed() {
    let mut stage = Stage::new();
    let task = stage.launch("hang");
    let work = stage.home.path("work");
    eventually("its process runs", || {
        (!crate::stage::processes_in(&work).is_empty()).then_some(())
    });
    stage.until(&task, "it is at work", |task| task.stage == RunStage::Working);
    stage.done("background_cancel", json!({ "task_id": task }));
    eventually("its process is gone", || {
        crate::stage::processes_in(&work).is_empty().then_some(())
    });
}

#[test]
fn d5_a_permission_is_shown_told_once_and_answered_by_a_person() {
    let mut stage = Stage::new();
    for (answer, said) in [("once", "Allowed"), ("reject", "Not allowed")] {
        let task = stage.launch("ask remove the file\nsay done");
        let view = stage.until(&task, "it asks", |task| !task.questions.is_empty());
        assert!(view.questions[0].subject.contains("remove the file"), "{view:?}");
        let told = |stage: &mut Stage| {
            let about = |text: &str| text.contains(&task) && text.contains("remove the file");
            stage.mail().iter().filter(|mail| about(&mail.text)).count()
        };
        eventually("the question is told", || (told(&mut stage) == 1).then_some(()));
        stage.home.run(["answer", &task, answer]).with_code(0);
        let (status, text) = stage.result(&task);
        assert_eq!(status, "completed");
        assert!(text.contains(&format!("{said}: remove the file")), "{text}");
        assert_eq!(told(&mut stage), 0, "the command has shown it");
    }
}

#[test]
fn d5_a_policy_answers_for_the_person() {
    let legwork = env!("CARGO_BIN_EXE_legwork");
    let agent = |name: &str, policy: &str| {
        format!(
            "[agents.{name}]\ncommand = [{legwork:?}, \"rehearsal\"]\npermissions = \"{policy}\"\n"
        )
    };
    let mut stage = Stage::with(&(agent("bold", "allow") + &agent("shy", "reject")));
    for (name, said) in [("bold", "Allowed: jump"), ("shy", "Not allowed: jump")] {
        let task = stage.launch_as(name, "ask jump");
        assert_eq!(stage.result(&task), ("completed".to_owned(), said.to_owned()));
    }
}

#[test]
fn o5_a_result_that_was_read_needs_no_notice() {
    let mut stage = Stage::new();
    let task = stage.launch("say x");
    // Blocked, so the notice is held; read, so it is withdrawn.
    stage.finish(&task);
    let text = stage.done("background_output", json!({ "task_id": task }));
    assert!(text.contains('x'), "{text}");
    assert_eq!(stage.all_mail(), Vec::<String>::new());
}

#[test]
fn c1_clearing_ends_and_forgets_everything_of_this_terminal_only() {
    let mut stage = Stage::new();
    let (mut other, context) = stage.other("term_two");
    let arguments = json!({ "prompt": "wait 600s", "description": "o", "agent": "rehearsal" });
    let theirs = other.call(Some(&context), "background_task", arguments, &mut |_| {}).unwrap();
    let theirs = task_in(&theirs.text);
    let mine = stage.launch("wait 600s");
    let text = stage.done("background_clear", json!({}));
    assert!(text.contains('1'), "{text}");
    assert!(stage.refused("background_output", json!({ "task_id": mine })).contains("not found"));
    assert_eq!(stage.view(&theirs).status.to_string(), "running");
}

#[test]
fn a_helper_works_in_the_folder_of_its_terminal() {
    let mut stage = Stage::new();
    let task = stage.launch("cwd");
    let folder = stage.home.path("work").display().to_string();
    assert_eq!(stage.result(&task), ("completed".to_owned(), folder));
}

#[test]
fn p4_an_agent_that_tells_its_cost_has_each_run_its_own_also_after_a_kill_of_the_daemon() {
    let mut stage = Stage::new();
    let task = stage.launch("cost 0.25 EUR; tokens 300; say one");
    stage.finish(&task);
    let view = stage.view(&task);
    assert_eq!(
        (view.usage.tokens, view.usage.cost.unwrap().to_string()),
        (Some(300), "0.2500 EUR".into())
    );
    stage.kill_daemon();
    // The agent counts for the whole conversation.
    stage.resume(&task, "cost 0.3 EUR; cost 0.4 EUR; say two");
    stage.result(&task);
    let view = stage.view(&task);
    let costs: Vec<_> = view.runs.iter().map(|run| run.usage.cost.unwrap().to_string()).collect();
    assert_eq!(costs, ["0.2500 EUR", "0.1500 EUR"]);
    let tokens: Vec<_> = view.runs.iter().map(|run| run.usage.tokens).collect();
    assert_eq!(tokens, [Some(300), None], "what it does not tell is unknown");
}

#[test]
fn p4_an_agent_that_tells_nothing_has_unknown_figures() {
    let mut stage = Stage::new();
    let task = stage.launch("tool grep; say one");
    stage.finish(&task);
    let view = stage.view(&task);
    assert_eq!((view.usage, view.tool_calls), (Usage::default(), 1));
}
