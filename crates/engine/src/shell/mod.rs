//! The order in which decisions take effect: save, answer, work, wait.
//!
//! The daemon and the simulation run this same code, so the order that is tested is the order that
//! runs. The shell does not know what a decision means. Hosts, callers and the process table are
//! behind [`Outside`], the records behind [`Journal`].

mod degraded;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::text::pages::Room;
use crate::work::Part;
use crate::{Action, Engine, Headless, Hint, HostError, Input, Journal, Say, Work};
use legwork_protocol::api::Answer;
use legwork_protocol::limits::{HOST_TEXT_MAX_CHARS, POLL_EVERY_MS};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::TaskView;
use legwork_protocol::{CallId, HostId, Refusal, Settings, Status, TaskId, Time};

/// Whatever is on the other side: callers, hosts, the process table.
pub trait Outside {
    /// Says something to a caller; an answer has the whole result that it names. A caller that is
    /// gone does not hear it.
    fn say(&mut self, call: CallId, said: Say);

    /// Has a host do something. Its outcome comes back as exactly one `Found`, in bounded time.
    /// Work of one lane takes effect in the order in which it was given.
    fn start(&mut self, work: Work);

    /// Starts or ends a headless host.
    fn headless(&mut self, order: Headless);

    /// Whether the process of this host is known to have ended.
    fn has_ended(&mut self, host: &HostId) -> bool;

    /// Something went wrong that an operator should know.
    fn trouble(&mut self, what: &str);
}

#[derive(Debug)]
pub struct Shell<J: Journal, O: Outside> {
    engine: Engine,
    journal: J,
    outside: O,
    settings: Settings,
    /// Calls that have no answer yet.
    open: BTreeSet<CallId>,
    /// Hosts that are here, each as it was announced.
    here: BTreeMap<HostId, Hint>,
    /// What the shell itself has to tell the engine.
    own: VecDeque<Input>,
    /// When hosts that are away are next looked for in the process table.
    check_at: Time,
    wake_at: Option<Time>,
    /// The records could not be saved: nothing is decided until they can.
    degraded: bool,
    /// When to try again whether they can.
    probe_at: Time,
}

impl<J: Journal, O: Outside> Shell<J, O> {
    pub fn start(
        mut journal: J,
        outside: O,
        settings: Settings,
        now: Time,
    ) -> Result<Self, J::Fault> {
        let engine = Engine::restore(settings.clone(), journal.load()?, now, 0);
        Ok(Self {
            engine,
            journal,
            outside,
            settings,
            open: BTreeSet::new(),
            here: BTreeMap::new(),
            own: VecDeque::new(),
            check_at: now,
            wake_at: Some(now),
            degraded: false,
            probe_at: now,
        })
    }

    /// Takes in one input and does what follows from it. Gives back when to send a `Tick` at the
    /// latest.
    pub fn step(&mut self, input: Input, now: Time) -> Option<Time> {
        self.note(&input);
        if self.degraded {
            return self.ail(input, now);
        }
        let read = degraded::reads(&input).then(|| input.clone());
        self.own.push_back(input);
        self.look_for_hosts(now);
        while let Some(input) = self.own.pop_front() {
            if !self.act(input, now) {
                return self.degrade(read, now);
            }
        }
        let check = self.awaited().next().is_some().then_some(self.check_at);
        [self.wake_at, check].into_iter().flatten().min()
    }

    /// Save, then answer, then work. Nothing leaves before the records are safe.
    fn act(&mut self, input: Input, now: Time) -> bool {
        let reaction = self.engine.on(input, now);
        if let Err(fault) = self.save(now, &reaction.save) {
            self.outside.trouble(&format!("records could not be saved: {fault}"));
            return false;
        }
        for (call, say) in reaction.says {
            self.say(call, say);
        }
        for work in reaction.work {
            self.work(work);
        }
        for order in reaction.headless {
            self.outside.headless(order);
        }
        self.wake_at = reaction.wake_at;
        true
    }

    fn save(&mut self, now: Time, changes: &[crate::Change]) -> Result<(), J::Fault> {
        if changes.is_empty() { Ok(()) } else { self.journal.save(now, changes) }
    }

    fn say(&mut self, call: CallId, mut say: Say) {
        if let Say::Answer(answer) = &mut say {
            self.open.remove(&call);
            match answer {
                Ok(Answer::Listed(listed)) => self.explain(&mut listed.tasks),
                Ok(Answer::Waited { tasks, .. }) => {
                    let tasks = tasks.iter_mut().filter_map(|awaited| awaited.task.as_mut());
                    self.explain(tasks);
                }
                Ok(Answer::Output(output)) => self.explain([&mut output.task]),
                _ => {}
            }
            if let Ok(Answer::Output(output)) = answer
                && !output.task.status.is_unfinished()
            {
                output.text = self.result(output.task.id, output.task.resumes);
                if output.text.is_none() {
                    *answer = Err(Refusal::CannotRead);
                }
            }
        }
        self.outside.say(call, say);
    }

    /// Adds to tasks that failed or were cancelled why that was, in short. One whose reason cannot
    /// be read is shown without it.
    pub fn explain<'a>(&mut self, tasks: impl IntoIterator<Item = &'a mut TaskView>) {
        for task in tasks {
            if matches!(task.status, Status::Error | Status::Cancelled) {
                let most = HOST_TEXT_MAX_CHARS;
                // One more than fits, so that a cut is seen as one.
                let detail = self.journal.excerpt(task.id, task.resumes, most + 1).ok().flatten();
                task.reason = detail.map(|detail| plain(detail.trim(), most));
            }
        }
    }

    /// A run's result, or nothing if the records cannot be read.
    fn result(&mut self, task: TaskId, run: u32) -> Option<String> {
        let detail = self.journal.detail(task, run).map(Option::unwrap_or_default);
        detail
            .map_err(|fault| self.outside.trouble(&format!("a result cannot be read: {fault}")))
            .ok()
    }

    fn work(&mut self, mut work: Work) {
        if let Action::Deliver { parts, .. } = &mut work.action
            && !self.fill(parts)
        {
            // Not sent, so it is tried again like anything else that was not.
            let found = Err(HostError::Busy);
            return self.own.push_back(Input::Found { work: work.id, found });
        }
        self.outside.start(work);
    }

    /// Puts behind each part of a message the result that it names. Says whether all can be read.
    pub fn fill(&mut self, parts: &mut [Part]) -> bool {
        let mut room = Room::of(parts.iter().filter_map(|part| part.result.as_ref()));
        parts.iter_mut().all(|part| {
            let Some(excerpt) = part.result.take() else { return true };
            let kept = self.result(excerpt.task, excerpt.run);
            if let Some(kept) = &kept {
                part.text.push_str(&room.fill(excerpt, kept));
            }
            kept.is_some()
        })
    }

    /// Remembers which calls are open and which hosts are here, whatever becomes of the engine.
    fn note(&mut self, input: &Input) {
        match input {
            Input::Ask { call, .. } => {
                self.open.insert(*call);
            }
            Input::Dropped { call } => {
                self.open.remove(call);
            }
            Input::Hint(came @ Hint::HostCame { host, .. }) => {
                self.here.insert(host.clone(), came.clone());
            }
            Input::Hint(Hint::HostAway { host } | Hint::HostGone { host }) => {
                self.here.remove(host);
            }
            Input::Hint(_) | Input::Found { .. } | Input::Tick | Input::Slept { .. } => {}
        }
    }

    /// A host that something is expected of, but that is not there, may have ended unseen.
    fn look_for_hosts(&mut self, now: Time) {
        if now < self.check_at {
            return;
        }
        self.check_at = now.plus(POLL_EVERY_MS);
        for host in self.awaited().cloned().collect::<Vec<HostId>>() {
            if self.outside.has_ended(&host) {
                self.own.push_back(Input::Hint(Hint::HostGone { host }));
            }
        }
    }

    fn awaited(&self) -> impl Iterator<Item = &HostId> {
        self.engine.expected_hosts().filter(|host| !self.here.contains_key(host))
    }

    /// Whether the records cannot be saved at the moment, so that nothing is decided.
    pub fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// Reads what is known. While nothing can be saved the engine is ahead of the records, so they
    /// are read instead; nothing if that fails too.
    pub fn read<T>(&mut self, now: Time, read: impl FnOnce(&Engine) -> T) -> Option<T> {
        if self.degraded {
            self.engine_of_records(now).map(|engine| read(&engine))
        } else {
            Some(read(&self.engine))
        }
    }

    pub fn outside(&mut self) -> &mut O {
        &mut self.outside
    }

    pub fn journal(&mut self) -> &mut J {
        &mut self.journal
    }

    pub fn into_parts(self) -> (J, O) {
        (self.journal, self.outside)
    }
}
