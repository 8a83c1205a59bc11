//! The conversation of a helper, read and followed by a person.

use std::io::{BufReader, Read};
use std::process::{ChildStdout, Command};

use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use legwork_testkit::{Patient, output_of};
use serde_json::Value;

use crate::agents::bad_agent;
use crate::running::{Running, kill_daemon, launch, until_asked, until_finished};

fn transcript(home: &Home, task: &str, more: &[&str]) -> Ran {
    let args = ["transcript", task].into_iter().chain(more.iter().copied());
    ran(home.command(args))
}

fn kinds(document: &Value) -> Vec<(String, u64, String)> {
    let entries = document["entries"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |entry: &Value| {
        (word(&entry["kind"]), entry["run"].as_u64().unwrap(), word(&entry["text"]))
    };
    entries.map(entry).collect()
}

fn expect(expected: &[(&str, u64, &str)]) -> Vec<(String, u64, String)> {
    let own =
        |(kind, run, text): &(&str, u64, &str)| ((*kind).to_owned(), *run, (*text).to_owned());
    expected.iter().map(own).collect()
}

/// A command that goes on, and what it prints meanwhile.
struct Following {
    running: Running,
    out: BufReader<ChildStdout>,
}

impl Following {
    fn start(command: Command) -> Self {
        let mut running = Running::start(command);
        let out = BufReader::new(running.take_out());
        Self { running, out }
    }

    /// Reads up to these words: a line may not be complete yet.
    fn until(&mut self, wanted: &str) -> String {
        let mut said = Vec::new();
        loop {
            let mut byte = [0];
            let read = self.out.read(&mut byte).unwrap();
            assert!(read > 0, "{wanted:?} in {}", String::from_utf8_lossy(&said));
            said.extend(byte);
            if said.ends_with(wanted.as_bytes()) {
                return String::from_utf8(said).unwrap();
            }
        }
    }

    fn ends(mut self) -> (i32, String, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let ended = self.running.ends();
        (ended.code, rest, ended.err)
    }
}

#[test]
fn p3_a_conversation_is_read_however_the_task_ended() {
    let home = Home::new();
    let completed = launch(&home, "think hm\nsay Let me look\ntool read\nsay found it");
    let failed = launch(&home, "say half\nfail no luck");
    let cancelled = launch(&home, "say half\nask to go on");
    until_asked(&home, &cancelled);
    home.run(["cancel", &cancelled]).with_code(0);
    for task in [&completed, &failed, &cancelled] {
        until_finished(&home, task);
    }
    let prompt = "think hm\nsay Let me look\ntool read\nsay found it";
    let document = transcript(&home, &completed[3..], &["--json"]).with_code(0).json();
    let expected = [
        ("prompt", 0, prompt),
        ("thought", 0, "hm"),
        ("text", 0, "Let me look"),
        ("tool", 0, ""),
        ("text", 0, "\n\nfound it"),
    ];
    assert_eq!(kinds(&document), expect(&expected), "{document:#}");
    assert_eq!(document["entries"][3]["tool"]["state"], "done");
    assert_eq!(
        (&document["source"], &document["task"]["status"]),
        (&"host".into(), &"completed".into())
    );
    let shown = transcript(&home, &completed, &[]).with_code(0).out;
    for part in ["── launched, ", "  asked\n    think hm", "rehearsal thinks\n    hm", "✓ read"]
    {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    let failed = transcript(&home, &failed, &[]).with_code(0).out;
    assert!(failed.contains("    half") && failed.contains("  failed\n"), "{failed}");
    let cancelled = transcript(&home, &cancelled, &[]).with_code(0).out;
    assert!(cancelled.contains("    half") && cancelled.contains("→ to go on"), "{cancelled}");
}

#[test]
fn p3_both_runs_of_a_resumed_task_are_there_and_each_alone() {
    let home = Home::new();
    let task = launch(&home, "say one");
    until_finished(&home, &task);
    home.run(["resume", &task, "say two"]).with_code(0);
    let both = transcript(&home, &task, &["--json"]).with_code(0).json();
    let expected = [
        ("prompt", 0, "say one"),
        ("text", 0, "one"),
        ("prompt", 1, "say two"),
        ("text", 1, "two"),
    ];
    assert_eq!(kinds(&both), expect(&expected));
    let shown = transcript(&home, &task, &[]).with_code(0).out;
    let (first, second) = shown.split_once("── resumed (run 1)").unwrap();
    assert!(first.contains("one") && !first.contains("two") && second.contains("two"), "{shown}");
    for (choice, expected) in
        [(["--run", "0"].as_slice(), &expected[..2]), (&["--last"], &expected[2..])]
    {
        let args: Vec<&str> = choice.iter().copied().chain(["--json"]).collect();
        assert_eq!(kinds(&transcript(&home, &task, &args).json()), expect(expected));
    }
    let none = transcript(&home, &task, &["--run", "2"]).with_code(1);
    assert!(none.err.contains("its last one is run 1"), "{none:?}");
    transcript(&home, &task, &["--run", "0", "--last"]).with_code(2);
    assert!(transcript(&home, "bg_00000000", &[]).with_code(1).err.contains("legwork list"));
}

#[test]
fn p3_a_helper_is_followed_across_a_tool_call_by_two_at_once() {
    let home = Home::new();
    let task = launch(&home, "say before\nask to go on\ntool read\nsay after");
    let mut people = Following::start(home.command(["transcript", &task, "--follow"]));
    let mut programs = Following::start(home.command(["transcript", &task, "-f", "--json"]));
    people.until("    before");
    people.until("→ to go on");
    programs.until("\"title\":\"to go on\"");
    programs.until("\n");
    until_asked(&home, &task);
    home.run(["answer", &task, "once"]).with_code(0);
    let (code, rest, err) = people.ends();
    assert_eq!(code, 0, "{rest} {err}");
    // The asked call may be told to have ended at any moment after the answer, also between two
    // pieces of a text.
    let texts = rest.lines().filter_map(|line| line.strip_prefix("    "));
    let said: String = texts.filter(|text| !text.starts_with(' ')).collect();
    assert_eq!(said, "Allowed: to go onafter", "{rest}");
    let at = |told: &str| rest.lines().position(|line| line.contains(told));
    assert!(at("Allow") < at("✓ read"), "{rest}");
    assert!(["✓ read", "✓ to go on"].iter().all(|end| rest.matches(end).count() == 1), "{rest}");
    let (code, rest, _) = programs.ends();
    let lines: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, &lines.last().unwrap()["task"]["status"]), (0, &"completed".into()));
    assert!(lines.iter().any(|line| line["tool"]["state"] == "done"), "{rest}");
}

#[test]
fn p3_a_result_is_printed_while_it_is_written() {
    let home = Home::new();
    let task = launch(&home, "say Let me ask\nask to go on\nsay the result");
    let mut output = Following::start(home.command(["output", &task, "--follow"]));
    output.until("Let me ask");
    until_asked(&home, &task);
    home.run(["answer", &task, "once"]).with_code(0);
    let (code, rest, _) = output.ends();
    let result = home.run(["output", &task]).with_code(0).out;
    assert_eq!(code, 0);
    assert!(
        rest.ends_with(&result) && rest.matches("the result").count() == 1,
        "{rest:?} {result:?}"
    );
    // One that has ended is printed at once, and its end is the exit code.
    assert_eq!(home.run(["output", &task, "--follow"]).with_code(0).out, result);
    let failed = launch(&home, "say half\nask to go on\nfail no luck");
    let mut output = Following::start(home.command(["output", &failed, "--follow"]));
    output.until("half");
    until_asked(&home, &failed);
    home.run(["answer", &failed, "once"]).with_code(0);
    let (code, rest, _) = output.ends();
    assert_eq!(code, 3);
    assert!(rest.contains("no luck"), "{rest}");
    let followed = home.run(["output", &failed, "--follow", "--json"]).with_code(3).json();
    assert_eq!(followed["task"]["status"], "error");
}

#[test]
fn p3_a_daemon_that_is_killed_is_not_the_end_of_following() {
    let home = Home::new();
    home.configure("[recovery]\ninterrupted = \"continue\"\n");
    // One letter, which cannot be told in two parts around the end of the tool call.
    let task = launch(&home, "say half\ntool read\nask to go on\nsay Z");
    let mut people = Following::start(home.command(["transcript", &task, "--follow"]));
    people.until("✓ read");
    people.until("→ to go on");
    kill_daemon(&home);
    // It is asked to go on, and asks again itself.
    let again = people.until("asked");
    assert!(!again.contains("──"), "the same run goes on: {again}");
    eventually("it is answered", || (home.run(["answer", &task, "once"]).code == 0).then_some(()));
    let (code, rest, err) = people.ends();
    assert_eq!(code, 0, "{rest} {err}");
    assert!(rest.lines().any(|line| line.trim() == "Z"), "{rest}");
}

/// Also G3: two megabytes, on several pages, whole; and `head` ends it quietly.
#[test]
fn p3_a_long_conversation_is_read_whole_and_a_closed_pipe_ends_it_quietly() {
    let home = Home::new();
    home.configure(&bad_agent("rehearsal", None));
    let task = launch(&home, "repeat 40: tool read; say line {i}\nflood 2");
    until_finished(&home, &task);
    let shown = transcript(&home, &task, &[]).with_code(0).out;
    assert!(shown.matches('x').count() >= 2 << 20, "{}", shown.len());
    assert_eq!(shown.matches("✓ read").count(), 40);
    let document = transcript(&home, &task, &["--json"]).with_code(0).json();
    assert_eq!(document["entries"].as_array().unwrap().len(), 1 + 40 * 2);
    let mut command = home.command(["transcript", &task]);
    let mut child = command.spawn().unwrap();
    let mut first = [0; 100];
    Patient::new(child.stdout.take().unwrap()).read_exact(&mut first).unwrap();
    let ended = Ran::from(output_of(child));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
}

#[test]
fn p3_no_text_of_a_helper_steers_a_terminal() {
    let home = Home::new();
    let nasty = "\u{1b}[2J\u{1b}]0,owned\u{7}\u{202e}evil\u{9b}31m";
    let task = launch(&home, &format!("say {nasty}\ntool {nasty}\nthink {nasty}"));
    until_finished(&home, &task);
    for args in [&[][..], &["--full"], &["--json"], &["--follow"], &["--follow", "--json"]] {
        let shown = transcript(&home, &task, args).with_code(0).out;
        let steers = |c: char| c != '\n' && legwork_protocol::refusal::steers(c);
        assert!(!shown.chars().any(steers), "{args:?}: {shown:?}");
        assert!(shown.contains("evil"), "{args:?}: {shown:?}");
    }
}

#[test]
fn p3_one_that_has_not_begun_says_so_and_shows_what_it_was_asked() {
    let home = Home::new();
    home.configure("[limits]\nmax_running = 1\n");
    let first = launch(&home, "ask to go on");
    let queued = launch(&home, "say second");
    let shown = transcript(&home, &queued, &[]).with_code(0);
    assert!(shown.out.contains("asked\n    say second"), "{shown:?}");
    assert!(shown.err.contains("has not begun"), "{shown:?}");
    let mut people = Following::start(home.command(["transcript", &queued, "--follow"]));
    people.until("    say second");
    eventually("it asks", || (home.run(["answer", &first, "once"]).code == 0).then_some(()));
    let (code, rest, err) = people.ends();
    assert_eq!(code, 0);
    assert!(rest.contains("    second") && !rest.contains("say second"), "{rest}");
    // That it began while somebody waited for it is no trouble of its host's.
    assert_eq!(err.trim(), "Its conversation has not begun yet.");
}

#[test]
fn p3_the_plan_of_an_agent_is_shown_as_it_goes_on() {
    let plan = |first: &str, second: &str| {
        let step = |text: &str, status: &str| serde_json::json!({ "content": text, "priority": "medium", "status": status });
        let entries = [step("look around", first), step("mend it", second)];
        format!("update {}", serde_json::json!({ "sessionUpdate": "plan", "entries": entries }))
    };
    let home = Home::new();
    home.configure(&bad_agent("rehearsal", None));
    let script = [
        &plan("pending", "pending"),
        &plan("in_progress", "pending"),
        "tool read",
        &plan("completed", "in_progress"),
        "ask to go on",
        "think hm",
        &plan("completed", "completed"),
        "say done",
    ];
    let task = launch(&home, &script.join("\n"));
    let mut people = Following::start(home.command(["transcript", &task, "--follow"]));
    people.until("→ mend it");
    until_asked(&home, &task);
    home.run(["answer", &task, "once"]).with_code(0);
    assert_eq!(people.ends().0, 0);
    let shown = transcript(&home, &task, &[]).with_code(0).out;
    for told in
        ["plan\n    → look around\n    ○ mend it\n", "plan\n    ✓ look around\n    ✓ mend it\n"]
    {
        assert_eq!(shown.matches(told).count(), 1, "{shown}");
    }
    assert_eq!(shown.matches("rehearsal thinks").count(), 1, "{shown}");
    let all = transcript(&home, &task, &["--json"]).with_code(0).json();
    let mut plans = all["entries"].as_array().unwrap().iter().filter(|one| one["plan"].is_array());
    let last = plans.next_back().unwrap();
    // So an earlier version shows it all the same.
    assert_eq!(
        (&last["kind"], &last["text"]),
        (&"thought".into(), &"✓ look around\n✓ mend it".into())
    );
    assert_eq!(last["plan"][1], serde_json::json!({ "text": "mend it", "state": "done" }));
}

#[test]
fn p3_what_was_cleared_is_gone_from_the_conversation_too() {
    let home = Home::new();
    let task = launch(&home, "say the-secret-word\ntool read");
    until_finished(&home, &task);
    home.run(["clear", &task, "--yes"]).with_code(0);
    transcript(&home, &task, &[]).with_code(1);
}

#[test]
fn d5_whoever_follows_the_output_hears_that_its_helper_asks() {
    let home = Home::new();
    let task = launch(&home, "say on my way\nask rm -r x\nsay done");
    let mut following = Running::start(home.command(["output", &task, "--follow"]));
    let line = following.until(" asks for a permission: ");
    assert!(line.contains("rm -r x") && line.contains(&format!("legwork answer {task}")), "{line}");
    home.run(["answer", &task, "once"]).with_code(0);
    assert!(following.ends().with_code(0).out.ends_with("done\n"));
}
