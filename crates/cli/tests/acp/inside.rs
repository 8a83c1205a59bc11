//! A helper has the program that people use on its PATH, and must not use it as they do.

use legwork_testkit::legwork::{eventually, script_agent};
use serde_json::json;

use crate::stage::Stage;

/// Runs a command with our home, and says what came of it.
fn try_all(prefix: &str, home: &str, task: &str, victim: &str) -> String {
    let all = [
        format!("answer {task} once"),
        format!("cancel {victim}"),
        format!("clear --yes {victim}"),
        "run --agent rehearsal --detach \"say x\"".to_owned(),
        format!("run --resume {victim} \"say x\""),
        "daemon stop --yes".to_owned(),
    ];
    let tries = all.map(|command| {
        let run =
            format!("{prefix} LEGWORK_HOME={home} HOME=/ PATH=/usr/bin:/bin $LEGWORK {command}");
        format!("{run} >>said 2>&1 </dev/null\n")
    });
    tries.concat()
}

/// The settings cannot name tasks that are not there yet, so the script is read when it is needed.
fn tries_what(prefix: &str) {
    let mut stage = Stage::with(&script_agent("sly", ". ./script\nsay done"));
    let asking = stage.launch("ask remove everything\nsay done");
    let victim = stage.launch("wait 600s");
    stage.until(&asking, "it asks", |task| !task.questions.is_empty());
    eventually("the person is told", || (!stage.mail().is_empty()).then_some(()));
    let work = stage.home.path("work");
    let home = stage.home.path("legwork").display().to_string();
    let orphan = "orphan() { sh -c 'setsid env -i \"$@\" & exec true' sh \"$@\"; }\n";
    // Nobody waits for orphans: the helper is done when all of them have been turned away.
    let until =
        "until [ \"$(grep -c 'own shell' said)\" -ge 6 ] && [ -s listed ]; do sleep 0.1; done";
    let script = orphan.to_owned()
        + &try_all(prefix, &home, &asking, &victim)
        + &format!("{prefix} LEGWORK_HOME={home} HOME=/ $LEGWORK list >listed 2>&1 </dev/null\n")
        + until;
    std::fs::write(work.join("script"), script).unwrap();
    let sly = stage.launch_as("sly", "go");
    assert_eq!(stage.result(&sly).0, "completed");
    let said = std::fs::read_to_string(work.join("said")).unwrap();
    assert_eq!(said.matches("This is a helper's own shell.").count(), 6, "{said}");
    assert_eq!(stage.view(&asking).questions.len(), 1, "nobody has answered");
    assert_eq!(stage.view(&victim).status.to_string(), "running");
    assert_eq!(stage.views().len(), 3, "nothing was launched");
    let listed = std::fs::read_to_string(work.join("listed")).unwrap();
    assert!(listed.contains(&victim), "{listed}");
    assert!(!stage.mail().is_empty(), "what a helper has read is still shown to the person");
    // The person still can.
    stage.home.run(["answer", &asking, "once"]).with_code(0);
    eventually("it goes on", || {
        (stage.view(&asking).status.to_string() == "completed").then_some(())
    });
    stage.done("background_cancel", json!({ "task_id": victim }));
}

#[test]
fn d5_a_helper_cannot_answer_cancel_clear_launch_or_stop() {
    tries_what("env");
}

#[cfg(target_os = "linux")]
#[test]
fn d5_a_helper_that_hides_its_environment_cannot_either() {
    tries_what("env -i");
}

#[cfg(target_os = "linux")]
#[test]
fn d5_a_helper_that_leaves_its_parent_and_session_cannot_either() {
    // Nobody waits for it but the reader of its output, so that it has lost its parent.
    tries_what("orphan");
}
