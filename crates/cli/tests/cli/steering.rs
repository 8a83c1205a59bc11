//! Calling tasks off and forgetting them.

use legwork_testkit::legwork::{Home, Host};

#[test]
fn x2_a_finished_task_cannot_be_cancelled_and_the_others_are() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (done, session) = host.launch("done");
    let (open, _) = host.launch("open");
    host.finish(&session, "done");
    home.run(["wait", &done]).with_code(0);
    let ran = home.run(["cancel", &done, &open]).with_code(1);
    assert!(ran.out.contains("completed already") && ran.out.contains("Cancelled"), "{ran:?}");
    let again = home.run(["cancel", &open, "--json"]).with_code(1).json();
    let refusal = serde_json::json!({ "code": "cannot-cancel", "of": "cancelled" });
    assert_eq!((&again[0]["refused"], &again[0]["refusal"]), (&true.into(), &refusal));
}

#[test]
fn clearing_asks_first_and_forgets_what_it_showed() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (done, session) = host.launch("done");
    let (open, _) = host.launch("open");
    host.finish(&session, "done");
    home.run(["wait", &done]).with_code(0);

    let asked = home.run(["clear"]).with_code(2);
    assert!(asked.err.contains(&open) && asked.err.contains("--yes"), "{asked:?}");
    assert_eq!(home.run(["list", "--json"]).json()["total"], 2);

    let json = home.run(["clear", "--finished", "--yes", "--json"]).with_code(0).json();
    assert_eq!(json["forgotten"], serde_json::json!([done]));
    home.run(["clear", &open, "--yes"]).with_code(0);
    let none = home.run(["clear", "--yes"]).with_code(0);
    assert!(none.out.contains("There are no tasks to clear."), "{none:?}");
    assert_eq!(home.run(["list"]).out, "No tasks yet. `legwork run \"…\"` launches one.\n");
}
