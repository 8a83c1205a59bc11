//! Callers: sessions that call tools through their window, and a person at the command line. An
//! unanswered call is sent again to the next daemon under the same key; a call whose window ended
//! is nobody's.

use legwork_engine::text::answers;
use legwork_engine::text::fence::Fence;
use legwork_engine::{Caller, Input, Say};
use legwork_protocol::api::{Answer, Note, ToolCall};
use legwork_protocol::{Ask, CallId, CallKey, Refusal, SessionId, TaskId, Time};

use crate::world::{Keys, World, name};

/// A call's number in its history.
pub type CallNo = usize;

/// One call.
#[derive(Debug)]
pub struct Call {
    /// Who asks: a session through a window, or a person.
    pub from: Option<(usize, SessionId)>,
    /// What.
    pub ask: Ask,
    /// What the model is told besides.
    pub note: Option<Note>,
    /// The id that it brought along for a new task.
    spare: TaskId,
    /// When it was made.
    pub made: Time,
    /// Its number with the daemon that has it now.
    pub id: Option<CallId>,
    /// What it was told, and when.
    pub answer: Option<(Time, Result<Answer, Refusal>)>,
    /// Signs of life that it was given.
    pub progress: u32,
    /// Nobody waits for the answer any more.
    pub dropped: bool,
    /// How often it was sent.
    pub sent: u32,
    /// A checker asks; it is no part of the story.
    pub silent: bool,
}

impl Call {
    fn new(from: Option<(usize, SessionId)>, call: ToolCall, made: Time) -> Self {
        Self {
            from,
            ask: call.ask,
            note: call.note,
            spare: TaskId::from_number(0),
            made,
            id: None,
            answer: None,
            progress: 0,
            dropped: false,
            sent: 0,
            silent: false,
        }
    }

    /// The answer as a model reads it, if there is one.
    pub fn text(&self) -> Option<String> {
        self.answer.as_ref().map(|(_, answer)| self.text_of(answer))
    }

    fn text_of(&self, answer: &Result<Answer, Refusal>) -> String {
        if let Ok(Answer::Collected { task, ended, .. }) = answer {
            // For a front, not for a model.
            let asks = task.questions.iter().map(|question| format!(", asks {}", question.subject));
            let asks: String = asks.collect();
            return format!("{}{asks}", if *ended { "it has ended" } else { "not yet" });
        }
        let fence = Fence::of(&self.spare.to_string(), "");
        answers::text(answer, self.note, fence)
    }

    /// Whether it was refused.
    pub fn refused(&self) -> bool {
        matches!(self.answer, Some((_, Err(_))))
    }

    /// The task that a launch or resume was answered with.
    pub fn task(&self) -> Option<TaskId> {
        match &self.answer {
            Some((_, Ok(Answer::Launched { task, .. } | Answer::Resumed { task, .. }))) => {
                Some(task.id)
            }
            _ => None,
        }
    }
}

fn words(ask: &Ask) -> String {
    match ask {
        Ask::Launch { prompt, description, agent, fork, .. } => {
            let fork = if *fork { ", knowing all that it knows" } else { "" };
            format!("launches \"{description}\" with {agent}{fork}, to do: {prompt}")
        }
        Ask::Resume { task, prompt, .. } => format!("resumes {task}, to do: {prompt}"),
        Ask::Collect { task, run, .. } => format!("polls for run {run} of {task}"),
        Ask::HandedOver { task, run } => format!("has the end of run {run} of {task}"),
        Ask::MailShown { messages } => {
            let messages: Vec<_> = messages.iter().map(ToString::to_string).collect();
            format!("has been shown {}", messages.join(", "))
        }
        Ask::ResumeAny { task, prompt, .. } => format!("has {task} go on, to do: {prompt}"),
        Ask::Output { task, .. } => format!("asks how {task} is doing"),
        Ask::Wait { tasks, any, timeout_ms } => {
            let any = if *any { "any of " } else { "" };
            format!("waits for {any}{} for {timeout_ms} ms", tasks.join(", "))
        }
        Ask::List(_) => "asks for the list".to_owned(),
        Ask::Cancel { task } => format!("cancels {task}"),
        Ask::Clear => "clears its tasks".to_owned(),
        Ask::Forget { tasks } => format!("forgets {}", tasks.join(", ")),
        Ask::ForgetFinished { by } => format!("forgets what was finished at {}", by.0),
        Ask::Reply { question, reply } => format!("answers {question} with {reply:?}"),
    }
}

fn key(keys: Keys, session: &SessionId, number: CallNo, ask: &Ask) -> CallKey {
    match (keys, ask) {
        (Keys::Own, _) | (_, Ask::Resume { .. }) => name(&format!("{session}:call-{number}")),
        (Keys::Providers, _) => name(&format!("{session}/call-{}", number % 2)),
    }
}

impl World {
    /// A session calls a tool through a window.
    pub fn ask(&mut self, window: usize, session: &SessionId, ask: impl Into<ToolCall>) -> CallNo {
        self.used.insert((self.windows[window].process, session.clone()));
        self.call(Some((window, session.clone())), ask.into())
    }

    /// A person asks at the command line.
    pub fn person(&mut self, ask: Ask) -> CallNo {
        self.call(None, ask.into())
    }

    fn call(&mut self, from: Option<(usize, SessionId)>, call: ToolCall) -> CallNo {
        let number = self.calls.len();
        self.trace.tell(|| match &from {
            Some((_, session)) => format!("{session} {} (call {number})", words(&call.ask)),
            None => format!("a person {} (call {number})", words(&call.ask)),
        });
        self.calls.push(Call::new(from, call, self.now));
        self.send_call(number);
        number
    }

    /// Sends a call, or sends it again.
    pub fn send_call(&mut self, number: CallNo) {
        let linked = match &self.calls[number].from {
            Some((window, _)) => self.windows[*window].linked,
            None => self.daemon.is_some(),
        };
        if !linked || self.daemon.is_none() {
            return;
        }
        self.next_call += 1;
        let id = CallId(self.next_call);
        self.by_call.insert(id, number);
        let call = &mut self.calls[number];
        call.id = Some(id);
        call.sent += 1;
        let caller = match &call.from {
            None => Caller::Person,
            Some((window, session)) => Caller::Session {
                host: self.windows[*window].host.clone(),
                session: session.clone(),
                key: key(self.keys, session, number, &call.ask),
                message: name("msg_tool"),
                agent: "build".to_owned(),
                directory: "project".to_owned(),
                taken_over: Vec::new(),
            },
        };
        let ask = call.ask.clone();
        let spare = TaskId::from_number(self.dice.roll());
        call.spare = spare;
        let ms = self.dice.between(0, 3);
        self.arrives(ms, Input::Ask { call: id, caller, ask, spare });
    }

    /// The caller goes away: ESC, or a closed pipe.
    pub fn drop_call(&mut self, number: CallNo) {
        let call = &mut self.calls[number];
        if call.answer.is_some() || call.dropped {
            return;
        }
        call.dropped = true;
        self.trace.tell(|| format!("call {number} is dropped"));
        if let Some(id) = self.calls[number].id {
            self.arrives(1, Input::Dropped { call: id });
        }
    }

    /// A link is closed, and so is every call on it; an unanswered one is sent again later.
    pub(crate) fn hang_up(&mut self, window: usize) {
        let open = |call: &&mut Call| {
            let of_window = call.from.as_ref().is_some_and(|(w, _)| *w == window);
            of_window && call.answer.is_none()
        };
        // From now on what is said under the old number is said to nobody.
        let closed = self.calls.iter_mut().filter(open).filter_map(|call| call.id.take());
        for call in closed.collect::<Vec<CallId>>() {
            self.arrives(1, Input::Dropped { call });
        }
    }

    /// A window's callers end with it.
    pub(crate) fn drop_calls(&mut self, window: usize) {
        for number in 0..self.calls.len() {
            let of_window = self.calls[number].from.as_ref().is_some_and(|(w, _)| *w == window);
            if of_window {
                self.drop_call(number);
            }
        }
    }

    /// A window is connected again, and its unanswered calls are sent again.
    pub(crate) fn resend_of(&mut self, window: usize) {
        self.resend(|from| from.is_some_and(|from| from == window));
    }

    pub(crate) fn resend_of_person(&mut self) {
        self.resend(|from| from.is_none());
    }

    fn resend(&mut self, whose: impl Fn(Option<usize>) -> bool) {
        for number in 0..self.calls.len() {
            let call = &self.calls[number];
            let from = call.from.as_ref().map(|(window, _)| *window);
            if call.answer.is_none() && !call.dropped && whose(from) {
                self.send_call(number);
            }
        }
    }

    /// A caller hears something. Each answer is the last word on its call.
    pub(crate) fn hears(&mut self, id: CallId, said: Say) {
        let Some(number) = self.by_call.get(&id).copied() else { return };
        let call = &mut self.calls[number];
        let stale = call.dropped || call.id != Some(id);
        match said {
            Say::Progress(_) => call.progress += 1,
            Say::Answer(answer) => {
                self.by_call.remove(&id);
                let refused = if answer.is_err() { " a refusal" } else { "" };
                if !call.silent {
                    let text = call.text_of(&answer);
                    self.trace.tell(|| format!("    call {number} hears{refused}: {text:?}"));
                }
                if !stale {
                    let twice = self.calls[number].answer.is_some();
                    self.calls[number].answer = Some((self.now, answer));
                    self.check_answer(number, twice);
                    self.front_hears(number);
                }
            }
        }
    }

    /// A person's question, answered on the spot, whatever else goes wrong.
    pub fn ask_now(&mut self, ask: Ask) -> Option<Answer> {
        let faults = std::mem::take(&mut self.faults);
        let number = self.calls.len();
        let asked = Call::new(None, ask.clone().into(), self.now);
        self.calls.push(Call { sent: 1, silent: true, ..asked });
        self.next_call += 1;
        let call = CallId(self.next_call);
        self.by_call.insert(call, number);
        self.calls[number].id = Some(call);
        let spare = TaskId::from_number(0);
        self.daemon_step(Input::Ask { call, caller: Caller::Person, ask, spare });
        self.faults = faults;
        self.calls[number].answer.as_ref().and_then(|(_, answer)| answer.clone().ok())
    }

    /// Calls that wait for an answer.
    pub fn waiting(&self) -> impl Iterator<Item = CallNo> {
        let open = |call: &Call| call.answer.is_none() && !call.dropped;
        (0..self.calls.len()).filter(move |number| open(&self.calls[*number]))
    }
}
