//! Agents that do not behave. Each ends as an error that names the agent and says what it did, and
//! the daemon goes on as if nothing had happened.

use std::fs;

use legwork_testkit::agent::{Misbehaviour, act_as_agent, agent_of};
use serde_json::json;

use crate::stage::Stage;

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

/// The agent of the test kit, if this program was started as one.
#[test]
fn this_program_is_an_agent_if_it_is_started_as_one() {
    act_as_agent();
}

/// An agent that does what its script says, also what no good agent does.
pub fn bad_agent(name: &str, how: Option<Misbehaviour>) -> String {
    agent_of(name, "bad::this_program_is_an_agent_if_it_is_started_as_one", how)
}

fn misbehaving(how: Misbehaviour) -> String {
    bad_agent("bad", Some(how))
}

/// Launches it, and gives back the reason why it failed. A good one still works afterwards.
fn reason(settings: &str, prompt: &str) -> String {
    let mut stage = Stage::with(settings);
    let task = stage.launch_as("bad", prompt);
    let (status, text) = stage.result(&task);
    assert_eq!(status, "error", "{text}");
    assert!(text.starts_with("The agent bad "), "{text}");
    let good = stage.launch("say fine");
    assert_eq!(stage.result(&good), ("completed".to_owned(), "fine".to_owned()));
    text
}

#[test]
fn a_command_that_is_missing() {
    let text = reason("[agents.bad]\ncommand = [\"no-such-program\", \"--acp\"]\n", "say x");
    assert!(text.contains("could not be started: `no-such-program --acp`"), "{text}");
}

#[test]
fn a_file_that_is_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent");
    fs::write(&file, "hello").unwrap();
    let text = reason(&format!("[agents.bad]\ncommand = [{file:?}]\n"), "say x");
    assert!(text.contains("could not be started") && text.contains("ermission denied"), "{text}");
}

#[test]
fn a_folder_that_is_not_there() {
    let settings =
        format!("[agents.bad]\ncommand = [{LEGWORK:?}, \"rehearsal\"]\ncwd = \"/no/such\"\n");
    let text = reason(&settings, "say x");
    assert!(text.contains("the folder /no/such"), "{text}");
}

#[test]
fn one_that_exits_at_once() {
    let text = reason(&misbehaving(Misbehaviour::Exit), "say x");
    assert!(text.contains("ended (exit status: 3) while it was starting"), "{text}");
    assert!(text.contains("Its last words: "), "{text}");
}

#[test]
fn one_that_prints_rubbish() {
    let text = reason(&(misbehaving(Misbehaviour::Rubbish) + "start_seconds = 10\n"), "say x");
    assert!(text.contains("did not answer initialize within 10 s"), "{text}");
    assert!(text.contains("Its last words: <html>This is no message.</html>"), "{text}");
}

#[test]
fn one_that_speaks_another_version() {
    let text = reason(&misbehaving(Misbehaviour::Version), "say x");
    assert!(text.contains("speaks version 99 of ACP, legwork speaks version 1"), "{text}");
}

#[test]
fn one_that_never_answers() {
    // The second has to begin in time.
    for (how, method, seconds) in
        [(Misbehaviour::Silent, "initialize", 1), (Misbehaviour::NeverNew, "session/new", 10)]
    {
        let limit = format!("start_seconds = {seconds}\n");
        let text = reason(&(misbehaving(how) + &limit), "say x");
        assert!(text.contains(&format!("did not answer {method} within {seconds} s")), "{text}");
    }
}

#[test]
fn one_that_wants_a_login() {
    let text = reason(&misbehaving(Misbehaviour::NeedLogin), "say x");
    assert!(text.contains("wants somebody to log in first"), "{text}");
}

#[test]
fn one_that_floods() {
    let text = reason(&misbehaving(Misbehaviour::FloodStart), "say x");
    assert!(text.contains("a line of more than 16 MB"), "{text}");
    let plain = bad_agent("bad", None);
    let text = reason(&plain, "flood 100");
    assert!(text.contains("an answer of more than 8 MB"), "{text}");
    let text = reason(&plain, "flood-line 100");
    assert!(text.contains("a line of more than 16 MB"), "{text}");
}

#[test]
fn one_that_floods_its_stderr_does_no_harm() {
    let mut stage = Stage::with(&misbehaving(Misbehaviour::FloodStderr));
    let task = stage.launch_as("bad", "say fine");
    assert_eq!(stage.result(&task), ("completed".to_owned(), "fine".to_owned()));
}

#[test]
fn one_that_babbles_a_little_is_put_up_with() {
    let mut stage = Stage::with(&bad_agent("rehearsal", None));
    let task = stage.launch("babble 5\nsay fine");
    assert_eq!(stage.result(&task), ("completed".to_owned(), "fine".to_owned()));
    let task = stage.launch("babble 500\nsay fine");
    let (status, text) = stage.result(&task);
    assert!(status == "error" && text.contains("not ACP"), "{status} {text}");
}

#[test]
fn one_that_crashes_in_the_middle_says_its_last_words() {
    let plain = bad_agent("bad", None);
    let text = reason(&plain, "say half of\nstderr out of cheese\ncrash 7");
    assert!(text.contains("ended (exit status: 7) in the middle of a turn"), "{text}");
    assert!(text.contains("out of cheese") && text.contains("half of"), "{text}");
}

#[test]
fn one_that_stops_before_it_is_done() {
    let plain = format!("[agents.bad]\ncommand = [{LEGWORK:?}, \"rehearsal\"]\n");
    let text = reason(&plain, "say half of\nstop max_tokens");
    assert!(text.contains("stopped at its limit of tokens") && text.contains("half of"), "{text}");
    let text = reason(&plain, "stop refusal");
    assert!(text.contains("refused to go on"), "{text}");
}

/// What codex-acp (2.6.0) sends of a turn that failed.
const CODEX_FAILED: &str = r#"update {"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}"#;
const CODEX_ACTIVE: &str = r#"update {"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"active","activeFlags":[]}}}}"#;
const CODEX_IDLE: &str = r#"update {"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"idle"}}}}"#;

/// A message in one piece.
fn piece(text: &str) -> String {
    let content = json!({ "type": "text", "text": text });
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
    format!("update {update}")
}

#[test]
fn d3_a_turn_that_codex_says_has_failed_is_an_error_with_its_cause() {
    let mut stage = Stage::with(&bad_agent("rehearsal", None));
    let why = "exceeded retry limit, last status: 429 Too Many Requests\n\n";
    let lines = [CODEX_ACTIVE, &piece("half of it"), CODEX_FAILED, &piece(why)];
    let task = stage.launch(&lines.join("\n"));
    let reason = "The agent rehearsal failed: exceeded retry limit, last status: 429 Too Many \
                  Requests\n\nhalf of it";
    assert_eq!(stage.result(&task), ("error".to_owned(), reason.to_owned()));
    let task = stage.launch(&[&piece(why), CODEX_FAILED].join("\n"));
    let reason = reason.strip_suffix("\n\nhalf of it").unwrap();
    assert_eq!(stage.result(&task), ("error".to_owned(), reason.to_owned()));
}

#[test]
fn d3_a_turn_that_codex_says_went_well_is_its_answer() {
    let mut stage = Stage::with(&bad_agent("rehearsal", None));
    // It failed once, and went on by itself.
    let lines = [CODEX_FAILED, CODEX_ACTIVE, "say all is well", CODEX_IDLE];
    let task = stage.launch(&lines.join("\n"));
    assert_eq!(stage.result(&task), ("completed".to_owned(), "all is well".to_owned()));
}

/// How Gemini (0.61.0) ends a turn.
fn gemini_end(tokens: u64) -> String {
    let count = json!({ "input_tokens": tokens, "output_tokens": tokens });
    let told = json!({ "_meta": { "quota": { "token_count": count, "model_usage": [] } } });
    format!("result {told}")
}

#[test]
fn d3_a_turn_of_gemini_whose_stream_was_cut_is_an_error_with_what_it_said() {
    let mut stage = Stage::with(&bad_agent("rehearsal", None));
    let task = stage.launch(&format!("say partial\n{}", gemini_end(0)));
    let (status, text) = stage.result(&task);
    assert_eq!(status, "error", "{text}");
    assert!(text.contains("may have been cut") && text.ends_with("\n\npartial"), "{text}");
    let task = stage.launch(&format!("say whole\n{}", gemini_end(7)));
    assert_eq!(stage.result(&task), ("completed".to_owned(), "whole".to_owned()));
    // A command of its own, which asks no model.
    let task = stage.launch(&format!("/memory show\nsay it is empty\n{}", gemini_end(0)));
    assert_eq!(stage.result(&task), ("completed".to_owned(), "it is empty".to_owned()));
}
