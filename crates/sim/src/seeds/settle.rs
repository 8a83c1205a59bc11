//! The end of a random history: nothing goes wrong any more, and everything has to settle.

use legwork_engine::task::Outcome;
use legwork_protocol::limits::{HEADLESS_IDLE_MS, HEADLESS_START_MS};

use super::Play;
use crate::conditions::{LONGEST_RUN_MS, Twist};
use crate::host::SHARED;
use crate::world::Faults;

/// How long everything else may take to settle once nothing goes wrong any more: the slowest
/// retries and looks.
const SETTLE_MS: u64 = 5 * 60_000;

impl Play {
    /// Nothing goes wrong any more, and everything has to come to its end.
    pub(super) fn settle(&mut self) {
        self.world.trace.tell(|| "from now on nothing goes wrong".to_owned());
        self.world.faults = Faults::default();
        self.world.calm_since = Some(self.world.now);
        self.world.set_full(false);
        self.world.start_daemon();
        self.some_window();
        for session in self.sessions.clone() {
            self.window_of(&session);
        }
        if self.twist.has_shared() {
            // What was begun there can be stopped there.
            self.boot(SHARED);
        }
        for window in self.world.alive() {
            self.world.deafen(window, false);
        }
        if self.twist == Twist::Unseen {
            self.come_back();
        }
        for session in self.sessions.clone() {
            let window = self.window_of(&session);
            let process = self.world.windows[window].process;
            // It may be deleted, and then there is nothing to undo.
            drop(self.world.oc.clear_revert(process, &session));
        }
        if self.twist == Twist::Clients {
            self.settle_clients();
        }
        // With one place only, the runs that are left go one after the other.
        let rows = self.world.audit().rows.values();
        let left = rows.filter(|row| !row.task.is_finished()).count() + self.world.calls.len();
        let end = self.world.now.plus(SETTLE_MS + left as u64 * LONGEST_RUN_MS);
        // What is on its way arrives, on the slowest link too.
        self.world.run_for(20_000);
        while !self.is_settled() && self.world.now < end && self.world.step() {}
        if self.twist == Twist::Clients {
            self.end_clients();
        }
        // What still goes on in the hosts comes to its end, and they too if nobody sees them.
        self.world.run_for(5_000);
        if self.world.alive() != self.world.on_screen() {
            self.world.run_for(HEADLESS_START_MS + 3 * HEADLESS_IDLE_MS);
            self.world.check_no_headless();
        }
    }

    /// Somebody uses again what was left where nobody could see it end.
    fn come_back(&mut self) {
        self.world.run_for(5_000);
        for session in self.sessions.clone() {
            let window = self.window_of(&session);
            self.world.use_session(window, &session);
        }
    }

    pub(super) fn is_settled(&mut self) -> bool {
        let all = &self.world.clients.all;
        let polls = all.iter().any(|client| client.front.is_some() && !client.open().is_empty());
        !polls && self.world.waiting().next().is_none() && self.world.is_settled()
    }

    /// Where nothing goes wrong, a helper that can answer and be paid for does not fail.
    pub(super) fn check_calm(&mut self) {
        let easy = |prompt: &str| prompt.starts_with("say ") || prompt.starts_with("wait 5;");
        let too_dear = |detail: &str| detail.contains("(limits.max_cost");
        let audit = self.world.audit();
        let wrong = audit.runs.iter().find(|(_, run)| {
            run.ended == Some(Outcome::Failed) && easy(&run.prompt) && !too_dear(&run.detail)
        });
        if let Some(what) = wrong.map(|(id, run)| format!("{id:?} failed: {}", run.detail)) {
            audit.broken("no failure without a fault", what);
        }
    }
}
