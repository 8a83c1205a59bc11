//! What happens to the machine as a whole: it sleeps, and its store cannot be read any more.

use legwork_engine::Input;
use legwork_protocol::{HostId, SessionId, TaskId, Time};

use crate::world::World;

impl World {
    /// The machine sleeps: nothing happens, and afterwards every clock is so much further on.
    pub fn sleep(&mut self, ms: u64) {
        self.host_events();
        self.trace.tell(|| format!("the machine sleeps for {} s", ms / 1000));
        self.naps.push((self.now, ms));
        let later = |((at, count), what): ((Time, u64), _)| ((at.plus(ms), count), what);
        self.agenda = std::mem::take(&mut self.agenda).into_iter().map(later).collect();
        self.alarm = self.alarm.map(|at| at.plus(ms));
        self.oc.sleep(ms);
        self.now = self.now.plus(ms);
        self.trace.at(self.now);
        self.oc.advance(self.now, &mut self.events);
        for window in &mut self.windows {
            window.slow_until = window.slow_until.plus(ms);
            window.linked_at = window.linked_at.plus(ms);
            window.free_at.values_mut().for_each(|at| *at = at.plus(ms));
        }
        self.heard.values_mut().for_each(|at| *at = at.plus(ms));
        self.last_sent.values_mut().for_each(|at| *at = at.plus(ms));
        self.daemon_step(Input::Slept { ms });
    }

    /// How long something ran between two moments, without the time in which nothing did.
    pub(crate) fn awake_ms(&self, from: Time, to: Time) -> u64 {
        let between = self.naps.iter().filter(|(at, _)| from <= *at && *at < to);
        let slept: u64 = between.map(|(_, ms)| ms).sum();
        to.since(from).saturating_sub(slept)
    }

    /// The daemon dies, and what it had saved cannot be read any more: the next one begins with
    /// empty books, and the old ones lie beside them.
    pub fn set_store_aside(&mut self) {
        self.kill_daemon();
        let lost: Vec<TaskId> = self.audit().runs.keys().map(|(task, _)| *task).collect();
        let Some(books) = &mut self.books else { return };
        if !books.set_aside() {
            return;
        }
        self.trace.tell(|| "the store cannot be read and is set aside".to_owned());
        books.audit = books.audit.begun_anew();
        self.set_aside.extend(lost);
        self.start_daemon();
    }

    /// Whether nothing is unfinished or pending that can still be dealt with. Nobody can be told
    /// who was deleted unheard, and nobody can stop what runs out of our sight.
    pub fn is_settled(&mut self) -> bool {
        let audit = std::mem::take(self.audit());
        let gone = |session: &SessionId| !self.can_be_told(session);
        let pending = audit.pending.iter().filter(|notice| !audit.is_pulled(notice));
        let pending = pending.filter_map(|notice| audit.pending_for.get(notice)).all(gone);
        let deliveries = audit.deliveries.difference(&audit.pulled);
        let deliveries = deliveries.filter_map(|delivery| audit.deliveries_ever.get(delivery));
        let stops = audit.stop_hosts.iter().filter(|(task, _)| audit.stops.contains_key(task));
        let settled = pending
            && deliveries.map(|delivery| &delivery.to).all(gone)
            && stops.map(|(_, host)| host).all(|host| self.has_died_unseen(host))
            && audit.rows.values().all(|row| row.task.is_finished());
        *self.audit() = audit;
        settled
    }

    /// Whether the window has ended where the daemon cannot see it.
    pub(crate) fn has_died_unseen(&self, host: &HostId) -> bool {
        let window = self.windows.iter().find(|window| window.host == *host);
        window.is_some_and(|window| window.unseen && !self.oc.alive(window.process))
    }

    /// Nobody can be told who was deleted unheard, or is out of sight.
    pub(crate) fn can_be_told(&self, session: &SessionId) -> bool {
        let there = self.oc.once(session).is_some_and(|session| !session.deleted);
        let absent = self.client_of(session).is_some_and(|client| client.process.is_none());
        there && !absent && !self.is_out_of_sight(session)
    }

    /// A helper's session that worked in a window which ended unseen: nobody uses it elsewhere.
    fn is_out_of_sight(&self, session: &SessionId) -> bool {
        let helper = self.oc.once(session).is_some_and(|session| session.mark.is_some());
        helper && self.windows.iter().any(|window| self.has_died_unseen(&window.host))
    }
}
