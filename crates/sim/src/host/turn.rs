//! A turn: the loop that calls the model until the newest prompt of its session is answered.
//!
//! ```text
//! Starting ─► Thinking ─► UsingTool ─┐        Failing ─► (over)
//!    ▲           │  ▲  ◄─ Retrying   │           ▲
//!  (204)         │  └── next call ◄──┤           │ error
//!                ├─► Asking ─────────┘           │
//!                ├─► Hanging                     │
//!                └─► Settling ─► (over) or the next call
//! ```
//!
//! A turn reads and writes its session only; who may start or stop one is in `prompt.rs` and
//! `api.rs`. As in OpenCode each call answers the *newest* prompt, so one that is overtaken by
//! another before its answer is never answered under its own id (source of 1.18.18).

use std::sync::Arc;

use legwork_protocol::{MessageId, QuestionId, Time};

use super::events::{Kind, ProcessNo, Status};
use super::process::Question;
use super::script::Step;
use super::storage::{Assistant, Body, Finish, Message, Session, Spent};
use super::world::{Key, What, World};

#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub process: ProcessNo,
    pub session: usize,
    /// What `GET /session/status` says, if it says anything.
    pub status: Option<Status>,
    pub phase: Phase,
    pub timer: Option<Key>,
    /// The model call under way.
    pub open: Option<MessageId>,
    /// Whether a prompt came while it was failing and is to be answered after all.
    pub again: bool,
    answering: Option<MessageId>,
    script: Option<Arc<[Step]>>,
    next_step: usize,
    called: bool,
    /// The prompt that it answered last.
    answered: Option<MessageId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The prompt has its 204, and nothing shows yet.
    Starting,
    Thinking,
    UsingTool,
    Retrying {
        attempt: u32,
        of: u32,
        /// What to fail with in the end.
        code: Option<u16>,
    },
    Asking(QuestionId),
    Hanging,
    /// The answer can be read, and the turn is still busy.
    Settling,
    /// The error is told, and cannot be read yet.
    Failing(Arc<str>),
}

/// Whether a turn is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Fate {
    Goes,
    Ends,
}

/// All that a turn can reach.
pub(super) struct Here<'a> {
    pub session: &'a mut Session,
    pub questions: &'a mut Vec<Question>,
    pub world: &'a mut World,
}

impl Turn {
    pub fn new(process: ProcessNo, session: usize) -> Self {
        Self {
            process,
            session,
            status: None,
            phase: Phase::Starting,
            timer: None,
            open: None,
            again: false,
            answering: None,
            script: None,
            next_step: 0,
            called: false,
            answered: None,
        }
    }

    /// Its time has come.
    pub fn step(&mut self, here: &mut Here<'_>) -> Fate {
        self.timer = None;
        match &self.phase {
            Phase::Starting => self.begin(here),
            Phase::Thinking => self.think(here),
            Phase::UsingTool => self.end_call(here, Finish::ToolCalls),
            Phase::Settling => self.next_call(here),
            Phase::Retrying { attempt, of, code } => {
                let (attempt, of, code) = (*attempt, *of, *code);
                self.retried(here, attempt, of, code)
            }
            Phase::Failing(why) => {
                let why = why.clone();
                self.failed(here, &why)
            }
            Phase::Asking(_) | Phase::Hanging => Fate::Goes,
        }
    }

    pub fn begin(&mut self, here: &mut Here<'_>) -> Fate {
        self.busy(here);
        self.next_call(here)
    }

    /// The person has answered this turn's question.
    pub fn allowed(&mut self, here: &mut Here<'_>) -> Fate {
        let ms = here.world.within(here.world.nasty.tool_ms);
        self.wait(here, Phase::UsingTool, ms)
    }

    /// The person has refused, with a word of advice that the model reads.
    pub fn advised(&mut self, here: &mut Here<'_>) -> Fate {
        self.end_call(here, Finish::ToolCalls)
    }

    /// The person has refused without a word: the turn stops without an error, its last message
    /// ends in tool calls, and what came meanwhile stays unanswered (seen in 1.18.33).
    pub fn refused(&mut self, here: &mut Here<'_>) -> Fate {
        self.close(here, Finish::ToolCalls);
        self.rest(here)
    }

    fn busy(&mut self, here: &mut Here<'_>) {
        self.status = Some(Status::Busy);
        here.world.emit(self.process, &here.session.id, Kind::Status(Status::Busy));
    }

    fn wait(&mut self, here: &mut Here<'_>, phase: Phase, ms: u64) -> Fate {
        self.phase = phase;
        self.timer = Some(here.world.plan(ms, self.process, self.session, What::Step));
        Fate::Goes
    }

    fn rest(&mut self, here: &mut Here<'_>) -> Fate {
        self.status = None;
        if !self.called {
            here.session.facts.empty_turns += 1;
        }
        here.world.emit_idle(self.process, &here.session.id);
        Fate::Ends
    }

    fn next_call(&mut self, here: &mut Here<'_>) -> Fate {
        if here.session.deleted {
            // What follows in a deleted session is not to be relied on: an error and idles, or more
            // calls of the model (seen in 1.18.33). Nothing at all is the hardest for us.
            return Fate::Ends;
        }
        let Some((newest, user)) = here.session.prompts().next_back() else {
            return self.rest(here);
        };
        // The second half is ours: two processes in one session would otherwise see each other's
        // open calls and answer one prompt in turns for ever.
        if here.session.settled(newest) || self.answered.as_ref() == Some(newest) {
            return self.rest(here);
        }
        let newest = newest.clone();
        if self.answering.as_ref() != Some(&newest) {
            self.script = user.script.clone();
            self.next_step = 0;
        }
        if matches!(self.peek(), Some(Step::NoModel)) {
            return self.no_model(here);
        }
        self.call(here, newest)
    }

    fn call(&mut self, here: &mut Here<'_>, newest: MessageId) -> Fate {
        if let Some(user) = here.session.user_mut(&newest) {
            user.tally.calls += 1;
        }
        if !self.called {
            self.called = true;
            here.session.facts.turns += 1;
        }
        let id: MessageId = here.world.fresh(b"msg_");
        here.session.messages.push(Message {
            id: id.clone(),
            created: here.world.now,
            body: Body::Assistant(Assistant {
                answers: newest.clone(),
                text: here.world.words.empty.clone(),
                tool_calls: 0,
                completed: None,
                finish: None,
                error: None,
                spent: Spent::default(),
            }),
        });
        self.answering = Some(newest);
        self.open = Some(id);
        if here.world.nasty.busy_repeats {
            self.busy(here);
        }
        let ms = here.world.within(here.world.nasty.think_ms).max(1);
        self.wait(here, Phase::Thinking, ms)
    }

    fn peek(&self) -> Option<&Step> {
        self.script.as_ref().and_then(|steps| steps.get(self.next_step))
    }

    fn think(&mut self, here: &mut Here<'_>) -> Fate {
        if here.world.dice.chance(here.world.nasty.drop_per_mille) {
            return self.end_call(here, Finish::Unknown);
        }
        if here.world.dice.chance(here.world.nasty.retry_per_mille) {
            return self.retry(here, 1, 1, None);
        }
        self.play(here)
    }

    /// Plays the script up to the next thing that takes time.
    fn play(&mut self, here: &mut Here<'_>) -> Fate {
        loop {
            let step = self.peek().cloned();
            self.next_step += 1;
            match step {
                None => {
                    let ok = here.world.words.ok.clone();
                    return self.say(here, ok);
                }
                Some(Step::Say(text)) => return self.say(here, text),
                Some(Step::Count) => {
                    let count = here.session.prompts().count();
                    return self.say(here, count.to_string().into());
                }
                Some(Step::Text(text)) => self.write(here, text),
                Some(Step::Wait(ms)) => {
                    let ms = ms.unwrap_or_else(|| here.world.within(here.world.nasty.think_ms));
                    return self.wait(here, Phase::Thinking, ms);
                }
                Some(Step::Tool(name, ms)) => {
                    self.use_tool(here, name);
                    let ms = ms.unwrap_or_else(|| here.world.within(here.world.nasty.tool_ms));
                    return self.wait(here, Phase::UsingTool, ms);
                }
                Some(Step::Fail(code)) if code == 429 || code >= 500 => {
                    let of = here.world.nasty.retry_ms.len() as u32;
                    return self.retry(here, 1, of, Some(code));
                }
                Some(Step::Fail(code)) => return self.fail(here, refusal(code)),
                Some(Step::Retry(0)) => {}
                Some(Step::Retry(times)) => return self.retry(here, 1, times, None),
                Some(Step::Drop) => return self.end_call(here, Finish::Unknown),
                Some(Step::Ask(text)) => return self.ask(here, text),
                Some(Step::Hang) => {
                    self.phase = Phase::Hanging;
                    return Fate::Goes;
                }
                // In the middle of a call the model is there.
                Some(Step::NoModel) => {}
            }
        }
    }

    fn open_mut<'a>(&self, session: &'a mut Session) -> Option<&'a mut Assistant> {
        session.assistant_mut(self.open.as_ref()?)
    }

    fn write(&mut self, here: &mut Here<'_>, text: Arc<str>) {
        if let Some(open) = self.open_mut(here.session) {
            open.spent.add(1 + text.len() as u64 / 4);
            open.text = text;
        }
        self.progress(here, None);
    }

    fn use_tool(&mut self, here: &mut Here<'_>, name: Arc<str>) {
        if let Some(open) = self.open_mut(here.session) {
            open.spent.add(10);
            open.tool_calls += 1;
        }
        self.progress(here, Some(name));
    }

    fn progress(&self, here: &mut Here<'_>, tool: Option<Arc<str>>) {
        if !here.session.deleted {
            let prompt = self.answering.clone();
            let spent =
                prompt.and_then(|prompt| Some((prompt.clone(), here.session.spent(&prompt)?)));
            let progress = Kind::Progress { tool, spent };
            here.world.emit(self.process, &here.session.id, progress);
        }
    }

    fn ask(&mut self, here: &mut Here<'_>, text: Arc<str>) -> Fate {
        self.use_tool(here, text.clone());
        let id: QuestionId = here.world.fresh(b"per_");
        let session = here.session.id.clone();
        let asked = Kind::Asked { question: id.clone(), text: text.clone() };
        here.world.emit(self.process, &session, asked);
        here.questions.push(Question { id: id.clone(), session, text });
        self.phase = Phase::Asking(id);
        Fate::Goes
    }

    fn say(&mut self, here: &mut Here<'_>, text: Arc<str>) -> Fate {
        self.write(here, text);
        self.close(here, Finish::Stop);
        let ms = here.world.within(here.world.nasty.settle_ms);
        self.wait(here, Phase::Settling, ms)
    }

    fn end_call(&mut self, here: &mut Here<'_>, finish: Finish) -> Fate {
        self.close(here, finish);
        self.next_call(here)
    }

    fn close(&mut self, here: &mut Here<'_>, finish: Finish) {
        let now = here.world.now;
        if let Some(open) = self.open_mut(here.session) {
            open.finish = Some(finish);
            open.completed = Some(now);
        }
        self.open = None;
        if finish == Finish::Stop
            && let Some(prompt) = &self.answering
            && let Some(user) = here.session.user_mut(prompt)
        {
            user.tally.answered += 1;
            self.answered = self.answering.clone();
        }
    }

    fn retry(&mut self, here: &mut Here<'_>, attempt: u32, of: u32, code: Option<u16>) -> Fate {
        let waits = &here.world.nasty.retry_ms;
        let base = waits[(attempt as usize - 1).min(waits.len() - 1)];
        let ms = here.world.dice.between(base, base + base / 4);
        let status = Status::Retry { attempt, next: Time(here.world.now.0 + ms) };
        self.status = Some(status);
        here.world.emit(self.process, &here.session.id, Kind::Status(status));
        self.wait(here, Phase::Retrying { attempt, of, code }, ms)
    }

    fn retried(&mut self, here: &mut Here<'_>, attempt: u32, of: u32, code: Option<u16>) -> Fate {
        if attempt < of {
            return self.retry(here, attempt + 1, of, code);
        }
        if let Some(code) = code {
            return self.fail(here, refusal(code));
        }
        self.busy(here);
        self.play(here)
    }

    /// The error and a first idle at once; the message shows it later, with a second idle (seen in
    /// 1.18.33).
    fn fail(&mut self, here: &mut Here<'_>, why: Arc<str>) -> Fate {
        if here.session.deleted {
            return Fate::Ends;
        }
        here.world.emit(self.process, &here.session.id, Kind::Error { why: why.clone() });
        let fate = self.rest(here);
        let ms = here.world.within(here.world.nasty.second_idle_ms);
        if here.world.nasty.error_before_message {
            return self.wait(here, Phase::Failing(why), ms);
        }
        if let Some(open) = &self.open {
            here.session.fail(open, &why, here.world.now);
        }
        if here.world.nasty.idle_twice {
            let rest = What::Rest { open: None, why };
            here.world.plan(ms, self.process, self.session, rest);
        }
        fate
    }

    fn failed(&mut self, here: &mut Here<'_>, why: &Arc<str>) -> Fate {
        if here.session.deleted {
            return Fate::Ends;
        }
        if let Some(open) = self.open.take() {
            here.session.fail(&open, why, here.world.now);
        }
        if here.world.nasty.idle_twice {
            here.world.emit_idle(self.process, &here.session.id);
        }
        if !self.again {
            return Fate::Ends;
        }
        self.again = false;
        self.answering = None;
        self.begin(here)
    }

    /// No assistant message, one idle, two errors (seen in 1.18.33).
    fn no_model(&mut self, here: &mut Here<'_>) -> Fate {
        let why = here.world.words.no_model.clone();
        here.world.emit(self.process, &here.session.id, Kind::Error { why });
        let fate = self.rest(here);
        if here.world.nasty.errors_twice {
            let again = What::Error(here.world.words.twice.clone());
            here.world.plan(0, self.process, self.session, again);
        }
        fate
    }
}

fn refusal(code: u16) -> Arc<str> {
    format!("APIError: fake failure {code}").into()
}
