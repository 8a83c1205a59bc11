//! An entry of a conversation in words, and why there are no more of them.

use legwork_protocol::amounts::{counted, duration};
use legwork_protocol::api::transcript::{Entry, Source, ToolUse};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::TaskView;

use crate::model::limits::LINE_MAX_CHARS;

/// Takes in an entry with a known key: the whole of it, or what is new of its text.
pub fn join(known: &mut Entry, mut entry: Entry) {
    if entry.from > 0 && entry.from == known.text.text.len() as u64 {
        entry.text.text.insert_str(0, &known.text.text);
        entry.from = 0;
    }
    *known = entry;
}

/// The tool, and what the call is about.
pub fn subject(tool: &ToolUse) -> String {
    let name = plain(&tool.name, LINE_MAX_CHARS);
    let title = plain(&tool.title, LINE_MAX_CHARS);
    if title.is_empty() || title == name { name } else { format!("{name}  {title}") }
}

/// How long a call took that is over. A tool often takes less than a second.
pub fn took(entry: &Entry) -> Option<String> {
    entry.tool.as_ref().filter(|tool| tool.state.is_over())?;
    let ms = entry.ended?.since(entry.at?);
    Some(match ms {
        0..10_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => duration(ms),
    })
}

/// That so much of a text is not there.
pub fn left_out(characters: u64) -> String {
    format!("… {}", counted(usize::try_from(characters).unwrap_or(usize::MAX), "more character"))
}

/// Why there is no more than what was asked and what came of it, and what to do.
pub fn missing(source: Source, task: &TaskView) -> Option<String> {
    let kept = "This is what legwork keeps: what it was asked and what came of it.";
    let waits = task.status.is_unfinished();
    let again = match waits {
        true => String::new(),
        false => format!(" {kept} Open OpenCode there and ask again for the rest."),
    };
    match source {
        Source::Host => None,
        Source::NotBegun if waits => Some("Its conversation has not begun yet.".to_owned()),
        Source::NotBegun => Some("It has no conversation: it never began.".to_owned()),
        Source::Gone => Some(format!("Its conversation is not there any more. {kept}")),
        Source::HostAway => Some(format!(
            "Its conversation cannot be read at the moment, because no OpenCode of {} is \
             connected.{again}",
            task.directory
        )),
    }
}
