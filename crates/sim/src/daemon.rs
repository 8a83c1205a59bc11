//! The simulated daemon: the real shell with the real engine, started from the books, fed with what
//! arrives, and killed between any two of its effects.

use std::collections::BTreeMap;

use legwork_engine::Input;
use legwork_engine::shell::Shell;
use legwork_protocol::Ask;
use legwork_protocol::api::List;
use legwork_protocol::view::TasksView;

use crate::wire::Wire;
use crate::world::{Happening, World};

impl World {
    /// Starts the daemon from the books, if it is dead.
    pub fn start_daemon(&mut self) {
        let Some(mut books) = self.books.take() else { return };
        self.life += 1;
        self.forget_alarm();
        self.last_work = None;
        books.close();
        books.audit.life = self.life;
        let fuse = books.fuse.clone();
        let wire = Wire { ended: self.ended.clone(), fuse, ..Wire::default() };
        match Shell::start(books, wire, self.settings.clone(), self.now) {
            Ok(shell) => {
                self.trace.tell(|| "the daemon starts".to_owned());
                self.daemon = Some(shell);
            }
            Err(fault) => unreachable!("the books cannot be read: {fault}"),
        }
        self.set_alarm(Some(self.now));
        for window in self.alive() {
            let ms = self.dice.between(1, 400);
            self.plan(ms, Happening::Links(window));
        }
        self.resend_of_person();
        self.check_view();
        // A part of the daemon is there before anybody else.
        if let Some(clients) = self.clients.window {
            self.link(clients);
        }
    }

    /// The daemon is killed. Requests in flight take effect or do not.
    pub fn kill_daemon(&mut self) {
        let Some(daemon) = self.daemon.take() else { return };
        self.trace.tell(|| "the daemon is killed".to_owned());
        let (books, _) = daemon.into_parts();
        self.books = Some(books);
        for window in 0..self.windows.len() {
            self.unlink(window);
        }
    }

    /// Killed, and started again a little later by whoever needs it.
    pub fn restart_daemon(&mut self) {
        if self.daemon.is_some() {
            self.kill_daemon();
            let ms = self.dice.between(1, 3_000);
            self.plan(ms, Happening::Starts);
        }
    }

    pub(crate) fn arrives(&mut self, ms: u64, input: Input) {
        self.plan(ms, Happening::Arrives(self.life, Box::new(input)));
    }

    pub(crate) fn daemon_step(&mut self, input: Input) {
        let crash = self.dice.chance(self.faults.crash_in_step);
        let linked = self.windows.iter().filter(|window| window.linked);
        let here = linked.map(|window| window.place.clone()).collect();
        self.audit().places_here = here;
        let effects = self.dice.below(6) as u32;
        let Some(daemon) = &mut self.daemon else { return };
        let fuse = daemon.outside().fuse.clone();
        if crash {
            fuse.light(effects);
        }
        if let Input::Ask { call, .. } = &input {
            self.heard.insert(*call, self.now);
        }
        // A daemon that recovers does several things in one step, and a later one may undo what an
        // earlier one announced.
        let recovers = daemon.is_degraded();
        let wake_at = daemon.step(input, self.now);
        fuse.put_out();
        let said = std::mem::take(&mut daemon.outside().said);
        let work = std::mem::take(&mut daemon.outside().work);
        let orders = std::mem::take(&mut daemon.outside().headless);
        for (call, said) in said {
            self.hears(call, said);
        }
        for work in work {
            if !recovers {
                self.check_intent(&work);
            }
            self.send_work(work);
        }
        for order in orders {
            self.headless(order);
        }
        if fuse.has_blown() {
            self.trace.tell(|| "the daemon dies in the middle of a step".to_owned());
            self.restart_daemon();
        } else {
            self.set_alarm(wake_at);
        }
    }

    /// After a restart everybody sees what was saved, no more and no less.
    fn check_view(&mut self) {
        let Some(daemon) = &mut self.daemon else { return };
        let view = daemon.journal().audit.view();
        let mut seen = BTreeMap::new();
        let mut next = List::default();
        loop {
            let page = self.ask_now(Ask::List(next.clone())).map(TasksView::try_from);
            let Some(Ok(page)) = page else { break };
            if !self.set_aside.is_empty() && !page.incomplete {
                self.audit().broken("what lies aside is said", format!("{page:?}"));
            }
            seen.extend(page.tasks.into_iter().map(|task| (task.id, task.status)));
            next.after = page.next;
            if page.next.is_none() {
                break;
            }
        }
        if seen != view {
            let what = format!("{view:?} is kept, the listing says {seen:?}");
            self.audit().broken("same view after restart", what);
        }
    }
}
