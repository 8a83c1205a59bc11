//! Degraded mode: the records cannot be saved, for example because the disk is full. The engine is
//! ahead of them then and cannot be trusted, so callers are refused. Once a change can be saved
//! again, everything restarts from the records, as after a crash.

use crate::{Engine, Input, Journal, Say};
use legwork_protocol::limits::POLL_EVERY_MS;
use legwork_protocol::{Ask, Refusal, Time};

use super::{Outside, Shell};

impl<J: Journal, O: Outside> Shell<J, O> {
    /// Nothing can be saved: callers are refused, except the one who only wants to read.
    pub(super) fn degrade(&mut self, read: Option<Input>, now: Time) -> Option<Time> {
        self.degraded = true;
        self.own.clear();
        // An engine that is thrown away: nothing that it would save or do is done.
        if let Some(input @ Input::Ask { call, .. }) = read
            && self.open.contains(&call)
            && let Some(mut engine) = self.engine_of_records(now)
        {
            for (call, say) in engine.on(input, now).says {
                self.say(call, say);
            }
        }
        for call in std::mem::take(&mut self.open) {
            self.outside.say(call, Say::Answer(Err(Refusal::CannotSave)));
        }
        Some(now.plus(POLL_EVERY_MS))
    }

    /// An engine that knows what the records say, to be read and thrown away.
    pub(crate) fn engine_of_records(&mut self, now: Time) -> Option<Engine> {
        let saved = self.journal.load().ok()?;
        let mut engine = Engine::restore(self.settings.clone(), saved, now, 0);
        for came in self.here.values().cloned() {
            drop(engine.on(Input::Hint(came), now));
        }
        Some(engine)
    }

    pub(crate) fn ail(&mut self, input: Input, now: Time) -> Option<Time> {
        // A probe is a write of its own, so not every input gets one.
        let may_try = now >= self.probe_at;
        if may_try {
            self.probe_at = now.plus(POLL_EVERY_MS);
        }
        if !may_try || self.journal.probe().is_err() {
            return self.degrade(reads(&input).then_some(input), now);
        }
        let saved = match self.journal.load() {
            Ok(saved) => saved,
            Err(fault) => {
                self.outside.trouble(&format!("records cannot be read: {fault}"));
                return self.degrade(None, now);
            }
        };
        // Work in flight for the old engine must not be taken for the new one's.
        let next_work = self.engine.next_work();
        self.engine = Engine::restore(self.settings.clone(), saved, now, next_work);
        self.degraded = false;
        self.check_at = now;
        self.own.extend(self.here.values().cloned().map(Input::Hint));
        // A new engine has no waits that this time could be added to.
        let slept = matches!(input, Input::Slept { .. });
        self.step(if slept { Input::Tick } else { input }, now)
    }
}

/// Whether the input asks for something that can be answered without saving anything.
pub(crate) fn reads(input: &Input) -> bool {
    matches!(input, Input::Ask { ask: Ask::List(_) | Ask::Output { .. }, .. })
}
