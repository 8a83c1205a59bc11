//! Helpers that wait for a person (D5): where it is shown, who is told, and how it is answered.

use legwork_testkit::block_on;
use serde_json::{Value, json};

use crate::stage::{Notice, Stage, Task, bash, printed, until};

const WAITING: &str = "[BACKGROUND TASK WAITING]";

/// Waits until the task asks so many things, and gives them.
async fn questions(stage: &Stage, task: &Task, count: usize) -> Vec<Value> {
    until(&format!("{count} questions of {}", task.id), async || {
        let view = stage.view(&task.id);
        let questions = view["questions"].as_array()?.clone();
        (questions.len() == count).then_some(questions)
    })
    .await
}

fn about_waiting(notices: &[Notice]) -> Vec<&Notice> {
    notices.iter().filter(|notice| notice.headline.starts_with(WAITING)).collect()
}

/// Who answered, and how, is in the log; in OpenCode's own dialog as well as with legwork.
#[test]
fn p6_question_and_answer_are_in_the_log_wherever_it_was_given() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let (first, second) = (bash("echo one"), bash("echo two"));
        let steps = [&*first, &*second, "say done"];
        let task = stage.launch_agent(&parent, "careful", "Ask", &steps).await;
        let asked = questions(stage, &task, 1).await;
        stage.client.permit(asked[0]["id"].as_str().unwrap(), "once", None).await.ok();
        until("the second question", async || {
            (stage.view(&task.id)["questions"][0]["subject"] == "bash: echo two").then_some(())
        })
        .await;
        let answered = stage.legwork(&["answer", &task.id, "reject", "--words", "not now"]);
        assert!(answered.status.success(), "{answered:?}");
        stage.until_settled(&task).await;
        let log = printed(&stage.legwork(&["log", &task.id]));
        for line in [
            "asks for a permission: bash: echo one",
            "answered in the host's own dialog: yes, this once (bash: echo one)",
            "asks for a permission: bash: echo two",
            "answered by a person through legwork: no, with the words: not now (bash: echo two)",
        ] {
            assert_eq!(log.lines().filter(|told| told.ends_with(line)).count(), 1, "{line}: {log}");
        }
    });
}

/// Also O2, S1 and N8: the whole way of a permission that a person gives on the command line.
#[test]
fn d5_a_permission_is_shown_told_once_without_a_turn_and_given_from_the_command_line() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        // What comes while the parent is busy is answered in its turn.
        let first = format!("gate d5-ask\n{}", bash("echo permitted"));
        let task = stage.launch_agent(&parent, "careful", "Ask", &[&first, "say all done"]).await;
        stage.model.open("d5-ask");
        let notices = stage.until_notices(&parent, 1).await;
        let first = notices[0].headline.lines().next().unwrap();
        let begin = format!("{WAITING} {} Ask: it asks «bash: echo permitted» ", task.id);
        assert!(first.starts_with(&begin), "{first}");
        assert_eq!(notices[0].hidden, "", "there is no result");
        let toast = stage.events.until("a toast about it", |event| {
            let message = event.properties["message"].as_str().unwrap_or_default();
            event.kind == "tui.toast.show" && message.contains(&task.id)
        });
        toast.await;
        questions(stage, &task, 1).await;
        let waits = "for a person to answer question 1: «bash: echo permitted»";
        let output = stage.call(&parent, "background_output", json!({ "task_id": task.id })).await;
        assert!(output.text.contains(&format!("\nWaiting: {waits}\n")), "{output:?}");
        let list = stage.call(&parent, "background_list", json!({})).await;
        assert!(list.text.contains(&format!("waits: {waits}")), "{list:?}");
        for (command, asks) in [
            (&["show", &task.id][..], "asks for a permission: bash: echo permitted"),
            (&["list"], "may it run echo permitted?"),
        ] {
            let shown = printed(&stage.legwork(command));
            assert!(shown.contains(asks), "{command:?}: {shown}");
        }
        // The command that the notice names is one.
        let command: Vec<&str> = first.split('`').nth(1).unwrap().split(' ').collect();
        let asked = stage.legwork(&command[1..]);
        assert!(asked.status.success(), "{command:?}: {asked:?}");
        assert!(printed(&asked).contains("echo permitted"), "{asked:?}");
        let answered = stage.legwork(&["answer", &task.id, "once"]);
        assert_eq!(printed(&answered).trim_end(), "Allowed once: echo permitted", "{answered:?}");
        stage.until_settled(&task).await;
        let notices = stage.notices(&parent).await;
        assert_eq!((notices.len(), about_waiting(&notices).len()), (2, 1), "{notices:?}");
        assert!(notices[1].hidden.ends_with("all done"), "{notices:?}");
        assert!(stage.calls(&task.session).await[0].text.contains("permitted"));
        stage.until_asked(&parent, "[BACKGROUND TASK COMPLETED]").await;
        // Launch, output and list are two each; the end has one of its own, the question none.
        assert_eq!(stage.asked(&parent).len(), 7, "{}", stage.model.told());
        assert!(!stage.legwork(&["answer", &task.id, "once"]).status.success());
    });
}

#[test]
fn d5_of_two_questions_each_is_answered_by_its_name() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let both = format!("{}\n{}", bash("echo left"), bash("echo right"));
        let task = stage.launch_agent(&parent, "careful", "Two", &[&both, "say done"]).await;
        let asked = questions(stage, &task, 2).await;
        let unclear = stage.legwork(&["answer", &task.id, "once"]);
        assert!(!unclear.status.success(), "{unclear:?}");
        let of = |word: &str| {
            let found = asked.iter().find(|one| one["subject"] == format!("bash: echo {word}"));
            found.unwrap()["id"].as_str().unwrap()
        };
        for word in ["right", "left"] {
            let done = stage.legwork(&["answer", &task.id, "once", "--question", of(word)]);
            assert!(done.status.success(), "{done:?}");
        }
        stage.until_settled(&task).await;
        let calls = stage.calls(&task.session).await;
        assert!(calls[0].text.contains("left") && calls[1].text.contains("right"), "{calls:?}");
        let notices = stage.notices(&parent).await;
        let told: String = about_waiting(&notices).iter().map(|one| &*one.headline).collect();
        for word in ["left", "right"] {
            assert!(told.matches(&format!("bash: echo {word} ")).count() <= 1, "{notices:?}");
        }
        assert!(notices.last().unwrap().hidden.ends_with("done"), "{notices:?}");
    });
}

/// OpenCode ends a turn at a rejection, and tells the model of one that has words.
#[test]
fn d5_a_rejection_with_words_lets_the_helper_go_on() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let steps = [&bash("rm everything"), "say as you wish"];
        let task = stage.launch_agent(&parent, "careful", "No", &steps).await;
        questions(stage, &task, 1).await;
        let done = stage.legwork(&["answer", &task.id, "reject", "--words", "use ls"]);
        assert!(done.status.success(), "{done:?}");
        stage.until_settled(&task).await;
        assert_eq!(stage.view(&task.id)["status"], "completed");
        let calls = stage.calls(&task.session).await;
        assert!(calls[0].refused() && calls[0].text.contains("use ls"), "{calls:?}");
    });
}

#[test]
fn d5_a_bare_rejection_ends_the_run_as_an_error() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let steps = [&bash("rm everything"), "say never"];
        let task = stage.launch_agent(&parent, "careful", "No", &steps).await;
        questions(stage, &task, 1).await;
        let done = stage.legwork(&["answer", &task.id, "reject"]);
        assert!(done.status.success(), "{done:?}");
        stage.until_settled(&task).await;
        assert_eq!(stage.view(&task.id)["status"], "error");
        let notices = stage.notices(&parent).await;
        let last = notices.last().unwrap();
        assert!(last.headline.starts_with("[BACKGROUND TASK FAILED]"), "{notices:?}");
        assert!(last.hidden.contains("rejected"), "{notices:?}");
    });
}

#[test]
fn d5_what_is_answered_in_opencode_itself_is_not_waited_for_any_more() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let steps = [&bash("echo permitted"), "gate d5-itself\nsay done"];
        let task = stage.launch_agent(&parent, "careful", "Ask", &steps).await;
        let id = questions(stage, &task, 1).await[0]["id"].as_str().unwrap().to_owned();
        stage.client.permit(&id, "once", None).await.ok();
        questions(stage, &task, 0).await;
        let view = stage.view(&task.id);
        assert_eq!((&view["status"], &view["waiting"]), (&json!("running"), &json!([])));
        stage.model.open("d5-itself");
        stage.until_settled(&task).await;
        let notices = stage.notices(&parent).await;
        assert!(about_waiting(&notices).len() <= 1, "{notices:?}");
        assert!(notices.last().unwrap().hidden.ends_with("done"), "{notices:?}");
    });
}

/// The helper's shell is below the OpenCode that is connected as a host.
#[cfg(target_os = "linux")]
#[test]
fn d5_a_helper_cannot_give_a_permission_with_our_own_program() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let steps = [&bash("echo permitted"), "say all done"];
        let asking = stage.launch_agent(&parent, "careful", "Ask", &steps).await;
        questions(stage, &asking, 1).await;
        let legwork = env!("CARGO_BIN_EXE_legwork");
        let tries = format!("{legwork} answer {0} once; {legwork} cancel {0}; true", asking.id);
        let sly = stage.launch(&parent, "Sly", &[&bash(&tries), "say tried"]).await;
        stage.until_status(&sly, "completed").await;
        let said = &stage.calls(&sly.session).await[0].text;
        assert_eq!(said.matches("use another terminal").count(), 2, "{said}");
        assert_eq!(questions(stage, &asking, 1).await.len(), 1);
        assert!(stage.legwork(&["answer", &asking.id, "once"]).status.success());
        stage.until_status(&asking, "completed").await;
    });
}

/// The parent is in the middle of a turn. The person sees the question at once; the model gets it
/// when the turn is over, and is not asked about it.
#[test]
fn p6_a_question_costs_a_parent_that_is_at_work_no_request() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let first = format!("gate p6-ask\n{}", bash("echo hi"));
        let task = stage.launch_agent(&parent, "careful", "Ask", &[&first, "say all done"]).await;
        let before = stage.asked(&parent).len();
        stage.say(&parent, &["gate p6-busy\nsay at last"]).await;
        until("its turn", async || (stage.asked(&parent).len() > before).then_some(())).await;
        stage.model.open("p6-ask");
        questions(stage, &task, 1).await;
        let toast = stage.events.until("a toast about it", |event| {
            let message = event.properties["message"].as_str().unwrap_or_default();
            event.kind == "tui.toast.show" && message.contains(&task.id)
        });
        toast.await;
        assert_eq!(stage.notices(&parent).await.len(), 0, "the model is at work");
        stage.model.open("p6-busy");
        let notices = stage.until_notices(&parent, 1).await;
        assert_eq!(about_waiting(&notices).len(), 1, "{notices:?}");
        let answered = stage.legwork(&["answer", &task.id, "once"]);
        assert!(answered.status.success(), "{answered:?}");
        stage.until_settled(&task).await;
        stage.until_asked(&parent, "[BACKGROUND TASK COMPLETED]").await;
        let asked = stage.asked(&parent).len() - before;
        assert_eq!(asked, 2, "its own turn and that of the end: {}", stage.model.told());
    });
}
