//! One request to the model, and what its script wants: which script decides, and which of its
//! steps is next. Nothing is answered here, and nothing is known of what was asked before but
//! whether a step was begun.

use serde_json::Value;

use crate::script::{self, Line};

/// What somebody said in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The texts, a line break between parts.
    pub text: String,
    /// The names of the tools that an assistant called.
    pub calls: Vec<String>,
}

/// A tool that the model was offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// What it is said to be for.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
}

/// What a request is to be answered with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Title,
    Noted,
    Step { script: String, step: usize, lines: Vec<Line> },
    Wrong(String),
}

pub(super) fn messages(request: &Value) -> Vec<Said> {
    let empty = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&empty);
    messages.iter().map(said).collect()
}

fn said(message: &Value) -> Said {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let name = |call: &Value| call["function"]["name"].as_str().map(str::to_owned);
    Said {
        role: message["role"].as_str().unwrap_or_default().to_owned(),
        text,
        calls: calls.filter_map(name).collect(),
    }
}

pub(super) fn offered(request: &Value) -> Vec<Offered> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tools = request["tools"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let offered = |tool: &Value| Offered {
        name: text(&tool["function"]["name"]),
        description: text(&tool["function"]["description"]),
        schema: tool["function"]["parameters"].clone(),
    };
    tools.map(offered).collect()
}

/// The conversation with scripts in place of the prompts that stand for one.
pub(super) fn read(messages: &[Said], learned: &[(String, String)]) -> Vec<Said> {
    let read = |said: &Said| {
        let meant = learned.iter().find(|(words, _)| said.text.contains(words.as_str()));
        match meant {
            Some((_, script)) if said.role == "user" => {
                Said { text: script.clone(), ..said.clone() }
            }
            _ => said.clone(),
        }
    };
    messages.iter().map(read).collect()
}

/// The script that decides is the last one that a user sent. Something else that was said after it
/// does not keep a turn under way from going on, but a new turn is about what was said, and so is
/// one whose script was `begun` before (it failed or was aborted).
pub(super) fn plan(messages: &[Said], begun: impl Fn(&str, usize) -> bool) -> Plan {
    let of_title =
        |said: &Said| said.role == "system" && said.text.contains("You are a title generator");
    if messages.iter().any(of_title) {
        return Plan::Title;
    }
    let has_script = |said: &Said| said.role == "user" && script::parse(&said.text).is_some();
    let Some(at) = messages.iter().rposition(has_script) else { return Plan::Noted };
    let step = messages[at + 1..].iter().filter(|said| said.role == "assistant").count();
    let trailing = messages.iter().rev().take_while(|said| said.role == "user").count();
    let turn_begins_at = messages.len() - trailing;
    let text = &messages[at].text;
    let interrupted = at + 1 != messages.len() && trailing > 0;
    if interrupted {
        let before = turn_begins_at.checked_sub(1).map(|place| &*messages[place].role);
        let under_way = at < turn_begins_at && before == Some("tool");
        let waiting = at >= turn_begins_at && !begun(text, step);
        if !under_way && !waiting {
            return Plan::Noted;
        }
    }
    match script::parse(text) {
        Some(Ok(mut steps)) if step < steps.len() => {
            Plan::Step { script: text.clone(), step, lines: steps.swap_remove(step) }
        }
        Some(Err(wrong)) => Plan::Wrong(wrong),
        _ => Plan::Noted,
    }
}

/// What was said before the script that decides, on one line.
pub(super) fn digest(messages: &[Said]) -> String {
    let has_script = |said: &Said| said.role == "user" && script::parse(&said.text).is_some();
    let at = messages.iter().rposition(has_script).unwrap_or(messages.len());
    let before = messages[..at].iter().filter(|said| said.role != "system");
    let piece = |said: &Said| {
        let words: Vec<&str> = said.text.split_whitespace().collect();
        let text: String = words.join(" ").chars().take(80).collect();
        let calls = said.calls.iter().map(|call| format!(" +{call}"));
        format!("{}={text}{}", said.role, calls.collect::<String>())
    };
    format!("history: {}", before.map(piece).collect::<Vec<_>>().join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(role: &str, text: &str) -> Said {
        Said { role: role.into(), text: text.into(), calls: Vec::new() }
    }

    fn chosen(said: &[Said]) -> Option<(usize, Vec<Line>)> {
        match plan(said, |_, _| false) {
            Plan::Step { step, lines, .. } => Some((step, lines)),
            _ => None,
        }
    }

    const TWO: &str = "#script\ncall bash {}\n--\nsay done";

    #[test]
    fn the_step_is_the_number_of_answers_since() {
        let mut talk = vec![said("system", "be nice"), said("user", TWO)];
        assert_eq!(chosen(&talk).unwrap().0, 0);
        talk.extend([said("assistant", ""), said("tool", "out")]);
        assert_eq!(chosen(&talk).unwrap().1, [Line::Say("done".into())]);
        talk.push(said("assistant", "done"));
        assert_eq!(plan(&talk, |_, _| false), Plan::Noted);
        talk.push(said("user", "#script\nsay again"));
        assert_eq!(chosen(&talk).unwrap().1, [Line::Say("again".into())]);
    }

    #[test]
    fn a_notice_starts_a_turn_of_its_own_but_does_not_end_one_under_way() {
        let notice = said("user", "[BACKGROUND TASK COMPLETED]");
        assert_eq!(plan(std::slice::from_ref(&notice), |_, _| false), Plan::Noted);
        let ended = [said("user", "#script\nsay a"), said("assistant", "a"), notice.clone()];
        assert_eq!(plan(&ended, |_, _| false), Plan::Noted);
        let tool = said("tool", "out");
        let middle = [said("user", TWO), said("assistant", ""), tool.clone(), notice.clone()];
        assert_eq!(chosen(&middle).unwrap().0, 1);
        let later = [said("user", TWO), notice.clone(), said("assistant", ""), tool];
        assert_eq!(chosen(&later).unwrap().0, 1);
        let early = [said("user", TWO), notice];
        assert_eq!(chosen(&early).unwrap().0, 0);
        assert_eq!(plan(&early, |_, _| true), Plan::Noted);
    }

    #[test]
    fn words_that_were_learned_stand_for_a_script() {
        let learned =
            [("two helpers".to_owned(), TWO.to_owned()), ("COMPLETED".to_owned(), "x".to_owned())];
        let mut talk = vec![said("user", "Have two helpers, COMPLETED or not")];
        assert_eq!(chosen(&read(&talk, &learned)).unwrap().0, 0);
        talk.extend([said("assistant", "two helpers"), said("user", "else")]);
        let scripts = read(&talk, &learned).into_iter().filter(|said| said.text == TWO).count();
        assert_eq!(scripts, 1, "what the model says itself is no prompt");
    }

    #[test]
    fn a_title_is_asked_for_by_the_system_prompt() {
        let talk = [said("system", "You are a title generator. Do."), said("user", TWO)];
        assert_eq!(plan(&talk, |_, _| false), Plan::Title);
    }

    #[test]
    fn parts_calls_and_tools_are_read() {
        let request = json!({
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "a" }, { "text": "b" }] },
                { "role": "assistant", "content": null,
                  "tool_calls": [{ "function": { "name": "bash" } }] },
                { "role": "user", "content": "#script\nsay x" },
            ],
            "tools": [{ "function": { "name": "bash", "parameters": { "type": "object" } } }],
        });
        let messages = messages(&request);
        assert_eq!(messages[0].text, "a\nb");
        assert_eq!(digest(&messages), "history: user=a b / assistant= +bash");
        assert_eq!(offered(&request)[0].schema, json!({ "type": "object" }));
    }
}
