//! Checks during a history: nothing is said or done before it is saved, sessions are asked for
//! where they are kept and told only when they may be, and callers are answered in time.

use legwork_engine::record::{About, NoticeId};
use legwork_engine::task::Stage;
use legwork_engine::work::Tried;
use legwork_engine::{Action, Work};
use legwork_protocol::api::Answer;
use legwork_protocol::limits::BLOCK_MAX_MS;
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{Ask, Interrupted, MessageId, Place, SessionId, TaskId, Time};

use crate::adapter::Write;
use crate::calls::CallNo;
use crate::host::ProcessNo;
use crate::world::World;

/// How much later than its time-out a blocked caller may be answered, at the most.
const LATE_MS: u64 = 1_000;

impl World {
    /// The intent of every write is saved before a host hears of it.
    pub(crate) fn check_intent(&mut self, work: &Work) {
        let audit = self.audit();
        let stage = |task: &TaskId| audit.rows.get(task).map(|row| &row.task.stage);
        let wrong = match &work.action {
            // Several hosts may be found to have ended in one step, and the end of the second calls
            // off what that of the first began: then a stop says so, or its parent is forgotten.
            Action::Open { task, .. }
                if stage(task) != Some(&Stage::Opening) && !audit.stops.contains_key(task) =>
            {
                Some(format!("{task} is opened unannounced"))
            }
            Action::Prompt { message, tried, .. } => {
                let known = audit.rows.values().any(|row| match &row.task.stage {
                    Stage::Prompting(known) => known == message,
                    Stage::Working(known) if *tried == Tried::Unanswered => known == message,
                    _ => false,
                });
                (!known).then(|| format!("{message} is sent unannounced"))
            }
            Action::Deliver { session, message, .. }
                if !audit.deliveries.contains(message) && audit.parents.contains(session) =>
            {
                Some(format!("{message} is told unannounced"))
            }
            Action::Deliver { message, .. } if audit.pulled.contains(message) => {
                Some(format!("{message} is sent although its reader may have it"))
            }
            Action::Stop { task, .. } if !audit.stops.contains_key(task) => {
                Some(format!("{task} is stopped unannounced"))
            }
            _ => None,
        };
        if let Some(what) = wrong {
            self.audit().broken("saved before done", what);
        }
        if let Action::Deliver { session, message, .. } = &work.action {
            self.check_collected(message);
            self.check_held(session, message);
        }
        self.check_host(work);
    }

    /// A session is opened where its agent is, and asked about only where it is kept.
    fn check_host(&mut self, work: &Work) {
        let window = self.windows.iter().find(|window| window.host == work.host);
        if let (Action::Open { task, agent, .. }, Some(window)) = (&work.action, window)
            && !self.oc.agents(window.process).any(|known| &*known.name == agent)
        {
            let what = format!("{task} is opened in {}, which has no {agent}", work.host);
            return self.audit().broken("opened where its agent is", what);
        }
        let (Action::Deliver { session, .. }
        | Action::Probe { session }
        | Action::Prompt { session, .. }
        | Action::Observe { session, .. }) = &work.action
        else {
            return;
        };
        if window.is_some_and(|window| !self.is_of(session, &window.place)) {
            let what = format!("{} is asked for {session}, which is kept elsewhere", work.host);
            self.audit().broken("asked where it is kept", what);
        }
    }

    /// Whether windows of this place have the session, or had it.
    fn is_of(&self, session: &SessionId, place: &Place) -> bool {
        let mut there = self.windows.iter().filter(|window| window.place == *place);
        there.any(|window| self.oc.shares(window.process, session))
    }

    /// A session sees the tasks that sessions of its place launched, and no others; and it is told
    /// what to do before it ends if its own host ends with it.
    fn check_place(&mut self, number: CallNo) {
        let call = &self.calls[number];
        let (Some((window, _)), Some(text)) = (&call.from, call.text()) else { return };
        let window = &self.windows[*window];
        let (place, lifetime) = (window.place.clone(), window.lifetime);
        let (ask, text, refused) = (call.ask.clone(), text.to_owned(), call.refused());
        match &ask {
            Ask::Output { task, .. } => {
                let row = task.parse().ok().and_then(|id: TaskId| self.audit().rows.get(&id));
                let Some(parent) = row.map(|row| row.task.parent.clone()) else { return };
                // Where nobody can save, what is there may be refused.
                let seen = !refused || !text.contains("not found");
                if seen != self.is_of(&parent, &place) {
                    let what = format!("call {number} sees a task of {parent}: {seen}");
                    self.audit().broken("seen in its own place", what);
                }
            }
            Ask::Launch { .. } | Ask::Resume { .. } if !refused => {
                let promised = text.contains("A notification") || text.contains("a notification");
                let warned = text.contains("background_block");
                let ends = text.contains("its helpers end with it");
                let goes_on =
                    self.settings.headless && self.settings.interrupted == Interrupted::Continue;
                let one_shot = lifetime == HostLifetime::OneShot;
                if promised && (warned, ends) != (one_shot, one_shot && !goes_on) {
                    let what = format!("call {number} of a {lifetime:?} host hears {text:?}");
                    self.audit().broken("told what its host is", what);
                }
            }
            _ => {}
        }
    }

    /// A session that is blocked on a task is not told of its end.
    fn check_held(&mut self, session: &SessionId, message: &MessageId) {
        let Some(delivery) = self.audit().deliveries_ever.get(message) else { return };
        let told: Vec<String> = delivery
            .notices
            .iter()
            .filter(|notice| notice.about == About::End)
            .map(|notice| notice.task.to_string())
            .collect();
        let made = delivery.notices.clone();
        let made_in = self.audit().made_in.get(message).copied();
        if made_in < Some(self.life) {
            // Its time had come in an earlier life, and it may have gone out then.
            return;
        }
        let blocked = self.calls.iter().any(|call| {
            let open = call.answer.is_none() && !call.dropped;
            let by = call.from.as_ref().is_some_and(|(_, by)| by == session);
            let heard = call.id.is_some_and(|id| self.heard.contains_key(&id));
            match &call.ask {
                Ask::Wait { tasks, .. } => {
                    open && by && heard && tasks.iter().any(|task| told.contains(task))
                }
                _ => false,
            }
        });
        // One that may have gone out before the caller blocked is sent until it is confirmed.
        if blocked && self.first_tell.insert(message.clone()) {
            let what = format!("{message} tells {made:?} to {session}, which waits for it");
            self.audit().broken("held while blocked", what);
        }
        self.first_tell.insert(message.clone());
    }

    /// A turn is started only where somebody is.
    pub(crate) fn check_tell(&mut self, process: ProcessNo, write: &Write) {
        let Write::Send(session, prompt) = write else { return };
        let delivery = self.audit().deliveries_ever.contains_key(&prompt.message);
        let place = (process, session.clone());
        let shown = self.shown.get(&place).copied();
        if !delivery || prompt.no_reply || self.used.contains(&place) {
            return;
        }
        let audit = self.audit();
        let notices = audit.deliveries_ever[&prompt.message].notices.clone();
        let ended = |id: &NoticeId| audit.runs.get(&(id.task, id.run)).map(|run| run.ended_at);
        let is_news = notices.iter().any(|id| ended(id) >= shown);
        if shown.is_none() || !is_news {
            let what = format!("{} starts a turn in {session}, unused", prompt.message);
            self.audit().broken("no turn where nobody is", what);
        }
    }

    /// A blocked caller hears of the end when it comes, not when its time is up.
    fn check_woken(&mut self, number: CallNo, heard: Time) {
        let Some((at, Ok(Answer::Waited { tasks, any, .. }))) = self.calls[number].answer.clone()
        else {
            return;
        };
        let rows = &self.audit().rows;
        let ends = tasks.iter().map(|awaited| rows.get(&awaited.task.as_ref()?.id)?.task.run.ended);
        // Of a task that is not the caller's to see, or is forgotten by now, nothing can be said.
        let over = match any {
            true => ends.flatten().min(),
            false => ends.collect::<Option<Vec<Time>>>().and_then(|ends| ends.into_iter().max()),
        };
        let Some(over) = over.map(|over| over.max(heard)) else { return };
        if at.since(over) > LATE_MS {
            self.audit().broken("woken at the end", format!("call {number} slept on"));
        }
    }

    /// A caller is promised what it asked for, and not what another did.
    fn check_own(&mut self, number: CallNo, task: TaskId) {
        let asked = self.calls[number].ask.clone();
        let audit = self.audit();
        let its = match &asked {
            Ask::Launch { description, .. } => {
                // A strange one is kept as something that fits a line.
                let plain = |char: char| char == ' ' || char.is_ascii_graphic();
                let strange = description.len() > 60 || !description.chars().all(plain);
                let row = audit.rows.get(&task).filter(|_| !strange);
                row.is_none_or(|row| row.task.description.as_ref() == description)
            }
            Ask::Resume { prompt, .. } | Ask::ResumeAny { prompt, .. } => {
                let mut runs = audit.runs.range((task, 1)..=(task, u32::MAX));
                runs.any(|(_, run)| run.prompt.as_ref() == prompt)
            }
            _ => true,
        };
        if !its {
            let what = format!("call {number} is told of {task}, which another asked for");
            self.audit().broken("one's own answer", what);
        }
    }

    /// What an answer promises is saved, and a blocked caller has not waited too long.
    pub(crate) fn check_answer(&mut self, number: CallNo, twice: bool) {
        if twice {
            self.audit().broken("one answer", format!("call {number} is answered twice"));
        }
        let call = &self.calls[number];
        let heard = call.id.and_then(|id| self.heard.get(&id)).copied().unwrap_or_default();
        let late = match (&call.ask, &call.answer) {
            (Ask::Wait { timeout_ms, .. }, Some((at, _))) => {
                at.since(heard) > (*timeout_ms).min(BLOCK_MAX_MS) + LATE_MS
            }
            _ => false,
        };
        self.check_woken(number, heard);
        self.check_poll(number, heard);
        self.check_place(number);
        let call = &self.calls[number];
        let promised = match call.ask {
            Ask::Launch { .. } | Ask::Resume { .. } | Ask::ResumeAny { .. } if !call.refused() => {
                call.task()
            }
            _ => None,
        };
        if late {
            self.audit().broken("answered in time", format!("call {number} waited too long"));
        }
        let Some(task) = promised else { return };
        if !self.audit().runs.contains_key(&(task, 0)) {
            self.audit().broken("saved before said", format!("{task} is promised and unknown"));
        }
        self.check_own(number, task);
    }
}
