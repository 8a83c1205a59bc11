//! What is known of an unfinished run by watching it. A restart may forget all of it: nothing here
//! is needed to end the run right, only to end it sooner and to show how it is doing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use legwork_protocol::limits::{LAST_TOOLS, RETRY_FIRST_MS, RETRY_MAX_MS};
use legwork_protocol::view::QuestionView;
use legwork_protocol::{CallId, HostId, QuestionId, Time};

use crate::work::{Retry, Tried, WorkId};

/// How we know when a helper last did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// We were there.
    Seen,
    /// We were restarted since, and count from then so as not to end it too early; the host may
    /// have told us better.
    Guessed(Option<Time>),
}

/// The memory of one unfinished run.
#[derive(Debug, Clone)]
pub struct Watch {
    /// When the helper last did something that we know of.
    pub active: Time,
    /// How that is known.
    pub(crate) known: Activity,
    /// The tools that it last used, oldest first.
    pub tools: VecDeque<String>,
    /// Tokens of its session.
    pub tokens: Option<u64>,
    /// Cost of its session, in millionths.
    pub cost_micros: Option<u64>,
    /// The provider is being tried again.
    pub retry: Option<Retry>,
    /// What it waits for a person to answer.
    pub questions: BTreeMap<QuestionId, QuestionView>,
    /// The work that is under way for it; one at a time.
    pub(crate) in_flight: Option<WorkId>,
    /// The host that has that work, or had the last.
    pub(crate) asked: Option<HostId>,
    /// When the next work is due: another try, or a look. None: when something happens.
    pub(crate) due: Option<Time>,
    /// Something happened while a look was under way, so that look may be too old.
    pub(crate) again: bool,
    /// Tries of the present stage that failed.
    pub(crate) tries: u32,
    /// Whether a host was asked to open its session.
    pub(crate) open: Tried,
    /// Whether a host was asked to take its present prompt.
    pub(crate) prompt: Tried,
    /// Since when looks find neither work nor an answer.
    pub(crate) still_since: Option<Time>,
    /// The error that the host spoke of.
    pub(crate) error: Option<String>,
    /// When a look last came back.
    pub(crate) seen: Option<Time>,
    /// Since when its host is known to have ended.
    pub(crate) cut_off: Option<Time>,
    /// That host was out of our sight when it ended.
    pub(crate) unwatched: bool,
    /// The work under way was given to that host before it ended.
    pub(crate) stale: bool,
    /// Hosts that were asked for it after its own had ended, and do not have its session.
    pub(crate) unknown_to: BTreeSet<HostId>,
    /// A host has announced that its session was deleted.
    pub(crate) deletion_announced: bool,
    /// Since when it is known to be past a limit.
    pub(crate) overdue: Option<Time>,
    /// Callers who wait for the session to be open.
    pub(crate) callers: Vec<CallId>,
}

impl Watch {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            active: now,
            known: Activity::Seen,
            tools: VecDeque::new(),
            tokens: None,
            cost_micros: None,
            retry: None,
            questions: BTreeMap::new(),
            in_flight: None,
            asked: None,
            due: None,
            again: false,
            tries: 0,
            open: Tried::Never,
            prompt: Tried::Never,
            still_since: None,
            error: None,
            seen: None,
            cut_off: None,
            unwatched: false,
            stale: false,
            unknown_to: BTreeSet::new(),
            deletion_announced: false,
            overdue: None,
            callers: Vec::new(),
        }
    }

    /// How long the helper has done nothing, as far as anybody knows.
    pub fn quiet_ms(&self, now: Time) -> u64 {
        match self.known {
            Activity::Guessed(Some(told)) => now.since(told),
            Activity::Guessed(None) | Activity::Seen => now.since(self.active),
        }
    }

    pub(crate) fn used_tool(&mut self, name: String) {
        if self.tools.len() == LAST_TOOLS {
            self.tools.pop_front();
        }
        self.tools.push_back(name);
    }

    /// The stage changed, so what failed before does not count any more.
    pub(crate) fn fresh_stage(&mut self) {
        self.tries = 0;
        // A prompt has an id of its own in each stage; a session is the task's for good.
        self.prompt = Tried::Never;
        self.due = None;
        self.still_since = None;
        self.error = None;
    }

    /// The host that was asked last knows nothing of the run, and is not asked again.
    pub(crate) fn asked_in_vain(&mut self) {
        self.unknown_to.extend(self.asked.take());
    }

    /// The host is at work on the run, whatever was said before.
    pub(crate) fn at_work(&mut self) {
        self.still_since = None;
        self.error = None;
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
