//! What a model does, written in the prompt that it is given: steps separated by `;`.
//!
//! ```text
//! say TEXT       answer, and end          fail CODE   5xx and 429 are tried again first
//! count          answer with the number   retry N     N provider retries, then go on
//!                of prompts so far        drop        the stream breaks; another call follows
//! text TEXT      text before the answer   ask [TEXT]  wait for a permission
//! wait [MS]      take time                hang        never come back
//! tool NAME [MS] use a tool               nomodel     the model does not exist
//! ```
//!
//! A script that runs out answers `ok`, and so does a prompt that is no script. A helper that is
//! asked to go on finds its script at the end. Nothing here is run; the rules of a turn are in
//! `turn.rs`.

use std::sync::Arc;

/// One thing that a model does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Answer. `say` replaces what `text` wrote into the same message, so that a reader who took
    /// the early text for the answer is caught.
    Say(Arc<str>),
    /// Answer with the number of user messages in the history.
    Count,
    /// Write something that is not the answer.
    Text(Arc<str>),
    /// Take so many milliseconds, or what the dice say.
    Wait(Option<u64>),
    /// Use a tool, for so many milliseconds.
    Tool(Arc<str>, Option<u64>),
    /// The provider fails with this code.
    Fail(u16),
    /// The provider fails so many times, then not.
    Retry(u32),
    /// The stream breaks in the middle.
    Drop,
    /// Use a tool that needs a person's permission.
    Ask(Arc<str>),
    Hang,
    /// The model does not exist.
    NoModel,
}

/// The steps of a prompt; `None` when it is ordinary text.
pub fn parse(text: &str) -> Option<Arc<[Step]>> {
    let text = match text.strip_prefix("You were interrupted") {
        Some(text) => text.rsplit("\n\n").next()?,
        None => text,
    };
    // Most texts without a script are long notices: their first byte tells.
    if !text.bytes().next().is_some_and(|first| first.is_ascii_lowercase()) {
        return None;
    }
    let mut steps = Vec::with_capacity(4);
    for piece in text.split(';') {
        let piece = piece.trim();
        if !piece.is_empty() {
            steps.push(step(piece)?);
        }
    }
    Some(steps.into())
}

fn step(piece: &str) -> Option<Step> {
    let (verb, rest) = piece.split_once(' ').unwrap_or((piece, ""));
    Some(match verb {
        "say" => Step::Say(rest.into()),
        "count" => Step::Count,
        "text" => Step::Text(rest.into()),
        "wait" => Step::Wait(optional(rest)?),
        "tool" => {
            let (name, ms) = rest.split_once(' ').unwrap_or((rest, ""));
            Step::Tool(name.into(), optional(ms)?)
        }
        "fail" => Step::Fail(rest.parse().ok()?),
        "retry" => Step::Retry(rest.parse().ok()?),
        "drop" => Step::Drop,
        "ask" if rest.is_empty() => Step::Ask("bash".into()),
        "ask" => Step::Ask(rest.into()),
        "hang" => Step::Hang,
        "nomodel" => Step::NoModel,
        _ => return None,
    })
}

fn optional(text: &str) -> Option<Option<u64>> {
    if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_step_by_step() {
        let steps = parse("text hm; tool bash 40; wait; fail 500; say all done").unwrap();
        assert_eq!(
            *steps,
            [
                Step::Text("hm".into()),
                Step::Tool("bash".into(), Some(40)),
                Step::Wait(None),
                Step::Fail(500),
                Step::Say("all done".into()),
            ]
        );
    }

    #[test]
    fn ordinary_text_is_no_script() {
        for text in ["", "[BACKGROUND TASK COMPLETED]", "please go on", "say a; then b", "wait x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
