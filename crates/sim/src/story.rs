//! The language in which scenarios are told: a window, a conversation called `main`, tool calls as
//! a model makes them, and a transcript in which ids have names. A story ends with the verdict of
//! all checkers.

use std::collections::BTreeMap;

use legwork_engine::task::Stage;
use legwork_protocol::Ask;
use legwork_protocol::api::ToolCall;
use legwork_protocol::limits::{COLLECT_LEASE_MS, COLLECT_WAIT_MAX_MS};
use legwork_protocol::{MessageId, SessionId, Settings, Status, TaskId};
use serde_json::Value;

use crate::books::Keeper;
use crate::calls::CallNo;
use crate::campaign::in_memory;
use crate::fence;
use crate::host::{Nasty, Session, User};
use crate::names::Names;
use crate::trace::Trace;
use crate::world::{START, World};

/// How long a story waits for something that must happen.
const PATIENCE_MS: u64 = 15 * 60_000;

/// A story in progress.
pub struct Story {
    /// The world that it happens in, for whatever has no word of its own here.
    pub world: World,
    pub main: SessionId,
    names: BTreeMap<String, String>,
}

impl Default for Story {
    fn default() -> Self {
        Self::new()
    }
}

impl Story {
    /// A well-behaved host, the default settings, a window and a conversation.
    pub fn new() -> Self {
        Self::with(Settings::default(), Nasty::calm())
    }

    /// The same with other settings, or with a host as it really is.
    pub fn with(settings: Settings, nasty: Nasty) -> Self {
        Self::kept_in(in_memory(), settings, nasty)
    }

    /// The same with other books.
    pub fn kept_in(keeper: Keeper, settings: Settings, nasty: Nasty) -> Self {
        let mut world = World::new(1, nasty, settings, keeper, Trace::kept(START));
        world.boot();
        let main = world.conversation(0);
        world.run_for(2_000);
        let names = BTreeMap::from([(main.to_string(), "main".to_owned())]);
        Self { world, main, names }
    }

    /// Another conversation in the first window, with a name for the transcript.
    pub fn conversation(&mut self, name: &str) -> SessionId {
        self.conversation_in(0, name)
    }

    /// Another conversation in a window.
    pub fn conversation_in(&mut self, window: usize, name: &str) -> SessionId {
        let session = self.world.conversation(window);
        self.names.insert(session.to_string(), name.to_owned());
        session
    }

    /// A client that polls, with a name for its session in the transcript.
    pub fn client(&mut self, name: &str) -> usize {
        let client = self.world.client();
        let session = self.world.clients.all[client].session.to_string();
        self.names.insert(session, name.to_owned());
        client
    }

    /// A session calls a tool through the first window; the answer may come later.
    pub fn start(&mut self, session: &SessionId, tool: &str, arguments: Value) -> CallNo {
        self.start_in(0, session, tool, arguments)
    }

    /// The same through another window. Arguments that cannot be read panic: a story tells what
    /// the engine decides.
    pub fn start_in(
        &mut self,
        window: usize,
        session: &SessionId,
        tool: &str,
        arguments: Value,
    ) -> CallNo {
        match ToolCall::read(tool, arguments) {
            Ok(call) => self.world.ask(window, session, call),
            Err(refusal) => panic!("{tool} was refused where it is read: {refusal}"),
        }
    }

    /// A session calls a tool and waits for the answer.
    pub fn call(&mut self, session: &SessionId, tool: &str, arguments: Value) -> String {
        let call = self.start(session, tool, arguments);
        self.answer(call)
    }

    /// `main` calls a tool and waits for the answer.
    pub fn ask(&mut self, tool: &str, arguments: Value) -> String {
        let main = self.main.clone();
        self.call(&main, tool, arguments)
    }

    /// A person asks at the command line and waits for the answer.
    pub fn person(&mut self, ask: Ask) -> String {
        let call = self.world.person(ask);
        self.answer(call)
    }

    /// Waits for the answer to a call. What it quotes is checked and given without its fence.
    pub fn answer(&mut self, call: CallNo) -> String {
        self.until("an answer", |story| story.world.calls[call].answer.is_some());
        plain(&self.world.calls[call].text().unwrap_or_default())
    }

    /// Whether the call has an answer by now.
    pub fn is_answered(&self, call: CallNo) -> bool {
        self.world.calls[call].answer.is_some()
    }

    /// `main` launches a helper whose work is this script, and waits until its session is open, or
    /// it waits for that.
    pub fn launch(&mut self, description: &str, script: &str) -> TaskId {
        let main = self.main.clone();
        self.launch_from(&main, description, script)
    }

    pub fn launch_from(&mut self, from: &SessionId, description: &str, script: &str) -> TaskId {
        let arguments = launch(description, script);
        let call = self.start(from, "background_task", arguments);
        let answer = self.answer(call);
        let Some(task) = self.world.calls[call].task() else { panic!("not launched: {answer}") };
        self.until("its session", |story| {
            let row = story.world.audit().rows.get(&task);
            row.is_none_or(|row| row.task.stage != Stage::Opening)
        });
        task
    }

    /// `main` resumes a task with this script, and waits for the answer.
    pub fn resume(&mut self, task: TaskId, script: &str) -> String {
        let task = task.to_string();
        self.ask("background_task", serde_json::json!({ "resume": task, "prompt": script }))
    }

    /// Lets so much time pass.
    pub fn pass(&mut self, ms: u64) {
        self.world.run_for(ms);
    }

    /// Lets time pass until something is so; panics if it does not come to that.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let end = self.world.now.plus(PATIENCE_MS);
        while !is_so(self) {
            if self.world.now > end || !self.world.step() {
                panic!("waited in vain for {what}:\n{}", self.transcript());
            }
        }
    }

    /// Lets time pass until the task has this status.
    pub fn until_status(&mut self, task: TaskId, status: Status) {
        self.until(status.as_str(), |story| story.status(task) == Some(status));
    }

    /// Lets time pass until nothing is unfinished, pending or asked.
    pub fn until_settled(&mut self) {
        self.until("everything to settle", |story| {
            story.world.waiting().next().is_none() && story.world.audit().is_settled()
        });
    }

    /// The task's status as saved.
    pub fn status(&mut self, task: TaskId) -> Option<Status> {
        self.world.audit().rows.get(&task).map(|row| row.task.status())
    }

    pub fn session_of(&mut self, task: TaskId) -> SessionId {
        match self.world.audit().rows.get(&task).and_then(|row| row.task.session.clone()) {
            Some(session) => session,
            None => panic!("{task} has no session:\n{}", self.transcript()),
        }
    }

    /// The deliveries in a session, oldest first: each with what the person sees and what only the
    /// model does.
    pub fn deliveries(&mut self, session: &SessionId) -> Vec<DeliverySeen> {
        let known: Vec<MessageId> = self.world.audit().deliveries_ever.keys().cloned().collect();
        let there = self.world.oc.once(session).into_iter();
        there
            .flat_map(Session::prompts)
            .filter(|(id, _)| known.contains(id))
            .map(|(_, user)| DeliverySeen::of(user))
            .collect()
    }

    /// The deliveries that `main` has.
    pub fn told(&mut self) -> Vec<DeliverySeen> {
        let main = self.main.clone();
        self.deliveries(&main)
    }

    /// How often a model was called for turns of its own in the session.
    pub fn turns(&self, session: &SessionId) -> u32 {
        self.world.oc.once(session).map_or(0, |session| session.facts.turns)
    }

    /// The story so far, with names instead of ids and without times.
    pub fn transcript(&self) -> String {
        let mut names = Names::new(self.names.clone(), "helper");
        let text = self.world.trace.text();
        let lines = text.lines().map(|line| names.apply(line.get(11..).unwrap_or_default()));
        let lines = lines.map(|line| fence::without_numbers(&line));
        let shown: Vec<String> = lines.filter(|line| !line.contains("who is busy?")).collect();
        shown.join("\n")
    }

    /// Lets everything settle, and hands the whole story to the checkers.
    pub fn end(mut self) -> String {
        self.until_settled();
        self.pass(10_000);
        if !self.world.clients.all.is_empty() {
            self.pass(COLLECT_WAIT_MAX_MS + COLLECT_LEASE_MS);
            self.world.check_no_leases();
        }
        let transcript = self.transcript();
        let broken = self.world.verdict();
        assert!(broken.is_empty(), "{broken:#?}\n{transcript}");
        transcript
    }
}

/// A delivery as it is found in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverySeen {
    pub headline: String,
    /// What only the model sees, without the fences, which were checked.
    pub results: Vec<String>,
    /// The same to the delivery.
    pub raw: Vec<String>,
    /// Whether it was sent without asking for a turn.
    pub quiet: bool,
}

impl DeliverySeen {
    fn of(user: &User) -> Self {
        let text = |synthetic| {
            let parts = user.parts.iter().filter(move |part| part.synthetic == synthetic);
            parts.map(|part| part.text.to_string()).collect::<Vec<_>>()
        };
        let raw = text(true);
        let results = raw.iter().map(|text| plain(text)).collect();
        Self { headline: text(false).join("\n"), results, raw, quiet: user.no_reply }
    }
}

fn plain(text: &str) -> String {
    match fence::unfenced(text) {
        Ok(plain) => plain,
        Err(why) => panic!("{why}:\n{text}"),
    }
}

/// The arguments of a launch by the agent `general`.
pub fn launch(description: &str, script: &str) -> Value {
    serde_json::json!({ "description": description, "prompt": script, "agent": "general" })
}
