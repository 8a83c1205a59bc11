//! What a person gets from `legwork run`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use legwork_testkit::output_of;

use crate::running::{Running, kill_daemon, launch, until_all_is_told, until_asked};

#[test]
fn a_result_goes_to_stdout_and_all_else_to_stderr() {
    let home = Home::new();
    let ran = home.run(["run", "--agent", "rehearsal", "say hello\nsay there"]).with_code(0);
    assert_eq!(ran.out, "hello\n\nthere\n");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].starts_with("Launched: say hello (bg_"), "{ran:?}");
    assert!(lines[1].starts_with("✓ say hello (") && lines[1].contains(", bg_"), "{ran:?}");
    let list = home.run(["list", "--json"]).json();
    assert_eq!(list["tasks"][0]["description"], "say hello");
}

#[test]
fn g1_no_word_of_a_prompt_or_a_result_is_in_the_log() {
    let home = Home::new();
    let prompt = "say the-secret-word\nsay a-second-secret";
    home.run(["run", "--agent", "rehearsal", prompt]).with_code(0);
    home.run(["run", "--agent", "rehearsal", "fail another-secret"]).with_code(3);
    let log = fs::read_to_string(home.path("legwork/daemon.log")).unwrap();
    assert!(log.contains(": launched for rehearsal"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn of_several_each_result_is_named_and_the_worst_end_counts() {
    let home = Home::new();
    let ran = home.run(["run", "--agent", "rehearsal", "say one", "fail no luck", "say three"]);
    let ran = ran.with_code(3);
    for (headline, text) in [("say one (", "one"), ("say three (", "three")] {
        let at = ran.out.lines().position(|line| line.starts_with("✓") && line.contains(headline));
        assert_eq!(ran.out.lines().nth(at.unwrap() + 1), Some(text), "{ran:?}");
        assert_eq!(ran.out.matches(headline).count(), 1, "each is told once: {ran:?}");
    }
    let failed = |text: &str| {
        text.lines().any(|line| line.starts_with("✗ fail no luck (") && line.contains(": "))
    };
    assert!(failed(&ran.out) && failed(&ran.err), "{ran:?}");
    assert_eq!(ran.err.matches("Launched: ").count(), 3, "{ran:?}");
}

#[test]
fn a_prompt_can_come_from_stdin() {
    let home = Home::new();
    let mut command = home.command(["run", "--agent", "rehearsal", "--description", "Piped", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"say from\nsay a pipe\n").unwrap();
    let output = legwork_testkit::output_of(child);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "from\n\na pipe\n");
    assert_eq!(home.run(["list", "--json"]).json()["tasks"][0]["description"], "Piped");
}

#[test]
fn what_is_refused_launches_nothing_and_says_what_to_do() {
    let home = Home::new();
    let words = home.run(["run", "fix", "the", "bug"]).with_code(2);
    assert!(words.err.contains("legwork run \"fix the bug\""), "{words:?}");
    let mut command = home.command(["run", "fix it"]);
    command.env("PATH", home.path("nothing"));
    let nobody = ran(command).with_code(1);
    assert!(nobody.err.contains("--agent rehearsal"), "{nobody:?}");
    let unknown = home.run(["run", "--agent", "nobody", "fix it"]).with_code(1);
    assert!(unknown.err.contains("nobody") && unknown.err.contains("rehearsal"), "{unknown:?}");
    home.run(["run", "--resume", "bg_00000000", "fix it"]).with_code(1);
    home.run(["run", "--resume", "bg_00000000", "--agent", "rehearsal", "x"]).with_code(2);
    home.run(["run", "--agent", "rehearsal", " "]).with_code(2);
    assert_eq!(home.run(["list", "--json"]).json()["total"], 0);
}

#[test]
fn one_that_is_refused_does_not_spare_the_others() {
    let home = Home::new();
    home.configure("[limits]\nmax_tasks_per_root = 1\n");
    let ran =
        home.run(["run", "--agent", "rehearsal", "--json", "say one", "say two"]).with_code(1);
    let (all, mut texts, mut refusals) = (ran.json(), Vec::new(), 0);
    for one in all.as_array().unwrap() {
        texts.extend(one["text"].as_str());
        refusals +=
            usize::from(one["refused"].as_str().is_some_and(|why| why.contains("1 of 1 tasks")));
    }
    assert_eq!((texts.len(), refusals), (1, 1), "{ran:?}");
    assert!(ran.err.contains('✗'), "{ran:?}");
}

#[test]
fn the_settings_agent_is_taken_with_all_that_is_said_of_it() {
    let home = Home::new();
    let legwork = env!("CARGO_BIN_EXE_legwork");
    fs::create_dir(home.path("work")).unwrap();
    home.configure(&format!(
        "[agents.other]\ncommand = [\"false\"]\n\
         [agents.mine]\ncommand = [{legwork:?}, \"rehearsal\"]\n\
         env = {{ COLOUR = \"blue\" }}\ncwd = {:?}\npermissions = \"allow\"\n\
         [run]\nagent = \"mine\"\n",
        home.path("work")
    ));
    let ran = home.run(["run", "ask rm\nenv COLOUR\npid"]).with_code(0);
    assert!(ran.out.contains("blue") && ran.out.contains("Allowed: rm"), "{ran:?}");
    assert_eq!(home.run(["list", "--json"]).json()["tasks"][0]["agent"], "mine");
}

#[test]
fn a_question_says_how_to_answer_it_and_the_answer_is_heard() {
    let home = Home::new();
    let mut running = Running::start(home.command(["run", "--agent", "rehearsal", "ask rm -r x"]));
    let task = running.launched();
    let line = running.until(" asks for a permission: ");
    assert!(line.contains("rm -r x") && line.contains(&format!("legwork answer {task}")), "{line}");
    home.run(["answer", &task, "once"]).with_code(0);
    assert_eq!(running.ends().with_code(0).out, "Allowed: rm -r x\n");
}

#[test]
fn a_task_is_resumed_with_all_that_was_said_before() {
    let home = Home::new();
    let task = home.run(["run", "--agent", "rehearsal", "--detach", "say the milk"]).with_code(0);
    let task = task.out.trim();
    home.run(["wait", task]).with_code(0);
    let ran = home.run(["run", "--resume", &task[3..], "recall"]).with_code(0);
    assert!(ran.out.contains("the milk"), "{ran:?}");
    assert!(ran.err.contains("✓ say the milk (") && ran.err.contains(task), "{ran:?}");
}

#[test]
fn programs_get_every_task_with_its_text() {
    let home = Home::new();
    let ran = home.run(["run", "--json", "--agent", "rehearsal", "say a b", "fail c"]).with_code(3);
    let all = ran.json();
    assert_eq!(all[0]["task"]["status"], "completed");
    assert_eq!(all[0]["text"], "a b");
    assert_eq!(all[1]["task"]["status"], "error");
    assert!(ran.err.is_empty(), "{ran:?}");
    let detached = home.run(["run", "--json", "--detach", "--agent", "rehearsal", "say a b"]);
    let detached = detached.with_code(0).json();
    let task = detached[0]["id"].as_str().unwrap();
    let shown = home.run(["show", task, "--json"]).json();
    assert_eq!((&shown["id"], &shown["description"]), (&detached[0]["id"], &"say a b".into()));
    until_all_is_told(&home);
}

#[test]
fn k2_a_killed_daemon_is_not_the_end_of_waiting() {
    let home = Home::new();
    home.configure("[recovery]\ninterrupted = \"continue\"\n");
    let prompt = "say half\nask to go on\nsay whole";
    let mut running = Running::start(home.command(["run", "--agent", "rehearsal", prompt]));
    let task = running.launched();
    running.until(" asks for a permission: ");
    for _ in 0..3 {
        kill_daemon(&home);
        home.run(["show", &task]).with_code(0);
    }
    // Each time it was asked to go on, and asks again itself.
    eventually("it is answered", || (home.run(["answer", &task, "once"]).code == 0).then_some(()));
    let ran = running.ends().with_code(0);
    assert!(ran.err.contains("✓ say half (") && ran.err.contains(&task), "{ran:?}");
    assert!(ran.out.contains("Allowed: to go on\n\nwhole"), "{ran:?}");
}

/// Each takes six bytes on a line between our processes, so they do not fit into one.
#[test]
fn g3_a_result_of_millions_of_control_characters_is_read_whole() {
    let home = Home::new();
    let prompt = format!("repeat 2800: say {}", "\u{1}".repeat(1_000));
    let ran = home.run(["run", "--agent", "rehearsal", &prompt]).with_code(0);
    assert_eq!(ran.out.matches('\u{1}').count(), 2_800_000);
    let task = home.run(["list", "--json"]).json()["tasks"][0]["id"].as_str().unwrap().to_owned();
    assert!(home.run(["output", &task]).with_code(0).out == ran.out);
    let json = home.run(["output", &task, "--json"]).with_code(0).json();
    assert!(json["text"].as_str().unwrap() == ran.out.trim_end_matches('\n'));
}

#[test]
fn a_person_chooses_the_model_where_the_agent_offers_some() {
    let home = Home::new();
    let legwork = env!("CARGO_BIN_EXE_legwork");
    home.configure(&format!(
        "[agents.choosy]\ncommand = [{legwork:?}, \"rehearsal\", \"--models\", \"quick,careful\"]\n"
    ));
    let run = |more: &[&str]| {
        let args = ["run", "--agent", "choosy", "model"].into_iter().chain(more.iter().copied());
        ran(home.command(args))
    };
    assert_eq!(run(&[]).with_code(0).out, "quick\n");
    let chosen = run(&["--model", "careful"]).with_code(0);
    assert_eq!(chosen.out, "careful\n");
    let list = home.run(["list", "--json"]).json();
    assert_eq!(list["tasks"][0]["model"], "careful");
    let wrong = run(&["--model", "brilliant"]).with_code(3);
    assert!(wrong.err.contains("does not offer the model"), "{wrong:?}");
    assert!(wrong.err.contains("quick, careful"), "{wrong:?}");
    run(&["--model", " "]).with_code(2);
    run(&["--model", &"x".repeat(201)]).with_code(2);
    let cannot =
        home.run(["run", "--agent", "rehearsal", "--model", "quick", "say x"]).with_code(3);
    assert!(cannot.err.contains("does not let its client choose a model"), "{cannot:?}");
}

#[test]
fn a_model_that_was_chosen_stays_when_the_helper_goes_on() {
    let home = Home::new();
    let (legwork, memory) = (env!("CARGO_BIN_EXE_legwork"), home.path("memory"));
    home.configure(&format!(
        "[agents.choosy]\ncommand = [{legwork:?}, \"rehearsal\", \"--models\", \"quick,careful\"]\n\
         env = {{ LEGWORK_REHEARSAL_MEMORY = {memory:?} }}\n"
    ));
    home.run(["run", "--agent", "choosy", "--model", "careful", "model"]).with_code(0);
    let list = home.run(["list", "--json"]).json();
    let task = list["tasks"][0]["id"].as_str().unwrap();
    kill_daemon(&home);
    assert_eq!(home.run(["resume", task, "model"]).with_code(0).out, "careful\n");
}

#[test]
fn a_prompt_can_be_in_a_file() {
    let home = Home::new();
    for (name, script) in [("one.md", "say one\n"), ("two.md", "say two\n")] {
        std::fs::write(home.path(name), script).unwrap();
    }
    let path = |name: &str| home.path(name).to_str().unwrap().to_owned();
    let run = ["run", "--agent", "rehearsal", "--file", &path("one.md"), "--file", &path("two.md")];
    let ran = home.run(run).with_code(0);
    assert!(ran.out.contains("one") && ran.out.contains("two"), "{ran:?}");
    let mut stdin = home.command(["run", "--agent", "rehearsal", "--file", "-"]);
    stdin.stdin(std::fs::File::open(home.path("two.md")).unwrap());
    let read = Ran::from(output_of(stdin.spawn().unwrap()));
    assert!(read.out.contains("two"), "{read:?}");
    let missing = home.run(["run", "--agent", "rehearsal", "--file", &path("none")]).with_code(1);
    assert!(missing.err.contains("Could not read") && missing.err.contains("none"), "{missing:?}");
    std::fs::write(home.path("empty"), " \n").unwrap();
    let empty = home.run(["run", "--agent", "rehearsal", "--file", &path("empty")]).with_code(2);
    assert!(empty.err.contains("empty"), "{empty:?}");
}

#[test]
fn x1_all_that_is_unfinished_is_called_off_after_asking() {
    let home = Home::new();
    let none = home.run(["cancel", "--all"]).with_code(0);
    assert_eq!(none.out, "There is no unfinished task.\n");
    home.run(["run", "--agent", "rehearsal", "say done"]).with_code(0);
    for _ in 0..2 {
        home.run(["run", "--agent", "rehearsal", "--detach", "tool x for 600s"]).with_code(0);
    }
    let asked = home.run(["cancel", "--all"]).with_code(2);
    assert!(asked.err.contains("Cancel 2 tasks?") && asked.err.contains("--yes"), "{asked:?}");
    let all = home.run(["cancel", "--all", "--yes", "--json"]).with_code(0).json();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let listed = home.run(["list", "--json"]).with_code(0).json();
    let statuses: Vec<&str> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == "cancelled").count(), 2, "{listed}");
    home.run(["cancel", "--all", "--yes"]).with_code(0);
}

#[test]
fn p11_completion_calls_a_task_what_the_list_calls_it() {
    let home = Home::new();
    let asks = launch(&home, "ask rm x");
    until_asked(&home, &asks);
    let offered = home.run(["complete", "fish", "--", "show", "bg_"]).with_code(0).out;
    assert_eq!(offered, format!("{asks}\tasks you: ask rm x\n"));
    home.run(["cancel", &asks]).with_code(0);
}
