//! What must hold for clients that poll: each end is told one way, to the session that asked for
//! it; while somebody polls nothing else tells it; and nothing of all that is left in the end.

use legwork_engine::record::{About, NoticeId};
use legwork_engine::text::words;
use legwork_protocol::api::Answer;
use legwork_protocol::limits::{COLLECT_LEASE_MS, COLLECT_WAIT_MAX_MS};
use legwork_protocol::{Ask, MessageId, SessionId, TaskId, Time};

use super::{Client, End, Kept, RunNo};
use crate::audit::{Audit, NoticeFact, RunFact};
use crate::calls::{Call, CallNo};
use crate::world::World;

/// How much later than the end of its run a poll may be answered, at the most.
const LATE_MS: u64 = 1_000;

impl World {
    /// Nothing is told of a run that somebody polls for, nor before those who did so before a
    /// restart could poll again.
    pub(crate) fn check_collected(&mut self, message: &MessageId) {
        let Some(window) = self.clients.window else { return };
        let (life, linked_at) = (self.life, self.windows[window].linked_at);
        let audit = self.audit();
        let Some(delivery) = audit.deliveries_ever.get(message).cloned() else { return };
        if self.client_of(&delivery.to).is_none() {
            return;
        }
        let is_first =
            self.audit().made_in.get(message) == Some(&life) && !self.first_tell.contains(message);
        if !is_first {
            return;
        }
        let runs = &self.audit().runs;
        let before = |notice: &NoticeId| {
            runs.get(&(notice.task, notice.run)).is_some_and(|fact| fact.accepted_in < life)
        };
        let is_of_before = delivery.notices.iter().any(before);
        if is_of_before && self.now.since(linked_at) < COLLECT_LEASE_MS {
            let what = format!("{message} goes to {} right after a restart", delivery.to);
            self.audit().broken("held after a restart", what);
        }
        let told =
            |run: RunNo| delivery.notices.iter().any(|notice| (notice.task, notice.run) == run);
        let polled =
            self.polls().find(|(number, run)| told(*run) && self.is_collecting(*number, linked_at));
        if let Some((number, (task, run))) = polled {
            let what = format!("{message} tells of run {run} of {task}, which call {number} polls");
            self.audit().broken("held while collected", what);
        }
    }

    fn polls(&self) -> impl Iterator<Item = (CallNo, RunNo)> {
        self.calls.iter().enumerate().filter_map(|(number, call)| match &call.ask {
            Ask::Collect { task, run, .. } => Some((number, (task.parse().ok()?, *run))),
            _ => None,
        })
    }

    /// Whether the daemon of this life has heard the poll, and it is open or was answered a moment
    /// ago.
    fn is_collecting(&self, number: CallNo, linked_at: Time) -> bool {
        let call = &self.calls[number];
        match &call.answer {
            None => {
                let heard = call.id.and_then(|id| self.heard.get(&id)).copied();
                !call.dropped && heard.is_some_and(|heard| heard >= linked_at)
            }
            Some((at, answer)) => {
                answer.is_ok() && *at >= linked_at && self.now.since(*at) < COLLECT_LEASE_MS
            }
        }
    }

    /// A poll is answered when there is something to tell or its time is up, and only what has
    /// ended can be handed over; its notices are not needed then.
    pub(crate) fn check_poll(&mut self, number: CallNo, heard: Time) {
        let call = &self.calls[number];
        let Some((at, Ok(answer))) = call.answer.clone() else { return };
        match (call.ask.clone(), answer) {
            (Ask::Collect { run, wait_ms, .. }, Answer::Collected { task, ended, .. }) => {
                let in_time = at.since(heard) <= wait_ms.min(COLLECT_WAIT_MAX_MS) + LATE_MS;
                if !in_time {
                    let what = format!("call {number} polled too long");
                    self.audit().broken("answered in time", what);
                }
                self.check_collected_end(number, (task.id, run), (ended, at, heard));
            }
            (Ask::HandedOver { task, run }, Answer::Done) => {
                let Ok(task) = task.parse::<TaskId>() else { return };
                let id = NoticeId { task, run, about: About::End };
                let audit = self.audit();
                let fact = audit.runs.get(&(task, run));
                let unended = fact.is_some_and(|fact| fact.ended.is_none() && !fact.forgotten);
                let carried = audit.deliveries.iter().any(|delivery| {
                    let delivery = audit.deliveries_ever.get(delivery);
                    delivery.is_some_and(|delivery| delivery.notices.contains(&id))
                });
                let kept = audit.pending.contains(&id) && !carried;
                if unended || kept {
                    let what = format!("run {run} of {task}: unended {unended}, told {kept}");
                    self.audit().broken("handed over", what);
                }
                self.check_whose(number, (task, run));
            }
            _ => {}
        }
    }

    /// A notice is not withdrawn on the word of a session that it is not for.
    fn check_whose(&mut self, number: CallNo, run: RunNo) {
        let Some(fact) = self.audit().runs.get(&run).cloned() else { return };
        let says = |call: &Call| match &call.ask {
            Ask::Collect { task, run, .. } | Ask::HandedOver { task, run } => {
                task.parse().ok().map(|task| (task, *run))
            }
            _ => None,
        };
        let by = |call: &Call| call.from.as_ref().map(|(_, session)| session.clone());
        let own = by(&self.calls[number]);
        let polled = |call: &Call| by(call) == own && matches!(call.ask, Ask::Collect { .. });
        let asker = Some(fact.asker.clone());
        let mut others = self.calls.iter().filter(|call| says(call) == Some(run));
        let justified = others.any(|call| by(call) == asker || polled(call));
        if fact.notice == NoticeFact::Withdrawn && !fact.read && !justified {
            let what = format!("call {number} silences the notice of {run:?}");
            self.audit().broken("handed over", what);
        }
    }

    fn check_collected_end(
        &mut self,
        number: CallNo,
        run: RunNo,
        (ended, at, heard): (bool, Time, Time),
    ) {
        let audit = self.audit();
        let Some(fact) = audit.runs.get(&run) else { return };
        let (is_over, ended_at) = (fact.ended.is_some(), fact.ended_at);
        let id = NoticeId { task: run.0, run: run.1, about: About::End };
        // One that may be told another way is not collected meanwhile.
        let other_way = audit.deliveries_ever.values().any(|it| it.notices.contains(&id));
        if ended && !is_over || is_over && !ended && !other_way {
            let what = format!("call {number} hears that {run:?} has ended: {ended}");
            self.audit().broken("polls hear the truth", what);
        }
        if ended && !other_way && at.since(ended_at.max(heard)) > LATE_MS {
            let what = format!("call {number} slept on");
            self.audit().broken("woken at the end", what);
        }
    }

    /// Nobody polls any more, so nothing is left of it.
    pub(crate) fn check_no_leases(&mut self) {
        let now = self.now;
        let Some(daemon) = &mut self.daemon else { return };
        let left = daemon.read(now, legwork_engine::Engine::collected_runs);
        if let Some((leases, polls)) = left.filter(|left| *left != (0, 0)) {
            let what = format!("{leases} leases, {polls} polls");
            self.audit().broken("nothing is left of polls", what);
        }
    }
}

/// Every end is told one way: to a poll, or by a message.
pub fn told_one_way(audit: &mut Audit, world: &World) {
    let mut found = Vec::new();
    for (run, fact) in &audit.runs {
        let Some(client) = world.client_of(&fact.asker) else { continue };
        if fact.ended.is_none() || fact.forgotten {
            continue;
        }
        let kept = client.runs.get(run);
        let polled = usize::from(kept == Some(&Kept::Told(End::Whole)));
        let put = messages(audit, world, *run, &fact.asker);
        let known = kept == Some(&Kept::Told(End::Known));
        if polled + put > 1 && !world.clients.unsure.contains(run) {
            found.push(format!("{run:?} is told by a poll and in {put} messages"));
        }
        if known && put == 0 {
            found.push(format!("{run:?} counts as known and was never told"));
        }
        if polled + put == 0 && !may_be_untold(client, fact) {
            found.push(format!("{run:?} was never told to {}: {:?}", client.session, fact.notice));
        }
    }
    let wrong = audit.deliveries_ever.values().find(|delivery| {
        let asker = |notice: &NoticeId| Some(&audit.runs.get(&(notice.task, notice.run))?.asker);
        delivery.notices.iter().filter_map(asker).any(|asker| *asker != delivery.to)
    });
    found.extend(wrong.map(|delivery| format!("{} is told what it did not ask", delivery.to)));
    for what in found {
        audit.broken("told one way", what);
    }
}

/// The messages in the session that tell of the end of this run.
fn messages(audit: &Audit, world: &World, run: RunNo, to: &SessionId) -> usize {
    let Some(session) = world.oc.once(to) else { return 0 };
    let tells = |id: &MessageId| {
        if let Some(shown) = world.clients.shown.get(id) {
            // Whose model asks for a result while its front shows it has it twice.
            let asked = audit.runs.get(&run).is_some_and(is_read);
            return shown.contains(&run) && !asked;
        }
        let delivery = audit.deliveries_ever.get(id);
        delivery.is_some_and(|delivery| {
            let end = NoticeId { task: run.0, run: run.1, about: About::End };
            delivery.notices.contains(&end)
        })
    };
    session.prompts().filter(|(id, _)| tells(id)).count()
}

/// A client that does not run is told when it is back; one that ended or read the run itself needs
/// nothing.
fn may_be_untold(client: &Client, fact: &RunFact) -> bool {
    let by_itself = fact.detail == words::CANCELLED_BY_PARENT;
    client.process.is_none() || by_itself || is_read(fact)
}

/// Its session has read the end itself, so that it needs no notice.
fn is_read(fact: &RunFact) -> bool {
    fact.notice == NoticeFact::Withdrawn && fact.read
}
