//! Headless hosts: started in the folder of the helper that needs one, in the way in which the last
//! host of the place was; ended by a signal.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use legwork_engine::Hint;
use legwork_engine::input::NotStarted;
use legwork_host::{HowToStart, Kind};
use legwork_machine::process::{self, Detached, Signal};
use legwork_protocol::line::Startup;
use legwork_protocol::{HostId, Place};
use tokio::sync::mpsc;

use crate::limits::STARTUPS_MAX;
use crate::log::Log;

#[derive(Debug)]
pub struct HeadlessHosts {
    pub detached: Arc<Detached>,
    hints: mpsc::UnboundedSender<Hint>,
    /// How hosts were started, the newest last. A restart forgets it until a host says it again.
    startups: VecDeque<(Place, Startup)>,
    /// Those that were asked to end.
    ending: BTreeSet<HostId>,
    log: Log,
}

impl HeadlessHosts {
    pub fn new(detached: Arc<Detached>, hints: mpsc::UnboundedSender<Hint>, log: Log) -> Self {
        let (startups, ending) = (VecDeque::new(), BTreeSet::new());
        Self { detached, hints, startups, ending, log }
    }

    /// A host of the place was started like this.
    pub fn remember(&mut self, place: &Place, startup: Startup) {
        self.startups.retain(|(other, _)| other != place);
        self.startups.push_back((place.clone(), startup));
        if self.startups.len() > STARTUPS_MAX {
            self.startups.pop_front();
        }
    }

    pub fn start(&self, kinds: &[Box<dyn Kind>], place: Place, directory: String) {
        let known = self.startups.iter().find(|(other, _)| *other == place);
        let like = known.map(|(_, startup)| startup.clone());
        let how = HowToStart { directory: directory.clone(), like };
        let starting = || kinds.iter().find_map(|kind| kind.start_headless(&place, &how));
        let starting = match Path::new(&directory).is_dir() {
            true => starting().ok_or_else(|| {
                (NotStarted::AtAll, "hosts of its kind are not started by legwork".to_owned())
            }),
            false => Err((
                NotStarted::DirectoryGone,
                format!("its folder {directory} is not there any more"),
            )),
        };
        let (hints, log, detached) = (self.hints.clone(), self.log.clone(), self.detached.clone());
        let starting = match starting {
            Ok(starting) => starting,
            Err((lasts, why)) => {
                log.warn(format_args!("no headless host of {place}: {why}"));
                // Through the inbox, like any other hint: the engine is in the middle of a step.
                let _ = hints.send(Hint::NotStarted { place, directory, why, lasts });
                return;
            }
        };
        log.info(format_args!("starts a headless host of {place} in {directory}"));
        tokio::spawn(async move {
            let process = starting.process;
            let noted = async {
                let pid = process.await.ok()?;
                detached.insert(pid);
                process::process_mark(pid)
            };
            let (mark, done) = tokio::join!(noted, starting.done);
            if let Err(why) = done {
                if let Some(mark) = mark {
                    process::signal(&mark, Signal::KILL);
                }
                log.warn(format_args!("no headless host of {place}: {why}"));
                let lasts = NotStarted::ForNow;
                let _ = hints.send(Hint::NotStarted { place, directory, why, lasts });
            }
        });
    }

    /// One that is still there when it is asked a second time is killed.
    pub fn end(&mut self, host: HostId) {
        let asked_before = self.ending.contains(&host);
        let signal = if asked_before { Signal::KILL } else { Signal::TERM };
        self.log.info(format_args!("ends {host}, which nothing needs any more"));
        if let Some(mark) = process::mark_in(host.as_str()) {
            process::signal(mark, signal);
        }
        self.ending.retain(|host| process::mark_in(host.as_str()).is_some_and(process::is_alive));
        self.ending.insert(host);
    }
}
