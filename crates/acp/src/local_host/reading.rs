//! The conversation of a session, for people: what is in its log, and what is being said.

use legwork_engine::HostError;
use legwork_protocol::api::transcript::{Entry, EntryKind};
use legwork_protocol::{MessageId, SessionId, Time};
use tokio::task::spawn_blocking;

use super::LocalHost;
use crate::session::session_log::{End, Line};
use crate::turn::record::TurnRecord;

/// What is not in the log yet.
#[derive(Default)]
struct Unwritten {
    open: Vec<Entry>,
    /// The end of the turn under way.
    end: Option<(MessageId, End)>,
}

impl LocalHost {
    pub async fn read_conversation(&self, session: &SessionId) -> Result<Vec<Entry>, HostError> {
        // Before the log, so that what is written meanwhile is there twice and not missing.
        let end = self.0.turns.of(session).and_then(|turn| Some((turn.message, turn.end?)));
        let open = self.0.records.read(session, TurnRecord::open).unwrap_or_default();
        let log = self.0.log.clone();
        let id = session.clone();
        let lines = spawn_blocking(move || log.read(&id))
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(|error| self.cannot("read", session, &error))?;
        Ok(entries(lines.ok_or(HostError::Gone)?, Unwritten { open, end }))
    }
}

/// The entries of a session, each turn in the order in which they began: what was complete first
/// was written first.
fn entries(lines: Vec<Line>, unwritten: Unwritten) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut turn = Vec::new();
    let mut last_ended = None;
    for line in lines {
        match line {
            Line::Prompt { message, text, at } => {
                entries.append(&mut turn);
                entries.push(prompt(&message, text, at));
            }
            Line::Said { entry } => turn.push(entry),
            Line::End { message, end, at, .. } => {
                finish(&mut turn, &message, end, at);
                entries.append(&mut turn);
                last_ended = Some(message);
            }
            Line::Terminal { .. }
            | Line::Helper { .. }
            | Line::Bound { .. }
            | Line::Cost { .. } => {}
        }
    }
    for entry in unwritten.open {
        let is_it = |kept: &&mut Entry| kept.key == entry.key;
        match turn.iter_mut().find(is_it) {
            // Its text is written with the end of the turn.
            Some(kept) if kept.tool.is_none() && kept.text.is_empty() => *kept = entry,
            Some(_) => {}
            None if entries.iter().any(|kept: &Entry| kept.key == entry.key) => {}
            None => turn.push(entry),
        }
    }
    if let Some((message, end)) = unwritten.end.filter(|(id, _)| last_ended.as_ref() != Some(id)) {
        finish(&mut turn, &message, end, None);
    }
    turn.sort_by_key(number);
    entries.append(&mut turn);
    entries
}

/// The number of an entry within its turn.
fn number(entry: &Entry) -> u64 {
    let number = entry.key.rsplit_once('/').and_then(|(_, number)| number.parse().ok());
    number.unwrap_or(u64::MAX)
}

fn prompt(message: &MessageId, text: String, at: Option<Time>) -> Entry {
    Entry {
        key: message.to_string(),
        run: run_of(message),
        kind: EntryKind::Prompt,
        at,
        text: text.into(),
        ..Entry::default()
    }
}

fn run_of(message: &MessageId) -> u32 {
    MessageId::prompts_run(message.as_str()).unwrap_or_default()
}

/// The end of a turn: its answer is kept only here.
fn finish(turn: &mut Vec<Entry>, message: &MessageId, end: End, at: Option<Time>) {
    turn.sort_by_key(number);
    let has = |turn: &[Entry], text: &str| {
        turn.iter().any(|entry| entry.kind == EntryKind::Text && entry.text.text.trim() == text)
    };
    let key = format!("{message}/end");
    let last = Entry { key, run: run_of(message), at, ..Entry::default() };
    match end {
        End::Answered { text } | End::Aborted { text } => {
            let is_answer =
                |entry: &&mut Entry| entry.kind == EntryKind::Text && entry.text.is_empty();
            if let Some(answer) = turn.iter_mut().rev().find(is_answer) {
                answer.text = text.into();
            } else if !text.is_empty() && !has(turn, &text) {
                turn.push(Entry { kind: EntryKind::Text, text: text.into(), ..last });
            }
        }
        End::Failed { reason } => {
            turn.push(Entry { kind: EntryKind::Error, text: reason.into(), ..last });
        }
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::TaskId;
    use legwork_protocol::ids::MessageUse;

    use super::*;
    use crate::turn::used::Used;

    fn message(run: u32) -> MessageId {
        MessageId::make(Time(5), TaskId::from_number(1), run, MessageUse::Prompt(0))
    }

    fn said(run: u32, number: u32, text: &str) -> Line {
        let key = format!("{}/{number}", message(run));
        Line::Said { entry: Entry { key, run, text: text.into(), ..Entry::default() } }
    }

    fn asked(run: u32, text: &str) -> Line {
        Line::Prompt { message: message(run), text: text.to_owned(), at: Some(Time(5)) }
    }

    fn ended(run: u32, end: End) -> Line {
        Line::End { message: message(run), end, tool_calls: 0, used: Used::default(), at: None }
    }

    fn shown(lines: Vec<Line>) -> Vec<(EntryKind, u32, String)> {
        let entries = entries(lines, Unwritten::default()).into_iter();
        entries.map(|entry| (entry.kind, entry.run, entry.text.text)).collect()
    }

    #[test]
    fn p3_a_log_is_read_in_order_with_its_runs_and_each_answer_once() {
        let lines = vec![
            asked(0, "do it"),
            said(0, 2, "second"),
            said(0, 1, "first"),
            said(0, 3, ""),
            ended(0, End::Answered { text: "answer".to_owned() }),
            asked(1, "more"),
            ended(1, End::Failed { reason: "no luck".to_owned() }),
        ];
        let shown = shown(lines);
        let (prompt, text, error) = (EntryKind::Prompt, EntryKind::Text, EntryKind::Error);
        let expected = [
            (prompt, 0, "do it"),
            (text, 0, "first"),
            (text, 0, "second"),
            (text, 0, "answer"),
            (prompt, 1, "more"),
            (error, 1, "no luck"),
        ];
        assert_eq!(shown, expected.map(|(kind, run, text)| (kind, run, text.to_owned())));
    }

    #[test]
    fn p3_what_is_being_written_down_is_there_at_every_moment() {
        let open = |text: &str| {
            let Line::Said { entry } = said(0, 2, text) else { unreachable!() };
            vec![Entry { open: true, ..entry }]
        };
        let texts = |lines: Vec<Line>, unwritten: Unwritten| -> Vec<String> {
            entries(lines, unwritten).into_iter().map(|entry| entry.text.text).collect()
        };
        let answered = || End::Answered { text: "answer".to_owned() };
        let mut lines = vec![asked(0, "do it"), said(0, 3, "third"), said(0, 1, "first")];
        let unwritten = Unwritten { open: open("answ"), end: None };
        assert_eq!(texts(lines.clone(), unwritten), ["do it", "first", "answ", "third"]);
        lines.push(said(0, 2, ""));
        let unwritten = Unwritten { open: open("answer"), end: None };
        assert_eq!(texts(lines.clone(), unwritten), ["do it", "first", "answer", "third"]);
        let end = || Some((message(0), answered()));
        let unwritten = Unwritten { open: Vec::new(), end: end() };
        assert_eq!(texts(lines.clone(), unwritten), ["do it", "first", "answer", "third"]);
        lines.push(ended(0, answered()));
        let unwritten = Unwritten { open: open("answer"), end: end() };
        assert_eq!(texts(lines, unwritten), ["do it", "first", "answer", "third"]);
    }

    #[test]
    fn p3_a_log_of_an_earlier_version_has_what_it_has() {
        let old = r#"{"is":"prompt","message":"msg_x","text":"do it"}"#;
        let end = r#"{"is":"end","message":"msg_x","end":{"how":"answered","text":"done"},"tool_calls":1}"#;
        let lines = [old, end].map(|line| serde_json::from_str(line).unwrap()).to_vec();
        let texts: Vec<String> = shown(lines).into_iter().map(|(_, _, text)| text).collect();
        assert_eq!(texts, ["do it", "done"]);
    }
}
