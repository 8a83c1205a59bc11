//! The library is the agent (`examples/sdk_agent.rs`), our host is the client.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use legwork_acp::agents::{Agent, Source};
use legwork_acp::orphans::ProcessTree;
use legwork_acp::{LocalHost, Setup};
use legwork_engine::record::Target;
use legwork_engine::work::{Observation, Question, RunState, Scope, Tried};
use legwork_engine::{Action, Finding, Hint, HostError};
use legwork_host::Outside;
use legwork_protocol::api::Reply;
use legwork_protocol::{MessageId, SessionId, TaskId};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A host whose agents are made with the library, and one task's session in it.
struct World {
    host: LocalHost,
    hints: mpsc::UnboundedReceiver<Hint>,
    task: TaskId,
    session: SessionId,
    prompts: usize,
    home: TempDir,
}

/// The agent's program. `cargo test` builds examples before it runs anything, unless it is told to
/// build this test alone.
fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| built().unwrap_or_else(build))
}

/// The one beside this test, if it is not older than what it is made of. Nothing but its own file
/// and the library goes into it.
fn built() -> Option<String> {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2)?.join("examples/sdk_agent");
    let changed = |path: &Path| path.metadata().ok()?.modified().ok();
    let made = changed(&program)?;
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parts = ["examples/sdk_agent.rs", "Cargo.toml"].map(|part| package.join(part));
    let fresh = parts.iter().all(|part| changed(part).is_some_and(|part| part <= made));
    fresh.then(|| program.to_str().unwrap().to_owned())
}

/// Takes minutes: the library and all that it needs are built for this package alone, with fewer
/// features than for the workspace.
fn build() -> String {
    let built = Command::new(env!("CARGO"))
        .args(["build", "-q", "--example", "sdk_agent", "--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let lines = built.stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice(line).ok());
    let mut programs = messages
        .filter_map(|message: serde_json::Value| Some(message["executable"].as_str()?.into()));
    programs.next_back().unwrap()
}

fn open(home: &Path, agent: &[&str]) -> (LocalHost, mpsc::UnboundedReceiver<Hint>) {
    let words = [program()].into_iter().chain(agent.iter().copied()).map(str::to_owned);
    let agent = Agent::new("sdk", words.collect(), Source::Config);
    let (hints, heard) = mpsc::unbounded_channel();
    let setup = Setup {
        agents: Box::new(move |_| vec![agent.clone()]),
        processes: ProcessTree::new(home, Box::new(Vec::new), Arc::default()),
        outside: Outside {
            hints,
            warn: Arc::new(|what| panic!("{what}")),
            detached: Arc::default(),
        },
    };
    (LocalHost::open(home, setup).unwrap(), heard)
}

impl World {
    /// An agent without a memory.
    async fn new() -> Self {
        Self::with(TempDir::new().unwrap(), &[]).await
    }

    async fn with(home: TempDir, agent: &[&str]) -> Self {
        let (host, hints) = open(home.path(), agent);
        let (task, parent): (TaskId, SessionId) =
            ("bg_0000000a".parse().unwrap(), "term_one".parse().unwrap());
        let directory = home.path().to_str().unwrap().to_owned();
        host.keep_terminal(&parent, &directory, None).unwrap();
        let action = Action::Open {
            tried: Tried::Never,
            task,
            parent,
            directory,
            title: "a test".to_owned(),
            agent: "sdk".to_owned(),
            nested: false,
            fork_before: None,
        };
        let Ok(Finding::Opened { session }) = host.perform(&action).await else { panic!() };
        Self { host, hints, task, session, prompts: 0, home }
    }

    /// The daemon ends, and with it the agent's process; another one comes.
    fn restart(&mut self, agent: &[&str]) {
        (self.host, self.hints) = open(self.home.path(), agent);
    }

    async fn prompt(&mut self, text: &str) -> MessageId {
        self.prompts += 1;
        let message: MessageId = format!("msg_{}", self.prompts).parse().unwrap();
        let action = Action::Prompt {
            tried: Tried::Never,
            session: self.session.clone(),
            message: message.clone(),
            part: "prt_1".parse().unwrap(),
            agent: "sdk".to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(self.host.perform(&action).await, Ok(Finding::Done));
        message
    }

    async fn look(&self, message: &MessageId) -> Observation {
        let (session, message) = (self.session.clone(), message.clone());
        match self.host.perform(&Action::Observe { session, message }).await {
            Ok(Finding::Observed(observation)) => observation,
            other => panic!("{other:?}"),
        }
    }

    /// The end of a prompt's turn, and how many tools it used.
    async fn end(&mut self, message: &MessageId) -> (RunState, u32) {
        loop {
            let observation = self.look(message).await;
            if observation.state != RunState::Busy {
                return (observation.state, observation.tool_calls);
            }
            self.hints.recv().await.unwrap();
        }
    }

    async fn ask(&mut self, text: &str) -> (RunState, u32) {
        let message = self.prompt(text).await;
        self.end(&message).await
    }

    async fn probe(&self) -> Result<Finding, HostError> {
        self.host.perform(&Action::Probe { session: self.session.clone() }).await
    }

    /// The sessions at work, and what they ask.
    async fn poll(&self) -> (Vec<SessionId>, Vec<(SessionId, Question)>) {
        match self.host.perform(&Action::Poll { scope: Scope::Questions }).await {
            Ok(Finding::Polled { busy, questions }) => {
                (busy.into_iter().map(|(session, _)| session).collect(), questions)
            }
            other => panic!("{other:?}"),
        }
    }
}

fn answered(text: &str) -> RunState {
    RunState::Answered { text: text.to_owned() }
}

#[tokio::test]
async fn a_turn_with_a_tool_is_followed_to_its_answer() {
    let mut world = World::new().await;
    assert_eq!(world.ask("echo good morning").await, (answered("good morning"), 1));
    assert_eq!(world.poll().await, (vec![], vec![]));
    assert_eq!(world.ask("count").await, (answered("2"), 0), "its process waited");
}

#[tokio::test]
async fn a_permission_is_asked_for_and_answered() {
    let mut world = World::new().await;
    for (reply, said) in [(Reply::Once, "yes"), (Reply::Reject(None), "no")] {
        let message = world.prompt("ask remove it").await;
        let question = loop {
            if let Hint::Asked { question, .. } = world.hints.recv().await.unwrap() {
                break question;
            }
        };
        assert_eq!(question.subject, "remove it");
        let session = world.session.clone();
        let asked = vec![(session.clone(), question.clone())];
        assert_eq!(world.poll().await, (vec![session.clone()], asked));
        let action = Action::Answer { session, question: question.id, kind: question.kind, reply };
        assert_eq!(world.host.perform(&action).await, Ok(Finding::Done));
        assert_eq!(world.end(&message).await, (answered(said), 1));
    }
}

#[tokio::test]
async fn a_turn_is_called_off() {
    for text in ["wait", "ask remove it"] {
        let mut world = World::new().await;
        let message = world.prompt(text).await;
        world.hints.recv().await.unwrap();
        let stop =
            Action::Stop { task: world.task, target: Target::Session(world.session.clone()) };
        assert_eq!(world.host.perform(&stop).await, Ok(Finding::Done));
        let (end, _) = world.end(&message).await;
        assert!(matches!(end, RunState::Aborted { .. }), "{end:?}");
        assert_eq!(world.host.perform(&stop).await, Ok(Finding::Quiet));
    }
}

#[tokio::test]
async fn a_loaded_conversation_is_not_taken_for_the_answer_whenever_it_is_told_again() {
    for when in ["before", "after"] {
        let memory = TempDir::new().unwrap();
        let agent = [memory.path().to_str().unwrap(), when];
        let mut world = World::with(TempDir::new().unwrap(), &agent).await;
        for round in 1..=40 {
            assert_eq!(world.ask("count").await, (answered(&round.to_string()), 0));
        }
        world.restart(&agent);
        assert_eq!(world.probe().await, Ok(Finding::Done));
        assert_eq!(world.ask("count").await, (answered("41"), 0), "{when}");
        // Not asked first, as after a crash.
        world.restart(&agent);
        assert_eq!(world.ask("echo you").await, (answered("you"), 1), "{when}");
    }
}

#[tokio::test]
async fn a_conversation_that_the_agent_does_not_have_is_gone() {
    let memory = TempDir::new().unwrap();
    let agent = [memory.path().to_str().unwrap()];
    let mut world = World::with(TempDir::new().unwrap(), &agent).await;
    world.ask("count").await;
    let kept: Vec<PathBuf> =
        memory.path().read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    std::fs::remove_file(&kept[0]).unwrap();
    world.restart(&agent);
    assert_eq!(world.probe().await, Err(HostError::Gone));
}

#[tokio::test]
async fn an_agent_that_takes_long_to_load_keeps_nobody_waiting() {
    let memory = TempDir::new().unwrap();
    let folder = memory.path().to_str().unwrap();
    let mut world = World::with(TempDir::new().unwrap(), &[folder]).await;
    world.ask("count").await;
    world.restart(&[folder, "never"]);
    // Whenever nothing moves here, time does: to us the agent is slow from its start on.
    tokio::time::pause();
    assert_eq!(world.probe().await, Ok(Finding::Done));
    let (end, _) = world.ask("count").await;
    let RunState::Failed { reason } = end else { panic!("{end:?}") };
    assert!(reason.contains("did not answer"), "{reason}");
}
