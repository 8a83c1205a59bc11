//! Turns that have failed though they end like good ones (`end_turn`), by the marks that some
//! agents leave. Others answer with an error, or have no mark.

use legwork_protocol::refusal::plain;
use serde_json::Value;

use super::answer::Answer;

/// Characters of the agent's own words for what went wrong.
const CAUSE_MAX_CHARS: usize = 1_000;
/// A prompt that begins so is a command to Gemini itself, which asks no model.
const COMMANDS_OF_GEMINI: [char; 2] = ['/', '$'];

#[derive(Debug, PartialEq, Eq)]
pub struct Failed {
    /// Why, to go on after the agent's name.
    pub why: String,
    /// What was said before.
    pub said: String,
}

/// The failure of the turn for this prompt, which ended with this result, if it has failed.
pub fn failed(answer: &Answer, result: &Value, prompt: &str) -> Option<Failed> {
    of_codex(answer).or_else(|| of_gemini(answer, result, prompt))
}

/// Codex (codex-acp 2.6.0) says that its thread has an error, and the cause as its last message.
fn of_codex(answer: &Answer) -> Option<Failed> {
    if !answer.is_broken {
        return None;
    }
    let (before, cause) = answer.last_piece();
    let why = match plain(cause.trim(), CAUSE_MAX_CHARS) {
        none if none.is_empty() => "failed and did not say why.".to_owned(),
        cause => format!("failed: {cause}"),
    };
    Some(Failed { why, said: before.trim().to_owned() })
}

/// Gemini (0.61.0) counts no tokens of a response that was cut, or that its provider has blocked,
/// after the last try as well. What it counted in earlier requests of the turn hides that.
fn of_gemini(answer: &Answer, result: &Value, prompt: &str) -> Option<Failed> {
    let count = result["_meta"]["quota"]["token_count"].as_object()?;
    let is_counted = count.values().any(|tokens| tokens.as_u64() != Some(0));
    if is_counted || count.is_empty() || prompt.trim_start().starts_with(COMMANDS_OF_GEMINI) {
        return None;
    }
    let why = "ended its turn without a whole answer of its model: the answer may have been cut \
               off, or its provider has blocked it.";
    Some(Failed { why: why.to_owned(), said: answer.text().to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(pieces: &[&str]) -> Answer {
        let mut answer = Answer::default();
        pieces.iter().for_each(|piece| answer.push(piece));
        answer
    }

    #[test]
    fn d3_codex_has_failed_if_its_thread_has_at_last() {
        let end = json!({ "stopReason": "end_turn" });
        let mut turn = said(&["half ", "of it ", "no luck\n"]);
        turn.is_broken = true;
        let (why, said) = ("failed: no luck".to_owned(), "half of it".to_owned());
        assert_eq!(failed(&turn, &end, "x"), Some(Failed { why, said }));
        turn.is_broken = false;
        assert_eq!(failed(&turn, &end, "x"), None);
        let mut silent = Answer::default();
        silent.is_broken = true;
        assert!(failed(&silent, &end, "x").unwrap().why.contains("did not say why"));
    }

    #[test]
    fn d3_a_cause_after_a_tool_call_is_not_taken_for_what_was_said_before() {
        let mut turn = said(&["Let me look."]);
        turn.tool_began();
        turn.is_broken = true;
        let failed = of_codex(&turn).unwrap();
        assert_eq!((failed.why.contains("not say why"), &*failed.said), (true, "Let me look."));
    }

    #[test]
    fn d3_gemini_has_failed_if_it_asked_a_model_and_counted_nothing() {
        let end = |input: u64, output: u64| {
            let count = json!({ "input_tokens": input, "output_tokens": output });
            json!({ "stopReason": "end_turn", "_meta": { "quota": { "token_count": count } } })
        };
        let turn = said(&["partial"]);
        assert_eq!(failed(&turn, &end(0, 0), "do it").unwrap().said, "partial");
        for (end, prompt) in [
            (end(7, 0), "do it"),
            (end(0, 0), " /memory show"),
            (json!({ "stopReason": "end_turn" }), "do it"),
            (json!({ "_meta": { "quota": { "token_count": {} } } }), "do it"),
        ] {
            assert_eq!(failed(&turn, &end, prompt), None, "{end} {prompt}");
        }
    }
}
