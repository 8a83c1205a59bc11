//! A client's front: it polls for every open run, fetches the end of one that is over, gives it to
//! the client and says so to the daemon.

use legwork_engine::Journal;
use legwork_engine::record::About;
use legwork_protocol::api::Answer;
use legwork_protocol::{Ask, Refusal, TaskId};

use super::{End, Kept, RunNo, Step};
use crate::calls::CallNo;
use crate::world::{Happening, World};

/// How soon a client polls again.
const POLL_AGAIN_MS: u64 = 250;
/// How soon what could not be done is tried again.
const RETRY_MS: u64 = 1_000;
/// How long a client takes at most to write down what it was given.
const RECORD_MAX_MS: u64 = 400;
/// Fronts that die between their client and the daemon, in a thousand ends, where things go wrong.
pub(super) const TORN: u32 = 20;

impl World {
    pub(super) fn poll(&mut self, client: usize, run: RunNo) {
        if self.clients.all[client].runs.get(&run) != Some(&Kept::Open) {
            return;
        }
        let wait_ms = *self.dice.pick(&[500, 5_000, 20_000, 60_000]);
        self.client_collects(client, run, wait_ms);
    }

    /// The front of a client polls for a run, however it may stand with that.
    pub fn client_collects(&mut self, client: usize, run: RunNo, wait_ms: u64) -> Option<CallNo> {
        let questions = self.clients.all[client].questions.get(&run).cloned().unwrap_or_default();
        let (task, run) = (run.0.to_string(), run.1);
        self.client_asks(client, Ask::Collect { task, run, questions, wait_ms })
    }

    /// A front hears the answer to one of its calls.
    pub(crate) fn front_hears(&mut self, number: CallNo) {
        let Some((client, front)) = self.clients.calls.remove(&number) else { return };
        if self.clients.all[client].front != Some(front) {
            return;
        }
        let call = &self.calls[number];
        let Some((_, answer)) = call.answer.clone() else { return };
        let ask = call.ask.clone();
        if !matches!(ask, Ask::Collect { .. } | Ask::HandedOver { .. } | Ask::MailShown { .. }) {
            self.read_mail(client);
        }
        match (ask, answer) {
            (Ask::Launch { collects: true, .. }, Ok(Answer::Launched { task, .. })) => {
                self.begins(client, (task.id, 0));
            }
            (Ask::Resume { collects: true, .. }, Ok(Answer::Resumed { task, .. })) => {
                self.begins(client, (task.id, task.resumes));
            }
            (Ask::Collect { task, run, .. }, answer) => {
                let Ok(task) = task.parse::<TaskId>() else { return };
                self.polled(client, (task, run), answer);
            }
            (Ask::HandedOver { task, run }, Err(Refusal::CannotSave)) => {
                let Ok(task) = task.parse::<TaskId>() else { return };
                let run = (task, run);
                self.plan(RETRY_MS, Happening::Client(client, Step::HandsOver { front, run }));
            }
            (Ask::MailShown { .. }, answer) => self.acknowledged(client, answer.is_ok()),
            (Ask::HandedOver { task, run }, _) => {
                let Ok(task) = task.parse::<TaskId>() else { return };
                self.clients.all[client].handing.remove(&(task, run));
            }
            _ => {}
        }
    }

    fn begins(&mut self, client: usize, run: RunNo) {
        let this = &mut self.clients.all[client];
        let Some(front) = this.front.filter(|_| this.process.is_some()) else { return };
        this.runs.entry(run).or_insert(Kept::Open);
        let ms = self.dice.between(0, 50);
        self.plan(ms, Happening::Client(client, Step::Polls { front, run }));
    }

    fn polled(&mut self, client: usize, run: RunNo, answer: Result<Answer, Refusal>) {
        let Some(front) = self.clients.all[client].front else { return };
        match answer {
            Ok(Answer::Collected { ended: true, .. }) => {
                let ms = self.dice.between(1, 3);
                self.plan(ms, Happening::Client(client, Step::Fetches { front, run }));
            }
            Ok(Answer::Collected { task, .. }) => {
                let questions = task.questions.into_iter().map(|question| question.id).collect();
                self.clients.all[client].questions.insert(run, questions);
                self.plan(POLL_AGAIN_MS, Happening::Client(client, Step::Polls { front, run }));
            }
            Err(Refusal::NotFound(_)) => {
                let kept = self.clients.all[client].runs.get_mut(&run);
                if let Some(kept) = kept.filter(|kept| **kept == Kept::Open) {
                    *kept = Kept::Gone;
                }
            }
            // The client is kept waiting.
            _ => self.plan(RETRY_MS, Happening::Client(client, Step::Polls { front, run })),
        }
    }

    /// The front asks the daemon for the end of a run that is over, gives it to the client and says
    /// that it has. Between the last two it may die.
    pub(super) fn fetch(&mut self, client: usize, run: RunNo) {
        let Some(front) = self.clients.all[client].front else { return };
        let there = match &mut self.daemon {
            Some(daemon) if !daemon.is_degraded() => {
                daemon.journal().detail(run.0, run.1).is_ok_and(|detail| detail.is_some())
            }
            _ => false,
        };
        if !there {
            return self.plan(RETRY_MS, Happening::Client(client, Step::Polls { front, run }));
        }
        let end = if self.has_told(run) { End::Known } else { End::Whole };
        let Some(process) = self.clients.all[client].process else { return };
        let session = self.clients.all[client].session.clone();
        self.trace
            .tell(|| format!("{session} is given the end of run {} of {}: {end:?}", run.1, run.0));
        let ms = self.dice.between(0, RECORD_MAX_MS);
        self.plan(ms, Happening::Client(client, Step::Records { process, run, end }));
        let goes_wrong = self.faults.lost_after > 0 || self.faults.crash_in_step > 0;
        self.clients.all[client].handing.insert(run);
        if goes_wrong && self.dice.chance(TORN) {
            return self.kill_front(client);
        }
        self.hand_over(client, run);
    }

    /// Whether the end of the run was put into the session that asked for it.
    fn has_told(&mut self, (task, run): RunNo) -> bool {
        let made = self.audit().deliveries_ever.values().filter(|delivery| {
            let is_it = |notice: &&legwork_engine::record::NoticeId| {
                (notice.task, notice.run, notice.about) == (task, run, About::End)
            };
            delivery.notices.iter().find(is_it).is_some()
        });
        let made: Vec<_> =
            made.map(|delivery| (delivery.to.clone(), delivery.id.clone())).collect();
        made.iter().any(|(to, id)| {
            // A front that reads may not have said so yet.
            let is_read = self.clients.shown.contains_key(id);
            if is_read {
                return self.audit().told.contains(id);
            }
            let session = self.oc.once(to);
            session.is_some_and(|session| session.prompts().any(|(known, _)| known == id))
        })
    }

    pub(super) fn hand_over(&mut self, client: usize, (task, run): RunNo) {
        self.client_asks(client, Ask::HandedOver { task: task.to_string(), run });
    }

    pub(super) fn record(&mut self, client: usize, run: RunNo, end: End) {
        let Some(kept) = self.clients.all[client].runs.get_mut(&run) else { return };
        if *kept == Kept::Open {
            *kept = Kept::Told(end);
            let session = self.clients.all[client].session.clone();
            self.trace.tell(|| format!("{session} keeps the end of run {} of {}", run.1, run.0));
        }
    }

    /// What has no answer is asked again.
    pub(super) fn resend_calls(&mut self, client: usize) {
        let own = |(number, by): (&CallNo, &(usize, u32))| {
            (by.0 == client && self.calls[*number].answer.is_none()).then_some(*number)
        };
        let open: Vec<CallNo> = self.clients.calls.iter().filter_map(own).collect();
        open.into_iter().for_each(|number| self.send_call(number));
    }
}
