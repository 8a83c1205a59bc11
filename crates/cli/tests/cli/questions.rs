//! Answering what a helper waits for.

use serde_json::json;

use crate::home::{Home, eventually};
use crate::host::Host;

#[test]
fn d5_a_person_sees_what_a_helper_asks_and_answers_it() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("asks");
    let none = home.run(["answer", &task]).with_code(0);
    assert!(none.out.contains("waits for no answer"), "{none:?}");
    home.run(["answer", &task, "once"]).with_code(1);

    host.ask(&session, "per_1");
    let asked = eventually("it is shown", || {
        let shown = home.run(["answer", &task, "--json"]).with_code(0).json();
        (!shown.as_array().unwrap().is_empty()).then_some(shown)
    });
    assert_eq!((&asked[0]["id"], &asked[0]["kind"]), (&json!("per_1"), &json!("permission")));
    assert_eq!(asked[0]["options"][1]["id"], "always");
    assert!(asked[0]["since"].as_u64().unwrap() > 1_600_000_000_000, "{asked}");
    let shown = home.run(["answer", &task]).with_code(0);
    assert!(!shown.out.contains("per_") && shown.out.contains("ls"), "{shown:?}");
    for way in ["once", "always", "reject"] {
        assert!(shown.out.contains(&format!("legwork answer {task} {way}")), "{shown:?}");
    }
    let words = home.run(["answer", &task, "--words", "x"]).with_code(1);
    assert!(words.err.contains("once, always or reject"), "{words:?}");
    assert!(home.run(["list"]).out.contains("asks for a permission: bash: ls"));
    assert!(home.run(["log", &task]).out.contains("It waits"));

    home.run(["answer", &task, "once", "--words", "x"]).with_code(2);
    home.run(["answer", &task, "once", "--question", "per_9"]).with_code(1);
    home.run(["answer", &task, "reject", "--words", "use cat"]).with_code(0);
    let replies = host.replies();
    assert_eq!(replies[0]["reply"], "reject");
    assert_eq!(replies[0]["message"], "use cat");
}

#[test]
fn of_several_questions_one_must_be_named() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("asks twice");
    host.ask(&session, "per_1");
    host.ask(&session, "per_2");
    eventually("both are shown", || {
        let shown = home.run(["answer", &task, "--json"]).json();
        (shown.as_array().unwrap().len() == 2).then_some(())
    });
    let shown = home.run(["answer", &task]).with_code(0);
    assert!(shown.out.contains("--question 2 always"), "{shown:?}");
    let which = home.run(["answer", &task, "always"]).with_code(1);
    assert!(which.err.contains("--question"), "{which:?}");
    home.run(["answer", &task, "always", "--question", "2"]).with_code(0);
    assert_eq!(host.replies()[0]["reply"], "always");
}

#[cfg(target_os = "linux")]
#[test]
fn d5_a_command_that_a_host_has_started_may_look_but_not_answer_or_cancel() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("asks");
    host.ask(&session, "per_1");
    eventually("it is shown", || {
        let shown = home.run(["answer", &task, "--json"]).json();
        (shown.as_array().unwrap().len() == 1).then_some(())
    });
    assert!(host.run(&home, "list").contains(&task));
    let all = [format!("answer {task} once"), format!("cancel {task}"), format!("clear -y {task}")];
    for command in all.iter().map(String::as_str).chain(["daemon stop --yes"]) {
        let said = host.run(&home, command);
        assert!(said.contains("use another terminal"), "{command}: {said}");
    }
    assert!(host.replies().is_empty());
    assert_eq!(home.run(["show", &task, "--json"]).json()["status"], "running");
    let said = host.run(&home, "run --agent rehearsal 'say launched all the same'");
    assert!(said.contains("launched all the same"), "{said}");
}
