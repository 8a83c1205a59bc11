//! Headless hosts: the daemon asks for one, and it comes after a while, or does not.

use legwork_engine::input::NotStarted;
use legwork_engine::{Headless, Hint, Input};
use legwork_protocol::Place;
use legwork_protocol::line::HostLifetime;

use crate::host::SHARED;
use crate::world::{Happening, World};

impl World {
    pub(crate) fn headless(&mut self, order: Headless) {
        match order {
            Headless::Start { place, directory } => self.start_headless(place, directory),
            Headless::End { host } => {
                self.trace.tell(|| format!("{host} is to end"));
                if let Some(number) = self.windows.iter().position(|window| window.host == host) {
                    self.check_idle(number);
                    self.kill_window(number);
                }
            }
        }
    }

    fn start_headless(&mut self, place: Place, directory: String) {
        self.trace.tell(|| format!("a headless host of {place} is to start"));
        let mut here = self.windows.iter().filter(|window| window.linked);
        let beside = self.settings.max_in_window > 0;
        if let Some(other) = here.find(|window| window.place == place && !beside) {
            let what = format!("one is to start though {} is there", other.host);
            self.audit().broken("headless only where nobody is", what);
        }
        let of_place = self.windows.iter().find(|window| window.place == place);
        let database = of_place.map_or(0, |window| self.oc.database(window.process));
        let ms = self.dice.between(1, 8_000);
        let shared = database == SHARED;
        if shared || self.dice.chance(self.faults.headless_fails) {
            let for_now = !shared && self.dice.chance(700);
            let lasts = if for_now { NotStarted::ForNow } else { NotStarted::AtAll };
            let why = "no such program".to_owned();
            let failed = Hint::NotStarted { place, directory, why, lasts };
            return self.arrives(ms, Input::Hint(failed));
        }
        self.plan(ms, Happening::Boots(database, place));
    }

    pub(crate) fn boot_headless(&mut self, database: u8, place: Place) {
        let number = self.boot_on(database, place);
        self.windows[number].lifetime = HostLifetime::Headless;
    }

    /// The windows that a person can see, of those whose process lives.
    pub fn on_screen(&self) -> Vec<usize> {
        let mut alive = self.alive();
        alive.retain(|window| self.windows[*window].lifetime != HostLifetime::Headless);
        alive
    }

    /// A host that is ended because nothing needs it works for nobody.
    fn check_idle(&mut self, number: usize) {
        let host = self.windows[number].host.clone();
        let mut rows = self.audit().rows.values();
        let busy = rows.find(|row| !row.task.is_finished() && row.task.run.host == host);
        if let Some(what) = busy.map(|row| format!("{host} is ended under {}", row.task.id)) {
            self.audit().broken("no host ends under its runs", what);
        }
    }

    /// Nobody needs a headless host in the end, so none is there.
    pub(crate) fn check_no_headless(&mut self) {
        let seen = self.on_screen();
        let left = self.alive().into_iter().find(|window| !seen.contains(window));
        if let Some(what) = left.map(|window| format!("{} is there", self.windows[window].host)) {
            self.audit().broken("no headless host stays", what);
        }
    }
}
