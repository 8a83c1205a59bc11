//! What is asked of a host, and what it may answer. One unit of work may read as often as it likes
//! but writes at most once; two writes need a record between them.

use legwork_protocol::api::Reply;
use legwork_protocol::limits::{HOST_TEXT_MAX_CHARS, OPTIONS_MAX, SUBJECT_MAX_CHARS};
use legwork_protocol::refusal::{cut, plain};
use legwork_protocol::view::{ALLOW_ALWAYS, QuestionKind, QuestionOption, QuestionView};
use legwork_protocol::{HostId, MessageId, PartId, QuestionId, SessionId, TaskId, Time, Usage};

use crate::record::{NoticeId, Target};
use crate::text::pages::Excerpt;

/// Counts what is asked of hosts, so that each answer finds its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// Something for a host to do. Comes back as exactly one `Found`, within bounded time. Work of one
/// [`Lane`] takes effect in the order in which it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub id: WorkId,
    pub host: HostId,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Read: does the host have this agent? → `AgentKnown` or `NoSuchAgent`.
    CheckAgent { agent: String },
    /// Read: is the session there? → `Done` or `Gone`.
    Probe { session: SessionId },
    /// Read: which of these sessions are there no more? → `Missing`.
    FindMissing { sessions: Vec<SessionId> },
    /// Find the session that bears the task's mark, or open one. → `Opened`.
    Open {
        tried: Tried,
        task: TaskId,
        /// The session's parent, which may be a session of another place.
        parent: SessionId,
        directory: String,
        title: String,
        agent: String,
        /// Whether it may use the six tools itself.
        nested: bool,
        /// It is to be a copy of its parent up to this message of that.
        fork_before: Option<String>,
    },
    /// Hand over a prompt, unless it is there, or start the turn of one that is. → `Done` once the
    /// host has taken it, which proves nothing yet.
    Prompt {
        tried: Tried,
        session: SessionId,
        message: MessageId,
        part: PartId,
        agent: String,
        text: String,
    },
    /// Read: how far is the answer to this prompt? → `Observed`.
    Observe { session: SessionId, message: MessageId },
    /// Read: which sessions are at work, and which wait for a person? → `Polled`.
    Poll { scope: Scope },
    /// Put a message into a session, unless it is there. → `Delivered` if it is there, `Done` if it
    /// was sent now, `Unanswered` if it is there in vain, `Queued` if it waits to be read,
    /// `UndoPending`, `AtWork` or `Absent` if it cannot be sent now.
    Deliver {
        tried: Tried,
        session: SessionId,
        message: MessageId,
        /// What it tells.
        notices: Vec<NoticeId>,
        parts: Vec<Part>,
        wake: Wake,
    },
    /// Abort, or delete what bears the task's mark. → `Quiet` if nothing runs there, else `Done`.
    Stop { task: TaskId, target: Target },
    /// Answer a helper's question. → `Done`.
    Answer { session: SessionId, question: QuestionId, kind: QuestionKind, reply: Reply },
}

/// Whether a write was asked for before. A host that is asked for the first time need not look for
/// what it is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tried {
    /// It was not, of any host: what it makes cannot be there.
    #[default]
    Never,
    /// It was, or nobody remembers: what it makes may be there.
    Perhaps,
    /// The message is there and nobody answers it: it is to have its turn, unless it has one now.
    Unanswered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Which sessions are at work. Questions that come along do not count.
    Busy,
    /// Also what they ask a person.
    Questions,
}

/// Work of one lane keeps its order on its host: all that is about one session, or about the
/// session that a task is to have. Lanes do not wait for each other, so one that hangs holds up no
/// other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Session(SessionId),
    /// About whatever bears this task's mark.
    Mark(TaskId),
    Agents,
    Poll,
    FindMissing,
}

impl Action {
    pub fn lane(&self) -> Lane {
        match self {
            Self::Probe { session }
            | Self::Prompt { session, .. }
            | Self::Observe { session, .. }
            | Self::Deliver { session, .. }
            | Self::Answer { session, .. }
            | Self::Stop { target: Target::Session(session) | Target::Opened(session), .. } => {
                Lane::Session(session.clone())
            }
            Self::Open { task, .. } | Self::Stop { task, target: Target::Marked } => {
                Lane::Mark(*task)
            }
            Self::CheckAgent { .. } => Lane::Agents,
            Self::Poll { .. } => Lane::Poll,
            Self::FindMissing { .. } => Lane::FindMissing,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub id: PartId,
    pub shown: Shown,
    pub text: String,
    /// What goes behind the text; the shell puts it there before a host sees the part.
    pub result: Option<Excerpt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    ToAll,
    /// The model; the person's screen is not flooded.
    ToModel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    StartTurn,
    /// It waits in the history until somebody uses the session. A turn that is under way reads it.
    StayIdle,
    /// The same, but a session that is at work is left alone: its model would answer.
    WhenIdle,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Done,
    AgentKnown,
    NoSuchAgent {
        known: Vec<String>,
    },
    /// The sessions that do not exist; only those of which the host says so.
    Missing {
        sessions: Vec<SessionId>,
    },
    Opened {
        session: SessionId,
    },
    Observed(Observation),
    /// Sessions at work. A session that is not named may be anything.
    Polled {
        busy: Vec<(SessionId, Option<Retry>)>,
        questions: Vec<(SessionId, Question)>,
    },
    Delivered,
    /// The message is there and was to start a turn. The session is idle, and nothing follows it.
    Unanswered,
    /// A message now would make an undo permanent.
    UndoPending,
    /// A message now would be answered, and none is wanted.
    AtWork,
    /// The message was taken and waits to be read, for as long as the session is at work. It is
    /// lost if the session's program ends before.
    Queued,
    /// The message is not there, and the program that has the session does not run.
    Absent,
    /// The message is not there, and nobody can put it there: somebody will ask for it.
    Pulled,
    Quiet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub state: RunState,
    /// Tool calls in the answer so far.
    pub tool_calls: u32,
    /// What the prompt used up so far, as far as the host tells.
    pub usage: Usage,
    /// When it last moved, if the host tells.
    pub moved: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    Answered {
        text: String,
    },
    Failed {
        reason: String,
    },
    /// Somebody aborted it, or the host did on closing.
    Aborted {
        /// The last text, if there is any.
        text: String,
    },
    /// No end yet, and the host is at it.
    Busy,
    /// No end yet, and the host is not at it: it has not begun, or it never will.
    Still {
        /// The last text, if there is any.
        text: String,
    },
}

impl RunState {
    /// Whether this is an end that no host needs to be asked about again.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Answered { .. } | Self::Failed { .. })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    pub attempt: u32,
    pub why: String,
    pub next: Time,
}

impl Retry {
    pub(crate) fn on_one_line(&self) -> Self {
        Self { why: plain(&self.why, HOST_TEXT_MAX_CHARS), ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: QuestionId,
    pub kind: QuestionKind,
    pub subject: String,
    pub options: Vec<QuestionOption>,
    /// Whether words may go with a no.
    pub takes_words: bool,
}

impl Question {
    /// A permission that can be given once or for good, or refused.
    pub fn permission(id: QuestionId, subject: impl Into<String>) -> Self {
        let options = [("once", "Allow once"), ("always", ALLOW_ALWAYS), ("reject", "Reject")];
        let option = |(id, label): (&str, &str)| QuestionOption {
            id: id.to_owned(),
            label: label.to_owned(),
        };
        let options = options.into_iter().map(option).collect();
        let kind = QuestionKind::Permission;
        Self { id, kind, subject: subject.into(), options, takes_words: true }
    }

    /// Says in the host's words what a yes for good allows.
    #[must_use]
    pub fn with_always(mut self, label: String) -> Self {
        for option in self.options.iter_mut().filter(|option| option.id == "always") {
            option.label.clone_from(&label);
        }
        self
    }

    /// What anybody sees of it: a few lines, whatever the host said.
    pub(crate) fn view(self, number: u32, since: Time) -> QuestionView {
        let line = |text: &str| plain(text, HOST_TEXT_MAX_CHARS);
        let option = |option: &QuestionOption| QuestionOption {
            id: line(&option.id),
            label: line(&option.label),
        };
        let options = self.options.iter().take(OPTIONS_MAX).map(option).collect();
        let Self { id, kind, subject, takes_words, .. } = self;
        // Two commands on two lines are not one.
        let subject = cut(subject.trim(), SUBJECT_MAX_CHARS);
        let lines = subject.lines().map(|line| plain(line, SUBJECT_MAX_CHARS));
        let subject = lines.collect::<Vec<_>>().join("\n");
        QuestionView { id, number, kind, subject, options, takes_words, since }
    }
}

/// Why a host did not do it. Only what changes the decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No answer. It may have been done or not.
    #[error("the host could not be reached")]
    Unreachable,
    #[error("the host is busy")]
    Busy,
    #[error("the session does not exist")]
    Gone,
    #[error("the host refused: {why}")]
    Rejected { why: String },
}

/// What one prompt used up so far. It names the prompt, because news may be late: what an earlier
/// run used up is not the present one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptUsage {
    pub prompt: MessageId,
    pub usage: Usage,
}
