//! What is known of an unfinished run and not saved. A restart may forget all of it: nothing here
//! is needed to end the run right, only to end it sooner and to show how it is doing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use legwork_protocol::limits::{
    HOST_TEXT_MAX_CHARS, LAST_TOOLS, RETRY_FIRST_MS, RETRY_MAX_MS, STILL_AFTER_ERROR_MS,
    STILL_LOOK_EVERY_MS, STILL_MS,
};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::QuestionView;
use legwork_protocol::{HostId, QuestionId, Time};

use crate::slept::postpone;
use crate::work::{Retry, Tried, WorkId};

#[derive(Debug, Clone, Default)]
pub struct Volatile {
    pub(crate) activity: Activity,
    /// The tools that the helper last used, oldest first.
    pub tools: VecDeque<String>,
    /// The last tool call of which it is known what it is about.
    pub doing: Option<legwork_protocol::view::Activity>,
    pub retry: Option<Retry>,
    /// Since when its host has been waiting to try the provider again.
    pub(crate) retry_since: Option<Time>,
    pub questions: BTreeMap<QuestionId, QuestionView>,
    /// The request in flight for it; one at a time.
    pub(crate) request: Option<Request>,
    /// When the next request is due: another try, or a look. None: when something happens.
    pub(crate) due: Option<Time>,
    /// Tries of the present stage that failed.
    pub(crate) tries: u32,
    /// Whether a host was asked to open its session.
    pub(crate) open: Tried,
    pub(crate) handover: Handover,
    pub(crate) stillness: Stillness,
    pub(crate) rerun: Rerun,
    pub(crate) observed: Option<Time>,
    pub(crate) loss: HostLoss,
    /// Since when nobody works on it, because its host ended or waits for its provider.
    pub(crate) idle_since: Option<Time>,
    /// Hosts that were asked for it in place of its own, and do not have its session.
    pub(crate) unknown_to: BTreeSet<HostId>,
    pub(crate) deletion_announced: bool,
    /// Since when it is known to be past a limit.
    pub(crate) overdue: Option<Time>,
    /// Since when it is being stopped because of what it has cost.
    pub(crate) overspent: Option<Time>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Activity {
    /// The moment from which silence is counted.
    pub since: Time,
    known: Known,
}

/// How we know that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Known {
    #[default]
    Seen,
    /// We were restarted, and count from then so as not to end the run too early.
    Assumed,
    /// The same, and the host told when it really was.
    Told(Time),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub work: WorkId,
    pub host: HostId,
    pub validity: Validity,
}

/// Whether the answer to a request can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validity {
    Current,
    /// Something happened in the session since it was asked for.
    Overtaken,
    /// It was asked of the run's own host, which has ended since.
    Stale,
}

/// Whether the present prompt may have reached the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Handover {
    #[default]
    Untried,
    Tried,
    /// And something happened in the session while it was handed over, which may be its doing.
    Heard,
}

impl Handover {
    pub fn tried(self) -> Tried {
        match self {
            Self::Untried => Tried::Never,
            Self::Tried | Self::Heard => Tried::Perhaps,
        }
    }
}

/// Signs that nobody works on the prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stillness {
    /// Since when looks find neither work nor an answer.
    pub since: Option<Time>,
    pub error: Option<String>,
}

/// Whether the prompt is handed over once more: a host may store one and start no turn for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rerun {
    #[default]
    No,
    Due,
    Done,
}

/// Whether the run's host has ended under it, and whether we saw it end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum HostLoss {
    #[default]
    None,
    Watched {
        since: Time,
    },
    /// It was out of our sight: the run may well have been answered before.
    Unwatched {
        since: Time,
    },
}

impl HostLoss {
    pub fn since(self) -> Option<Time> {
        match self {
            Self::None => None,
            Self::Watched { since } | Self::Unwatched { since } => Some(since),
        }
    }
}

impl Volatile {
    pub(crate) fn new(now: Time) -> Self {
        Self { activity: Activity::seen(now), ..Self::default() }
    }

    /// Of a run from before a restart: nobody remembers what was asked of its host.
    pub(crate) fn restored(now: Time) -> Self {
        Self {
            activity: Activity { since: now, known: Known::Assumed },
            open: Tried::Perhaps,
            handover: Handover::Tried,
            ..Self::default()
        }
    }

    /// How long the helper has done nothing, as far as anybody knows.
    pub fn quiet_ms(&self, now: Time) -> u64 {
        match self.activity.known {
            Known::Told(at) => now.since(at),
            Known::Seen | Known::Assumed => now.since(self.activity.since),
        }
    }

    pub fn host_ended(&self) -> bool {
        self.loss != HostLoss::None
    }

    /// Whether a request may be made now: none is in flight, and none is to wait.
    pub(crate) fn is_free(&self, now: Time) -> bool {
        self.request.is_none() && self.due.is_none_or(|due| due <= now)
    }

    /// The next request is due at this moment, at the latest.
    pub(crate) fn due_by(&mut self, at: Time) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// The present try failed. Gives back when to try again.
    pub(crate) fn failed(&mut self, now: Time) -> Time {
        self.tries += 1;
        now.plus(pause_ms(self.tries))
    }

    /// Something happened in the session, so an answer that is on its way may be too old.
    pub(crate) fn overtake(&mut self) {
        let current = |request: &&mut Request| request.validity == Validity::Current;
        if let Some(request) = self.request.as_mut().filter(current) {
            request.validity = Validity::Overtaken;
        }
    }

    pub(crate) fn used_tool(&mut self, name: &str) {
        if self.tools.len() == LAST_TOOLS {
            self.tools.pop_front();
        }
        self.tools.push_back(plain(name, HOST_TEXT_MAX_CHARS));
        self.doing = None;
    }

    /// The stage changed, so what failed before does not count any more. A prompt has an id of its
    /// own in each stage; a session is the task's for good.
    pub(crate) fn fresh_stage(&mut self) {
        (self.tries, self.due) = (0, None);
        self.handover = Handover::Untried;
        self.stillness = Stillness::default();
        self.rerun = Rerun::No;
    }

    /// Whether the host stored the prompt and will start no turn for it, now that a look finds it
    /// without a reply: so did one before, and no error says why.
    pub(crate) fn is_swallowed(&self, now: Time) -> bool {
        let Stillness { since, error } = &self.stillness;
        let twice = since.is_some_and(|since| now.since(since) >= STILL_LOOK_EVERY_MS);
        twice && error.is_none() && self.rerun == Rerun::No
    }

    pub(crate) fn run_again(&mut self, now: Time) {
        self.rerun = Rerun::Due;
        self.stillness.since = None;
        self.due = Some(now);
    }

    pub(crate) fn slept(&mut self, ms: u64) {
        self.activity.since = self.activity.since.plus(ms);
        if let Known::Told(at) = &mut self.activity.known {
            *at = at.plus(ms);
        }
        if let HostLoss::Watched { since } | HostLoss::Unwatched { since } = &mut self.loss {
            *since = since.plus(ms);
        }
        let Self { due, stillness, observed, overdue, retry_since, .. } = self;
        for moment in [due, &mut stillness.since, observed, overdue, retry_since] {
            postpone(moment, ms);
        }
    }
}

impl Activity {
    pub fn seen(at: Time) -> Self {
        Self { since: at, known: Known::Seen }
    }

    /// The host tells when the helper last moved, if it knows.
    pub fn host_tells(&mut self, moved: Option<Time>) {
        self.since = self.since.max(moved.unwrap_or_default());
        if self.known != Known::Seen {
            self.known = moved.map_or(Known::Assumed, Known::Told);
        }
    }
}

impl Stillness {
    /// The first error is the cause; OpenCode says it again with a stack trace (1.18.33).
    pub fn errored(&mut self, why: &str) {
        self.error.get_or_insert_with(|| plain(why, HOST_TEXT_MAX_CHARS));
    }

    /// A look finds nobody at work and no answer. Whether that has been so for too long.
    pub fn seen(&mut self, now: Time) -> bool {
        let since = *self.since.get_or_insert(now);
        let patience = if self.error.is_some() { STILL_AFTER_ERROR_MS } else { STILL_MS };
        now.since(since) >= patience
    }
}

/// The pause after so many failures: doubling, within bounds.
pub(crate) fn pause_ms(failures: u32) -> u64 {
    RETRY_FIRST_MS.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(RETRY_MAX_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_bounds() {
        assert_eq!([1, 2, 3, 4].map(pause_ms), [500, 1000, 2000, 4000]);
        assert_eq!(pause_ms(0), 500);
        assert_eq!(pause_ms(u32::MAX), RETRY_MAX_MS);
    }
}
