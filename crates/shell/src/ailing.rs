//! What happens when the records cannot be saved (a full disk): the engine is ahead of them and not
//! to be trusted any more. Callers are refused in words, and once a change can be saved again
//! everything starts anew from the records, as after a crash.

use legwork_engine::{Engine, Hint, Input, Journal};
use legwork_protocol::limits::POLL_EVERY_MS;
use legwork_protocol::{Refusal, Time};

use crate::{Outside, Shell, refused};

impl<J: Journal, O: Outside> Shell<J, O> {
    pub(crate) fn fall_ill(&mut self, now: Time) -> Option<Time> {
        self.ailing = true;
        self.own.clear();
        for call in std::mem::take(&mut self.open) {
            self.outside.say(call, refused(Refusal::CannotSave));
        }
        Some(now.plus(POLL_EVERY_MS))
    }

    pub(crate) fn ail(&mut self, input: Input, now: Time) -> Option<Time> {
        if self.journal.probe().is_err() {
            return self.fall_ill(now);
        }
        let saved = match self.journal.load() {
            Ok(saved) => saved,
            Err(fault) => {
                self.outside.trouble(&format!("records cannot be read: {fault}"));
                return self.fall_ill(now);
            }
        };
        // What is under way for the engine of before must not be taken for this one's.
        let next_work = self.engine.next_work();
        self.engine = Engine::restore(self.settings.clone(), saved, now, next_work);
        self.ailing = false;
        self.check_at = now;
        for (host, place) in self.here.clone() {
            self.own.push_back(Input::Hint(Hint::HostCame { host, place }));
        }
        self.step(input, now)
    }
}
