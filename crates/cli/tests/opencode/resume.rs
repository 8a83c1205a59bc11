//! `background_task` in resume mode: R1 to R9.

use legwork_testkit::{Call, block_on, call, script};
use serde_json::{Value, json};

use crate::launch::{TOLD_LATER, narrow, with_model};
use crate::stage::{Stage, Task, launch};

fn resume(task: &str, steps: &[&str]) -> Value {
    json!({ "resume": task, "prompt": script(steps) })
}

/// A resume in a turn of its own.
async fn resumed(stage: &Stage, parent: &str, task: &Task, steps: &[&str]) -> Call {
    stage.call(parent, "background_task", resume(&task.id, steps)).await
}

async fn refused(stage: &Stage, parent: &str, arguments: Value, text: &str) {
    let answer = stage.call(parent, "background_task", arguments).await;
    assert!(answer.refused(), "{answer:?}");
    assert_eq!(answer.text, text);
}

/// The first task of its parent, which has been told of its end.
async fn completed(stage: &Stage, parent: &str, description: &str, steps: &[&str]) -> Task {
    let task = stage.launch(parent, description, steps).await;
    stage.until_notices(parent, 1).await;
    stage.until_settled(&task).await;
    task
}

/// Also R2.
#[test]
fn r1_r2_a_resume_needs_a_prompt_and_a_task() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let unknown =
            |id| format!("Task not found: {id}. Use background_list to see available tasks.");
        let prompt = || "Prompt is required when resuming a task".to_owned();
        let cases = [
            (json!({ "resume": "bg_00000000", "prompt": " \n" }), prompt()),
            (json!({ "resume": "bg_00000000" }), prompt()),
            (resume("bg_00000000", &["say no"]), unknown("bg_00000000")),
            (resume("bg_", &["say no"]), unknown("bg_")),
            (resume("the one before", &["say no"]), unknown("the one before")),
        ];
        let given = cases.clone().map(|(arguments, _)| ("background_task", arguments));
        for ((_, text), answer) in cases.iter().zip(stage.call_all(&parent, &given).await) {
            assert!(answer.refused(), "{answer:?}");
            assert_eq!(answer.text, *text);
        }
        assert_eq!(stage.client.children(&parent).await, Vec::<Value>::new());
    });
}

#[test]
fn r3_of_two_resumes_in_one_step_one_wins_and_while_it_works_nobody_else_can() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = completed(stage, &parent, "Explore", &["say first"]).await;
        let again = ("background_task", resume(&task.id, &["gate r3\nsay again"]));
        let calls = stage.call_all(&parent, &[again.clone(), again]).await;
        let (lost, won): (Vec<&Call>, Vec<&Call>) = calls.iter().partition(|call| call.refused());
        assert_eq!((won.len(), lost.len()), (1, 1), "{calls:?}");
        let busy = "Task is currently being resumed. Wait for completion.";
        assert_eq!(lost[0].text, busy);
        refused(stage, &parent, resume(&task.id, &["say no"]), busy).await;
        assert_eq!(stage.view(&task.id)["status"], "resumed");

        stage.model.open("r3");
        let notices = stage.until_notices(&parent, 2).await;
        assert!(notices[1].headline.starts_with("[BACKGROUND RESUME COMPLETED]"), "{notices:?}");
        stage.until_settled(&task).await;
        assert_eq!(stage.view(&task.id)["resumes"], 1);
        let texts = stage.client.texts(&task.session).await;
        assert_eq!(texts.iter().filter(|(role, _)| role == "user").count(), 2, "{texts:?}");
        assert_eq!(stage.notices(&parent).await.len(), 2);
    });
}

#[test]
fn r4_a_running_a_failed_and_a_cancelled_task_cannot_be_resumed() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let is =
            |status: &str| format!("Only completed tasks can be resumed. Current status: {status}");
        let task = stage.launch(&parent, "Cancelled", &["hang"]).await;
        refused(stage, &parent, resume(&task.id, &["say no"]), &is("running")).await;
        stage.call(&parent, "background_cancel", json!({ "task_id": task.id })).await;
        refused(stage, &parent, resume(&task.id, &["say no"]), &is("cancelled")).await;

        let task = stage.launch(&parent, "Failed", &["fail 400 no such luck"]).await;
        stage.until_status(&task, "error").await;
        refused(stage, &parent, resume(&task.id, &["say no"]), &is("error")).await;
        assert_eq!(stage.view(&task.id)["resumes"], 0);
    });
}

#[test]
fn r5_without_its_session_a_task_cannot_be_resumed_and_stays_completed() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = completed(stage, &parent, "Explore", &["say kept"]).await;
        stage.client.delete(&task.session).await.ok();
        let text = "Session expired or was deleted. Start a new background_task to continue.";
        refused(stage, &parent, resume(&task.id, &["say no"]), text).await;
        let view = stage.view(&task.id);
        assert_eq!((&view["status"], &view["resumes"]), (&json!("completed"), &json!(0)));
        let output = stage.call(&parent, "background_output", json!({ "task_id": task.id })).await;
        assert!(output.text.ends_with("\n\nkept"), "{output:?}");
        assert_eq!(stage.notices(&parent).await.len(), 1);
    });
}

/// Also R7 (the note) and R8 (the notice has the new answer only).
#[test]
fn r6_r7_r8_a_resume_goes_on_in_the_same_session_with_its_whole_history_and_is_told_anew() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = completed(stage, &parent, "Explore", &["say the first answer"]).await;
        let id = &task.id;

        let answer = resumed(stage, &parent, &task, &["echo-history"]).await;
        assert_eq!(answer.text, format!("Task ID: {id}\n{TOLD_LATER}"));
        let notices = stage.until_notices(&parent, 2).await;
        let headline = format!("[BACKGROUND RESUME COMPLETED] {id} Explore (");
        assert!(notices[1].headline.starts_with(&headline), "{notices:?}");
        let history = "history: user=#script say the first answer / assistant=the first answer";
        assert_eq!(notices[1].hidden, format!("What came of {id}:\n\n{history}"));
        stage.until_settled(&task).await;

        let mut arguments = resume(id, &["say the third answer"]);
        arguments["agent"] = json!("explore");
        arguments["description"] = json!("Another name");
        let answer = stage.call(&parent, "background_task", arguments).await;
        let note = "Note: agent and description are ignored in resume mode.";
        assert_eq!(answer.text, format!("{note}\nTask ID: {id}\nResume count: 2\n{TOLD_LATER}"));
        let notices = stage.until_notices(&parent, 3).await;
        assert_eq!(notices[2].hidden, format!("What came of {id}:\n\nthe third answer"));
        stage.until_settled(&task).await;

        let view = stage.view(id);
        assert_eq!((&view["status"], &view["resumes"]), (&json!("completed"), &json!(2)));
        assert_eq!((&view["agent"], &view["description"]), (&json!("general"), &json!("Explore")));
        assert_eq!(view["session"], json!(task.session));
        assert_eq!(stage.client.children(&parent).await.len(), 1);
        let messages = stage.client.messages(&task.session).await.ok();
        let agents = messages.as_array().unwrap().iter().map(|message| &message["info"]["agent"]);
        assert_eq!(agents.collect::<Vec<_>>(), vec!["general"; 6]);
        assert_eq!(stage.notices(&parent).await.len(), 3);
    });
}

#[test]
fn r6_the_model_of_a_helper_is_its_agents_else_its_parents_and_stays_when_it_is_resumed() {
    let stage = narrow();
    block_on(async {
        let models = |session: &str| -> Vec<String> {
            let requests = stage.model.requests().into_iter();
            let of_session = requests.filter(|request| request.session.as_deref() == Some(session));
            of_session.map(|request| request.model).collect()
        };
        let parent = stage.parent().await;
        let line = call("background_task", &launch("As its parent", &["say one"]));
        stage.turn_with(&parent, with_model(&[&line, "say ok"], "other")).await;
        let task = stage.task(&stage.calls(&parent).await[0].text).await;
        stage.until_settled(&task).await;
        assert_eq!(models(&task.session), ["other"]);

        let again = call("background_task", &resume(&task.id, &["say two"]));
        stage.turn_with(&parent, with_model(&[&again, "say ok"], "fake")).await;
        stage.until_notices(&parent, 2).await;
        assert_eq!(models(&task.session), ["other", "other"]);

        let mut arguments = launch("As its agent", &["say three"]);
        arguments["agent"] = json!("expert");
        let line = call("background_task", &arguments);
        stage.turn_with(&parent, with_model(&[&line, "say ok"], "fake")).await;
        let task = stage.task(&stage.calls(&parent).await[2].text).await;
        stage.until_settled(&task).await;
        resumed(&stage, &parent, &task, &["say four"]).await;
        stage.until_notices(&parent, 4).await;
        stage.until_settled(&task).await;
        assert_eq!(models(&task.session), ["other", "other"]);
    });
}

#[test]
fn r9_a_resume_that_fails_is_an_error_and_is_told_as_one() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = completed(stage, &parent, "Explore", &["say fine"]).await;
        let answer = resumed(stage, &parent, &task, &["fail 400 no such luck"]).await;
        assert!(!answer.refused(), "{answer:?}");
        let notices = stage.until_notices(&parent, 2).await;
        let id = &task.id;
        let headline = format!("[BACKGROUND RESUME FAILED] {id} Explore (");
        assert!(notices[1].headline.starts_with(&headline), "{notices:?}");
        let reason = "APIError: no such luck (status 400)";
        assert_eq!(notices[1].hidden, format!("What came of {id}:\n\n{reason}"));
        stage.until_settled(&task).await;
        assert_eq!(stage.view(id)["status"], "error");
        let output = stage.call(&parent, "background_output", json!({ "task_id": id })).await;
        assert!(output.text.contains("Status: error\n"), "{output:?}");
        assert!(output.text.ends_with(&format!("\n\n{reason}")), "{output:?}");
    });
}

#[test]
fn p1_a_person_has_a_helper_go_on_that_failed_or_was_called_off_and_the_parent_is_told() {
    let stage = Stage::shared();
    block_on(async {
        for ends in ["fail 400", "hang"] {
            let parent = stage.parent().await;
            let task = stage.launch(&parent, "Cut short", &[ends]).await;
            if ends == "hang" {
                stage.json(0, &["cancel", &task.id]);
            }
            stage.until_notices(&parent, 1).await;
            stage.until_settled(&task).await;
            let again = script(&["say whole"]);
            let mut person = stage.begin("resume", &["resume", &task.id, &again]);
            let ran = person.wait().await;
            assert!(ran.status.success() && ran.stdout.contains("whole"), "{ends}: {ran:?}");
            let notices = stage.until_notices(&parent, 2).await;
            let headline = format!("[BACKGROUND RESUME COMPLETED] {} Cut short", task.id);
            assert!(notices[1].headline.starts_with(&headline), "{notices:?}");
            assert!(notices[1].hidden.ends_with("whole"), "{notices:?}");
        }
    });
}
