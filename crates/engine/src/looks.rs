//! How the end of a run is known: hints make us look, looks tell. Also what shows that a run goes
//! on, and the limits that end one that does not.

use std::collections::BTreeMap;

use legwork_protocol::limits::{
    HOST_TEXT_MAX_CHARS, LIMIT_GRACE_MS, POLL_EVERY_MS, QUESTIONS_MAX_OPEN, QUESTIONS_MAX_TOLD,
    QUIET_MS, STILL_AFTER_ERROR_MS, STILL_LOOK_EVERY_MS, STILL_MS, SURVEYS_UNASKED_MAX,
};
use legwork_protocol::refusal::plain;
use legwork_protocol::{HostId, QuestionId, SessionId, TaskId, Time};

use crate::engine::{Engine, Purpose};
use crate::hosts::{Host, Presence};
use crate::record::Change;
use crate::runs::{Halt, Notify};
use crate::task::{Outcome, Stage};
use crate::tasks::Live;
use crate::text::words;
use crate::timers::Timer;
use crate::watch::Activity;
use crate::work::{Action, Finding, HostError, Observation, Question, Retry, RunState, Scope};

const MINUTE_MS: u64 = 60_000;

impl Engine {
    /// Something happened in a session: look at the run in it, or try a held delivery again.
    pub(crate) fn changed(&mut self, session: &SessionId, error: Option<String>) {
        if let Some(id) = self.tasks.at_work_in(session) {
            let now = self.now;
            if let Some(live) = self.tasks.live_mut(id)
                && matches!(live.task.stage, Stage::Prompting(_) | Stage::Working(_))
            {
                // The first one is the cause; OpenCode says it again with a stack trace (1.18.33).
                if let Some(why) = error
                    && live.watch.error.is_none()
                {
                    live.watch.error = Some(plain(&why, HOST_TEXT_MAX_CHARS));
                }
                live.watch.again = live.watch.in_flight.is_some();
                if matches!(live.task.stage, Stage::Working(_)) {
                    live.watch.due = Some(now);
                    self.tend_run(id);
                }
            }
        }
        self.undo_may_be_over(session);
    }

    /// A look came back.
    pub(crate) fn observed(&mut self, id: TaskId, observation: Observation) {
        let now = self.now;
        let Some(live) = self.tasks.live_mut(id) else { return };
        let watch = &mut live.watch;
        watch.seen = Some(now);
        watch.tries = 0;
        let moved = observation.moved.unwrap_or_default().min(now);
        watch.active = watch.active.max(moved);
        if let Activity::Guessed(told) = &mut watch.known {
            *told = observation.moved.map(|_| moved);
        }
        live.task.run.tool_calls = live.task.run.tool_calls.max(observation.tool_calls);
        match observation.state {
            RunState::Answered { text } => {
                let text = if text.trim().is_empty() { words::NO_TEXT.to_owned() } else { text };
                self.finish(id, Outcome::Completed, text, Notify::Yes, Halt::NotNeeded);
            }
            RunState::Failed { reason } => {
                self.finish(id, Outcome::Failed, reason, Notify::Yes, Halt::NotNeeded);
            }
            RunState::Busy => {
                // Unless something was said since, which this look may be older than.
                if !watch.again {
                    watch.at_work();
                }
                watch.due = watch.again.then_some(now);
            }
            RunState::Aborted { text } => {
                // A host that is closed aborts what runs before it goes. If it goes, the run was
                // interrupted with it; only if it stays was this somebody's wish.
                watch.error = Some(words::ABORTED.to_owned());
                self.observed_still(id, &text);
            }
            RunState::Still { text } => self.observed_still(id, &text),
        }
    }

    /// Nobody works on the prompt and nothing ended it. It may not have begun, or its error may not
    /// be readable yet; only time tells these from one that will never be answered.
    fn observed_still(&mut self, id: TaskId, text: &str) {
        let now = self.now;
        let Some(Live { watch, .. }) = self.tasks.live_mut(id) else { return };
        let since = *watch.still_since.get_or_insert(now);
        let patience = if watch.error.is_some() { STILL_AFTER_ERROR_MS } else { STILL_MS };
        if now.since(since) < patience {
            watch.due = Some(if watch.again { now } else { now.plus(STILL_LOOK_EVERY_MS) });
            return;
        }
        let why = words::never_answered(watch.error.as_deref(), text);
        self.finish(id, Outcome::Failed, why, Notify::Yes, Halt::Needed);
    }

    pub(crate) fn deleted_under(&mut self, id: TaskId) {
        let why = words::SESSION_DELETED.to_owned();
        // Deleting a busy session does not stop it (OpenCode 1.18.33).
        self.finish(id, Outcome::Cancelled, why, Notify::Yes, Halt::Needed);
    }

    pub(crate) fn progressed(
        &mut self,
        session: &SessionId,
        tool: Option<String>,
        tokens: Option<u64>,
        cost_micros: Option<u64>,
    ) {
        let Some(id) = self.tasks.at_work_in(session) else { return };
        let now = self.now;
        let Some(Live { task, watch }) = self.tasks.live_mut(id) else { return };
        watch.active = now;
        watch.known = Activity::Seen;
        watch.still_since = None;
        watch.retry = None;
        if let Some(name) = tool {
            task.run.tool_calls = task.run.tool_calls.saturating_add(1);
            watch.used_tool(plain(&name, HOST_TEXT_MAX_CHARS));
        }
        watch.tokens = tokens.or(watch.tokens);
        watch.cost_micros = cost_micros.or(watch.cost_micros);
    }

    /// The moment at which a limit ends the run, or may.
    pub(crate) fn limit_of(&self, live: &Live) -> Option<Time> {
        if !live.task.stage.holds_slot() {
            return self.longest_absence(live);
        }
        let longest = minutes(begun(live), self.settings.max_run_minutes);
        let quiet = if live.watch.questions.is_empty() {
            minutes(live.watch.active, self.settings.max_quiet_minutes)
        } else {
            None
        };
        [longest, quiet].into_iter().flatten().min()
    }

    /// A run waits in a host's queue as long as it takes, but not for a host that stays away: of
    /// one whose process we cannot see, nobody would ever hear that it has ended.
    fn longest_absence(&self, live: &Live) -> Option<Time> {
        let host = self.hosts.get(&live.task.run.host)?;
        let since = live.watch.active.max(host.away_since.unwrap_or_default());
        let limit = minutes(since, self.settings.max_run_minutes);
        limit.filter(|_| host.presence == Presence::Away)
    }

    /// Ends the run if it is past a limit. Its answer may be there and we have not seen it, when
    /// events were lost or we were away ourselves: so the host is asked first, for a while.
    pub(crate) fn over_limit(&mut self, id: TaskId) -> bool {
        let Some(live) = self.tasks.live(id) else { return true };
        let over = self.limit_of(live).filter(|at| *at <= self.now);
        let (now, until) = (self.now, self.hosts.lifetime(&live.task.run.host));
        let away = self.hosts.presence(&live.task.run.host) == Presence::Away;
        let Some(live) = self.tasks.live_mut(id) else { return true };
        let Some(at) = over else {
            live.watch.overdue = None;
            return false;
        };
        let noticed = *live.watch.overdue.get_or_insert(now);
        let waited = now.since(noticed) >= LIMIT_GRACE_MS;
        let asked = live.watch.seen.is_some_and(|seen| seen >= at);
        let idle = live.watch.in_flight.is_none() && live.watch.due.is_none();
        match live.task.stage {
            Stage::Working(_) if !asked && !waited && idle => self.observe_at(id, self.now),
            Stage::Prompting(_) if away && !waited && idle => self.observe_at(id, self.now),
            Stage::Prompting(_) | Stage::Working(_) if !asked && !waited => {}
            _ => {
                let longest = minutes(begun(live), self.settings.max_run_minutes);
                let why = if live.task.stage == Stage::Queued {
                    words::waited_too_long(self.settings.max_run_minutes)
                } else if live.watch.cut_off.is_some() {
                    words::interrupted(until).to_owned()
                } else if longest.is_some_and(|longest| longest <= self.now) {
                    words::ran_too_long(self.settings.max_run_minutes)
                } else {
                    words::was_silent_too_long(self.settings.max_quiet_minutes)
                };
                self.fail(id, why);
                return true;
            }
        }
        false
    }

    /// Looks up a host's working runs, all with one question.
    pub(crate) fn poll(&mut self, id: &HostId) {
        let Some(host) = self.hosts.get(id) else { return };
        if host.presence != Presence::Here || host.polling || host.running.is_empty() {
            return;
        }
        let scope = self.scope_for(host);
        let Some(host) = self.hosts.get_mut(id) else { return };
        host.polling = true;
        self.work(id.clone(), Action::Poll { scope }, Purpose::Poll(id.clone(), scope));
    }

    /// A helper that waits for a person is silent. One that shows what it does is asked for its
    /// questions now and then all the same: it may do several things at once.
    fn scope_for(&self, host: &Host) -> Scope {
        let now = self.now;
        let waits = |Live { watch, .. }: &Live| {
            !watch.questions.is_empty() || now.since(watch.active) >= QUIET_MS
        };
        let some = host.running.iter().filter_map(|id| self.tasks.live(*id)).any(waits);
        if some || host.unasked >= SURVEYS_UNASKED_MAX { Scope::Questions } else { Scope::Busy }
    }

    /// A run of this host is at work, so the host is polled from now on.
    pub(crate) fn watch_host_of(&mut self, id: TaskId) {
        let Some(live) = self.tasks.live(id) else { return };
        let host = live.task.run.host.clone();
        let polling = self.hosts.get(&host).is_some_and(|host| host.polling);
        let timer = Timer::Poll(host);
        if !polling && !self.timers.is_set(&timer) {
            self.timers.set(timer, self.now.plus(POLL_EVERY_MS));
        }
    }

    pub(crate) fn polled(&mut self, id: &HostId, scope: Scope, found: Result<Finding, HostError>) {
        let Some(host) = self.hosts.get_mut(id) else { return };
        host.polling = false;
        let working: Vec<TaskId> = host.running.iter().copied().collect();
        if !working.is_empty() {
            self.timers.set(Timer::Poll(id.clone()), self.now.plus(POLL_EVERY_MS));
        }
        if let Ok(Finding::Polled { busy, questions }) = found {
            let busy: BTreeMap<SessionId, Option<Retry>> = busy.into_iter().collect();
            let asked = scope == Scope::Questions;
            host.unasked = if asked { 0 } else { host.unasked.saturating_add(1) };
            let open = asked.then(|| {
                let mut open: BTreeMap<SessionId, Vec<Question>> = BTreeMap::new();
                for (session, question) in questions {
                    open.entry(session).or_default().push(question);
                }
                open
            });
            for task in working {
                self.apply_poll(task, &busy, open.as_ref());
            }
        }
    }

    fn apply_poll(
        &mut self,
        id: TaskId,
        busy: &BTreeMap<SessionId, Option<Retry>>,
        questions: Option<&BTreeMap<SessionId, Vec<Question>>>,
    ) {
        let now = self.now;
        let Some(Live { task, watch }) = self.tasks.live_mut(id) else { return };
        let (Stage::Working(_), Some(session)) = (&task.stage, &task.session) else { return };
        match busy.get(session) {
            Some(retry) => {
                let retry = retry.as_ref().map(Retry::on_one_line);
                if watch.retry != retry {
                    watch.active = now;
                    watch.retry = retry;
                }
                if watch.due.is_none() && watch.in_flight.is_none() {
                    watch.at_work();
                }
            }
            None => watch.due = Some(now),
        }
        let session = session.clone();
        if let Some(questions) = questions {
            let open = questions.get(&session).map(Vec::as_slice).unwrap_or_default();
            self.apply_questions(id, open);
        }
        self.tend_run(id);
    }

    fn apply_questions(&mut self, id: TaskId, open: &[Question]) {
        let Some(Live { watch, .. }) = self.tasks.live(id) else { return };
        let answered: Vec<QuestionId> = watch
            .questions
            .keys()
            .filter(|id| !open.iter().any(|question| question.id == **id))
            .cloned()
            .collect();
        for question in answered {
            self.question_closed(id, &question);
        }
        for question in open {
            self.question_open(id, question.clone());
        }
    }

    /// A helper waits for a person. Its asker is told once, however often we hear of it.
    pub(crate) fn question_open(&mut self, id: TaskId, question: Question) {
        let Some(Live { task, watch }) = self.tasks.live_mut(id) else { return };
        if watch.questions.len() >= QUESTIONS_MAX_OPEN {
            return;
        }
        let since = watch.questions.get(&question.id).map_or(self.now, |known| known.since);
        let question = question.view(since);
        watch.questions.insert(question.id.clone(), question.clone());
        let told = task.run.asked.len() as u32;
        if task.run.asked.contains(&question.id) || told >= QUESTIONS_MAX_TOLD {
            return;
        }
        task.run.asked.push(question.id.clone());
        let (task, from) = (task.clone(), task.stage.name());
        self.save(Change::Moved { task, from });
        self.enqueue_question(id, told, &question);
    }

    pub(crate) fn question_closed(&mut self, id: TaskId, question: &QuestionId) {
        let now = self.now;
        let Some(Live { task, watch }) = self.tasks.live_mut(id) else { return };
        if watch.questions.remove(question).is_none() {
            return;
        }
        watch.active = now;
        let number = task.run.asked.iter().position(|asked| asked == question);
        if let Some(number) = number {
            self.withdraw_question(id, number as u32);
        }
        self.arm(id);
    }
}

/// When the run would have begun, had nothing ever stood still.
fn begun(live: &Live) -> Time {
    live.task.run.started.plus(live.task.run.paused_ms)
}

fn minutes(from: Time, minutes: u32) -> Option<Time> {
    (minutes != 0).then(|| from.plus(u64::from(minutes) * MINUTE_MS))
}
