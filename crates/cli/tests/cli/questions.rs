//! Answering what a helper waits for.

use legwork_testkit::legwork::{Home, Host, Ran, eventually, ran};
use serde_json::json;

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
    assert!(home.run(["list"]).out.contains("may it run ls?"));
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
    assert!(shown.out.contains("always --question 2"), "{shown:?}");
    let which = home.run(["answer", &task, "always"]).with_code(1);
    assert!(which.err.contains("--question"), "{which:?}");
    home.run(["answer", &task, "always", "--question", "2"]).with_code(0);
    assert_eq!(host.replies()[0]["reply"], "always");
}

/// The commands that `legwork answer` prints for a task's questions: once for each.
fn printed_once(home: &Home, task: &str) -> Vec<String> {
    let shown = home.run(["answer", task]).with_code(0).out;
    let ways = shown.lines().filter_map(|line| line.trim().strip_prefix("legwork "));
    let once = ways.filter(|way| way.contains(" once"));
    once.map(|way| way.split("  ").next().unwrap().to_owned()).collect()
}

fn run_printed(home: &Home, line: &str) -> Ran {
    let mut command = home.command([""; 0]);
    command.args(line.split(' '));
    ran(command)
}

fn until_asks(home: &Home, task: &str, count: usize) {
    eventually("so many questions are shown", || {
        let shown = home.run(["answer", task, "--json"]).json();
        (shown.as_array().unwrap().len() == count).then_some(())
    });
}

#[test]
fn p11_the_printed_commands_answer_their_own_questions_in_any_order() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("asks three things");
    for (id, command) in [("per_1", "ls"), ("per_2", "cat notes"), ("per_3", "rm -rf /")] {
        host.ask_to_run(&session, id, command);
    }
    until_asks(&home, &task, 3);
    let commands = printed_once(&home, &task);
    assert_eq!(commands.len(), 3, "{commands:?}");
    let first = run_printed(&home, &commands[0]).with_code(0);
    assert_eq!(first.out, "Allowed once: ls\n");
    let second = run_printed(&home, &commands[1]).with_code(0);
    assert_eq!(second.out, "Allowed once: cat notes\n");
    let answered: Vec<_> = host.replies().iter().map(|reply| reply["to"].clone()).collect();
    assert_eq!(answered, ["per_1", "per_2"]);

    // The same command again, another one in the place of its question, and one that is not told.
    host.ask_to_run(&session, "per_4", "curl example.org");
    until_asks(&home, &task, 2);
    for command in &commands[..2] {
        let gone = run_printed(&home, command).with_code(1);
        assert!(gone.err.contains("answered or withdrawn"), "{gone:?}");
        assert!(gone.err.contains(&format!("legwork answer {task}")), "{gone:?}");
    }
    let never = home.run(["answer", &task, "once", "--question", "9"]).with_code(1);
    assert!(never.err.contains("has not asked"), "{never:?}");
    assert_eq!(host.replies().len(), 2);
    let numbers = home.run(["answer", &task, "--json"]).json();
    assert_eq!((&numbers[0]["number"], &numbers[1]["number"]), (&json!(3), &json!(4)));
}

#[test]
fn p11_one_question_is_printed_with_its_number_and_another_in_its_place_is_not_answered() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("asks");
    host.ask(&session, "per_1");
    until_asks(&home, &task, 1);
    let command = printed_once(&home, &task).remove(0);
    host.settle(&session, "per_1");
    until_asks(&home, &task, 0);
    host.ask_to_run(&session, "per_2", "rm -rf /");
    until_asks(&home, &task, 1);
    run_printed(&home, &command).with_code(1);
    assert!(host.replies().is_empty());
}

#[test]
fn p11_yes_and_no_are_understood_in_other_words_and_repeated_in_ours() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("asks");
    for (number, (word, said)) in [
        ("allow", "Allowed once: ls\n"),
        ("yes", "Allowed once: ls\n"),
        ("no", "Rejected: ls\n"),
        ("deny", "Rejected: ls\n"),
        ("always", "Allowed from now on: ls (its host calls that: Allow always: ls *)\n"),
    ]
    .into_iter()
    .enumerate()
    {
        host.ask(&session, &format!("per_{number}"));
        until_asks(&home, &task, 1);
        assert_eq!(home.run(["answer", &task, word]).with_code(0).out, said);
        until_asks(&home, &task, 0);
    }
    let replies: Vec<_> = host.replies().iter().map(|reply| reply["reply"].clone()).collect();
    assert_eq!(replies, ["once", "once", "reject", "reject", "always"]);
    // A slip gets no tip: the nearest word to "nope" is "once".
    for slip in ["nope", "allways"] {
        let unknown = home.run(["answer", &task, slip]).with_code(2).err;
        assert!(unknown.contains("is no answer") && !unknown.contains("similar"), "{unknown}");
    }
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
