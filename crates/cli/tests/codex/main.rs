//! The real Codex as a helper without an adapter, with a scripted model. Only on demand, because it
//! is installed for this alone.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

#[path = "../acp/stage.rs"]
#[expect(dead_code, reason = "the tests of the agent that is built in use more of it")]
mod stage;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use legwork_protocol::view::TaskView;
use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use legwork_testkit::{McpClient, Model, call, codex_settings, script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{Stage, processes_in};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

/// Which one is installed, if not the one that all is tested with: `LEGWORK_CODEX_VERSION`.
fn version() -> String {
    std::env::var("LEGWORK_CODEX_VERSION").unwrap_or_else(|_| McpClient::Codex.version().to_owned())
}

fn program() -> PathBuf {
    McpClient::Codex.program_of(&version())
}

/// A terminal whose agent `codex` is the real one.
struct World {
    stage: Stage,
    model: Model,
    work: PathBuf,
    own: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let model = Model::start();
        let own = tempfile::tempdir().unwrap();
        let program = program();
        let env = [
            ("HOME", own.path().to_str().unwrap()),
            ("PATH", &std::env::var("PATH").unwrap()),
            ("SCRIPTED_KEY", "none"),
        ];
        let env = env.map(|(key, value)| format!("{key} = {value:?}")).join(", ");
        let command = format!("[{LEGWORK:?}, \"adapt\", \"codex\", \"--program\", {program:?}]");
        let settings = format!("[agents.codex]\ncommand = {command}\nenv = {{ {env} }}\n");
        let stage = Stage::with(&settings);
        let work = stage.home.path("work");
        configure(own.path(), &model, &work, "");
        Self { stage, model, work, own }
    }

    fn launch(&mut self, steps: &[&str]) -> String {
        self.stage.launch_as("codex", &script(steps))
    }

    fn until_nothing_runs(&self) {
        eventually("nothing of it is left running", || {
            processes_in(&self.work).is_empty().then_some(())
        });
    }

    /// The line of a script that runs a command for which a person has to be asked.
    fn asks_to_run(&mut self, command: &str) -> String {
        if self.model.requests().is_empty() {
            let task = self.launch(&["say x"]);
            self.stage.finish(&task);
        }
        let first = &self.model.requests()[0];
        let offered = first.tool_names();
        let tool = ["exec_command", "shell_command", "shell"];
        let tool = tool.into_iter().find(|tool| offered.contains(tool));
        let tool = tool.unwrap_or_else(|| panic!("no shell in {offered:?}"));
        let words = match tool {
            "shell" => json!(["sh", "-c", command]),
            _ => json!(command),
        };
        let key = if tool == "exec_command" { "cmd" } else { "command" };
        call(
            tool,
            &json!({
                key: words, "sandbox_permissions": "require_escalated",
                "with_escalated_permissions": true, "justification": "for the test",
            }),
        )
    }

    fn until_asked(&mut self, task: &str) -> TaskView {
        self.stage.until(task, "it asks", |task| !task.questions.is_empty())
    }
}

fn configure(home: &Path, model: &Model, project: &Path, more: &str) {
    fs::create_dir_all(home.join(".codex")).unwrap();
    let settings = format!("{}\n{more}", codex_settings(model, project));
    fs::write(home.join(".codex/config.toml"), settings).unwrap();
}

fn completed(text: &str) -> (String, String) {
    ("completed".to_owned(), text.to_owned())
}

/// A home with nothing but `codex` on the PATH.
fn with_codex_only(more: &str) -> (Home, Model) {
    let home = Home::new();
    let model = Model::start();
    fs::create_dir_all(home.path("bin")).unwrap();
    fs::create_dir_all(home.path("home")).unwrap();
    symlink(program(), home.path("bin/codex")).unwrap();
    configure(&home.path("home"), &model, &home.path("home"), more);
    (home, model)
}

fn run(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    command.env("PATH", path).env("SCRIPTED_KEY", "none").current_dir(home.path("home"));
    ran(command)
}

#[test]
fn h1_a_codex_on_the_path_is_a_helper_by_itself() {
    let (home, model) = with_codex_only("");
    let before = fs::read_to_string(home.path("home/.codex/config.toml")).unwrap();
    let said = run(&home, &["run", &script(&["say the answer is 42"])]).with_code(0);
    assert_eq!(said.out, "the answer is 42\n");
    assert_eq!(model.requests().len(), 1);
    let shown = run(&home, &["agents", "codex", "--json"]).with_code(0).json();
    assert_eq!((&shown[0]["from"], &shown[0]["default"]), (&json!("native"), &json!(true)));
    let drives = &shown[0]["starts"]["drives"];
    assert_eq!(drives["version"], version().as_str(), "{shown}");
    assert!(drives["login"].as_str().unwrap().contains("needs no login"), "{shown}");
    let after = fs::read_to_string(home.path("home/.codex/config.toml")).unwrap();
    assert_eq!(after, before, "the person's settings are theirs");
}

/// Codex 0.142.0 notes a folder that a client names as trusted, if it may write there.
#[test]
fn h1_p14_a_folder_does_not_become_a_trusted_one() {
    let (home, model) = with_codex_only("");
    let file = home.path("home/.codex/config.toml");
    let text = codex_settings(&model, &home.path("elsewhere"));
    fs::write(&file, text.replace("read-only", "workspace-write")).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let said = run(&home, &["run", "--detach", &script(&["say x"])]).with_code(0).out;
    run(&home, &["wait", said.trim()]).with_code(0);
    run(&home, &["resume", said.trim(), &script(&["say y"])]).with_code(0);
    assert_eq!(model.requests().len(), 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn h1_legworks_own_tools_are_not_offered_inside() {
    let (home, model) = with_codex_only("");
    // Codex filters the environment of such a server, so that it is known by its descent alone.
    let server = format!(
        "[mcp_servers.legwork]\ncommand = {LEGWORK:?}\nargs = [\"mcp\"]\n\
         env = {{ LEGWORK_HOME = {:?} }}\n",
        home.path("legwork")
    );
    configure(&home.path("home"), &model, &home.path("home"), &server);
    run(&home, &["run", &script(&["say x"])]).with_code(0);
    let offered = model.requests()[0].tool_names().join(" ");
    assert!(offered.contains("exec_command") && !offered.contains("background_task"), "{offered}");
}

#[test]
fn h2_r6_a_conversation_goes_on_in_another_process() {
    let mut world = World::new();
    let task = world.launch(&["say the first answer"]);
    assert_eq!(world.stage.result(&task), completed("the first answer"));
    world.stage.kill_daemon();
    world.stage.resume(&task, &script(&["say only this"]));
    assert_eq!(world.stage.result(&task), completed("only this"));
    let last = world.model.requests().pop().unwrap();
    assert!(last.said("assistant", "the first answer"), "{last:?}");
    let usage = world.stage.view(&task).usage;
    assert_eq!(usage.model.as_deref(), Some("scripted"));
    assert!(usage.tokens.is_some());
}

/// What the agent says of a message: of one that was answered, of one that never was sent, and of
/// one in a thread that is not there.
#[test]
fn h2_the_program_itself_tells_what_became_of_a_prompt() {
    let mut world = World::new();
    let task = world.launch(&["say the answer"]);
    world.stage.finish(&task);
    let log = world.stage.home.path("legwork/sessions").join(task.replace("bg_", "acp_"));
    let log = fs::read_to_string(log.with_extension("jsonl")).unwrap();
    let line = |is: &str| -> Value {
        let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.find(|line| line["is"] == is).unwrap()
    };
    let (session, message) = (line("bound")["session"].take(), line("prompt")["message"].take());
    let ask = |id: u64, session: &Value, message: &Value| {
        let params = json!({ "sessionId": session, "message": message });
        json!({ "jsonrpc": "2.0", "id": id, "method": "_legwork/look", "params": params })
    };
    let nobody = json!("019a9999-0000-7000-8000-000000000000");
    let asks = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }),
        ask(2, &session, &message),
        ask(3, &session, &json!("msg_other")),
        ask(4, &nobody, &message),
    ];
    let mut agent = Command::new(LEGWORK);
    agent.args(["adapt", "codex", "--program"]).arg(program()).env("HOME", world.own.path());
    agent.env("SCRIPTED_KEY", "none").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut agent = agent.spawn().unwrap();
    let (mut to, from) = (agent.stdin.take().unwrap(), agent.stdout.take().unwrap());
    let mut lines = BufReader::new(from).lines();
    let mut answers = asks.map(|ask| {
        writeln!(to, "{ask}").unwrap();
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["result"].take()
    });
    drop(to);
    agent.wait().unwrap();
    assert_eq!(answers[1].take(), json!({ "taken": true, "end": { "text": "the answer" } }));
    assert_eq!(answers[2].take(), json!({ "taken": false }));
    // It only says that the thread is not loaded: the host finds out when it takes it up.
    assert_eq!(answers[3].take(), Value::Null);
}

#[test]
fn h3_a_person_allows_once_and_refuses_with_words() {
    let mut world = World::new();
    let file = world.work.join("asked");
    let runs = world.asks_to_run("echo yes >> asked");
    let task = world.launch(&[&runs, "say ran"]);
    let view = world.until_asked(&task);
    assert!(view.questions[0].subject.contains("echo yes >> asked"), "{view:?}");
    assert!(!file.exists());
    world.stage.home.run(["answer", &task, "once"]).with_code(0);
    assert_eq!(world.stage.result(&task), completed("ran"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "yes\n");

    let task = world.launch(&[&runs, "say not run"]);
    world.until_asked(&task);
    world.stage.home.run(["answer", &task, "reject", "--words", "never write"]).with_code(0);
    assert_eq!(world.stage.result(&task), completed("not run"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "yes\n");
    let last = world.model.requests().pop().unwrap();
    assert!(last.said("user", "never write"), "{last:?}");
}

#[test]
fn h3_a_yes_for_the_session_is_asked_once() {
    let mut world = World::new();
    let runs = world.asks_to_run("echo yes >> asked");
    let task = world.launch(&[&runs, &runs, "say ran twice"]);
    let view = world.until_asked(&task);
    assert!(view.questions[0].options[1].label.contains("in this session"), "{view:?}");
    world.stage.home.run(["answer", &task, "always"]).with_code(0);
    assert_eq!(world.stage.result(&task), completed("ran twice"));
    assert_eq!(fs::read_to_string(world.work.join("asked")).unwrap(), "yes\nyes\n");
}

#[test]
fn h4_a_cancelled_helper_leaves_no_command_behind() {
    let mut world = World::new();
    let runs = world.asks_to_run("echo begun > begun; sleep 300");
    let task = world.launch(&[&runs, "say never"]);
    world.until_asked(&task);
    world.stage.home.run(["answer", &task, "once"]).with_code(0);
    let begun = world.work.join("begun");
    eventually("the command runs", || begun.exists().then_some(()));
    world.stage.done("background_cancel", json!({ "task_id": task }));
    world.until_nothing_runs();
    assert_eq!(world.stage.view(&task).status.to_string(), "cancelled");
}

#[test]
fn h5_a_provider_that_refuses_is_an_error() {
    let mut world = World::new();
    let task = world.launch(&["fail 429 slow down"]);
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "error", "{text}");
    assert!(text.starts_with("The agent codex answered with an error"), "{text}");
}

/// A prompt that the model has answered is not asked again, whatever was killed when.
#[test]
fn h2_n1_kills_at_any_moment_lose_and_double_nothing() {
    let mut world = World::new();
    let rounds: u64 = std::env::var("LEGWORK_KILLS").map_or(8, |rounds| rounds.parse().unwrap());
    let mut tasks = Vec::new();
    for round in 0..rounds {
        let mark = format!("mark-{round}-");
        let task = world.launch(&[&format!("wait 150\nsay {mark}")]);
        std::thread::sleep(std::time::Duration::from_millis(round * 97 % 800));
        if round % 2 == 0 {
            world.stage.kill_daemon();
        } else if let Some(one) = processes_in(&world.work).pop() {
            // It may have ended by itself meanwhile.
            let _ = kill_process(Pid::from_raw(one.cast_signed()).unwrap(), Signal::KILL);
        }
        tasks.push((task, mark));
    }
    for (task, mark) in &tasks {
        let (status, text) = world.stage.result(task);
        assert!(status == "completed" && text == *mark || status == "error", "{status}: {text}");
        // As it was written, without the words of somebody who was interrupted.
        let prompt = script(&[&format!("wait 150\nsay {mark}")]);
        for request in world.model.requests() {
            let same = request.messages.iter().filter(|said| said.text.trim() == prompt.trim());
            assert!(same.count() <= 1, "{mark}: {request:?}");
        }
    }
    let mail = world.stage.all_mail();
    for (task, _) in &tasks {
        let told = mail.iter().filter(|text| text.contains(task.as_str())).count();
        assert_eq!(told, 1, "{task} in {mail:#?}");
    }
    world.until_nothing_runs();
}
