//! One real OpenCode for all tests, with a scripted model behind it. Each test has sessions of its
//! own in it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use legwork_engine::work::{Observation, RunState, Tried};
use legwork_engine::{Action, Finding, HostError};
use legwork_opencode::Remote;
use legwork_protocol::ids::MessageUse;
use legwork_protocol::{MessageId, SessionId, TaskId, Time};
use legwork_testkit::{Client, DEADLINE, Home, Model, Serve, block_on, script};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

pub struct World {
    pub model: Model,
    pub client: Client,
    pub remote: Remote,
    pub home: Home,
    _serve: Serve,
}

/// The one that the tests share.
pub fn world() -> &'static World {
    static WORLD: LazyLock<World> = LazyLock::new(World::start);
    &WORLD
}

pub fn settings() -> Value {
    let other = json!({
        "name": "Other",
        "tool_call": true,
        "limit": { "context": 200_000, "output": 8_000 },
        "variants": { "high": {} },
    });
    json!({
        "provider": { "fake": { "models": { "other": other } } },
        "permission": { "bash": { "*": "allow", "echo permitted*": "ask" } },
        "agent": { "own": { "mode": "subagent", "model": "fake/other", "description": "d" } },
    })
}

impl World {
    pub fn start() -> Self {
        let model = Model::start();
        let home = Home::build(&model).without_catalogue().git().settings(settings()).make();
        let serve = block_on(home.serve());
        // All tests share one server, which boots with the first turns of several at once.
        let remote = Remote::at(serve.url()).unwrap().within(DEADLINE);
        Self { model, client: serve.client(), remote, home, _serve: serve }
    }

    pub async fn perform(&self, action: &Action) -> Result<Finding, HostError> {
        legwork_opencode::perform(&self.remote, action).await
    }

    /// A session in which a person spoke to an agent with a model.
    pub async fn conversation(&self, agent: &str, model: &str, variant: Option<&str>) -> SessionId {
        let session = self.client.create(json!({ "title": "A conversation" })).await;
        self.speak(&session, agent, model, variant).await;
        session.parse().unwrap()
    }

    /// A person's turn, to its end.
    pub async fn speak(&self, session: &str, agent: &str, model: &str, variant: Option<&str>) {
        let before = self.client.texts(session).await.len();
        // OpenCode adds to what is said to `plan` (1.18.33).
        let text = script(&["say hello\n#end"]);
        let body = json!({
            "agent": agent,
            "model": { "providerID": "fake", "modelID": model },
            "variant": variant,
            "parts": [{ "type": "text", "text": text }],
        });
        self.client.prompt(session, body).await.ok();
        until("the answer to a person", async || {
            let texts = self.client.texts(session).await;
            let answered = texts.len() > before && texts.last()?.1 == "hello";
            (answered && self.is_quiet(session).await).then_some(())
        })
        .await;
    }

    pub async fn is_quiet(&self, session: &str) -> bool {
        self.client.status().await.get(session).is_none()
    }

    pub async fn open(&self, task: TaskId, parent: &SessionId, agent: &str) -> SessionId {
        let action = Action::Open {
            tried: Tried::Perhaps,
            task,
            parent: parent.clone(),
            directory: "/project".to_owned(),
            title: "Look around".to_owned(),
            agent: agent.to_owned(),
            nested: false,
            fork_before: None,
        };
        match self.perform(&action).await {
            Ok(Finding::Opened { session }) => session,
            other => panic!("{other:?}"),
        }
    }

    /// Prompts a helper with a script.
    pub async fn prompt(&self, task: TaskId, session: &SessionId, steps: &[&str]) -> MessageId {
        let message = MessageId::make(now(), task, 0, MessageUse::Prompt(0));
        let action = never_tried(prompt(session, &message, &script(steps)));
        assert_eq!(self.perform(&action).await, Ok(Finding::Done));
        message
    }

    /// A helper at work on a script.
    pub async fn helper(&self, steps: &[&str]) -> (SessionId, MessageId) {
        let task = new_task();
        let parent = self.client.create(json!({})).await.parse().unwrap();
        let session = self.open(task, &parent, "general").await;
        let message = self.prompt(task, &session, steps).await;
        (session, message)
    }

    pub async fn look(&self, session: &SessionId, message: &MessageId) -> Observation {
        let action = Action::Observe { session: session.clone(), message: message.clone() };
        match self.perform(&action).await {
            Ok(Finding::Observed(observation)) => observation,
            other => panic!("{other:?}"),
        }
    }

    /// Looks until the end of the run.
    pub async fn until_end(&self, session: &SessionId, message: &MessageId) -> Observation {
        until("the end of a run", async || {
            let observation = self.look(session, message).await;
            let ended = !matches!(observation.state, RunState::Busy | RunState::Still { .. });
            ended.then_some(observation)
        })
        .await
    }

    pub async fn until_busy(&self, session: &SessionId) {
        until("a busy session", async || (!self.is_quiet(session.as_str()).await).then_some(()))
            .await;
    }

    pub async fn session(&self, session: &SessionId) -> Value {
        self.client.get(session.as_str()).await.ok()
    }

    pub async fn messages(&self, session: &SessionId) -> Vec<Value> {
        self.client.messages(session.as_str()).await.ok().as_array().unwrap().clone()
    }
}

pub fn prompt(session: &SessionId, message: &MessageId, text: &str) -> Action {
    Action::Prompt {
        tried: Tried::Perhaps,
        session: session.clone(),
        message: message.clone(),
        part: message.part(0),
        agent: "general".to_owned(),
        text: text.to_owned(),
    }
}

/// The same, asked for the first time.
pub fn never_tried(mut action: Action) -> Action {
    match &mut action {
        Action::Open { tried, .. }
        | Action::Prompt { tried, .. }
        | Action::Deliver { tried, .. } => {
            *tried = Tried::Never;
        }
        other => panic!("it changes nothing: {other:?}"),
    }
    action
}

/// Asks again until there is an answer.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    while Instant::now() < end {
        if let Some(answer) = ask().await {
            return answer;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("in vain: {what}");
}

pub fn new_task() -> TaskId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    TaskId::from_number(NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Time(since.as_millis().try_into().unwrap())
}
