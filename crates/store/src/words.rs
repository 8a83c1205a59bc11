//! How values are encoded in the file. Ids and stages are text, so that a person can read the file;
//! an unknown word is a fault, never a guess.

use legwork_engine::record::{About, DeliveryEnd};
use legwork_engine::task::{Asked, Outcome, Stage, StageName};
use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::timeline::Event;
use legwork_protocol::{MessageId, QuestionId, TaskId};

use crate::fault::Fault;

/// No run has so many questions. A build that does not know it takes it for one of them.
const UNREAD: i64 = 1_000_000;

pub const PENDING: &str = "pending";
pub const WITHDRAWN: &str = "withdrawn";

pub fn id(task: TaskId) -> String {
    task.to_string()
}

/// SQLite's integers are signed and ours are not; the bits are kept.
pub fn int(number: u64) -> i64 {
    number.cast_signed()
}

pub fn question(about: About) -> i64 {
    match about {
        About::End => -1,
        About::Question(number) => i64::from(number),
        About::Unread => UNREAD,
    }
}

pub fn about(question: i64) -> Result<About, Fault> {
    match question {
        -1 => Ok(About::End),
        UNREAD => Ok(About::Unread),
        number => u32::try_from(number)
            .map(About::Question)
            .map_err(|_| Fault::Unknown { what: format!("notices.question is {number}") }),
    }
}

pub fn delivery_end(end: DeliveryEnd) -> &'static str {
    match end {
        DeliveryEnd::Delivered => "delivered",
        DeliveryEnd::ParentGone => "parent gone",
        DeliveryEnd::Refused => "refused",
    }
}

/// How many questions came before these begins the line before them. An older legwork takes that
/// line for one more id, which does no harm.
const BEFORE: char = '+';

/// Ids have no control characters, so that a line holds one whole.
pub fn asked(before: u32, ids: &[QuestionId]) -> String {
    let before = (before > 0).then(|| format!("{BEFORE}{before}"));
    let ids = ids.iter().map(|id| id.as_str().to_owned());
    before.into_iter().chain(ids).collect::<Vec<_>>().join("\n")
}

pub fn questions(asked: &str) -> Result<Asked, Fault> {
    let first = asked.lines().next().and_then(|line| line.strip_prefix(BEFORE));
    let before = first.and_then(|number| number.parse().ok());
    let ids = asked.lines().skip(usize::from(before.is_some()));
    let ids = ids.map(|line| line.parse().map_err(|why| unknown("tasks.asked", line, why)));
    Ok(Asked { before: before.unwrap_or(0), ids: ids.collect::<Result<_, _>>()? })
}

/// An event of a timeline, as JSON.
pub fn event(event: &Event) -> Result<String, Fault> {
    serde_json::to_string(event).map_err(|why| unknown("timeline.event", "", why))
}

pub fn to_event(json: &str) -> Result<Event, Fault> {
    serde_json::from_str(json).map_err(|why| unknown("timeline.event", json, why))
}

pub fn unknown(place: &str, value: &str, why: impl std::fmt::Display) -> Fault {
    let start: String = value.chars().take(ECHO_MAX_CHARS).collect();
    Fault::Unknown { what: format!("{place} is {start:?}: {why}") }
}

pub fn stage(word: &str, message: Option<MessageId>) -> Result<Stage, Fault> {
    let name = word.parse().map_err(|why| unknown("tasks.stage", word, why))?;
    let stage = match (name, message) {
        (StageName::Queued, _) => Stage::Queued,
        (StageName::Opening, _) => Stage::Opening,
        (StageName::Prompting, Some(message)) => Stage::Prompting(message),
        (StageName::Working, Some(message)) => Stage::Working(message),
        (StageName::Completed, _) => Stage::Finished(Outcome::Completed),
        (StageName::Failed, _) => Stage::Finished(Outcome::Failed),
        (StageName::Cancelled, _) => Stage::Finished(Outcome::Cancelled),
        (StageName::Prompting | StageName::Working, None) => {
            return Err(Fault::Unknown { what: format!("stage {word} without tasks.message") });
        }
    };
    Ok(stage)
}
