//! Whatever comes in, what comes out is a value: never a panic, never a long or many-lined text.
//!
//! The ordinary run tries some thousand inputs a property. The long one:
//! `PROPTEST_CASES=1000000 cargo test --release -p legwork-protocol --test rubbish`

#![expect(clippy::unwrap_used, reason = "the good lines are good")]

mod inputs;

use legwork_protocol::api::ToolCall;
use legwork_protocol::limits::{BAD_LINE_MAX_CHARS, BLOCK_MAX_TASKS, REFUSAL_MAX_CHARS};
use legwork_protocol::line::{decode_from_daemon, decode_to_daemon, encode, repair_surrogates};
use legwork_protocol::{
    Ask, CallKey, HostId, MessageId, Place, QuestionId, SessionId, Status, TaskId,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::inputs::{do_harm, good_lines, harm, json_value, likely_call, nearly_a_line, tool_name};

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    // A failing input is printed whole and becomes a test of its own; no files of seeds.
    ProptestConfig {
        cases: cases.unwrap_or(2_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn is_plain(text: &str, max_chars: usize) -> bool {
    !text.is_empty() && text.chars().count() <= max_chars && !text.chars().any(char::is_control)
}

/// Both directions read the bytes; what is read can be written and read again.
fn check_decoding(bytes: &[u8]) -> Result<(), TestCaseError> {
    match decode_to_daemon(bytes) {
        Ok(line) => prop_assert!(decode_to_daemon(&encode(&line)).is_ok(), "{line:?}"),
        Err(bad) => prop_assert!(is_plain(&bad.to_string(), BAD_LINE_MAX_CHARS), "{bad:?}"),
    }
    match decode_from_daemon(bytes) {
        Ok(line) => prop_assert!(decode_from_daemon(&encode(&line)).is_ok(), "{line:?}"),
        Err(bad) => prop_assert!(is_plain(&bad.to_string(), BAD_LINE_MAX_CHARS), "{bad:?}"),
    }
    Ok(())
}

/// What holds for every ask that was accepted, whatever the arguments were.
fn is_checked(ask: &Ask) -> bool {
    let said = |text: &str| !text.trim().is_empty();
    match ask {
        Ask::Launch { prompt, description, agent, .. } => {
            said(prompt) && said(description) && said(agent)
        }
        Ask::Resume { task, prompt, .. } => !task.is_empty() && said(prompt),
        Ask::Wait { tasks, .. } => (1..=BLOCK_MAX_TASKS).contains(&tasks.len()),
        Ask::Output { .. } | Ask::List(_) | Ask::Cancel { .. } | Ask::Clear => true,
        Ask::Collect { .. }
        | Ask::HandedOver { .. }
        | Ask::MailShown { .. }
        | Ask::Forget { .. }
        | Ask::ForgetFinished { .. }
        | Ask::Reply { .. }
        | Ask::ResumeAny { .. } => false,
    }
}

fn check_ask(tool: &str, arguments: Value) -> Result<(), TestCaseError> {
    match ToolCall::read(tool, arguments) {
        Ok(call) => prop_assert!(is_checked(&call.ask), "{call:?}"),
        Err(refusal) => prop_assert!(is_plain(&refusal.text(), REFUSAL_MAX_CHARS), "{refusal:?}"),
    }
    Ok(())
}

/// A text that is an id reads back as itself, from text and from JSON; one that is not, never.
macro_rules! check_id {
    ($id:ty, $text:expr) => {
        let text: &str = $text;
        let as_json: Result<$id, _> = serde_json::from_value(json!(text));
        match text.parse::<$id>() {
            Ok(id) => {
                prop_assert_eq!(id.to_string(), text);
                prop_assert_eq!(serde_json::to_value(&id).ok(), Some(json!(text)));
                prop_assert_eq!(as_json.ok(), Some(id));
            }
            Err(_) => prop_assert!(as_json.is_err()),
        }
    };
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn g2_any_bytes(bytes in vec(any::<u8>(), 0..300)) {
        check_decoding(&bytes)?;
    }

    #[test]
    fn g2_any_text(text in any::<String>()) {
        check_decoding(text.as_bytes())?;
        check_decoding(format!("{{\"type\":{text}").as_bytes())?;
    }

    #[test]
    fn g2_any_json(value in json_value()) {
        check_decoding(value.to_string().as_bytes())?;
    }

    #[test]
    fn g2_anything_in_the_fields_of_a_line(value in nearly_a_line()) {
        check_decoding(value.to_string().as_bytes())?;
    }

    #[test]
    fn g2_harmed_lines(line in select(good_lines()), harms in vec(harm(), 1..6)) {
        let mut line = line;
        for harm in &harms {
            do_harm(&mut line, harm);
        }
        check_decoding(&line)?;
        for part in line.split(|byte| *byte == b'\n') {
            check_decoding(part)?;
        }
    }

    #[test]
    fn g2_any_halves_of_characters_are_repaired_as_texts_are(
        units in vec(prop_oneof![any::<u16>(), 0xd7f0_u16..=0xe00f], 0..12),
        escaped in vec(any::<bool>(), 12),
    ) {
        let mut line = String::from("[\"");
        for (unit, escaped) in units.iter().zip(&escaped) {
            // What is no half may also stand as it is.
            match char::from_u32((*unit).into()).filter(|c| !escaped && c.is_alphanumeric()) {
                Some(plain) => line.push(plain),
                None => line.push_str(&format!("\\u{unit:04x}")),
            }
        }
        line.push_str("\"]");
        let repaired = repair_surrogates(line.as_bytes());
        let read: Value = serde_json::from_slice(&repaired).unwrap();
        prop_assert_eq!(read, json!([String::from_utf16_lossy(&units)]));
    }

    #[test]
    fn g2_repairing_changes_nothing_else(bytes in vec(any::<u8>(), 0..60), value in json_value()) {
        let repaired = repair_surrogates(&bytes);
        prop_assert_eq!(repaired.len(), bytes.len());
        prop_assert_eq!(&repair_surrogates(&repaired), &repaired);
        let line = value.to_string();
        prop_assert_eq!(&*repair_surrogates(line.as_bytes()), line.as_bytes());
    }

    #[test]
    fn g2_any_arguments_to_any_tool(tool in tool_name(), arguments in json_value()) {
        check_ask(&tool, arguments)?;
    }

    #[test]
    fn g2_calls_that_are_nearly_right((tool, arguments) in likely_call()) {
        check_ask(&tool, arguments)?;
    }

    #[test]
    fn g2_any_text_as_an_id(
        text in prop_oneof![any::<String>(), "bg_[0-9a-z]{7,9}", ".{190,210}"],
    ) {
        check_id!(TaskId, &text);
        check_id!(SessionId, &text);
        check_id!(MessageId, &text);
        check_id!(HostId, &text);
        check_id!(Place, &text);
        check_id!(CallKey, &text);
        check_id!(QuestionId, &text);
        check_id!(Status, &text);
    }
}
