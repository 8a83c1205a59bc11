//! The script that a prompt is: one command a line, or several with `;` between them.
//!
//! Reads and explains; it does nothing. What is no command is told apart here, so that nothing of a
//! script is done when a part of it cannot be understood.

use std::time::Duration;

use serde_json::{Map, Value};

/// How often a line may be repeated, and how much may be flooded: enough for any test, and small
/// enough that no number overflows on its way.
const NUMBER_MAX: u64 = 1_000_000;
/// Each one costs a stack frame while it is read.
const REPEATS_NESTED_MAX: usize = 8;

/// Every command as it is written, and what it does.
pub const COMMANDS: [(&str, &str); 27] = [
    ("say TEXT", "answers with the text; several are several paragraphs"),
    ("wait 2s", "waits; also 300ms, 1m"),
    ("tool NAME [for 2s] [fails]", "uses a tool"),
    ("think TEXT", "thinks aloud"),
    ("plan A | B | C", "shows a plan"),
    ("ask TEXT", "asks for permission and says whether it was given; A | B for both"),
    ("recall", "says what it was asked before, and its last answer"),
    ("count", "says how many prompts this conversation has had"),
    ("fail TEXT", "ends with an error"),
    ("stop REASON", "ends for this reason: max_tokens, refusal, ..."),
    ("cost 0.25 USD", "tells what the conversation has cost so far"),
    ("tokens N", "tells at its end how many tokens it took"),
    ("hang", "never answers, and ignores being cancelled"),
    ("crash [CODE]", "ends the process"),
    ("stderr TEXT", "writes to stderr"),
    ("babble N", "writes N lines to stdout that are no messages"),
    ("flood N", "answers with N MB of text"),
    ("flood-line N", "writes one line of N MB to stdout"),
    ("flood-stderr N", "writes N MB to stderr"),
    ("repeat N: COMMANDS", "does the rest of the line N times; {i} is the number"),
    ("spawn N", "starts `sleep N`, leaves it running and says its process id"),
    ("pid", "says its process id"),
    ("model", "says which of its models was chosen"),
    ("cwd", "says the session's folder"),
    ("env NAME", "says a variable of its environment"),
    ("update JSON", "sends this update of the session as it is"),
    ("result JSON", "tells this at its end beside the reason"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Say(String),
    Wait(Duration),
    Tool { name: String, time: Duration, fails: bool },
    Think(String),
    Plan(Vec<String>),
    Ask(Vec<String>),
    Recall,
    Count,
    Fail(String),
    Stop(String),
    Cost { amount: String, currency: String },
    Tokens(u64),
    Hang,
    Crash(u8),
    Stderr(String),
    Babble(u64),
    Flood(u64),
    FloodLine(u64),
    FloodStderr(u64),
    Repeat { from: u64, to: u64, rest: String },
    Spawn(u64),
    Pid,
    Model,
    Cwd,
    Env(String),
    Update(Object),
    Result(Object),
}

/// As it is written in JSON.
pub type Object = Map<String, Value>;

/// A part of a script that is no command, after one that is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Line {line} is no command: \"{text}\". The commands are: {}.", usages())]
pub struct NoCommand {
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// Reads a prompt. Lines before the first command are passed over: a helper that is asked to go on
/// is told why first. Nothing if not one line is a command: a person is talking to us.
pub fn read(prompt: &str) -> Result<Option<Vec<Step>>, NoCommand> {
    let is_command = |part: &str| command(part, 0).is_some();
    let first = prompt.lines().position(|line| parts(line).into_iter().any(is_command));
    first.map(|first| steps(prompt, first)).transpose()
}

/// The steps from this line on.
fn steps(text: &str, first: usize) -> Result<Vec<Step>, NoCommand> {
    let mut steps = Vec::new();
    for (line, text) in (1..).zip(text.lines()).skip(first) {
        for part in parts(text) {
            let wrong = || NoCommand { line, text: part.to_owned() };
            steps.push(command(part, 0).ok_or_else(wrong)?);
        }
    }
    Ok(steps)
}

/// The steps of one turn of a `repeat`. A number that fits the first turn need not fit all.
pub fn read_turn(rest: &str, number: u64) -> Result<Vec<Step>, NoCommand> {
    steps(&rest.replace("{i}", &number.to_string()), 0)
}

/// The commands as they are written, in one line.
pub fn usages() -> String {
    COMMANDS.map(|(usage, _)| usage).join(", ")
}

/// The commands with what they do, a line each.
pub fn explained() -> String {
    COMMANDS.map(|(usage, does)| format!("  {usage:<27} {does}")).join("\n")
}

/// A line without its separators; a `repeat` takes all that follows it.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (part, after) = match rest.split_once(';') {
            Some(split) if first_word(rest).0 != "repeat" => split,
            _ => (rest, ""),
        };
        if !part.trim().is_empty() {
            parts.push(part.trim());
        }
        rest = after.trim();
    }
    parts
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn command(text: &str, nested: usize) -> Option<Step> {
    let (word, rest) = first_word(text);
    let said = || (!rest.is_empty()).then(|| rest.to_owned());
    let alone = |step| rest.is_empty().then_some(step);
    match word {
        "say" => said().map(Step::Say),
        "wait" => duration(rest).map(Step::Wait),
        "tool" => tool(rest),
        "think" => said().map(Step::Think),
        "plan" => between_bars(rest).map(Step::Plan),
        "ask" => between_bars(rest).map(Step::Ask),
        "recall" => alone(Step::Recall),
        "count" => alone(Step::Count),
        "fail" => said().map(Step::Fail),
        "stop" => one_word(rest).map(Step::Stop),
        "cost" => cost(rest),
        "tokens" => number(rest).map(Step::Tokens),
        "hang" => alone(Step::Hang),
        "crash" if rest.is_empty() => Some(Step::Crash(1)),
        "crash" => rest.parse().ok().map(Step::Crash),
        "stderr" => said().map(Step::Stderr),
        "babble" => number(rest).map(Step::Babble),
        "flood" => number(rest).map(Step::Flood),
        "flood-line" => number(rest).map(Step::FloodLine),
        "flood-stderr" => number(rest).map(Step::FloodStderr),
        "repeat" => repeat(rest, nested),
        "spawn" => number(rest).map(Step::Spawn),
        "pid" => alone(Step::Pid),
        "model" => alone(Step::Model),
        "cwd" => alone(Step::Cwd),
        "env" => one_word(rest).map(Step::Env),
        "update" => serde_json::from_str(rest).ok().map(Step::Update),
        "result" => serde_json::from_str(rest).ok().map(Step::Result),
        _ => None,
    }
}

fn one_word(text: &str) -> Option<String> {
    (!text.is_empty() && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))
}

/// An amount and a word, both as they are told.
fn cost(rest: &str) -> Option<Step> {
    let (amount, currency) = rest.split_once(' ')?;
    amount.parse::<f64>().ok()?;
    Some(Step::Cost { amount: amount.to_owned(), currency: one_word(currency.trim())? })
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let amount = digits.parse::<u32>().ok()?;
    match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(amount.into())),
        "s" => Some(Duration::from_secs(amount.into())),
        "m" => Some(Duration::from_secs(u64::from(amount) * 60)),
        _ => None,
    }
}

fn tool(rest: &str) -> Option<Step> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (words, fails) = match words.as_slice() {
        [before @ .., "fails"] => (before, true),
        all => (all, false),
    };
    let (words, time) = match words {
        [before @ .., "for", time] => (before, duration(time)?),
        all => (all, Duration::ZERO),
    };
    (!words.is_empty()).then(|| Step::Tool { name: words.join(" "), time, fails })
}

/// What stands between the bars, if there is anything.
fn between_bars(rest: &str) -> Option<Vec<String>> {
    let parts: Vec<String> = rest
        .split('|')
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    (!parts.is_empty()).then_some(parts)
}

fn repeat(rest: &str, nested: usize) -> Option<Step> {
    let (times, rest) = rest.split_once(':')?;
    let to = number(times.trim())?;
    let first = rest.replace("{i}", "1");
    let understood = nested < REPEATS_NESTED_MAX
        && !parts(&first).is_empty()
        && parts(&first).into_iter().all(|part| command(part, nested + 1).is_some());
    understood.then(|| Step::Repeat { from: 1, to, rest: rest.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("stderr oh no", Step::Stderr("oh no".into())),
            ("babble 3", Step::Babble(3)),
            ("flood 1", Step::Flood(1)),
            ("flood-line 2", Step::FloodLine(2)),
            ("flood-stderr 3", Step::FloodStderr(3)),
            ("repeat 3: say {i}", repeated(3, "say {i}")),
            ("repeat 2:say a; count", repeated(2, "say a; count")),
            ("repeat 2: repeat 3: pid", repeated(2, "repeat 3: pid")),
            ("spawn 60", Step::Spawn(60)),
            ("pid", Step::Pid),
            ("cwd", Step::Cwd),
            ("env HOME", Step::Env("HOME".into())),
            (r#"update {"a": 1}"#, Step::Update(Object::from_iter([("a".into(), 1.into())]))),
            ("result {}", Step::Result(Object::new())),
        ] {
            assert_eq!(read(text), Ok(Some(vec![step])), "{text}");
        }
    }

    #[test]
    fn every_command_that_is_explained_is_one() {
        for (usage, _) in COMMANDS {
            let written = usage
                .replace("[for 2s] [fails]", "for 2s fails")
                .replace("[CODE]", "7")
                .replace("COMMANDS", "pid")
                .replace("JSON", "{}")
                .replace(" N", " 5");
            assert!(matches!(read(&written), Ok(Some(_))), "{written}");
        }
    }

    #[test]
    fn lines_and_semicolons_separate_commands() {
        let script = "\n  say a ;; say b;\r\n\n\tcount\n;";
        let steps = vec![said("a"), said("b"), Step::Count];
        assert_eq!(read(script), Ok(Some(steps)));
    }

    #[test]
    fn a_repeat_takes_the_rest_of_its_line_only() {
        let steps = vec![said("a"), repeated(2, "say b; say c"), said("d")];
        assert_eq!(read("say a; repeat 2: say b; say c\nsay d"), Ok(Some(steps)));
    }

    #[test]
    fn a_turn_of_a_repeat_has_its_number() {
        assert_eq!(read_turn("say {i} of {i}; count", 7), Ok(vec![said("7 of 7"), Step::Count]));
        assert!(read_turn("crash {i}", 255).is_ok());
        assert!(read_turn("crash {i}", 256).is_err());
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
            "update it",
            "result 7",
            "crash 256",
            "flood 0",
            "flood 1000001",
            "repeat 2",
            "repeat 2:",
            "repeat 0: pid",
            "repeat 2: hello",
            "repeat 2: pid; hello",
            &deep,
        ] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn lines_before_the_first_command_are_passed_over() {
        assert_eq!(read("Go on with this:\n\nsay a"), Ok(Some(vec![said("a")])));
    }

    #[test]
    fn what_is_no_command_among_commands_is_named() {
        let wrong = read("say a\nsay b; hello there; hi").unwrap_err();
        assert_eq!((wrong.line, wrong.text.as_str()), (2, "hello there"));
        let message = wrong.to_string();
        assert!(message.starts_with("Line 2 is no command: \"hello there\". The"), "{message}");
        assert!(message.contains("say TEXT, wait 2s, tool"), "{message}");
    }
}
