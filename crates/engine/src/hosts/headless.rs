//! Headless hosts. A run whose host ended goes on at another host of its place. Where there is
//! none, one without a window is started, and ended again when nothing needs it. One is also
//! started beside a window in which many helpers work, so that the person is not slowed down.

use std::sync::Arc;

use legwork_protocol::limits::{
    HEADLESS_AFTER_MS, HEADLESS_IDLE_MS, HEADLESS_MAX_TRIES, HEADLESS_RETRY_MS, HEADLESS_START_MS,
};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{HostId, Interrupted, Place, TaskId, Time};

use super::{Host, Presence};
use crate::engine::Engine;
use crate::input::{Headless, NotStarted, Serves};
use crate::task::Task;
use crate::tasks::Live;
use crate::timers::Timer;

/// Where a headless host is wanted. Worktrees of a project are one place, and a helper belongs into
/// its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Folder {
    pub place: Place,
    pub directory: Arc<str>,
}

impl Folder {
    pub fn of(task: &Task) -> Self {
        Self { place: task.place.clone(), directory: task.directory.clone() }
    }
}

/// The tries to start a host in a folder, until one is there.
#[derive(Debug)]
pub(crate) struct Start {
    tries: u32,
    last: Try,
    folder_gone: bool,
}

#[derive(Debug)]
enum Try {
    Begun { at: Time },
    Failed { at: Time, why: String },
}

impl Start {
    /// The moment at which the last try is given up, or followed by another.
    fn due(&self) -> Time {
        match self.last {
            Try::Begun { at } => at.plus(HEADLESS_START_MS),
            Try::Failed { at, .. } => at.plus(HEADLESS_RETRY_MS),
        }
    }

    pub fn slept(&mut self, ms: u64) {
        let (Try::Begun { at } | Try::Failed { at, .. }) = &mut self.last;
        *at = at.plus(ms);
    }

    /// Nobody can go on with what was done there.
    pub fn has_no_folder(&self) -> bool {
        self.folder_gone
    }

    pub fn failure(&self) -> Option<&str> {
        match &self.last {
            Try::Failed { why, .. } => Some(why),
            Try::Begun { .. } => None,
        }
    }
}

impl Engine {
    /// Whether a run that lost its host gets a headless one, which is started if it is time to.
    pub(crate) fn awaits_headless(&mut self, id: TaskId) -> bool {
        let now = self.now;
        let Some(due) = self.headless_due(id) else { return false };
        let Some(Live { task, .. }) = self.tasks.live(id) else { return false };
        let folder = Folder::of(task);
        if due > now {
            return true;
        }
        self.start_headless(folder)
    }

    /// The headless host that a new run goes to, because enough of them work in its window. Where
    /// there is none, one is started; until it is there, they go to the window.
    pub(crate) fn beside(&mut self, window: &HostId, directory: &str) -> Option<HostId> {
        let host = self.hosts.get(window).filter(|_| self.settings.headless)?;
        let busy = host.running.len() + host.queue.len();
        let is_window = host.lifetime != HostLifetime::Headless && host.serves == Serves::OwnPlace;
        let full = matches!(self.settings.max_in_window, most @ 1.. if busy >= most as usize);
        if !is_window || !full {
            return None;
        }
        let place = host.place.clone();
        let headless = |(id, host): &(&HostId, &Host)| {
            let is_here =
                host.lifetime == HostLifetime::Headless && host.presence == Presence::Here;
            is_here && self.hosts.may_be_in(id, directory)
        };
        if let Some((id, _)) = self.hosts.at(&place).find(headless) {
            return Some(id.clone());
        }
        let folder = Folder { place, directory: directory.into() };
        if self.starts.get(&folder).is_none_or(|start| start.due() <= self.now) {
            self.start_headless(folder);
        }
        None
    }

    /// Tries to, or gives up the last try. Says whether there is still hope.
    fn start_headless(&mut self, folder: Folder) -> bool {
        let now = self.now;
        let tries = match self.starts.get_mut(&folder) {
            None => 0,
            Some(start) => {
                if let Try::Begun { .. } = start.last {
                    let why = "it was not there in time".to_owned();
                    start.last = Try::Failed { at: now, why };
                    return start.tries < HEADLESS_MAX_TRIES;
                }
                // It may be there again, and to look for a folder costs nothing.
                if start.folder_gone { 0 } else { start.tries }
            }
        };
        if tries >= HEADLESS_MAX_TRIES {
            return false;
        }
        let start = Start { tries: tries + 1, last: Try::Begun { at: now }, folder_gone: false };
        self.starts.insert(folder.clone(), start);
        let Folder { place, directory } = folder;
        self.headless(Headless::Start { place, directory: directory.as_ref().to_owned() });
        true
    }

    /// When the next step towards a headless host for this run is due. None if it gets none.
    pub(crate) fn headless_due(&self, id: TaskId) -> Option<Time> {
        let Live { task, volatile } = self.tasks.live(id)?;
        let wanted = self.settings.headless && self.settings.interrupted == Interrupted::Continue;
        let lost = volatile.loss.since().filter(|_| wanted && task.may_go_on())?;
        // A host that is there and does not have the session is no better without a window.
        let folder = Folder::of(task);
        if self.hosts.here_in(&folder).next().is_some() {
            return None;
        }
        match self.starts.get(&folder) {
            None => Some(lost.plus(HEADLESS_AFTER_MS)),
            Some(Start { tries: HEADLESS_MAX_TRIES.., last: Try::Failed { .. }, .. }) => None,
            Some(start) => Some(start.due()),
        }
    }

    /// A folder that was gone may be there again: whoever needs it now looks for it anew.
    pub(crate) fn forget_gone_folder(&mut self, folder: &Folder) {
        if self.starts.get(folder).is_some_and(Start::has_no_folder) {
            self.starts.remove(folder);
        }
    }

    pub(crate) fn not_started(&mut self, folder: &Folder, why: String, lasts: NotStarted) {
        let Some(start) = self.starts.get_mut(folder) else { return };
        if lasts != NotStarted::ForNow {
            start.tries = HEADLESS_MAX_TRIES;
        }
        start.folder_gone = lasts == NotStarted::DirectoryGone;
        start.last = Try::Failed { at: self.now, why };
        let gone = self.hosts.at(&folder.place).filter(|(_, host)| host.presence == Presence::Gone);
        let waiting: Vec<TaskId> = gone.flat_map(|(_, host)| host.unfinished()).collect();
        waiting.into_iter().for_each(|task| self.tend_run(task));
    }

    /// Ends a headless host that had nothing to do twice in a row.
    pub(crate) fn end_if_idle(&mut self, id: &HostId) {
        let needed = self.is_needed(id);
        let Some(host) = self.hosts.get_mut(id) else { return };
        if host.presence != Presence::Here || host.lifetime != HostLifetime::Headless {
            return;
        }
        let end = host.idle && !needed;
        host.idle = !needed;
        self.timers.set(Timer::Idle(id.clone()), self.now.plus(HEADLESS_IDLE_MS));
        if end {
            self.headless(Headless::End { host: id.clone() });
        }
    }

    /// Whether a host has something to do that no other can: a run, a stop, a message for a parent
    /// whose window is closed.
    fn is_needed(&self, id: &HostId) -> bool {
        let Some(host) = self.hosts.get(id) else { return false };
        let delivers = || {
            let waiting = self.outbox.recipients.values().filter(|recipient| recipient.waits());
            let mut here = waiting.filter(|recipient| recipient.parent.place == host.place);
            here.any(|recipient| {
                self.route(&recipient.parent.session).is_some_and(|it| it.host == *id)
            })
        };
        !host.is_empty() || self.stops.on(id) || delivers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_time_asleep_does_not_count_as_a_slow_start() {
        let mut start =
            Start { tries: 1, last: Try::Begun { at: Time(1_000) }, folder_gone: false };
        let due = start.due();
        start.slept(60_000);
        assert_eq!(start.due(), due.plus(60_000));
        let mut engine = Engine::new(legwork_protocol::Settings::default());
        let folder = Folder { place: "place".parse().unwrap(), directory: "/project".into() };
        engine.starts.insert(folder, start);
        engine.slept(60_000);
        assert!(engine.starts.values().all(|start| start.due() == due.plus(120_000)));
    }
}
