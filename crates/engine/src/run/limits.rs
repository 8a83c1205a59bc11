//! The limits that end a run which does not end by itself.

use legwork_protocol::limits::{LIMIT_GRACE_MS, PROVIDER_WAIT_MAX_MS};
use legwork_protocol::{TaskId, Time};

use super::task::Stage;
use crate::engine::Engine;
use crate::hosts::Presence;
use crate::tasks::Live;
use crate::text::words;

const MINUTE_MS: u64 = 60_000;

impl Engine {
    /// The moment at which a limit ends the run, or may.
    pub(super) fn limit_of(&self, live: &Live) -> Option<Time> {
        let Live { task, volatile } = live;
        if !task.stage.holds_slot() {
            return self.longest_absence(live);
        }
        // A host that has said when it goes on is silent from then on.
        let next_try = volatile.retry.as_ref().map_or(Time::default(), |retry| retry.next);
        let silent = volatile.activity.since.max(next_try);
        let quiet = minutes(silent, self.settings.max_quiet_minutes);
        let quiet = quiet.filter(|_| volatile.questions.is_empty());
        let limits = [self.longest_run(live), quiet, longest_wait(live), longest_stop(live)];
        limits.into_iter().flatten().min()
    }

    fn longest_run(&self, live: &Live) -> Option<Time> {
        // When the run would have begun, had nothing ever stood still.
        let begun = live.task.run.started.plus(live.paused_ms(self.now));
        minutes(begun, self.settings.max_run_minutes)
    }

    /// A run waits in a host's queue as long as it takes, but not for a host that stays away: of
    /// one whose process we cannot see, nobody would ever hear that it has ended.
    fn longest_absence(&self, live: &Live) -> Option<Time> {
        let host = self.hosts.get(&live.task.run.host)?;
        let since = live.volatile.activity.since.max(host.away_since.unwrap_or_default());
        let limit = minutes(since, self.settings.max_run_minutes);
        limit.filter(|_| host.presence == Presence::Away)
    }

    /// Ends the run if it is past a limit. Its answer may be there and we have not seen it, when
    /// events were lost or we were away ourselves: so the host is asked first, for a while.
    pub(super) fn over_limit(&mut self, id: TaskId) -> bool {
        let now = self.now;
        let Some(live) = self.tasks.live(id) else { return true };
        let over = self.limit_of(live).filter(|at| *at <= now);
        let away = self.hosts.presence(&live.task.run.host) == Presence::Away;
        let Some(Live { task, volatile }) = self.tasks.unfinished_mut(id) else { return true };
        let Some(at) = over else {
            volatile.overdue = None;
            return false;
        };
        let noticed = *volatile.overdue.get_or_insert(now);
        let waited = now.since(noticed) >= LIMIT_GRACE_MS;
        let asked = volatile.observed.is_some_and(|observed| observed >= at);
        let idle = volatile.request.is_none() && volatile.due.is_none();
        let ask = match task.stage {
            Stage::Working(_) => !asked && !waited && idle,
            Stage::Prompting(_) => away && !waited && idle,
            Stage::Queued | Stage::Opening | Stage::Finished(_) => false,
        };
        let prompted = task.stage.prompt().is_some();
        if ask {
            volatile.due = Some(now);
        } else if !prompted || asked || waited {
            let why = self.why_over(id);
            self.fail(id, why);
            return true;
        }
        false
    }

    fn why_over(&self, id: TaskId) -> String {
        let Some(live) = self.tasks.live(id) else { return String::new() };
        if live.task.stage == Stage::Queued {
            words::waited_too_long(self.settings.max_run_minutes)
        } else if live.volatile.host_ended() {
            self.why_interrupted(id)
        } else if longest_stop(live).is_some_and(|longest| longest <= self.now) {
            self.why_overspent(id, "")
        } else if self.longest_run(live).is_some_and(|longest| longest <= self.now) {
            words::ran_too_long(self.settings.max_run_minutes)
        } else if longest_wait(live).is_some_and(|longest| longest <= self.now) {
            words::waited_for_provider(live.volatile.retry.as_ref())
        } else {
            words::was_silent_too_long(self.settings.max_quiet_minutes)
        }
    }
}

/// The end of the wait for its host to call it off because of what it has cost.
fn longest_stop(live: &Live) -> Option<Time> {
    Some(live.volatile.overspent?.plus(LIMIT_GRACE_MS))
}

/// The end of the wait for its provider, if it is in one.
fn longest_wait(live: &Live) -> Option<Time> {
    Some(live.volatile.retry_since?.plus(PROVIDER_WAIT_MAX_MS))
}

fn minutes(from: Time, minutes: u32) -> Option<Time> {
    (minutes != 0).then(|| from.plus(u64::from(minutes) * MINUTE_MS))
}
