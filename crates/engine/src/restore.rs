//! Restart. The engine takes in what was saved and counts every host as away until it comes or is
//! known to have ended; from then on the ordinary paths do what is needed.

use legwork_protocol::{SessionId, Settings, Time};

use crate::engine::Engine;
use crate::outbox::deliver::Attempt;
use crate::outbox::recipients::Recipient;
use crate::record::Saved;
use crate::run::Volatile;
use crate::task::Task;
use crate::timers::Timer;

impl Engine {
    /// An engine that goes on where another stopped. `next_work` is that one's
    /// [`Engine::next_work`], or 0 in a new process, which has no work in flight.
    pub fn restore(settings: Settings, saved: Saved, now: Time, next_work: u64) -> Self {
        let mut engine = Self::new(settings);
        (engine.now, engine.next_work) = (now, next_work);
        engine.incomplete = saved.incomplete;
        for parent in saved.parents {
            engine.outbox.recipients.insert(parent.session.clone(), Recipient::new(parent));
        }
        for notice in saved.notices {
            engine.await_active_host(&notice.to);
            engine.outbox.put(notice);
        }
        for delivery in saved.deliveries {
            if delivery.is_pulled() {
                engine.outbox.pull(&delivery);
                // Its reader may be showing it.
                engine.outbox.read.insert(delivery.id, now);
            } else {
                engine.outbox.carry(Attempt::restored(delivery));
            }
        }
        for ledger in saved.ledgers {
            engine.ledgers.insert((ledger.root.clone(), ledger.currency), ledger);
        }
        for stop in saved.stops {
            engine.hosts.known(&stop.host, &stop.place);
            engine.stops.restore(stop);
        }
        for task in saved.tasks {
            engine.take_in(task);
        }
        for (task, key) in saved.earlier_calls {
            engine.tasks.remember_call(task, key);
        }
        engine
    }

    fn take_in(&mut self, task: Task) {
        self.tasks.order_seen(task.run.order);
        let id = task.id;
        let unfinished = !task.is_finished();
        if unfinished {
            self.await_active_host(&task.run.asker);
            self.hosts.enlist(&task);
        }
        self.tasks.insert(task, Volatile::restored(self.now));
        if unfinished {
            self.timers.set(Timer::Run(id), self.now);
        }
    }

    fn await_active_host(&mut self, session: &SessionId) {
        let Some(Recipient { parent, .. }) = self.outbox.recipients.get(session) else { return };
        if let Some(host) = &parent.active_host {
            self.hosts.known(host, &parent.place);
        }
    }
}
