//! What a script is, and what is none.

use std::time::Duration;

use legwork_agents::rehearsal::script::{COMMANDS, Step, read, read_turn};

fn said(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn used(name: &str, ms: u64, fails: bool) -> Step {
    Step::Tool { name: name.to_owned(), time: Duration::from_millis(ms), fails }
}

fn repeated(to: u64, rest: &str) -> Step {
    Step::Repeat { from: 1, to, rest: rest.to_owned() }
}

#[test]
fn every_command_is_read() {
    let wait = |ms| Step::Wait(Duration::from_millis(ms));
    let plan = |entries: &[&str]| Step::Plan(entries.iter().map(|&e| e.to_owned()).collect());
    for (text, step) in [
        ("say a  b", said("a  b")),
        ("say\tone: two | three", said("one: two | three")),
        ("wait 2s", wait(2_000)),
        ("wait 300ms", wait(300)),
        ("wait 1m", wait(60_000)),
        ("wait 0s", wait(0)),
        ("tool grep", used("grep", 0, false)),
        ("tool read a file for 2s", used("read a file", 2_000, false)),
        ("tool grep fails", used("grep", 0, true)),
        ("tool grep for 10ms fails", used("grep", 10, true)),
        ("think hm", Step::Think("hm".into())),
        ("plan a b | c|", plan(&["a b", "c"])),
        ("ask rm -rf", Step::Ask(vec!["rm -rf".into()])),
        ("ask one | two", Step::Ask(vec!["one".into(), "two".into()])),
        ("recall", Step::Recall),
        ("count", Step::Count),
        ("fail out of luck", Step::Fail("out of luck".into())),
        ("stop max_tokens", Step::Stop("max_tokens".into())),
        ("cost 0.5 USD", Step::Cost { amount: "0.5".into(), currency: "USD".into() }),
        ("tokens 300", Step::Tokens(300)),
        ("hang", Step::Hang),
        ("crash", Step::Crash(1)),
        ("crash 7", Step::Crash(7)),
        ("repeat 3: say {i}", repeated(3, "say {i}")),
        ("repeat 2:say a; count", repeated(2, "say a; count")),
        ("repeat 2: repeat 3: pid", repeated(2, "repeat 3: pid")),
        ("pid", Step::Pid),
        ("cwd", Step::Cwd),
        ("env HOME", Step::Env("HOME".into())),
    ] {
        assert_eq!(read(text, None), Ok(Some(vec![step])), "{text}");
    }
}

#[test]
fn every_command_that_is_explained_is_one() {
    for (usage, _) in COMMANDS {
        let written = usage
            .replace("[for 2s] [fails]", "for 2s fails")
            .replace("[CODE]", "7")
            .replace("COMMANDS", "pid")
            .replace(" N", " 5");
        assert!(matches!(read(&written, None), Ok(Some(_))), "{written}");
    }
}

#[test]
fn lines_and_semicolons_separate_commands() {
    let script = "\n  say a ;; say b;\r\n\n\tcount\n;";
    let steps = vec![said("a"), said("b"), Step::Count];
    assert_eq!(read(script, None), Ok(Some(steps)));
}

#[test]
fn a_repeat_takes_the_rest_of_its_line_only() {
    let steps = vec![said("a"), repeated(2, "say b; say c"), said("d")];
    assert_eq!(read("say a; repeat 2: say b; say c\nsay d", None), Ok(Some(steps)));
}

#[test]
fn a_turn_of_a_repeat_has_its_number() {
    assert_eq!(read_turn("say {i} of {i}; count", 7, None), Ok(vec![said("7 of 7"), Step::Count]));
    assert!(read_turn("crash {i}", 255, None).is_ok());
    assert!(read_turn("crash {i}", 256, None).is_err());
}

#[test]
fn a_prompt_without_any_command_is_talk() {
    let deep = format!("{}pid", "repeat 1: ".repeat(10_000));
    for text in [
        "",
        " \n ; ;",
        "hello",
        "Say it",
        "saying: a",
        "count the files",
        "wait",
        "wait 2",
        "wait 2h",
        "wait -1s",
        "wait 99999999999s",
        "wait é",
        "tool",
        "tool fails",
        "tool grep for ever",
        "plan |",
        "stop",
        "stop it now",
        "cost 5",
        "cost five USD",
        "cost 5 US dollars",
        "tokens",
        "crash 256",
        "repeat 2",
        "repeat 2:",
        "repeat 0: pid",
        "repeat 2: hello",
        "repeat 2: pid; hello",
        &deep,
    ] {
        assert_eq!(read(text, None), Ok(None), "{text}");
    }
}

#[test]
fn lines_before_the_first_command_are_passed_over() {
    assert_eq!(read("Go on with this:\n\nsay a", None), Ok(Some(vec![said("a")])));
}

#[test]
fn what_is_no_command_among_commands_is_named() {
    let wrong = read("say a\nsay b; hello there; hi", None).unwrap_err();
    assert_eq!((wrong.line, wrong.text.as_str()), (2, "hello there"));
    let message = wrong.to_string();
    assert!(message.starts_with("Line 2 is no command: \"hello there\". The"), "{message}");
    assert!(message.contains("say TEXT, wait 2s, tool"), "{message}");
}
