//! Ids and moments. Each is a type of its own, so that a session cannot be taken for a task, and
//! each is checked once, where it enters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::ID_MAX_BYTES;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum BadId {
    #[error("an id must not be empty")]
    Empty,
    #[error("an id has at most {ID_MAX_BYTES} bytes")]
    TooLong,
    /// They would break listings and logs.
    #[error("an id has no control characters")]
    Control,
    #[error("a task id is bg_ and 8 characters of 0-9 and a-z")]
    NotATask,
}

fn check(text: &str) -> Result<(), BadId> {
    if text.is_empty() {
        Err(BadId::Empty)
    } else if text.len() > ID_MAX_BYTES {
        Err(BadId::TooLong)
    } else if text.chars().any(char::is_control) {
        Err(BadId::Control)
    } else {
        Ok(())
    }
}

/// Written as text and read from it, in lines and files too.
macro_rules! text_form {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = <$name as std::str::FromStr>::Err;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}
pub(crate) use text_form;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        text_form!($name);

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A host's conversation.
    SessionId
);
text_id!(
    /// One host process that we speak with. A restarted host is another host, so that what the
    /// old one was doing is known to be over.
    HostId
);
text_id!(
    /// Where sessions are kept: every host of one place can reach the same sessions (for
    /// OpenCode, one project of one data folder).
    Place
);
text_id!(
    /// One logical call. A call sent again after a broken pipe carries the same key, and nothing
    /// happens twice. Unique over all callers.
    CallKey
);
text_id!(
    /// A permission or question that a helper waits for, in the host's words.
    QuestionId
);
text_id!(
    /// A message that we send to a host. Made by us and saved first, so that sending it again is
    /// harmless.
    MessageId
);
text_id!(
    /// A part of a message that we send. Fixed like the message's id: OpenCode appends a part that
    /// has no id again on every attempt (seen in 1.18.33).
    PartId
);

const TASK_PREFIX: &str = "bg_";
const TASK_LENGTH: u32 = 8;
/// How many task ids there are.
const TASK_IDS: u64 = 36u64.pow(TASK_LENGTH);

/// A task of ours: `bg_` and eight characters of `[0-9a-z]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(u64);

impl TaskId {
    /// The id that a number stands for; numbers that differ by a multiple of 36⁸ share one.
    pub fn from_number(number: u64) -> Self {
        Self(number % TASK_IDS)
    }

    /// The id after this one, for the rare case that one is taken.
    pub fn next(self) -> Self {
        Self::from_number(self.0 + 1)
    }

    fn digits(self) -> String {
        base36(self.0, TASK_LENGTH)
    }
}

/// The last digits of a number in base 36.
fn base36(number: u64, length: u32) -> String {
    let digit = |place| char::from_digit((number / 36u64.pow(place) % 36) as u32, 36);
    (0..length).rev().filter_map(digit).collect()
}

impl fmt::Display for TaskId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{TASK_PREFIX}{}", self.digits())
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for TaskId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let digits = text.strip_prefix(TASK_PREFIX).ok_or(BadId::NotATask)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if digits.len() != TASK_LENGTH as usize || !digits.bytes().all(is_digit) {
            return Err(BadId::NotATask);
        }
        u64::from_str_radix(digits, 36).map(Self).map_err(|_| BadId::NotATask)
    }
}

text_form!(TaskId);

/// What a message of ours is for; part of its id, so that no two are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageUse {
    /// The prompt of a run; the number counts how often the run was asked to go on.
    Prompt(u32),
    /// A delivery whose first notice tells the end of the run.
    End,
    /// A delivery whose first notice tells a question; the number counts the run's questions.
    Question(u32),
    /// A delivery that makes a session read what it was told before.
    Unread,
}

impl MessageId {
    /// The id of a message about one run of a task.
    ///
    /// The form is OpenCode's own (`msg_`, 12 hex digits of time, 14 characters), because there
    /// ids made later must sort later; other hosts do not care.
    pub fn make(now: Time, task: TaskId, run: u32, what: MessageUse) -> Self {
        let (kind, count) = match what {
            MessageUse::Prompt(count) => ('p', count),
            MessageUse::End => ('e', 0),
            MessageUse::Question(count) => ('q', count),
            MessageUse::Unread => ('u', 0),
        };
        let time = (now.0 << 12) & 0xffff_ffff_ffff;
        let (run, count) = (base36(run.into(), 3), base36(count.into(), 2));
        Self(format!("msg_{time:012x}{kind}{run}{count}{}", task.digits()).into())
    }

    /// Whether an id is one that [`MessageId::make`] makes. OpenCode's own have the same form, but
    /// count from 1 within a millisecond, where ours have a 0.
    pub fn is_ours(id: &str) -> bool {
        tail(id).is_some()
    }

    /// The run whose prompt has this id.
    pub fn prompts_run(id: &str) -> Option<u32> {
        let run = tail(id)?.strip_prefix('p')?.get(..3)?;
        u32::from_str_radix(run, 36).ok()
    }

    /// The id of the message's part with this number.
    pub fn part(&self, number: usize) -> PartId {
        let tail = self.0.strip_prefix("msg_").unwrap_or(&self.0);
        PartId(format!("prt_{tail}{number:03}").into())
    }
}

/// What stands behind the time in an id of ours.
fn tail(id: &str) -> Option<&str> {
    let (time, tail) = id.strip_prefix("msg_")?.split_at_checked(12)?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let is_ours = time.ends_with("000")
        && time.bytes().all(|byte| byte.is_ascii_hexdigit())
        && tail.len() == 14
        && tail.starts_with(['p', 'e', 'q', 'u'])
        && tail.bytes().all(is_digit);
    is_ours.then_some(tail)
}

/// When the message with this id of OpenCode's form was made, as somebody sees it at this moment:
/// of the time an id has the last 36 bits, some two years.
pub fn made_at(id: &str, now: Time) -> Option<Time> {
    let time = u64::from_str_radix(id.strip_prefix("msg_")?.get(..12)?, 16).ok()?;
    let age = now.0.wrapping_sub(time >> 12) & 0xf_ffff_ffff;
    Some(Time(now.0.saturating_sub(age)))
}

/// A call as the daemon counts it: one for each question put to it, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u64);

/// A moment: milliseconds since 1970.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// This moment and so many milliseconds.
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from an earlier moment to this one; 0 when it was not earlier.
    pub fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The name of a run for clients that poll for it: the task's id, and the number of the run unless
/// it is the first. A resume is another run, so that it does not hide the end of the one before.
pub fn run_name(task: TaskId, run: u32) -> String {
    if run == 0 { task.to_string() } else { format!("{task}.{run}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_of_a_message_is_in_its_id() {
        let made = Time(1_794_838_309_673);
        let id = MessageId::make(made, TaskId::from_number(7), 0, MessageUse::End);
        for later in [0, 1, 60_000, 600 * 86_400_000] {
            assert_eq!(made_at(id.as_str(), made.plus(later)), Some(made), "{later}");
        }
        for other in ["", "msg_", "msg_00", "prt_000000000000", "msg_00000000000x"] {
            assert_eq!(made_at(other, made), None);
        }
    }

    #[test]
    fn a_task_id_reads_back_as_written() {
        for number in [0, 1, 35, 36, 123_456_789, TASK_IDS - 1, u64::MAX] {
            let id = TaskId::from_number(number);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), 11);
        }
    }

    #[test]
    fn what_is_no_task_id_is_refused() {
        for text in
            ["", "bg_", "bg_1234567", "bg_123456789", "bg_ABCDEFGH", "BG_12345678", "bg_1234567é"]
        {
            assert_eq!(text.parse::<TaskId>(), Err(BadId::NotATask), "{text}");
        }
    }

    #[test]
    fn the_last_task_id_is_followed_by_the_first() {
        assert_eq!(TaskId::from_number(TASK_IDS - 1).next(), TaskId::from_number(0));
    }

    #[test]
    fn text_ids_refuse_rubbish() {
        assert_eq!("".parse::<SessionId>(), Err(BadId::Empty));
        assert_eq!("a\nb".parse::<SessionId>(), Err(BadId::Control));
        assert_eq!("x".repeat(ID_MAX_BYTES + 1).parse::<SessionId>(), Err(BadId::TooLong));
    }

    #[test]
    fn message_ids_sort_by_time_and_never_meet() {
        let task = TaskId::from_number(7);
        let early = MessageId::make(Time(1_700_000_000_000), task, 0, MessageUse::Prompt(0));
        let late = MessageId::make(Time(1_700_000_000_001), task, 0, MessageUse::End);
        assert!(early < late);
        assert_eq!(early.as_str().len(), 30);
        let twin = MessageId::make(Time(1_700_000_000_000), task, 0, MessageUse::Prompt(1));
        assert_ne!(early, twin);
        assert!(early.part(0).as_str().starts_with("prt_"));
    }

    #[test]
    fn p3_the_run_of_a_prompt_is_read_from_its_id() {
        let (now, task) = (Time(1_700_000_000_000), TaskId::from_number(7));
        for run in [0, 1, 37, 46_655] {
            let id = MessageId::make(now, task, run, MessageUse::Prompt(3));
            assert_eq!(MessageId::prompts_run(id.as_str()), Some(run), "{id}");
        }
        let end = MessageId::make(now, task, 1, MessageUse::End);
        // The last is an id of OpenCode's own that happens to have a `p` there.
        let others = ["", "msg_", "msg_x", "msg_1df4d5d01001NIm2XxGPXHfQge"];
        for other in others.into_iter().chain([end.as_str(), "msg_1df4d5d01001pwaj2XxGPXHfQg"]) {
            assert_eq!(MessageId::prompts_run(other), None, "{other}");
        }
    }

    #[test]
    fn our_messages_are_known_by_their_id_and_others_are_not() {
        let task = TaskId::from_number(7);
        let uses =
            [MessageUse::Prompt(3), MessageUse::End, MessageUse::Question(1), MessageUse::Unread];
        for what in uses {
            let id = MessageId::make(Time(1_794_747_750_924), task, 12, what);
            assert!(MessageId::is_ours(id.as_str()), "{id}");
        }
        let others =
            ["", "msg_", "msg_1df4d5d01001NIm2XxGPXHfQge", "msg_1df4d5d01000NIm2XxGPXHfQge"];
        for id in others.iter().chain(&["msg_1df4d5d01001p000000000007a", "msg_1df4d5d0100é"]) {
            assert!(!MessageId::is_ours(id), "{id}");
        }
    }
}
