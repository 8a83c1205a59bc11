//! Finished tasks as they are kept in memory. There may be a hundred thousand of them, so what many
//! have in common is there once, and the texts of a task are one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use legwork_protocol::{CallKey, Cost, Currency, HostId, Place, SessionId, TaskId, Time, Usage};

use crate::task::{Asked, Outcome, Run, Stage, Task};

/// What the tasks of one conversation, or of one project, have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Common {
    place: Place,
    realm: Place,
    directory: Arc<str>,
    agent: Arc<str>,
    host: HostId,
    model: Option<Arc<str>>,
    depth: u32,
}

/// What hardly any task has.
#[derive(Debug)]
struct Rare {
    root: SessionId,
    asker: SessionId,
    fork_before: Option<Arc<str>>,
    used_before: Usage,
    continued: u32,
    asked_before: u32,
    paused_ms: u64,
}

/// A number that may be missing, in half the room of an `Option`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Maybe(u64);

impl Maybe {
    /// No time, cost or count is as large.
    const NONE: Self = Self(u64::MAX);

    fn get(self) -> Option<u64> {
        (self != Self::NONE).then_some(self.0)
    }
}

impl From<Option<u64>> for Maybe {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::NONE, Self)
    }
}

#[derive(Debug)]
struct Kept {
    common: Arc<Common>,
    rare: Option<Box<Rare>>,
    parent: SessionId,
    /// The session, the call's key and the description, one after the other.
    texts: Box<str>,
    session_bytes: u16,
    key_bytes: u16,
    outcome: Outcome,
    currency: Option<Currency>,
    number: u32,
    tool_calls: u32,
    seq: u64,
    order: u64,
    created: Time,
    started: Time,
    ended: Maybe,
    retrieved: Maybe,
    tokens: Maybe,
    cost_micros: Maybe,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct KeptTasks {
    tasks: BTreeMap<TaskId, Box<Kept>>,
    commons: BTreeSet<Arc<Common>>,
    /// How often a whole task was made again.
    #[cfg(test)]
    unfolded: std::cell::Cell<usize>,
}

impl KeptTasks {
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    pub fn get(&self, id: TaskId) -> Option<Task> {
        #[cfg(test)]
        self.unfolded.set(self.unfolded.get() + 1);
        self.tasks.get(&id)?.task(id)
    }

    /// The key of the call that asked for the task's last run.
    pub fn key(&self, id: TaskId) -> Option<&str> {
        self.tasks.get(&id).map(|kept| kept.key())
    }

    pub fn session(&self, id: TaskId) -> Option<&str> {
        self.tasks.get(&id).map(|kept| kept.session())
    }

    /// Notes when the result was read first, and says whether that is now.
    pub fn retrieve(&mut self, id: TaskId, now: Time) -> bool {
        let unread = self.tasks.get_mut(&id).filter(|kept| kept.retrieved == Maybe::NONE);
        unread.map(|kept| kept.retrieved = Maybe(now.0)).is_some()
    }

    /// The task must have an end.
    pub fn insert(&mut self, task: &Task) {
        let Some(outcome) = task.outcome() else { return };
        let run = &task.run;
        let common = self.common(task);
        let session = task.session.as_ref().map_or("", |session| session.as_str());
        let key = run.key.as_str();
        let is_rare = task.root != task.parent
            || run.asker != task.parent
            || task.fork_before.is_some()
            || run.used_before != Usage::default()
            || (run.continued, run.asked.before, run.paused_ms) != (0, 0, 0);
        let rare = || Rare {
            root: task.root.clone(),
            asker: run.asker.clone(),
            fork_before: task.fork_before.clone(),
            used_before: run.used_before.clone(),
            continued: run.continued,
            asked_before: run.asked.before,
            paused_ms: run.paused_ms,
        };
        let millis = |time: Option<Time>| time.map(|time| time.0).into();
        let kept = Kept {
            common,
            rare: is_rare.then(|| Box::new(rare())),
            parent: task.parent.clone(),
            texts: [session, key, &task.description].concat().into(),
            // An id is far shorter.
            session_bytes: session.len() as u16,
            key_bytes: key.len() as u16,
            outcome,
            currency: run.usage.cost.map(|cost| cost.currency),
            number: run.number,
            tool_calls: run.tool_calls,
            seq: task.seq,
            order: run.order,
            created: task.created,
            started: run.started,
            ended: millis(run.ended),
            retrieved: millis(task.retrieved),
            tokens: run.usage.tokens.into(),
            cost_micros: run.usage.cost.map(|cost| cost.micros).into(),
        };
        self.tasks.insert(task.id, Box::new(kept));
    }

    pub fn remove(&mut self, id: TaskId) -> Option<Task> {
        let kept = self.tasks.remove(&id)?;
        let task = kept.task(id);
        // Ours and the one in the set: nobody else has it.
        if Arc::strong_count(&kept.common) == 2 {
            self.commons.remove(&kept.common);
        }
        task
    }

    fn common(&mut self, task: &Task) -> Arc<Common> {
        let common = Common {
            place: task.place.clone(),
            realm: task.realm.clone(),
            directory: task.directory.clone(),
            agent: task.agent.clone(),
            host: task.run.host.clone(),
            model: task.run.usage.model.clone(),
            depth: task.depth,
        };
        if let Some(known) = self.commons.get(&common) {
            return known.clone();
        }
        let common = Arc::new(common);
        self.commons.insert(common.clone());
        common
    }
}

impl Kept {
    fn session(&self) -> &str {
        self.texts.get(..self.session_bytes.into()).unwrap_or_default()
    }

    fn rest(&self) -> &str {
        self.texts.get(self.session_bytes.into()..).unwrap_or_default()
    }

    fn key(&self) -> &str {
        self.rest().get(..self.key_bytes.into()).unwrap_or_default()
    }

    fn description(&self) -> &str {
        self.rest().get(self.key_bytes.into()..).unwrap_or_default()
    }

    /// The whole task again; nothing if its key is none, which it is not.
    fn task(&self, id: TaskId) -> Option<Task> {
        let Common { place, realm, directory, agent, host, model, depth } = &*self.common;
        let key: CallKey = self.key().parse().ok()?;
        let rare = self.rare.as_deref();
        let cost = self.cost_micros.get().zip(self.currency);
        let usage = Usage {
            tokens: self.tokens.get(),
            cost: cost.map(|(micros, currency)| Cost { micros, currency }),
            model: model.clone(),
        };
        let run = Run {
            number: self.number,
            asker: rare.map_or(&self.parent, |rare| &rare.asker).clone(),
            key,
            host: host.clone(),
            order: self.order,
            prompt: None,
            continued: rare.map_or(0, |rare| rare.continued),
            started: self.started,
            paused_ms: rare.map_or(0, |rare| rare.paused_ms),
            ended: self.ended.get().map(Time),
            tool_calls: self.tool_calls,
            usage,
            used_before: rare.map(|rare| rare.used_before.clone()).unwrap_or_default(),
            asked: Asked { before: rare.map_or(0, |rare| rare.asked_before), ids: Vec::new() },
        };
        Some(Task {
            id,
            seq: self.seq,
            place: place.clone(),
            realm: realm.clone(),
            directory: directory.clone(),
            root: rare.map_or(&self.parent, |rare| &rare.root).clone(),
            parent: self.parent.clone(),
            depth: *depth,
            agent: agent.clone(),
            description: self.description().into(),
            created: self.created,
            fork_before: rare.and_then(|rare| rare.fork_before.clone()),
            session: self.session().parse().ok(),
            stage: Stage::Finished(self.outcome),
            run,
            retrieved: self.retrieved.get().map(Time),
        })
    }
}

#[cfg(test)]
mod tests {
    use legwork_protocol::api::List;
    use legwork_protocol::{Ask, CallId, Currency, MessageId, Settings};

    use super::*;
    use crate::engine::Engine;
    use crate::input::{Caller, Input};
    use crate::record::Saved;

    fn finished(number: u64) -> Task {
        let parent: SessionId = "ses_parent".parse().unwrap();
        let run = Run {
            number: 2,
            asker: parent.clone(),
            key: format!("call-{number}").parse().unwrap(),
            host: "host".parse().unwrap(),
            order: number,
            prompt: None,
            continued: 0,
            started: Time(7),
            paused_ms: 0,
            ended: Some(Time(9)),
            tool_calls: 5,
            usage: Usage {
                tokens: Some(11),
                cost: Some(Cost { micros: 12, currency: Currency::USD }),
                model: Some("acme/large".into()),
            },
            used_before: Usage::default(),
            asked: Asked::default(),
        };
        Task {
            id: TaskId::from_number(number),
            seq: number,
            place: "place".parse().unwrap(),
            realm: "realm".parse().unwrap(),
            directory: "/p".into(),
            root: parent.clone(),
            parent,
            depth: 1,
            agent: "general".into(),
            description: format!("日本 {number}").into(),
            created: Time(6),
            fork_before: None,
            session: Some(format!("ses_{number}").parse().unwrap()),
            stage: Stage::Finished(Outcome::Failed),
            run,
            retrieved: None,
        }
    }

    #[test]
    fn what_is_kept_comes_back_whole_and_what_it_shared_goes_with_the_last() {
        let plain = finished(1);
        let mut rare = finished(2);
        (rare.session, rare.fork_before) = (None, Some("msg_1".into()));
        (rare.root, rare.run.asker) = ("ses_a".parse().unwrap(), "ses_b".parse().unwrap());
        rare.run.used_before.tokens = Some(1);
        (rare.run.continued, rare.run.asked.before, rare.run.paused_ms) = (1, 4, 3);
        (rare.run.ended, rare.run.usage.tokens, rare.run.usage.cost) = (None, None, None);
        (rare.description, rare.retrieved) = ("".into(), Some(Time(8)));
        let mut kept = KeptTasks::default();
        for task in [&plain, &rare] {
            kept.insert(task);
            assert_eq!(kept.get(task.id).as_ref(), Some(task));
        }
        assert_eq!((kept.len(), kept.commons.len()), (2, 1));
        assert_eq!((kept.key(plain.id), kept.session(plain.id)), (Some("call-1"), Some("ses_1")));
        assert!(kept.retrieve(plain.id, Time(10)) && !kept.retrieve(plain.id, Time(11)));
        assert_eq!(kept.remove(plain.id), Some(Task { retrieved: Some(Time(10)), ..plain }));
        assert_eq!((kept.remove(rare.id), kept.commons.len()), (Some(rare), 0));
    }

    /// An engine that keeps so many, and their names.
    fn keeping(count: u64) -> (Engine, Vec<String>) {
        let tasks: Vec<Task> = (1..=count).map(finished).collect();
        let names = tasks.iter().map(|task| task.id.to_string()).collect();
        let saved = Saved { tasks, ..Saved::default() };
        (Engine::restore(Settings::default(), saved, Time(10), 0), names)
    }

    #[test]
    fn p5_every_page_of_a_listing_looks_only_at_the_tasks_on_it() {
        for count in [100, 1_000] {
            let (engine, _) = keeping(count);
            let before = engine.tasks.kept.unfolded.get();
            let (mut pages, mut listed) = (0, 0);
            let mut list = List { limit: Some(20), ..List::default() };
            while pages == 0 || list.after.is_some() {
                let page = engine.list(&Caller::Person, &list);
                (pages, listed, list.after) = (pages + 1, listed + page.tasks.len(), page.next);
            }
            assert_eq!((pages, listed), (count as usize / 20, count as usize));
            // One more tells whether there is a next page.
            let looked = engine.tasks.kept.unfolded.get() - before;
            assert_eq!(looked, listed + pages - 1, "of {count}");
        }
    }

    #[test]
    fn p8_clearing_looks_as_often_at_each_task_however_many_there_are() {
        let looks = [100, 1_000].map(|count| {
            let (mut engine, tasks) = keeping(count);
            let before = engine.tasks.kept.unfolded.get();
            let (call, spare) = (CallId(1), TaskId::from_number(0));
            let (caller, ask) = (Caller::Person, Ask::Forget { tasks });
            let reaction = engine.on(Input::Ask { call, caller, ask, spare }, Time(11));
            assert_eq!(reaction.save.len(), 1, "one change for all");
            assert_eq!(engine.tally().tasks, 0);
            (engine.tasks.kept.unfolded.get() - before) as f64 / count as f64
        });
        assert_eq!(looks[0], looks[1]);
    }

    #[test]
    fn what_is_not_finished_is_not_kept() {
        let prompt: MessageId = "msg_1".parse().unwrap();
        let task = Task { stage: Stage::Working(prompt), ..finished(1) };
        let mut kept = KeptTasks::default();
        kept.insert(&task);
        assert_eq!(kept.get(task.id), None);
    }
}
