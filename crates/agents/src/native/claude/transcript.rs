//! Claude Code's own record of a session: one file, one JSON line for each message, in its order
//! (2.1.x). It tells whether a prompt was taken, and what became of it while nobody listened. Only
//! read, never written.
//!
//! A line stands in it some 50 to 100 ms after Claude Code has read the prompt: within that time a
//! first tool may have run though the file does not know of the prompt (seen in 2.1.327).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use legwork_machine::{LineReader, if_there};
use serde_json::Value;

use super::turn::Failure;
use super::wire::{Block, Limit, Said, texts, tokens};
use crate::native::Spent;

/// Where Claude Code keeps its files, if not in `.claude` of the home folder.
const FOLDER_VARIABLE: &str = "CLAUDE_CONFIG_DIR";
/// A longer line is passed over: no answer has so much text.
const LINE_MAX_BYTES: usize = 16 << 20;
/// Why the model stopped, if it wanted to: it has said what it had to say.
const SAID_ALL: [&str; 3] = ["end_turn", "stop_sequence", "refusal"];

/// What a transcript says of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// It does not have it, or is not there.
    No,
    /// Its turn is not over, or was cut off.
    Unfinished,
    Over {
        /// What was said after the last tool call, or how it failed.
        outcome: Result<String, Failure>,
        spent: Spent,
    },
}

/// The folder of Claude Code's files.
pub fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = variable(FOLDER_VARIABLE);
    let in_home = || Some(Path::new(&variable("HOME")?).join(".claude"));
    named.map(PathBuf::from).or_else(in_home)
}

/// The transcript of a session, in whichever project's folder it is: how those are named is not
/// documented, and a session can go on in another folder.
pub fn find(folder: &Path, session: &str) -> io::Result<Option<PathBuf>> {
    let name = format!("{session}.jsonl");
    let Some(projects) = if_there(fs::read_dir(folder.join("projects")))? else { return Ok(None) };
    for project in projects {
        let file = project?.path().join(&name);
        if file.try_exists()? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// What became of the prompt with this id.
pub fn taken(folder: &Path, session: &str, prompt: &str) -> io::Result<Taken> {
    match find(folder, session)? {
        None => Ok(Taken::No),
        Some(file) => read(File::open(file)?, prompt),
    }
}

/// What was said in a session: each text, and whether it was a prompt.
pub fn said(folder: &Path, session: &str) -> io::Result<Vec<(bool, String)>> {
    let mut all = Vec::new();
    let Some(file) = find(folder, session)? else { return Ok(all) };
    lines(File::open(file)?, |line| {
        let text = texts(&line["message"]["content"]);
        let is_said = line["type"] == "assistant" && line["isApiErrorMessage"] != true;
        if !text.is_empty() && (is_said || is_prompt(&line)) {
            all.push((!is_said, text));
        }
        true
    })?;
    Ok(all)
}

/// What the session had cost when its last process ended in good order: the next one counts on from
/// there (seen in 2.1.325).
pub fn cost(folder: &Path, session: &str) -> io::Result<f64> {
    let mut cost = 0.0;
    let Some(file) = find(folder, session)? else { return Ok(cost) };
    lines(File::open(file)?, |line| {
        if line["type"] == "cost-state" {
            cost = line["totalCostUSD"].as_f64().unwrap_or(cost);
        }
        true
    })?;
    Ok(cost)
}

fn read(file: impl Read, prompt: &str) -> io::Result<Taken> {
    let mut turn: Option<Turn> = None;
    lines(file, |line| {
        match &mut turn {
            None if line["type"] == "user" && line["uuid"] == prompt => {
                turn = Some(Turn::default())
            }
            None => {}
            // Another prompt: what follows is its turn.
            Some(_) if is_prompt(&line) => return false,
            Some(turn) => turn.on(&line),
        }
        true
    })?;
    Ok(turn.map_or(Taken::No, Turn::into_taken))
}

/// Reads the lines of the conversation itself until nobody wants more. Half a line at the end is
/// passed over.
fn lines(mut file: impl Read, mut take: impl FnMut(Value) -> bool) -> io::Result<()> {
    let mut lines = LineReader::new(LINE_MAX_BYTES);
    loop {
        match file.read(lines.space())? {
            0 => return Ok(()),
            count => lines.filled(count),
        }
        while let Some(line) = lines.pop() {
            let line = line.ok().and_then(|line| serde_json::from_slice::<Value>(&line).ok());
            // What a sub-agent does is a part of the tool call that started it.
            let line = line.filter(|line| line["isSidechain"] != true);
            if line.is_some_and(|line| !take(line)) {
                return Ok(());
            }
        }
    }
}

/// Whether a person or a host said this, not a tool or Claude Code itself.
fn is_prompt(line: &Value) -> bool {
    let content = &line["message"]["content"];
    let is_result =
        content.as_array().into_iter().flatten().any(|part| part["type"] == "tool_result");
    line["type"] == "user" && line["isMeta"] != true && !is_result
}

/// What is known of a turn so far.
#[derive(Debug, Default)]
struct Turn {
    /// What was said since the last tool call.
    text: String,
    /// What was said before it.
    before: String,
    /// The message that was said last.
    message: String,
    is_over: bool,
    failure: Option<Failure>,
    model: Option<String>,
    /// The tokens of each message: its lines repeat them, and the last has them all.
    tokens: Vec<(String, u64)>,
}

impl Turn {
    fn on(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("assistant") if line["isApiErrorMessage"] == true => {
                let error = line["error"].as_str().unwrap_or_default();
                let limit = Limit::read(&line["quotaLimits"]);
                let why = texts(&line["message"]["content"]);
                let status = line["apiErrorStatus"].as_u64();
                self.failure = Some(Failure::told(error, status, why, limit.as_ref()));
                self.is_over = true;
            }
            Some("assistant") => self.said(&line["message"], Said::read(line)),
            // What a tool gave back, or what Claude Code adds: the model has to answer it.
            Some("user") => self.is_over = false,
            _ => {}
        }
    }

    fn said(&mut self, message: &Value, said: Said) {
        if !said.is_of_model {
            return;
        }
        self.failure = None;
        self.model = message["model"].as_str().map(str::to_owned).or(self.model.take());
        if let Some(tokens) = tokens(&message["usage"]) {
            match self.tokens.last_mut().filter(|(last, _)| *last == said.message) {
                Some((_, last)) => *last = tokens,
                None => self.tokens.push((said.message.clone(), tokens)),
            }
        }
        self.is_over = message["stop_reason"].as_str().is_some_and(|why| SAID_ALL.contains(&why));
        for block in said.blocks {
            match block {
                Block::Text(text) => {
                    if !self.text.is_empty() && self.message != said.message {
                        self.text.push_str("\n\n");
                    }
                    self.message.clone_from(&said.message);
                    self.text.push_str(&text);
                }
                Block::Call { .. } => {
                    self.is_over = false;
                    if !self.text.trim().is_empty() {
                        self.before = std::mem::take(&mut self.text);
                    }
                }
                Block::Thought(_) => {}
            }
        }
    }

    fn into_taken(self) -> Taken {
        if !self.is_over {
            return Taken::Unfinished;
        }
        let text = if self.text.trim().is_empty() { self.before } else { self.text };
        let tokens = self.tokens.iter().map(|(_, tokens)| tokens).sum();
        let tokens = (!self.tokens.is_empty()).then_some(tokens);
        let spent = Spent { tokens, model: self.model, dollars: None };
        let outcome = self.failure.map_or_else(|| Ok(text.trim().to_owned()), Err);
        Taken::Over { outcome, spent }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROMPT: &str = "00000000-0000-8000-8000-000000000001";

    fn user(uuid: &str, content: Value) -> Value {
        json!({
            "type": "user", "uuid": uuid, "isSidechain": false,
            "message": { "role": "user", "content": content },
        })
    }

    fn assistant(message: &str, block: Value, stop: Option<&str>, output: u64) -> Value {
        json!({
            "type": "assistant", "uuid": format!("u-{message}"), "isSidechain": false,
            "message": {
                "id": message, "role": "assistant", "model": "scripted", "content": [block],
                "stop_reason": stop, "usage": { "input_tokens": 10, "output_tokens": output },
            },
        })
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    fn call(id: &str) -> Value {
        json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "ls" } })
    }

    fn result(id: &str) -> Value {
        let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]);
        user(&format!("r-{id}"), content)
    }

    fn file(lines: &[Value]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn of(lines: &[Value]) -> Taken {
        read(file(lines).as_bytes(), PROMPT).unwrap()
    }

    fn whole() -> Vec<Value> {
        vec![
            json!({ "type": "queue-operation", "operation": "enqueue", "content": PROMPT }),
            user("before", json!("an earlier prompt")),
            assistant("m0", text("an earlier answer"), Some("end_turn"), 1),
            user(PROMPT, json!([{ "type": "text", "text": "do it" }])),
            assistant("m1", text("Let me look."), None, 2),
            assistant("m1", call("t1"), Some("tool_use"), 5),
            result("t1"),
            assistant("m2", text("Done."), Some("end_turn"), 7),
        ]
    }

    fn ended(text: &str, tokens: u64) -> Taken {
        let spent =
            Spent { tokens: Some(tokens), model: Some("scripted".to_owned()), dollars: None };
        Taken::Over { outcome: Ok(text.to_owned()), spent }
    }

    #[test]
    fn h2_an_answer_is_what_was_said_after_the_last_tool_call() {
        assert_eq!(of(&whole()), ended("Done.", 32));
        let mut silent = whole();
        silent[7] = assistant("m2", text(""), Some("end_turn"), 7);
        assert_eq!(of(&silent), ended("Let me look.", 32));
    }

    #[test]
    fn h2_a_turn_that_was_cut_off_anywhere_is_not_over() {
        let all = whole();
        for kept in 0..all.len() {
            let expected = if kept < 4 { Taken::No } else { Taken::Unfinished };
            assert_eq!(of(&all[..kept]), expected, "{kept} lines");
        }
        let mut half = file(&all);
        half.truncate(half.len() - 10);
        assert_eq!(read(half.as_bytes(), PROMPT).unwrap(), Taken::Unfinished);
    }

    #[test]
    fn h2_what_follows_another_prompt_is_not_the_answer_to_this_one() {
        let mut all = whole();
        all.truncate(7);
        all.push(user("after", json!("go on")));
        all.push(assistant("m3", text("Went on."), Some("end_turn"), 1));
        assert_eq!(of(&all), Taken::Unfinished);
    }

    #[test]
    fn h2_what_a_sub_agent_says_is_no_answer() {
        let mut all = whole();
        let mut aside = all.pop().unwrap();
        aside["isSidechain"] = true.into();
        all.push(aside);
        assert_eq!(of(&all), Taken::Unfinished);
    }

    #[test]
    fn h5_a_limit_in_a_transcript_is_a_failure_with_its_reset() {
        let mut all = whole();
        all.truncate(4);
        all.push(json!({
            "type": "assistant", "isSidechain": false, "isApiErrorMessage": true,
            "error": "rate_limit", "apiErrorStatus": 429,
            "quotaLimits": {
                "status": "rejected", "resetsAt": 1_795_115_340, "rateLimitType": "five_hour",
            },
            "message": {
                "id": "x", "model": "<synthetic>", "stop_reason": "stop_sequence",
                "content": [text("You've hit your 5-hour limit · resets 7:09pm")],
            },
        }));
        let Taken::Over { outcome: Err(failed), .. } = of(&all) else { panic!("no failure") };
        assert_eq!(
            failed.why,
            "You've hit your 5-hour limit · resets 7:09pm (until 2026-11-19 19:09 UTC)"
        );
        assert!(!failed.is_login);
        // It tried again and got further.
        all.push(assistant("m2", text("Done."), Some("end_turn"), 7));
        assert_eq!(of(&all), ended("Done.", 17));
    }

    #[test]
    fn h2_the_transcript_is_found_in_whichever_folder_it_is() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        assert_eq!(taken(folder, "s", PROMPT).unwrap(), Taken::No);
        assert_eq!(find(folder, "s").unwrap(), None);
        for project in ["-a", "-b-c"] {
            fs::create_dir_all(folder.join("projects").join(project)).unwrap();
        }
        assert_eq!(find(folder, "s").unwrap(), None);
        fs::write(folder.join("projects/-b-c/s.jsonl"), file(&whole())).unwrap();
        assert_eq!(taken(folder, "s", PROMPT).unwrap(), ended("Done.", 32));
        assert_eq!(taken(folder, "s", "another").unwrap(), Taken::No);
        let said = said(folder, "s").unwrap();
        let said: Vec<_> = said.iter().map(|(asked, text)| (*asked, &**text)).collect();
        assert_eq!(said[2..], [(true, "do it"), (false, "Let me look."), (false, "Done.")]);
    }

    #[test]
    fn h2_the_folder_is_the_one_that_is_named_or_in_the_home() {
        let variables = |named: Option<&'static str>| {
            move |name: &str| match name {
                "HOME" => Some("/h/a".into()),
                _ => named.map(OsString::from),
            }
        };
        assert_eq!(folder(variables(None)), Some("/h/a/.claude".into()));
        assert_eq!(folder(variables(Some("/x"))), Some("/x".into()));
        assert_eq!(folder(|_| None), None);
    }
}
