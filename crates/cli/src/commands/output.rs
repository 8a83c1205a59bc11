//! `legwork output`.

use clap::Args;
use legwork_protocol::api::transcript::{Entry, EntryKind, Reading};
use legwork_protocol::view::TaskView;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find, result, task};
use crate::mail;
use crate::screen::{MIND, paint, remark};
use crate::sentences;
use crate::transcript::{Absence, Pages};

/// Print the whole result of a task
///
/// Prints the whole result of a task's last run to stdout, and nothing else. Of a task that failed
/// or was cancelled it prints why, and the exit code says so. Waits only with --follow.
///
/// With --follow it prints what the helper writes while it writes it, and ends with the run. What
/// the helper says between its tool calls is printed too, because nobody knows yet whether it is
/// the result; the result stands last. With --json it waits, and prints the result.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork output 4k2 > report.md
  legwork wait 4k2 && legwork output 4k2
  legwork output 4k2 --follow               as it is being written")]
pub struct Output {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// Print it as it is being written, and end with the run
    #[arg(long, short)]
    follow: bool,
}

impl super::Command for Output {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let id = find(&mut client, &self.task)?;
        let mut written = Written::default();
        // What is to be said of one that is not there, its result says.
        if self.follow
            && let Ok(task) = task(&mut client, id)
            && task.status.is_unfinished()
        {
            written = follow(&task, screen)?;
            // It may have taken longer than the link.
            client = connect()?;
        }
        let found = result(&mut client, None, id)?;
        mail::seen_here(id);
        if found.task.status.is_unfinished() && !screen.is_json() {
            return Err(Fault::Refused(sentences::not_done(&found.task)));
        }
        if screen.is_json() {
            screen.value(&found)?;
        } else {
            written.finish(found.text.as_deref().unwrap_or_default(), screen)?;
        }
        Ok(match Exit::of_tasks([&found.task]) {
            // Nobody waited.
            Exit::TimedOut => Exit::Done,
            exit => exit,
        })
    }
}

/// Prints what is written in the run until it is over.
fn follow(task: &TaskView, screen: &Screen) -> Result<Written, Fault> {
    let reading = Reading { run: Some(task.resumes), ..Reading::default() };
    let mut pages = Pages::of(task.id, reading)?;
    let (mut written, mut absence) = (Written::default(), Absence::default());
    let mut told = Vec::new();
    pages.wait();
    loop {
        let page = pages.next()?;
        absence.see(&page);
        for question in &page.task.questions {
            if !told.contains(&question.id) {
                told.push(question.id.clone());
                let asks = sentences::question(question);
                remark(format_args!("{} It {asks} (legwork answer {})", paint(MIND, "!"), task.id));
            }
        }
        if !screen.is_json() {
            for entry in page.entries.iter().filter(|entry| entry.kind == EntryKind::Text) {
                screen.raw_piece(&written.add(entry))?;
            }
        }
        // One that was resumed meanwhile has another result.
        if page.over || page.task.resumes != task.resumes {
            return Ok(written);
        }
    }
}

/// What was printed of the last text.
#[derive(Debug, Default)]
struct Written {
    key: String,
    text: String,
}

impl Written {
    /// What to print for an entry. One whose beginning is missing is printed when it is whole.
    fn add(&mut self, entry: &Entry) -> String {
        let piece = &entry.text.text;
        if entry.beginning_missing {
            return String::new();
        }
        if entry.key == self.key && entry.from == self.text.len() as u64 {
            let is_blank = self.text.trim().is_empty();
            self.text.push_str(piece);
            return if is_blank { piece.trim_start().to_owned() } else { piece.clone() };
        }
        if entry.key == self.key && piece.starts_with(&self.text) {
            let more = piece[self.text.len()..].to_owned();
            self.text.clone_from(piece);
            return more;
        }
        if entry.from > 0 || piece.is_empty() {
            return String::new();
        }
        let gap = self.gap();
        (self.key, self.text) = (entry.key.clone(), piece.clone());
        format!("{gap}{}", piece.trim_start())
    }

    fn gap(&self) -> &'static str {
        match self.text.as_str() {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        }
    }

    /// Prints the result, unless it is what was printed last.
    fn finish(self, result: &str, screen: &Screen) -> Result<(), Fault> {
        if self.text.is_empty() || self.text.trim() != result.trim() {
            screen.raw_piece(self.gap())?;
            return screen.raw(result);
        }
        if self.text.ends_with('\n') { Ok(()) } else { screen.raw_piece("\n") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, from: u64, text: &str) -> Entry {
        Entry { key: key.to_owned(), from, text: text.into(), ..Entry::default() }
    }

    #[test]
    fn p3_what_is_written_is_printed_once_and_texts_are_set_apart() {
        let mut written = Written::default();
        let mut out = String::new();
        for entry in [
            entry("a", 0, "Let me "),
            entry("a", 7, "look."),
            entry("a", 0, "Let me look."),
            entry("b", 0, "It is "),
            Entry { beginning_missing: true, ..entry("c", 0, "middle") },
            entry("b", 6, "fine."),
        ] {
            out.push_str(&written.add(&entry));
        }
        assert_eq!(out, "Let me look.\n\nIt is fine.");
    }
}
