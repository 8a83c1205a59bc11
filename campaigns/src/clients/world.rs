//! One home with a real client, legwork in its settings and the scripted model behind it; and what
//! can be asked of it: what the model was told, how often, and what legwork knows.

use std::time::Duration;

use legwork_testkit::{McpClient, Request, Run, call, script};
use serde_json::{Value, json};

use crate::fault::{Done, Fault};
use crate::legwork::DaemonFacts;
use crate::processes::{self, Process};
use crate::progress::until;
use crate::terminal::Terminal;

/// For anything that is not measured, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const LOOK: Duration = Duration::from_millis(50);
/// Helpers of one history may all work at once.
const CONFIG: &str = "[limits]\nmax_running = 16\n";

/// The home.
#[derive(Debug)]
pub struct World {
    pub terminal: Terminal,
    pub client: McpClient,
}

/// A helper that a conversation launches.
#[derive(Debug, Clone)]
pub struct Work {
    /// Its name among all of a world.
    pub name: String,
    /// What it does before it ends, in the words of the rehearsal agent; each ends with `;`.
    pub before: String,
}

impl Work {
    pub fn new(name: impl Into<String>, before: impl Into<String>) -> Self {
        Self { name: name.into(), before: before.into() }
    }

    /// What its result has, and nothing else that the model reads: the prompt does not say it.
    pub fn mark(&self) -> String {
        format!("end-1-{}.", self.name)
    }

    /// The line of a script that launches it.
    pub fn launch(&self) -> String {
        let prompt = format!("{}repeat 1: say end-{{i}}-{}.", self.before, self.name);
        launch(&self.name, &prompt)
    }
}

/// The line of a script that launches a helper with this prompt.
pub fn launch(name: &str, prompt: &str) -> String {
    let arguments = json!({ "description": name, "prompt": prompt, "agent": "rehearsal" });
    call("background_task", &arguments)
}

impl World {
    /// A home for this client. Nothing runs yet.
    ///
    /// # Errors
    /// When there is no program, or the home cannot be made.
    pub fn open(client: McpClient) -> Done<Self> {
        let terminal = Terminal::plain(CONFIG)?;
        client.furnish(&terminal.home, &terminal.model);
        let installed = terminal.run(&["install", client.name()])?;
        if !installed.is_done() {
            return Err(Fault::trying("legwork install", installed.said()));
        }
        Ok(Self { terminal, client })
    }

    /// The newest request of the conversation of this name.
    pub fn newest(&self, conversation: &str) -> Option<Request> {
        let mark = heading(conversation);
        let of = |one: &&Request| !one.tools.is_empty() && one.said("user", &mark);
        self.terminal.model.look(|all| all.iter().rfind(of).cloned())
    }

    /// How often the model was asked in this conversation after this request.
    pub fn requests_after(&self, conversation: &str, request: &Request) -> usize {
        let mark = heading(conversation);
        let is_later = |one: &&Request| {
            one.number > request.number && !one.tools.is_empty() && one.said("user", &mark)
        };
        self.terminal.model.look(|all| all.iter().filter(is_later).count())
    }

    /// How often a text stands in the newest request of a conversation.
    pub fn times(&self, conversation: &str, text: &str) -> usize {
        self.newest(conversation).map_or(0, |request| request.times(text))
    }

    /// Waits until the model has read this text in a conversation, and gives the first request that
    /// has it.
    ///
    /// # Errors
    /// When that does not happen in time.
    pub async fn told(&self, conversation: &str, text: &str, within: Duration) -> Done<Request> {
        let mark = heading(conversation);
        let has = |one: &&Request| one.said("user", &mark) && one.times(text) > 0;
        let look = async || self.terminal.model.look(|all| all.iter().find(has).cloned());
        let what = format!("the model of {conversation} reads {text:?}");
        let found = until(&what, within, LOOK, look).await;
        found.map_err(|fault| Fault::trying(fault, self.terminal.model.told()))
    }

    /// What legwork lists; nothing when it cannot be asked.
    pub fn tasks(&self) -> Vec<Value> {
        self.terminal.tasks().unwrap_or_default()
    }

    /// Waits until this holds of the task with this description.
    ///
    /// # Errors
    /// When that does not happen in time.
    pub async fn task(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Done<Value> {
        let look = async || {
            let mut tasks = self.tasks().into_iter();
            tasks.find(|task| task["description"] == name && wanted(task))
        };
        let found = until(&format!("{name}: {what}"), PATIENCE, LOOK * 4, look).await;
        found.map_err(|fault| {
            let listed: Vec<String> = self.tasks().iter().map(Value::to_string).collect();
            Fault::trying(fault, listed.join("\n"))
        })
    }

    /// The client without a screen, begun.
    pub fn run(&self, args: &[&str]) -> Run {
        let command = self.client.command(&self.terminal.home, args);
        Run::start(&self.terminal.home, command, self.client.name())
    }

    /// The fronts that clients have started.
    pub fn fronts(&self) -> Vec<u32> {
        let is_front = |one: &Process| {
            let program = one.words.first().is_some_and(|word| word.ends_with("legwork"));
            program && one.words.get(1).is_some_and(|word| word == "mcp")
        };
        let ours = processes::in_home(self.terminal.home.root());
        ours.iter().filter(|one| is_front(one)).map(|one| one.pid).collect()
    }

    /// The daemon's process.
    pub fn daemon(&self) -> Option<u32> {
        let facts: Option<DaemonFacts> = self.terminal.daemon().ok().flatten();
        facts.map(|facts| facts.pid)
    }

    /// What somebody needs who wants to know why a scene did not hold.
    pub fn story(&self) -> String {
        let listed: Vec<String> = self.tasks().iter().map(Value::to_string).collect();
        let log = self.terminal.home.root().join("home/.local/state/legwork/daemon.log");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        let tail: Vec<&str> = log.lines().rev().take(30).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        let asked = self.terminal.model.told();
        format!("the model was asked:\n{asked}tasks:\n{}\n{}", listed.join("\n"), tail.join("\n"))
    }

    /// Kills a process of this home without a warning.
    ///
    /// # Errors
    /// When it is not there.
    pub fn kill(&self, pid: u32) -> Done<()> {
        processes::kill(self.terminal.home.root(), pid)
    }
}

/// What a person types or hands over: a script for the model, with what tells this conversation and
/// this turn from others. The end is marked, since clients put words of their own behind it.
pub fn prompt(conversation: &str, turn: &str, steps: &[&str]) -> String {
    format!("{} {turn}\n{}\n#end", heading(conversation), script(steps))
}

fn heading(conversation: &str) -> String {
    format!("conversation {conversation},")
}
