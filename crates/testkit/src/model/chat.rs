//! A conversation as all dialects have it, and what its script wants: which script decides, and
//! which of its steps is next. Nothing is answered here, and nothing is known of what was asked
//! before but whether a step was begun.

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
    /// The group that it belongs to, where a client has groups (Codex: one for each MCP server).
    pub group: Option<String>,
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
/// one whose script was `begun` before (it failed or was aborted). The same script said again is
/// another one.
pub(super) fn plan(messages: &[Said], begun: impl Fn(&str, usize) -> bool) -> Plan {
    // OpenCode's words, for a title and for a compaction, and Goose's.
    let of_title = |said: &Said| {
        let words = ["You are a title generator", "You are a context summarization agent"];
        said.role == "system" && words.iter().any(|words| said.text.contains(words))
            || said.role == "user" && said.text.starts_with("---BEGIN USER MESSAGES---")
    };
    if messages.iter().any(of_title) {
        return Plan::Title;
    }
    let has_script = |said: &Said| said.role == "user" && script::parse(&said.text).is_some();
    let Some(at) = messages.iter().rposition(has_script) else { return Plan::Noted };
    let step = messages[at + 1..].iter().filter(|said| said.role == "assistant").count();
    let trailing = messages.iter().rev().take_while(|said| said.role == "user").count();
    let turn_begins_at = messages.len() - trailing;
    let text = &messages[at].text;
    let twins = messages[..at].iter().filter(|said| said.role == "user" && said.text == *text);
    let script = format!("{} {text}", twins.count());
    let interrupted = at + 1 != messages.len() && trailing > 0;
    if interrupted {
        let before = turn_begins_at.checked_sub(1).map(|place| &*messages[place].role);
        let under_way = at < turn_begins_at && before == Some("tool");
        let waiting = at >= turn_begins_at && !begun(&script, step);
        if !under_way && !waiting {
            return Plan::Noted;
        }
    }
    match script::parse(text) {
        Some(Ok(mut steps)) if step < steps.len() => {
            Plan::Step { script, step, lines: steps.swap_remove(step) }
        }
        Some(Err(wrong)) => Plan::Wrong(wrong),
        _ => Plan::Noted,
    }
}

/// The tool of this name. A client puts the name of an MCP server in front of the names of its
/// tools; a script does not. One that was not offered is called all the same.
pub(super) fn tool(offered: &[Offered], name: &str) -> Offered {
    let exact = offered.iter().find(|tool| tool.name == name);
    let suffix = |tool: &&Offered| {
        let Some(server) = tool.name.strip_suffix(name) else { return false };
        let is_gemini = server.starts_with("mcp_") && !server.starts_with("mcp__");
        server.ends_with("__") || is_gemini && server.ends_with('_')
    };
    let unknown = || Offered {
        name: name.to_owned(),
        group: None,
        description: String::new(),
        schema: Value::Null,
    };
    exact.or_else(|| offered.iter().find(suffix)).cloned().unwrap_or_else(unknown)
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
    fn a_script_that_is_said_again_has_not_begun() {
        let name = |talk: &[Said]| match plan(talk, |_, _| false) {
            Plan::Step { script, .. } => script,
            other => panic!("{other:?}"),
        };
        let mut talk = vec![said("user", TWO)];
        let first = name(&talk);
        talk.extend([said("assistant", ""), said("tool", "out"), said("assistant", "done")]);
        talk.extend([said("user", TWO), said("user", "[BACKGROUND TASK COMPLETED]")]);
        let again = plan(&talk, |script: &str, _: usize| script == first);
        assert!(matches!(again, Plan::Step { step: 0, .. }), "{again:?}");
        let again = name(&talk);
        assert_eq!(plan(&talk, |script: &str, _: usize| script == again), Plan::Noted);
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
    fn a_title_is_asked_for_in_words_that_are_known() {
        let talk = [said("system", "You are a title generator. Do."), said("user", TWO)];
        assert_eq!(plan(&talk, |_, _| false), Plan::Title);
        let goose = said("user", &format!("---BEGIN USER MESSAGES---\n{TWO}"));
        assert_eq!(plan(&[goose], |_, _| false), Plan::Title);
    }

    #[test]
    fn a_tool_is_found_behind_the_name_of_its_server() {
        let named = |name: &str| tool(&[], name);
        let plain = "mcp__plugin_s_s__background_task";
        let offered = [named("other_task"), named(plain), named("mcp_s_background_list")];
        assert_eq!(tool(&offered, "background_task").name, plain);
        assert_eq!(tool(&offered, "background_list").name, "mcp_s_background_list");
        assert_eq!(tool(&offered, "task").name, "task");
    }
}
