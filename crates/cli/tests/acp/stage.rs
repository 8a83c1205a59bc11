//! A terminal in a home of its own, with a daemon, that calls the six tools.

use std::path::{Path, PathBuf};

use legwork_client::{Client, Start};
use legwork_machine::Folders;
use legwork_machine::process::{is_alive, process_mark};
use legwork_protocol::api::{Ask, List, Request};
use legwork_protocol::line::{Context, Role};
use legwork_protocol::view::{DaemonView, Mail, ResultView, TaskView, TasksView};
use legwork_testkit::legwork::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Milliseconds that a blocked call waits at the most: longer than anything here takes.
const LONG_MS: u64 = 180_000;

pub struct Stage {
    pub home: Home,
    client: Client,
    context: Context,
}

/// What a tool said, and whether it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub refused: bool,
    pub text: String,
}

impl Stage {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With these settings.
    pub fn with(settings: &str) -> Self {
        let home = Home::new();
        home.configure(settings);
        std::fs::create_dir(home.path("work")).unwrap();
        home.run(["daemon", "start"]).with_code(0);
        let client = connect(&home);
        let context = context("term_one", &home.path("work"));
        Self { home, client, context }
    }

    /// Another terminal.
    pub fn other(&self, name: &str) -> (Client, Context) {
        (connect(&self.home), context(name, &self.home.path("work")))
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Said {
        let said = self.client.call(Some(&self.context), tool, arguments, &mut |_| {}).unwrap();
        Said { refused: said.refused, text: said.text }
    }

    /// A call that is done.
    pub fn done(&mut self, tool: &str, arguments: Value) -> String {
        let said = self.call(tool, arguments);
        assert!(!said.refused, "{said:?}");
        said.text
    }

    /// A call that is not.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let said = self.call(tool, arguments);
        assert!(said.refused, "{said:?}");
        said.text
    }

    /// Launches a helper with this script.
    pub fn launch(&mut self, script: &str) -> String {
        self.launch_as("rehearsal", script)
    }

    pub fn launch_as(&mut self, agent: &str, prompt: &str) -> String {
        let arguments = json!({ "prompt": prompt, "description": "A test", "agent": agent });
        task_in(&self.done("background_task", arguments))
    }

    pub fn resume(&mut self, task: &str, script: &str) -> String {
        self.done("background_task", json!({ "resume": task, "prompt": script }))
    }

    /// Waits until it is finished.
    pub fn finish(&mut self, task: &str) -> TaskView {
        self.done("background_block", json!({ "task_ids": [task], "timeout": LONG_MS }));
        let view = self.view(task);
        assert!(!view.status.is_unfinished(), "{view:?}");
        view
    }

    /// How its last run ended: the status and the whole result or reason.
    pub fn result(&mut self, task: &str) -> (String, String) {
        self.finish(task);
        let found =
            self.client.request::<ResultView>(Ask::Output { task: task.to_owned(), offset: 0 });
        let ResultView { task, text, .. } = found.unwrap().unwrap();
        (task.status.to_string(), text.unwrap_or_default())
    }

    pub fn view(&mut self, task: &str) -> TaskView {
        self.client.request(Request::Show { task: task.to_owned() }).unwrap().unwrap()
    }

    /// All tasks at one moment, the first launched first.
    pub fn views(&mut self) -> Vec<TaskView> {
        let all = Ask::List(List { all: true, ..List::default() });
        let all = self.client.request_for::<TasksView>(Some(&self.context), all).unwrap().unwrap();
        all.tasks.into_iter().rev().collect()
    }

    /// Waits until a task is so.
    pub fn until(&mut self, task: &str, what: &str, is_so: impl Fn(&TaskView) -> bool) -> TaskView {
        eventually(what, || Some(self.view(task)).filter(&is_so))
    }

    /// What waits to be shown to a person.
    pub fn mail(&mut self) -> Vec<Mail> {
        self.client.request(Request::Mail).unwrap().unwrap()
    }

    /// Waits until so many messages are there, and that no more of them come from what is finished:
    /// nothing is pending any more.
    pub fn all_mail(&mut self) -> Vec<String> {
        eventually("nothing is pending", || (self.daemon().pending == 0).then_some(()));
        self.mail().into_iter().map(|mail| mail.text).collect()
    }

    /// Ends agents that wait for another prompt, by the end of their conversation: it is forgotten.
    pub fn kill_waiting_agents(&mut self, folder: &Path) {
        for id in processes_in(folder) {
            let comm = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            if comm.trim() == "sh" {
                kill(id);
            }
        }
    }

    pub fn daemon(&mut self) -> DaemonView {
        self.client.request(Request::Status).unwrap().unwrap()
    }

    /// Kills the daemon and starts another.
    pub fn kill_daemon(&mut self) {
        kill(self.daemon().pid);
        self.home.run(["daemon", "start"]).with_code(0);
        self.client = connect(&self.home);
    }
}

fn connect(home: &Home) -> Client {
    let at = |name: &str| home.path("legwork").join(name);
    let folders = Folders {
        config: at("config.toml"),
        store: at("store"),
        sessions: at("sessions"),
        socket: at("legwork.sock"),
        log: at("daemon.log"),
    };
    Client::connect(&folders, Role::Client, Start::Never).unwrap()
}

fn context(name: &str, directory: &Path) -> Context {
    Context {
        session: name.parse().unwrap(),
        message: "msg_terminal".parse().unwrap(),
        agent: "terminal".to_owned(),
        directory: directory.display().to_string(),
        environment: None,
        model: None,
        client: None,
    }
}

/// The task that an answer names.
pub fn task_in(answer: &str) -> String {
    let id = answer.lines().find_map(|line| line.strip_prefix("Task ID: "));
    id.unwrap_or_else(|| panic!("no task in {answer}")).to_owned()
}

/// Kills a process at once, and waits until it is gone.
pub fn kill(id: u32) {
    let mark = process_mark(id).unwrap();
    kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL).unwrap();
    eventually("the process is gone", || (!is_alive(&mark)).then_some(()));
}

/// The processes that are in this folder.
pub fn processes_in(folder: &Path) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let inside = all.filter(|path: &PathBuf| {
        std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == folder)
    });
    let id = |path: PathBuf| path.file_name()?.to_str()?.parse().ok();
    inside.filter_map(id).filter(|id| process_mark(*id).is_some()).collect()
}

/// The process of these that none of them has started. Not the lowest number: numbers begin again.
pub fn first_of(all: &[u32]) -> Option<u32> {
    let parent = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        fields.split(' ').nth(1)?.parse().ok()
    };
    all.iter().copied().find(|id| parent(*id).is_some_and(|parent: u32| !all.contains(&parent)))
}
