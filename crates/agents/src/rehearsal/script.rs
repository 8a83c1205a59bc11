//! The script that a prompt is: one command a line, or several with `;` between them.
//!
//! Reads and explains; it does nothing. What is no command is told apart here, so that nothing of a
//! script is done when a part of it cannot be understood.

use std::time::Duration;

use super::Extra;

/// How often a line may be repeated: enough for any test, and small enough to overflow nowhere.
pub const NUMBER_MAX: u64 = 1_000_000;
/// Each one costs a stack frame while it is read.
const REPEATS_NESTED_MAX: usize = 8;

/// Every command as it is written, and what it does.
pub const COMMANDS: [(&str, &str); 19] = [
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
    ("repeat N: COMMANDS", "does the rest of the line N times; {i} is the number"),
    ("pid", "says its process id"),
    ("model", "says which of its models was chosen"),
    ("cwd", "says the session's folder"),
    ("env NAME", "says a variable of its environment"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Say(String),
    Wait(Duration),
    Tool {
        name: String,
        time: Duration,
        fails: bool,
    },
    Think(String),
    Plan(Vec<String>),
    Ask(Vec<String>),
    Recall,
    Count,
    Fail(String),
    Stop(String),
    Cost {
        amount: String,
        currency: String,
    },
    Tokens(u64),
    Hang,
    Crash(u8),
    Repeat {
        from: u64,
        to: u64,
        rest: String,
    },
    Pid,
    Model,
    Cwd,
    Env(String),
    /// A command of an [`Extra`].
    Extra {
        word: String,
        rest: String,
    },
}

/// The commands beside those of [`COMMANDS`].
type Added = Option<&'static dyn Extra>;

/// A part of a script that is no command, after one that is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Line {line} is no command: \"{text}\". The commands are: {}.", usages())]
pub struct NoCommand {
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// Reads a prompt. Lines before the first command are skipped, because a helper that is asked to go
/// on is told why first. None if no line is a command: a person is talking to us.
pub fn read(prompt: &str, extra: Added) -> Result<Option<Vec<Step>>, NoCommand> {
    let is_command = |part: &str| command(part, extra, 0).is_some();
    let first = prompt.lines().position(|line| parts(line).into_iter().any(is_command));
    first.map(|first| steps(prompt, first, extra)).transpose()
}

/// The steps from this line on.
fn steps(text: &str, first: usize, extra: Added) -> Result<Vec<Step>, NoCommand> {
    let mut steps = Vec::new();
    for (line, text) in (1..).zip(text.lines()).skip(first) {
        for part in parts(text) {
            let wrong = || NoCommand { line, text: part.to_owned() };
            steps.push(command(part, extra, 0).ok_or_else(wrong)?);
        }
    }
    Ok(steps)
}

/// The steps of one turn of a `repeat`. A number that fits the first turn need not fit all.
pub fn read_turn(rest: &str, number: u64, extra: Added) -> Result<Vec<Step>, NoCommand> {
    steps(&rest.replace("{i}", &number.to_string()), 0, extra)
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

fn command(text: &str, extra: Added, nested: usize) -> Option<Step> {
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
        "repeat" => repeat(rest, extra, nested),
        "pid" => alone(Step::Pid),
        "model" => alone(Step::Model),
        "cwd" => alone(Step::Cwd),
        "env" => one_word(rest).map(Step::Env),
        _ => extra
            .filter(|extra| extra.knows(word, rest))
            .map(|_| Step::Extra { word: word.to_owned(), rest: rest.to_owned() }),
    }
}

fn one_word(text: &str) -> Option<String> {
    (!text.is_empty() && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

/// A number that a command may be given.
pub fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))
}

/// An amount and a currency, kept as they are written.
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

fn repeat(rest: &str, extra: Added, nested: usize) -> Option<Step> {
    let (times, rest) = rest.split_once(':')?;
    let to = number(times.trim())?;
    let first = rest.replace("{i}", "1");
    let understood = nested < REPEATS_NESTED_MAX
        && !parts(&first).is_empty()
        && parts(&first).into_iter().all(|part| command(part, extra, nested + 1).is_some());
    understood.then(|| Step::Repeat { from: 1, to, rest: rest.trim().to_owned() })
}
