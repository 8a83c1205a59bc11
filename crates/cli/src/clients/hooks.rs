//! Hooks of clients: whose session one speaks of, when it wants something, and what it prints.

use legwork_machine::process::process_mark;
use legwork_machine::table;
use legwork_protocol::SessionId;
use legwork_protocol::view::Mail;
use serde_json::{Value, json};

use super::Client;

/// Ancestors that are looked at; between a hook and its client are a shell or two.
const ANCESTORS_MAX: usize = 16;
/// What a model is shown at once; the rest waits for the next time.
const TEXT_MAX_CHARS: usize = 60_000;

/// How the hooks of a client show its model what came in.
pub struct HookClient {
    /// Whether this event is one at which the model can be shown something.
    pub wants: fn(&str, &Value) -> bool,
    /// What is printed to show this.
    pub output: fn(&Value, &str) -> Value,
    /// What is printed to show nothing.
    pub nothing: &'static str,
    /// The sessions of the id that the client says. Others tell neither their hooks nor their
    /// servers which session it is.
    pub sessions: Option<fn(&str) -> Vec<SessionId>>,
}

/// A process above this one.
#[derive(Debug)]
pub struct Ancestor {
    pub id: u32,
    pub arguments: Vec<String>,
}

impl HookClient {
    pub fn is_wanted(&self, input: &Value) -> bool {
        (self.wants)(input["hook_event_name"].as_str().unwrap_or_default(), input)
    }

    /// As Claude Code and Gemini CLI read it.
    pub fn in_context(input: &Value, text: &str) -> Value {
        json!({ "hookSpecificOutput": {
            "hookEventName": input["hook_event_name"],
            "additionalContext": text,
        } })
    }
}

/// The sessions that the front of this client uses for whoever has run this hook. Where the client
/// does not say which one it is, the front goes by the process that started it; that is among our
/// ancestors too.
pub fn sessions_of(client: Client, input: &Value, ancestors: &[Ancestor]) -> Vec<SessionId> {
    if let Some(sessions) = client.hooks.as_ref().and_then(|hooks| hooks.sessions) {
        let id = input["session_id"].as_str().filter(|id| !id.is_empty());
        return id.map(sessions).unwrap_or_default();
    }
    let is_client = |above: &&Ancestor| above.is(client.word);
    // One that starts itself again is two processes. One that was started from within another has
    // somebody in between, and is not that one.
    let nearest = ancestors.iter().skip_while(|above| !is_client(above));
    let marks = nearest.take_while(is_client).filter_map(|above| process_mark(above.id));
    marks.filter_map(|mark| legwork_mcp::session_of_process(&mark)).collect()
}

/// The processes above this one, the nearest first.
pub fn ancestors() -> Vec<Ancestor> {
    let mut next = std::process::id();
    let mut all = Vec::new();
    while let Some(parent) = table::entry(next).map(|entry| entry.parent)
        && parent > 0
        && all.len() < ANCESTORS_MAX
    {
        all.push(Ancestor { id: parent, arguments: table::arguments(parent) });
        next = parent;
    }
    all
}

impl Ancestor {
    /// Whether it is a program of this name, or what runs a script of it. The shell that runs the
    /// hook has the name in its command, and is not meant.
    fn is(&self, word: &str) -> bool {
        let has_word = |path: &String| path.to_ascii_lowercase().contains(word);
        let Some((program, rest)) = self.arguments.split_first() else { return false };
        let name = program.rsplit('/').next().unwrap_or(program);
        let is_shell = name.trim_start_matches('-').ends_with("sh");
        let is_command = rest.iter().any(|arg| arg.starts_with('-') && arg.ends_with('c'));
        let script = rest.iter().find(|arg| !arg.starts_with('-'));
        !(is_shell && is_command) && (has_word(&name.to_owned()) || script.is_some_and(has_word))
    }
}

/// The texts of these, as far as there is room, and how many they are; nothing if there are none.
pub fn joined(mail: &[Mail]) -> Option<(String, usize)> {
    let mut text = mail.first()?.text.clone();
    if let Some((at, _)) = text.char_indices().nth(TEXT_MAX_CHARS) {
        text.truncate(at);
        text.push_str("\n[cut off here; background_output has all of it]");
        return Some((text, 1));
    }
    let mut room = TEXT_MAX_CHARS - text.chars().count();
    let mut count = 1;
    for more in &mail[1..] {
        let length = more.text.chars().count() + 2;
        if length > room {
            break;
        }
        text.push_str("\n\n");
        text.push_str(&more.text);
        room -= length;
        count += 1;
    }
    Some((text, count))
}

#[cfg(test)]
mod tests {
    use legwork_protocol::ids::MessageUse;
    use legwork_protocol::{MessageId, TaskId, Time};

    use super::*;
    use crate::clients::named;

    fn hooks(word: &str) -> &'static HookClient {
        named(word).unwrap().hooks.as_ref().unwrap()
    }

    fn sessions(word: &str, input: &Value, ancestors: &[Ancestor]) -> Vec<SessionId> {
        sessions_of(named(word).unwrap(), input, ancestors)
    }

    fn mail(text: &str) -> Mail {
        let message = MessageId::make(Time(1), TaskId::from_number(7), 0, MessageUse::End);
        let session = "claude_x".parse().unwrap();
        Mail { message, session, at: Time(1), text: text.to_owned(), tasks: Vec::new() }
    }

    fn above(id: u32, arguments: &[&str]) -> Ancestor {
        Ancestor { id, arguments: arguments.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[test]
    fn m7_a_hook_of_claude_names_its_session_and_others_the_process_of_their_client() {
        let input = json!({ "session_id": "0a-1b" });
        let claude = sessions("claude", &input, &[]);
        let own = ["claude_0a-1b", "claude_0a-1b_agents"].map(|name| name.parse().unwrap());
        assert_eq!(claude, own);
        assert!(sessions("claude", &json!({}), &[]).is_empty());

        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let shell = above(1, &["sh", "-c", "/opt/legwork hook gemini"]);
        let gemini = above(own, &["node", "--no-warnings", "/opt/gemini-cli/index.js"]);
        let outer = above(parent, &["/usr/bin/gemini"]);
        let name = |id| legwork_mcp::session_of_process(&process_mark(id).unwrap()).unwrap();
        let relaunched = sessions("gemini", &input, &[shell, gemini, outer]);
        assert_eq!(relaunched, [name(own), name(parent)]);
        // One within another is not the other.
        let gemini = above(own, &["node", "/opt/gemini-cli/index.js"]);
        let between = above(1, &["bash", "-c", "gemini -p x"]);
        let outer = above(parent, &["/usr/bin/gemini"]);
        let nested = sessions("gemini", &input, &[gemini, between, outer]);
        assert_eq!(nested, [name(own)]);
        assert!(sessions("cursor", &input, &[above(own, &["node", "x"])]).is_empty());
    }

    #[test]
    fn m7_each_client_is_told_in_its_own_form_and_only_when_it_can_show_it() {
        let event = |name: &str| json!({ "hook_event_name": name, "status": "completed" });
        assert!(hooks("claude").is_wanted(&event("UserPromptSubmit")));
        assert!(!hooks("claude").is_wanted(&event("SessionStart")));
        assert!(
            hooks("gemini").is_wanted(&event("AfterTool"))
                && hooks("cursor").is_wanted(&event("stop"))
        );
        let aborted = json!({ "hook_event_name": "stop", "status": "aborted" });
        assert!(!hooks("cursor").is_wanted(&aborted) && !hooks("gemini").is_wanted(&Value::Null));
        let said = (hooks("gemini").output)(&event("BeforeAgent"), "done");
        assert_eq!(said["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
        assert_eq!(said["hookSpecificOutput"]["additionalContext"], "done");
        let said = (hooks("cursor").output)(&event("stop"), "done");
        assert_eq!(said.to_string(), "{\"followup_message\":\"done\"}");
    }

    #[test]
    fn m7_more_than_a_model_should_read_at_once_waits_or_is_cut() {
        assert_eq!(joined(&[]), None);
        assert_eq!(joined(&[mail("a"), mail("b")]), Some(("a\n\nb".to_owned(), 2)));
        let long = "é".repeat(TEXT_MAX_CHARS - 2);
        assert_eq!(joined(&[mail("a"), mail(&long)]).unwrap(), ("a".to_owned(), 1));
        let (cut, count) = joined(&[mail(&"é".repeat(TEXT_MAX_CHARS + 1)), mail("b")]).unwrap();
        assert!(cut.contains("background_output") && count == 1);
    }
}
