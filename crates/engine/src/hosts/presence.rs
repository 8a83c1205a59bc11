//! Hosts come and go. One that is away may be at work, so its runs wait; one whose process ended
//! is not, so its runs are interrupted (`run/interrupted.rs`).

use legwork_protocol::limits::{HEADLESS_IDLE_MS, POLL_EVERY_MS, POLLS_UNASKED_MAX};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{HostId, Place, TaskId};

use super::headless::{Folder, Start};
use super::{Hosts, Presence};
use crate::engine::Engine;
use crate::input::Serves;
use crate::timers::Timer;

impl Engine {
    /// A host is there: everything that waited for it, or for any host of its place, goes on.
    pub(crate) fn host_came(
        &mut self,
        id: &HostId,
        place: &Place,
        lifetime: HostLifetime,
        serves: Serves,
    ) {
        if serves == Serves::Everyone {
            self.terminals.insert(place.clone());
        }
        let host = self.hosts.known(id, place);
        host.presence = Presence::Here;
        host.lifetime = lifetime;
        host.serves = serves;
        host.polling = None;
        // What was asked while it was away was not heard.
        host.unasked = POLLS_UNASKED_MAX;
        host.came = self.now;
        host.away_since = None;
        host.ended_unseen = false;
        let own = host.unfinished();
        if serves == Serves::Nobody {
            self.lease_all_of(id);
        }
        let of = |presence: Presence| -> Vec<TaskId> {
            let hosts = self.hosts.at(place).filter(|(_, host)| host.presence == presence);
            hosts.flat_map(|(_, host)| host.unfinished()).collect()
        };
        let (cut_off, elsewhere) = (of(Presence::Gone), of(Presence::Away));
        for task in own.into_iter().chain(cut_off) {
            self.observe_at(task, self.now);
            self.tend_run(task);
        }
        // Those that are past their limit may be looked up through this host.
        for task in elsewhere {
            self.tend_run(task);
        }
        let is_for = |folder: &Folder, start: &Start| {
            let is_in = match start.has_no_folder() {
                true => Hosts::is_known_in,
                false => Hosts::may_be_in,
            };
            folder.place == *place && is_in(&self.hosts, id, &folder.directory)
        };
        self.starts.retain(|folder, start| !is_for(folder, start));
        if lifetime == HostLifetime::Headless {
            self.timers.set(Timer::Idle(id.clone()), self.now.plus(HEADLESS_IDLE_MS));
        }
        self.soon(Timer::Start(id.clone()));
        self.timers.set(Timer::Poll(id.clone()), self.now.plus(POLL_EVERY_MS));
        self.doubt_all(id, place);
        self.tend_place(place);
    }

    pub(crate) fn host_away(&mut self, id: &HostId) {
        if let Some(host) = self.hosts.get_mut(id)
            && host.presence == Presence::Here
        {
            host.presence = Presence::Away;
            host.away_since = Some(self.now);
            let doubted = host.doubted.clone();
            let waiting: Vec<TaskId> = host.queue.iter().map(|(_, task)| *task).collect();
            waiting.into_iter().for_each(|task| self.arm(task));
            self.timers.clear(&Timer::Poll(id.clone()));
            doubted.into_iter().for_each(|session| self.soon(Timer::Doubt(session)));
        }
    }

    pub(crate) fn host_gone(&mut self, id: &HostId) {
        let Some(host) = self.hosts.get_mut(id) else { return };
        // A process that is killed closes its link first; that it ended is known a little later.
        let unseen_ms = match (host.presence, host.away_since) {
            (Presence::Here, _) => 0,
            (_, Some(since)) => self.now.since(since),
            (_, None) => u64::MAX,
        };
        host.ended_unseen |= unseen_ms > 2 * POLL_EVERY_MS;
        host.presence = Presence::Gone;
        let doubted = std::mem::take(&mut host.doubted);
        let place = host.place.clone();
        let unfinished = host.unfinished();
        self.timers.clear(&Timer::Poll(id.clone()));
        unfinished.into_iter().for_each(|task| self.tend_run(task));
        self.hosts.drop_if_unused(id);
        doubted.into_iter().for_each(|session| self.soon(Timer::Doubt(session)));
        self.shown_elsewhere(&place);
        self.tend_place(&place);
    }

    /// The hosts that something is expected of. After a restart the shell finds out which of them
    /// have ended and says so.
    pub fn expected_hosts(&self) -> impl Iterator<Item = &HostId> {
        self.hosts.not_gone()
    }

    /// Whatever waits at a place for a host is tended again.
    fn tend_place(&mut self, place: &Place) {
        self.tend_recipients(place);
        self.tend_stops(place);
    }
}
