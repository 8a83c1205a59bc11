//! The way to a session.

use legwork_protocol::{HostId, SessionId, WakeOn};

use super::recipients::Recipient;
use crate::engine::Engine;
use crate::hosts::Presence;
use crate::record::{About, Delivery, NoticeId};
use crate::task::{Outcome, Task};
use crate::work::Wake;

/// Through which host a session is told, and how.
pub(crate) struct Route {
    pub host: HostId,
    pub wake: Wake,
}

impl Engine {
    /// The host that a session is told through: the one that a person last used it in, while that
    /// is there or may come back; else any of its place that may know it, without starting a turn.
    pub(crate) fn route(&self, to: &SessionId) -> Option<Route> {
        let Recipient { parent, unknown_to, .. } = self.outbox.recipients.get(to)?;
        // A helper is told where it works; elsewhere a second turn would start in its session.
        let helper = self.tasks.at_work_in(to).and_then(|id| self.tasks.live(id));
        let active_host = helper.map(|live| &live.task.run.host).or(parent.active_host.as_ref());
        let active_host = active_host.filter(|host| !unknown_to.contains(*host));
        match active_host.map_or(Presence::Gone, |host| self.hosts.presence(host)) {
            Presence::Here => {
                let wake = if self.may_wake(to) { Wake::StartTurn } else { Wake::StayIdle };
                active_host.map(|host| Route { host: host.clone(), wake })
            }
            Presence::Away => None,
            Presence::Gone => {
                let mut here = self.hosts.here_at(&parent.place);
                let host = here.find(|host| !unknown_to.contains(*host))?.clone();
                Some(Route { host, wake: Wake::StayIdle })
            }
        }
    }

    /// What a delivery may cost: whether it starts a turn, or waits for the next one.
    pub(super) fn wake(&self, route: &Route, delivery: &Delivery) -> Wake {
        // A question is for the person; the model can do nothing about it, so no request is paid
        // for it.
        if delivery.notices.iter().all(|id| id.about.is_question()) {
            return Wake::WhenIdle;
        }
        let more_to_come = self.tasks.counts(&delivery.to).1 > 0;
        if more_to_come && self.may_wait_for_last(delivery) {
            return Wake::StayIdle;
        }
        if self.is_from_before_it_was_shown(delivery) {
            return Wake::StayIdle;
        }
        route.wake
    }

    /// Whether all that it tells was over before a window showed the session.
    pub(super) fn is_from_before_it_was_shown(&self, delivery: &Delivery) -> bool {
        let recipient = self.outbox.recipients.get(&delivery.to);
        let Some(shown) = recipient.and_then(|recipient| recipient.shown_since) else {
            return false;
        };
        let mut notices = delivery.notices.iter().filter_map(|id| self.outbox.notices.get(id));
        notices.all(|notice| notice.made < shown)
    }

    /// Whether the delivery needs no turn of its own while others are to come.
    pub(super) fn may_wait_for_last(&self, delivery: &Delivery) -> bool {
        let may_wait = |id: &NoticeId| match id.about {
            About::End => self.has_completed(*id),
            About::Question(_) => true,
            About::Unread => false,
        };
        self.settings.wake == WakeOn::Last && delivery.notices.iter().all(may_wait)
    }

    /// Whether the run that the notice tells of is the task's last and completed.
    fn has_completed(&self, NoticeId { task, run, .. }: NoticeId) -> bool {
        self.tasks.get(task).is_some_and(|task| {
            task.run.number == run && task.outcome() == Some(Outcome::Completed)
        })
    }

    /// The host in which the asker of the task's run was last used.
    pub(crate) fn asker_host(&self, task: &Task) -> Option<&HostId> {
        self.outbox.recipients.get(&task.run.asker)?.parent.active_host.as_ref()
    }

    /// A helper that is at work reads its messages anyway, and nobody reads the turns of one that
    /// is finished.
    fn may_wake(&self, to: &SessionId) -> bool {
        self.settings.start_turns && self.tasks.of_session(to).is_none()
    }
}
