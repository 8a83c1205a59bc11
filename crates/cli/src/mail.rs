//! Notices to terminals that nobody read: what a helper found after the command that launched it
//! had ended. The next command shows them, after what it has to say itself, each once, and not what
//! it has just shown anyway.
//!
//! Never starts a daemon and never makes a command fail: mail that cannot be shown now waits.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Mutex;

use legwork_client::{Client, Start};
use legwork_machine::{Folders, lock};
use legwork_protocol::api::{Answer, Ask, Request};
use legwork_protocol::line::Role;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{Mail, TaskView};
use legwork_protocol::{MessageId, SessionId, Status, TaskId};
use unicode_width::UnicodeWidthStr;

use crate::asking::task;
use crate::fault::Fault;
use crate::progress::Live;
use crate::screen::{BAD, DIM, GOOD, MIND, harmless, paint};
use crate::sentences;
use crate::table::fit;
use crate::words::{counted, duration};

/// Lines under a command that is about something else.
pub const LINES_MAX: usize = 10;
/// With less room a description says nothing.
const LEAST_WIDTH: usize = 12;
const TEXT_MAX_CHARS: usize = 1_000;

/// Tasks of which this command has shown how they are.
static SEEN: Mutex<BTreeSet<TaskId>> = Mutex::new(BTreeSet::new());

/// The person has just seen how this task is, so it is no news.
pub fn seen_here(task: TaskId) {
    lock(&SEEN).insert(task);
}

/// Shows what is there, if there is a daemon.
pub fn show() {
    if let Some(mut client) = connect() {
        show_through(&mut client, LINES_MAX);
    }
}

pub fn connect() -> Option<Client> {
    Client::connect(&Folders::from_env().ok()?, Role::Client, Start::Never).ok()
}

/// Shows at most so many lines. Says how many pieces of news there were.
pub fn show_through(client: &mut Client, most: usize) -> usize {
    let mail = unread(client);
    let seen = lock(&SEEN).clone();
    let (mut news, mut quiet) = (Vec::new(), BTreeSet::new());
    for id in mail.iter().flat_map(|mail| &mail.tasks).collect::<BTreeSet<_>>() {
        match task(client, *id).map(|task| line(&task)) {
            Ok(Some(line)) if !seen.contains(id) => news.push((*id, line)),
            // Known, of no interest any more, or forgotten.
            Ok(_) | Err(Fault::Denied(_)) => drop(quiet.insert(*id)),
            Err(_) => {}
        }
    }
    // Files of earlier builds do not say which tasks it is about.
    let bare: Vec<&Mail> = mail.iter().filter(|mail| mail.tasks.is_empty()).collect();
    let shown = if news.len() + bare.len() > most { most - 1 } else { news.len() };
    let more = news.len() - shown.min(news.len());
    let lines = news.iter().take(shown).map(|(_, line)| line.clone());
    let lines = lines.chain(bare.iter().map(|mail| harmless(&mail.text).trim_end().to_owned()));
    let lines: Vec<String> = lines.collect();
    // Only what could be written was shown.
    if write(&lines, more, &mut anstream::stderr()).is_err() {
        return 0;
    }
    quiet.extend(news.iter().take(shown).map(|(id, _)| *id));
    let over = mail.iter().filter(|mail| mail.tasks.iter().all(|task| quiet.contains(task)));
    let over: Vec<MessageId> = over.map(|mail| mail.message.clone()).collect();
    if !over.is_empty() {
        mark_shown(client, over);
    }
    lines.len() + more
}

/// The mail of this session has been seen otherwise.
pub fn discard(client: &mut Client, session: &SessionId) {
    let own = unread(client).into_iter().filter(|mail| mail.session == *session);
    let messages: Vec<MessageId> = own.map(|mail| mail.message).collect();
    if !messages.is_empty() {
        mark_shown(client, messages);
    }
}

fn unread(client: &mut Client) -> Vec<Mail> {
    client.request(Request::Mail).ok().and_then(Result::ok).unwrap_or_default()
}

fn mark_shown(client: &mut Client, messages: Vec<MessageId>) {
    // What is not marked is shown again, which is better than never.
    let _ = client.request::<Answer>(Ask::MailShown { messages });
}

/// What there is to tell of a task, on one line; nothing if it goes on without the person, or if
/// somebody has read its result.
fn line(task: &TaskView) -> Option<String> {
    let id = task.id;
    let reason = task.reason.as_deref().unwrap_or("no reason is known");
    let (mark, style, said, todo) = match task.status {
        Status::Completed if task.retrieved.is_some() => return None,
        Status::Completed => {
            ("✓", GOOD, format!("({})", duration(task.elapsed_ms)), format!("legwork output {id}"))
        }
        Status::Error => ("✗", BAD, format!("failed: {reason}"), format!("legwork show {id}")),
        Status::Cancelled => ("✗", BAD, "was cancelled".to_owned(), format!("legwork show {id}")),
        Status::Running | Status::Resumed => {
            let question = sentences::question(task.questions.first()?);
            ("?", MIND, question, format!("legwork answer {id}"))
        }
    };
    let room = Live::room().0.saturating_sub(todo.width() + 5).max(2 * LEAST_WIDTH);
    let what = plain(&task.description, TEXT_MAX_CHARS);
    // What it is called gives way to what is said of it, down to a few words.
    let least = room.saturating_sub(said.width() + 1).max(room / 2).max(LEAST_WIDTH);
    let what = fit(&what, least);
    let said = fit(&plain(&said, TEXT_MAX_CHARS), room.saturating_sub(what.width() + 1));
    Some(format!("{} {what} {said}  {}", paint(style, mark), paint(DIM, todo)))
}

fn write(lines: &[String], more: usize, out: &mut impl Write) -> io::Result<()> {
    if lines.is_empty() && more == 0 {
        return Ok(());
    }
    writeln!(out, "{}", paint(DIM, "── since you last looked ──"))?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if more > 0 {
        let more = format!("… and {} more: legwork mail", counted(more, "task"));
        writeln!(out, "{}", paint(DIM, more))?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p10_news_are_set_apart_and_the_rest_is_counted() {
        let said = |lines: &[&str], more| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let mut out = Vec::new();
            write(&lines, more, &mut out).unwrap();
            anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
        };
        assert_eq!(said(&[], 0), "");
        assert_eq!(said(&["one", "two"], 0), "── since you last looked ──\none\ntwo\n");
        assert!(said(&["one"], 51).ends_with("one\n… and 51 tasks more: legwork mail\n"));
    }
}
