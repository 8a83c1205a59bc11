//! What is known of an unfinished run and not saved. A restart may forget all of it: nothing here
//! is needed to end the run right, only to end it sooner and to show how it is doing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use legwork_protocol::limits::{
    HOST_TEXT_MAX_CHARS, LAST_TOOLS, RETRY_FIRST_MS, RETRY_MAX_MS, STILL_AFTER_ERROR_MS, STILL_MS,
};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::QuestionView;
use legwork_protocol::{CallId, HostId, QuestionId, Time};

use crate::slept::postpone;
use crate::work::{Retry, Tried, WorkId};

/// The volatile state of one unfinished run.
#[derive(Debug, Clone)]
pub struct Volatile {
    pub(crate) activity: Activity,
    /// The tools that the helper last used, oldest first.
    pub tools: VecDeque<String>,
    pub tokens: Option<u64>,
    /// Cost of its session, in millionths.
    pub cost_micros: Option<u64>,
    /// The provider is being tried again.
    pub retry: Option<Retry>,
    /// What it waits for a person to answer.
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
    /// When a look last came back.
    pub(crate) observed: Option<Time>,
    pub(crate) loss: HostLoss,
    /// Hosts that were asked for it in place of its own, and do not have its session.
    pub(crate) unknown_to: BTreeSet<HostId>,
    /// A host has announced that its session was deleted.
    pub(crate) deletion_announced: bool,
    /// Since when it is known to be past a limit.
    pub(crate) overdue: Option<Time>,
    /// Callers who wait for the session to be open.
    pub(crate) callers: Vec<CallId>,
    /// How long their host stays.
    pub(crate) callers_host: HostLifetime,
}

/// When the helper last did something, and how we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Seen(Time),
    /// We were restarted since, and count from then so as not to end it too early; the host may
    /// have told us better.
    Assumed {
        since: Time,
        told: Option<Time>,
    },
}

/// What a host was asked for a run.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    Untried,
    Tried,
    /// And something happened in the session while it was handed over, which may be its doing.
    Heard,
}

/// Signs that nobody works on the prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stillness {
    /// Since when looks find neither work nor an answer.
    since: Option<Time>,
    /// The error that the host spoke of.
    error: Option<String>,
}

/// Whether the run's host has ended under it, and whether we saw it end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostLoss {
    None,
    Watched {
        since: Time,
    },
    /// It was out of our sight: the run may well have been answered before.
    Unwatched {
        since: Time,
    },
}

impl Volatile {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            activity: Activity::Seen(now),
            tools: VecDeque::new(),
            tokens: None,
            cost_micros: None,
            retry: None,
            questions: BTreeMap::new(),
            request: None,
            due: None,
            tries: 0,
            open: Tried::Never,
            handover: Handover::Untried,
            stillness: Stillness::default(),
            observed: None,
            loss: HostLoss::None,
            unknown_to: BTreeSet::new(),
            deletion_announced: false,
            overdue: None,
            callers: Vec::new(),
            callers_host: HostLifetime::Interactive,
        }
    }

    /// Of a run of before a restart: nobody remembers what was asked of its host.
    pub(crate) fn restored(now: Time) -> Self {
        Self {
            activity: Activity::Assumed { since: now, told: None },
            open: Tried::Perhaps,
            handover: Handover::Tried,
            ..Self::new(now)
        }
    }

    /// How long the helper has done nothing, as far as anybody knows.
    pub fn quiet_ms(&self, now: Time) -> u64 {
        now.since(match self.activity {
            Activity::Assumed { told: Some(told), .. } => told,
            Activity::Assumed { since, told: None } => since,
            Activity::Seen(at) => at,
        })
    }

    /// Whether the run's host has ended.
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
        if let Some(request) = &mut self.request
            && request.validity == Validity::Current
        {
            request.validity = Validity::Overtaken;
        }
    }

    pub(crate) fn used_tool(&mut self, name: &str) {
        if self.tools.len() == LAST_TOOLS {
            self.tools.pop_front();
        }
        self.tools.push_back(plain(name, HOST_TEXT_MAX_CHARS));
    }

    /// The stage changed, so what failed before does not count any more.
    pub(crate) fn fresh_stage(&mut self) {
        self.tries = 0;
        // A prompt has an id of its own in each stage; a session is the task's for good.
        self.handover = Handover::Untried;
        self.due = None;
        self.stillness = Stillness::default();
    }

    pub(crate) fn slept(&mut self, ms: u64) {
        match &mut self.activity {
            Activity::Seen(at) => *at = at.plus(ms),
            Activity::Assumed { since, told } => {
                *since = since.plus(ms);
                postpone(told, ms);
            }
        }
        for moment in
            [&mut self.due, &mut self.stillness.since, &mut self.observed, &mut self.overdue]
        {
            postpone(moment, ms);
        }
        if let HostLoss::Watched { since } | HostLoss::Unwatched { since } = &mut self.loss {
            *since = since.plus(ms);
        }
    }
}

impl Activity {
    /// The moment from which silence is counted.
    pub fn since(self) -> Time {
        match self {
            Self::Seen(at) => at,
            Self::Assumed { since, .. } => since,
        }
    }

    /// Silence counts from this moment, which tells nothing about what we saw of the helper.
    pub fn count_from(&mut self, at: Time) {
        match self {
            Self::Seen(since) | Self::Assumed { since, .. } => *since = at,
        }
    }

    /// The host tells when the helper last moved, if it knows.
    pub fn host_tells(&mut self, moved: Option<Time>) {
        self.count_from(self.since().max(moved.unwrap_or_default()));
        if let Self::Assumed { told, .. } = self {
            *told = moved;
        }
    }
}

impl Stillness {
    /// The first error is the cause; OpenCode says it again with a stack trace (1.18.33).
    pub fn errored(&mut self, why: &str) {
        self.error.get_or_insert_with(|| plain(why, HOST_TEXT_MAX_CHARS));
    }

    pub fn aborted(&mut self, why: &str) {
        self.error = Some(why.to_owned());
    }

    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The helper does something; an error that was spoken of may still be its end.
    pub fn moved(&mut self) {
        self.since = None;
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
