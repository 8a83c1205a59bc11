//! An engine behind its public door, with a desk in front of it: what was saved, said and is under
//! way is kept here, so that a test can say "the look came back" and read what everybody sees.

use std::collections::BTreeMap;

use legwork_engine::input::{Caller, Hint, Input, Reaction, Say, Serves};
use legwork_engine::record::{Change, Notice, NoticeId, Target};
use legwork_engine::task::Task;
use legwork_engine::work::{Action, Finding, HostError, Observation, RunState, Work};
use legwork_engine::{Engine, Usage};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{Ask, CallId, HostId, SessionId, Settings, TaskId, Time};

/// When every story begins.
pub const DAWN: Time = Time(1_700_000_000_000);
pub const PLACE: &str = "project";
pub const PARENT: &str = "ses_parent";

pub struct Desk {
    pub engine: Engine,
    pub now: Time,
    pub wake_at: Option<Time>,
    /// Tasks as last saved.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Results and reasons as saved.
    pub details: BTreeMap<(TaskId, u32), String>,
    /// Notices that are neither told nor withdrawn.
    pub pending: BTreeMap<NoticeId, Notice>,
    /// Work without an answer, oldest first.
    pub under_way: Vec<Work>,
    /// Everything that was said.
    pub said: Vec<(CallId, Say)>,
    /// Every change that was saved.
    pub saved: Vec<Change>,
    /// The number of the last call.
    pub calls: u64,
    deliveries: BTreeMap<String, Vec<NoticeId>>,
}

impl Desk {
    /// An engine with one host, which came long enough ago that nothing is held back for it.
    pub fn new(settings: Settings) -> Self {
        let mut desk = Self {
            engine: Engine::new(settings),
            now: DAWN,
            wake_at: None,
            tasks: BTreeMap::new(),
            details: BTreeMap::new(),
            pending: BTreeMap::new(),
            under_way: Vec::new(),
            said: Vec::new(),
            saved: Vec::new(),
            calls: 0,
            deliveries: BTreeMap::new(),
        };
        desk.host_comes("host_1");
        desk.pass(10_000);
        desk
    }

    pub fn on(&mut self, input: Input) -> Reaction {
        if let Input::Found { work, .. } = &input {
            self.under_way.retain(|known| known.id != *work);
        }
        let reaction = self.engine.on(input, self.now);
        self.take(&reaction);
        reaction
    }

    fn take(&mut self, reaction: &Reaction) {
        reaction.save.iter().for_each(|change| self.keep(change));
        self.saved.extend(reaction.save.iter().cloned());
        self.said.extend(reaction.says.iter().cloned());
        self.under_way.extend(reaction.work.iter().cloned());
        self.wake_at = reaction.wake_at;
    }

    fn keep(&mut self, change: &Change) {
        match change {
            Change::Launched { task, .. }
            | Change::Resumed { task, .. }
            | Change::Moved { task, .. } => {
                self.tasks.insert(task.id, task.clone());
            }
            Change::Ended { task, detail, .. } => {
                self.details.insert((task.id, task.run.number), detail.clone());
                self.tasks.insert(task.id, task.clone());
            }
            Change::Forgotten { task, .. } => self.forgotten(*task),
            Change::Cleared { tasks } => tasks.iter().for_each(|task| self.forgotten(*task)),
            Change::Enqueued(notice) => {
                self.pending.insert(notice.id, notice.clone());
            }
            Change::Withdrawn(id) => {
                self.pending.remove(id);
            }
            Change::DeliveryCreated(delivery) => {
                self.deliveries.insert(delivery.id.to_string(), delivery.notices.clone());
            }
            Change::DeliveryDone { delivery, .. } => {
                for id in self.deliveries.remove(delivery.as_str()).unwrap_or_default() {
                    self.pending.remove(&id);
                }
            }
            Change::Used { .. }
            | Change::Asked { .. }
            | Change::LaunchUndone { .. }
            | Change::Answered { .. }
            | Change::LedgerKept { .. }
            | Change::LedgerForgotten { .. }
            | Change::Retrieved { .. }
            | Change::DeliveryWithdrawn { .. }
            | Change::DeliveryPulled { .. }
            | Change::StopRequested(_)
            | Change::StopDone { .. }
            | Change::ParentKnown(_)
            | Change::ParentForgotten { .. } => {}
        }
    }

    fn forgotten(&mut self, task: TaskId) {
        self.tasks.remove(&task);
        self.pending.retain(|id, _| id.task != task);
    }

    /// Time passes; everything that falls due has its turn at its moment.
    pub fn pass(&mut self, ms: u64) {
        let end = self.now.plus(ms);
        while let Some(at) = self.wake_at.filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let _ = self.on(Input::Tick);
        }
        self.now = end;
        let _ = self.on(Input::Tick);
    }

    /// Asks as the caller, under a new number.
    pub fn ask(&mut self, caller: Caller, ask: Ask) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        let spare = task_id(self.calls);
        let _ = self.on(Input::Ask { call, caller, ask, spare });
        call
    }

    pub fn hint(&mut self, hint: Hint) {
        let _ = self.on(Input::Hint(hint));
    }

    pub fn host_comes(&mut self, host: &str) {
        self.hint(Hint::HostCame {
            host: host_id(host),
            place: PLACE.parse().unwrap(),
            lifetime: HostLifetime::Interactive,
            serves: Serves::OwnPlace,
        });
    }

    /// The newest work of a kind comes back.
    pub fn found(&mut self, kind: &str, found: Result<Finding, HostError>) -> Reaction {
        let work = self.under_way.iter().rfind(|work| kind_of(&work.action) == kind);
        let work = work.unwrap_or_else(|| panic!("no {kind} in {:?}", self.under_way)).id;
        self.on(Input::Found { work, found })
    }

    pub fn looked(&mut self, state: RunState) {
        let _ = self.found("look", Ok(seen(state)));
    }

    /// Launches and goes on until the prompt is with the host, in this session.
    pub fn working(&mut self, caller: Caller, description: &str, session: &str) -> TaskId {
        let id = self.opening(caller, description);
        let _ = self.found("open", Ok(Finding::Opened { session: session_id(session) }));
        let _ = self.found("prompt", Ok(Finding::Done));
        id
    }

    /// Launches and goes on until the task is there.
    pub fn opening(&mut self, caller: Caller, description: &str) -> TaskId {
        self.ask(caller, launch(description));
        let _ = self.found("check_agent", Ok(Finding::AgentKnown));
        self.newest()
    }

    pub fn newest(&self) -> TaskId {
        self.tasks.values().max_by_key(|task| task.seq).unwrap().id
    }

    /// The run in this session has ended, as the host shows it.
    pub fn ends(&mut self, session: &str, state: RunState) {
        self.hint(Hint::Changed { session: session_id(session) });
        self.looked(state);
    }
}

/// A session of the first host. Calls with the same key are one call.
pub fn session(name: &str, key: &str) -> Caller {
    Caller::Session {
        host: host_id("host_1"),
        session: session_id(name),
        key: key.parse().unwrap(),
        message: "msg_call".parse().unwrap(),
        agent: "build".to_owned(),
        directory: "/project".to_owned(),
        taken_over: Vec::new(),
    }
}

/// The parent of most tasks, in a call of its own.
pub fn parent(key: &str) -> Caller {
    session(PARENT, key)
}

pub fn launch(description: &str) -> Ask {
    Ask::Launch {
        prompt: "Find every caller of parse() and list them.".to_owned(),
        description: description.to_owned(),
        agent: "explore".to_owned(),
        fork: false,
        collects: false,
    }
}

pub fn seen(state: RunState) -> Finding {
    Finding::Observed(Observation { state, tool_calls: 2, usage: Usage::default(), moved: None })
}

pub fn answered(text: &str) -> RunState {
    RunState::Answered { text: text.to_owned() }
}

pub fn failed(reason: &str) -> RunState {
    RunState::Failed { reason: reason.to_owned() }
}

/// Ids that look like those of life: every character takes part.
pub fn task_id(number: u64) -> TaskId {
    TaskId::from_number(number.wrapping_mul(1_111_111_111_117))
}

pub fn session_id(text: &str) -> SessionId {
    text.parse().unwrap()
}

pub fn host_id(text: &str) -> HostId {
    text.parse().unwrap()
}

pub fn kind_of(action: &Action) -> &'static str {
    match action {
        Action::CheckAgent { .. } => "check_agent",
        Action::Probe { .. } => "probe",
        Action::FindMissing { .. } => "find_missing",
        Action::Open { .. } => "open",
        Action::Prompt { .. } => "prompt",
        Action::Observe { .. } => "look",
        Action::Poll { .. } => "poll",
        Action::Deliver { .. } => "tell",
        Action::Stop { target: Target::Marked, .. } => "stop marked",
        Action::Stop { target: Target::Opened(_), .. } => "stop opened",
        Action::Stop { target: Target::Session(_), .. } => "stop",
        Action::Answer { .. } => "answer",
    }
}
