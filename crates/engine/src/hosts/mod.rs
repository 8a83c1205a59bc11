//! The hosts that are there, or were, and what each has to do: the runs that hold its slots, and
//! the queue for them.

pub(crate) mod headless;
mod presence;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use legwork_protocol::limits::HOSTS_MAX_REMEMBERED;
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{HostId, Place, SessionId, TaskId, Time};

use crate::input::Serves;
use crate::slept::postpone;
use crate::task::Task;
use headless::Folder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    /// It cannot be asked, but may be at work.
    Away,
    Gone,
}

#[derive(Debug)]
pub(crate) struct Host {
    pub place: Place,
    pub presence: Presence,
    /// How long it stays. A restart forgets it until the host says it again.
    pub lifetime: HostLifetime,
    pub serves: Serves,
    /// The session that a person sees in it, and since when.
    pub shows: Option<(SessionId, Time)>,
    /// Runs that hold a slot.
    pub running: BTreeSet<TaskId>,
    /// Runs that wait for one, first in, first out.
    pub queue: BTreeSet<(u64, TaskId)>,
    pub polling: Option<Time>,
    /// Polls in a row that did not ask for questions.
    pub unasked: u32,
    pub came: Time,
    /// Since when it is away, if we saw it go.
    pub away_since: Option<Time>,
    /// Its process ended while it was out of our sight.
    pub ended_unseen: bool,
    /// Parents that may have been deleted, to be asked about.
    pub doubted: BTreeSet<SessionId>,
    /// Whether a headless host had nothing to do when it was last looked at.
    pub idle: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Hosts {
    all: BTreeMap<HostId, Host>,
    /// The directories of those that have told one.
    directories: BTreeMap<HostId, Arc<str>>,
}

impl Hosts {
    pub fn get(&self, id: &HostId) -> Option<&Host> {
        self.all.get(id)
    }

    pub fn get_mut(&mut self, id: &HostId) -> Option<&mut Host> {
        self.all.get_mut(id)
    }

    /// One that nobody has heard of ended before we could hear of it.
    pub fn presence(&self, id: &HostId) -> Presence {
        self.all.get(id).map_or(Presence::Gone, |host| host.presence)
    }

    pub fn lifetime(&self, id: &HostId) -> HostLifetime {
        self.all.get(id).map_or(HostLifetime::Interactive, |host| host.lifetime)
    }

    pub fn known(&mut self, id: &HostId, place: &Place) -> &mut Host {
        self.all.entry(id.clone()).or_insert_with(|| Host {
            place: place.clone(),
            presence: Presence::Away,
            lifetime: HostLifetime::Interactive,
            serves: Serves::OwnPlace,
            shows: None,
            running: BTreeSet::new(),
            queue: BTreeSet::new(),
            polling: None,
            unasked: 0,
            came: Time::default(),
            away_since: None,
            ended_unseen: false,
            doubted: BTreeSet::new(),
            idle: false,
        })
    }

    /// So much time passed while nothing ran.
    pub fn slept(&mut self, ms: u64) {
        for host in self.all.values_mut() {
            host.came = host.came.plus(ms);
            postpone(&mut host.away_since, ms);
        }
    }

    pub fn not_gone(&self) -> impl Iterator<Item = &HostId> {
        self.all.iter().filter(|(_, host)| host.presence != Presence::Gone).map(|(id, _)| id)
    }

    /// Hosts that have helpers of every place, and can be asked.
    pub fn for_everyone(&self) -> impl Iterator<Item = &HostId> {
        let here = self.all.iter().filter(|(_, host)| host.presence == Presence::Here);
        here.filter(|(_, host)| host.serves == Serves::Everyone).map(|(id, _)| id)
    }

    /// Those of the place that can be asked, the ones that a person sees first.
    pub fn here_at(&self, place: &Place) -> impl Iterator<Item = &HostId> {
        let here = |headless: bool| {
            self.at(place).filter(move |(_, host)| {
                host.presence == Presence::Here
                    && headless == (host.lifetime == HostLifetime::Headless)
            })
        };
        here(false).chain(here(true)).map(|(id, _)| id)
    }

    /// Those of them that see what goes on in this directory.
    pub fn here_in(&self, folder: &Folder) -> impl Iterator<Item = &HostId> {
        self.here_at(&folder.place).filter(|host| self.may_be_in(host, &folder.directory))
    }

    pub fn may_be_in(&self, host: &HostId, directory: &str) -> bool {
        self.directories.get(host).is_none_or(|own| **own == *directory)
    }

    /// Whether it has told that it is in this directory.
    pub fn is_known_in(&self, host: &HostId, directory: &str) -> bool {
        self.directories.get(host).is_some_and(|own| **own == *directory)
    }

    /// A host tells its directory.
    pub fn is_in(&mut self, host: HostId, directory: Arc<str>) {
        self.directories.insert(host, directory);
    }

    pub fn at(&self, place: &Place) -> impl Iterator<Item = (&HostId, &Host)> {
        self.all.iter().filter(move |(_, host)| host.place == *place)
    }

    /// Takes a run off its host's list and queue.
    pub fn release(&mut self, task: &Task) {
        if let Some(host) = self.all.get_mut(&task.run.host) {
            host.running.remove(&task.id);
            host.queue.remove(&(task.run.order, task.id));
        }
        self.drop_if_unused(&task.run.host);
    }

    /// Puts an unfinished run on its host's list or into its queue, by its stage.
    pub fn enlist(&mut self, task: &Task) {
        let host = self.known(&task.run.host, &task.place);
        if task.stage.holds_slot() {
            host.queue.remove(&(task.run.order, task.id));
            host.running.insert(task.id);
        } else {
            host.queue.insert((task.run.order, task.id));
        }
    }

    /// Forgets those that ended, once there are many: what they said of a session matters to
    /// nobody but to them.
    pub fn forget_gone(&self, remembered: &mut BTreeSet<HostId>) {
        if remembered.len() > HOSTS_MAX_REMEMBERED {
            remembered.retain(|host| self.presence(host) != Presence::Gone);
        }
    }

    /// A host that ended is forgotten with the last of its runs. One that is away is not: parents
    /// wait for it.
    pub fn drop_if_unused(&mut self, id: &HostId) {
        if self.all.get(id).is_some_and(|host| host.presence == Presence::Gone && host.is_empty()) {
            self.all.remove(id);
            self.directories.remove(id);
        }
    }
}

impl Host {
    /// Whether a run may start: `most` at once, 0 for no limit.
    pub fn has_slot(&self, most: u32) -> bool {
        let has_room = most == 0 || self.running.len() < most as usize;
        self.presence == Presence::Here && has_room
    }

    pub fn unfinished(&self) -> Vec<TaskId> {
        self.running.iter().copied().chain(self.queue.iter().map(|(_, id)| *id)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Settings;

    use super::*;
    use crate::engine::Engine;

    #[test]
    fn g3_a_host_that_ended_and_has_no_runs_is_forgotten() {
        let mut engine = Engine::new(Settings::default());
        let (host, place) = ("window".parse().unwrap(), "place".parse().unwrap());
        engine.host_came(&host, &place, HostLifetime::Interactive, Serves::OwnPlace);
        engine.host_gone(&host);
        assert!(engine.hosts.all.is_empty(), "{:?}", engine.hosts);
    }

    #[test]
    fn d4_time_asleep_does_not_count_as_absence() {
        let mut hosts = Hosts::default();
        let (id, place) = ("window".parse().unwrap(), "place".parse().unwrap());
        let host = hosts.known(&id, &place);
        (host.came, host.away_since) = (Time(1_000), Some(Time(2_000)));
        hosts.slept(60_000);
        let host = hosts.known(&id, &place);
        assert_eq!((host.came, host.away_since), (Time(61_000), Some(Time(62_000))));
    }
}
