//! A client's front reads what waits for the session, puts it before the answer to a call, and says
//! so to the daemon once its client has it. It reads again only when that is done.

use legwork_engine::record::About;
use legwork_engine::work::Shown;
use legwork_engine::{Hint, Input};
use legwork_protocol::Ask;

use super::Step;
use super::front::TORN;
use crate::host::{Part, Prompt};
use crate::world::{Happening, World};

/// How long a front takes at most to answer its client with what it has read.
const SHOW_MAX_MS: u64 = 30;

impl World {
    pub(super) fn read_mail(&mut self, client: usize) {
        let this = &self.clients.all[client];
        let (Some(front), session) = (this.front, this.session.clone()) else { return };
        let Some(daemon) = self.daemon.as_mut().filter(|daemon| !daemon.is_degraded()) else {
            return;
        };
        if !this.showing.is_empty() || !this.acknowledging.is_empty() {
            return;
        }
        let unread = daemon.read(self.now, |engine| engine.unread(|to| *to == session));
        let mut unread = unread.unwrap_or_default();
        unread.retain_mut(|unread| daemon.fill(&mut unread.parts));
        if unread.is_empty() {
            return;
        }
        let messages = unread.iter().map(|unread| unread.message.clone()).collect();
        self.daemon_step(Input::Hint(Hint::Read { messages }));
        // One that died of it has answered nobody.
        if self.daemon.is_some() {
            self.clients.all[client].showing = unread;
            let ms = self.dice.between(1, SHOW_MAX_MS);
            self.plan(ms, Happening::Client(client, Step::Shows { front }));
        }
    }

    pub(super) fn show(&mut self, client: usize) {
        let unread = std::mem::take(&mut self.clients.all[client].showing);
        if self.clients.all[client].process.is_none() {
            return;
        }
        for unread in unread {
            let (session, message) = (unread.session, unread.message);
            self.trace.tell(|| format!("{session} is shown {message}"));
            let again = self.clients.shown.contains_key(&message);
            if again && !self.clients.shown_unsure.contains(&message) {
                self.audit().broken("shown once", format!("{message} is shown again"));
            }
            let ends = unread.notices.iter().filter(|id| id.about == About::End);
            let ends = ends.map(|id| (id.task, id.run));
            self.clients.shown.entry(message.clone()).or_default().extend(ends);
            let parts = unread.parts.into_iter().map(|part| Part {
                id: part.id,
                text: part.text.into(),
                synthetic: part.shown == Shown::ToModel,
            });
            let parts = parts.collect();
            let prompt = Prompt {
                message: message.clone(),
                parts,
                agent: None,
                no_reply: false,
                ours: true,
            };
            if self.oc.put(&session, prompt).is_err() {
                self.audit().broken("shown to whom it is for", session.to_string());
            }
            self.clients.all[client].acknowledging.push(message);
        }
        let goes_wrong = self.faults.lost_after > 0 || self.faults.crash_in_step > 0;
        if goes_wrong && self.dice.chance(TORN) {
            return self.kill_front(client);
        }
        let messages = self.clients.all[client].acknowledging.clone();
        self.client_asks(client, Ask::MailShown { messages });
    }

    /// The daemon knows that its client has it, or cannot keep that.
    pub(super) fn acknowledged(&mut self, client: usize, is_kept: bool) {
        let shown = std::mem::take(&mut self.clients.all[client].acknowledging);
        for message in shown.into_iter().filter(|_| !is_kept) {
            let ends = self.clients.shown.get(&message).into_iter().flatten();
            self.clients.unsure.extend(ends);
            self.clients.shown_unsure.insert(message);
        }
    }
}
