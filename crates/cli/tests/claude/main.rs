//! The real Claude Code as a helper without an adapter, with a scripted model. Only on demand,
//! because it is installed for this alone.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

#[path = "../acp/stage.rs"]
#[expect(dead_code, reason = "the tests of the agent that is built in use more of it")]
mod stage;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use legwork_protocol::view::TaskView;
use legwork_testkit::legwork::{Home, Ran, eventually, ran};
use legwork_testkit::{McpClient, Model, call, claude_settings, script};
use serde_json::{Value, json};

use crate::stage::{Stage, kill, processes_in};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

/// Which one is installed, if not the one that all is tested with: `LEGWORK_CLAUDE_VERSION`.
fn version() -> String {
    let wanted = std::env::var("LEGWORK_CLAUDE_VERSION");
    wanted.unwrap_or_else(|_| McpClient::Claude.version().to_owned())
}

fn program() -> PathBuf {
    McpClient::Claude.program_of(&version())
}

/// A terminal whose agent `claude` is the real one.
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
        let mut env = claude_settings(own.path(), &model, own.path());
        env.push(("HOME", own.path().to_str().unwrap().to_owned()));
        env.push(("PATH", std::env::var("PATH").unwrap()));
        let env: Vec<_> = env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let env = env.join(", ");
        let program = program();
        let command = format!("[{LEGWORK:?}, \"adapt\", \"claude\", \"--program\", {program:?}]");
        let settings = format!("[agents.claude]\ncommand = {command}\nenv = {{ {env} }}\n");
        let stage = Stage::with(&settings);
        let work = stage.home.path("work");
        Self { stage, model, work, own }
    }

    fn launch(&mut self, steps: &[&str]) -> String {
        self.stage.launch_as("claude", &script(steps))
    }

    fn until_nothing_runs(&self) {
        eventually("nothing of it is left running", || {
            processes_in(&self.work).is_empty().then_some(())
        });
    }

    fn until_asked(&mut self, task: &str) -> TaskView {
        self.stage.until(task, "it asks", |task| !task.questions.is_empty())
    }

    /// The files that Claude Code keeps of its sessions.
    fn transcripts(&self) -> Vec<PathBuf> {
        let projects = fs::read_dir(self.own.path().join(".claude/projects")).into_iter().flatten();
        let files = projects.flat_map(|project| fs::read_dir(project.unwrap().path()).unwrap());
        let files = files.map(|file| file.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|ending| ending == "jsonl")).collect()
    }
}

fn bash(command: &str) -> String {
    call("Bash", &json!({ "command": command, "description": "for the test" }))
}

fn completed(text: &str) -> (String, String) {
    ("completed".to_owned(), text.to_owned())
}

/// A home with nothing but `claude` on the PATH, and the variables for it.
fn with_claude_only() -> (Home, Model, Vec<(&'static str, String)>) {
    let home = Home::new();
    let model = Model::start();
    for folder in ["bin", "home"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    symlink(program(), home.path("bin/claude")).unwrap();
    let own = home.path("home");
    let env = claude_settings(&own, &model, &own);
    (home, model, env)
}

fn run(home: &Home, env: &[(&'static str, String)], args: &[&str]) -> Ran {
    let mut command = home.command(args);
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    command.env("PATH", path).envs(env.iter().cloned()).current_dir(home.path("home"));
    ran(command)
}

#[test]
fn h1_a_claude_on_the_path_is_a_helper_by_itself() {
    let (home, model, env) = with_claude_only();
    let said = run(&home, &env, &["run", &script(&["say the answer is 42"])]).with_code(0);
    assert_eq!(said.out, "the answer is 42\n");
    assert_eq!(model.requests().len(), 1);
    let shown = run(&home, &env, &["agents", "claude", "--json"]).with_code(0).json();
    assert_eq!((&shown[0]["from"], &shown[0]["default"]), (&json!("native"), &json!(true)));
    let drives = &shown[0]["starts"]["drives"];
    assert_eq!(drives["version"], version().as_str(), "{shown}");
    assert_eq!(drives["login"], "api_key", "{shown}");
    let settings = fs::read(home.path("home/.claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_slice(&settings).unwrap();
    assert_eq!(settings["permissions"], json!({ "allow": [] }), "they are the person's");
}

#[test]
fn h1_legworks_own_tools_are_not_offered_inside() {
    let (home, model, env) = with_claude_only();
    let path = home.path("home/.claude.json");
    let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    state["mcpServers"] = json!({ "legwork": { "command": LEGWORK, "args": ["mcp"] } });
    fs::write(&path, state.to_string()).unwrap();
    run(&home, &env, &["run", &script(&["say x"])]).with_code(0);
    let offered = model.requests()[0].tool_names().join(" ");
    assert!(!offered.contains("background_task"), "{offered}");
}

#[test]
fn h2_r6_a_conversation_goes_on_in_another_process() {
    let mut world = World::new();
    let task = world.launch(&["say the first answer"]);
    assert_eq!(world.stage.result(&task), completed("the first answer"));
    let first = world.stage.view(&task).usage;
    world.stage.kill_daemon();
    world.stage.resume(&task, &script(&["say only this"]));
    assert_eq!(world.stage.result(&task), completed("only this"));
    let last = world.model.requests().pop().unwrap();
    assert!(last.said("assistant", "the first answer"), "{last:?}");
    assert_eq!(world.transcripts().len(), 1);
    let again = world.stage.view(&task).usage;
    assert!(again.model.is_some() && again.tokens.is_some(), "{again:?}");
    // Claude Code counts on from what the session had cost.
    let cost = |usage: &legwork_protocol::Usage| usage.cost.unwrap().micros;
    assert!(cost(&again) * 2 < cost(&first) * 3, "{first:?} {again:?}");
}

#[test]
fn h3_a_person_allows_once_and_refuses_with_words() {
    let mut world = World::new();
    let file = world.work.join("asked");
    let runs = bash("echo yes >> asked");
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
    assert!(last.said("tool", "never write"), "{last:?}");
}

#[test]
fn h3_a_yes_for_the_session_is_asked_once_and_leaves_nothing_in_the_project() {
    let mut world = World::new();
    let runs = bash("touch asked");
    let task = world.launch(&[&runs, &runs, &bash("rm -rf zzz"), "say done"]);
    let view = world.until_asked(&task);
    let label = &view.questions[0].options[1].label;
    assert_eq!(label, "Allow in this session: Bash(touch asked *)", "{view:?}");
    world.stage.home.run(["answer", &task, "always"]).with_code(0);
    let asked = |task: &TaskView| task.questions.iter().any(|one| one.subject.contains("zzz"));
    world.stage.until(&task, "another call is asked for all the same", asked);
    world.stage.home.run(["answer", &task, "reject"]).with_code(0);
    assert_eq!(world.stage.result(&task), completed("done"));
    assert!(!world.work.join(".claude").exists());
}

#[test]
fn h3_a_question_of_the_model_is_answered_by_a_person() {
    let mut world = World::new();
    let option = |label: &str| json!({ "label": label, "description": "a colour" });
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [option("Red"), option("Blue")],
    });
    let asks = call("AskUserQuestion", &json!({ "questions": [question] }));
    let task = world.launch(&[&asks, "say thanks"]);
    let view = world.until_asked(&task);
    assert_eq!(view.questions[0].subject, "Which colour?");
    world.stage.home.run(["answer", &task, "--words", "2"]).with_code(0);
    assert_eq!(world.stage.result(&task), completed("thanks"));
    let last = world.model.requests().pop().unwrap();
    assert!(last.said("tool", "\"Which colour?\"=\"Blue"), "{last:?}");
}

#[test]
fn h4_a_cancelled_helper_leaves_no_command_behind() {
    let mut world = World::new();
    let task = world.launch(&[&bash("touch begun; sleep 300"), "say never"]);
    world.until_asked(&task);
    world.stage.home.run(["answer", &task, "once"]).with_code(0);
    let begun = world.work.join("begun");
    eventually("the command runs", || begun.exists().then_some(()));
    world.stage.done("background_cancel", json!({ "task_id": task }));
    world.until_nothing_runs();
    assert_eq!(world.stage.view(&task).status.to_string(), "cancelled");
}

#[test]
fn h5_a_model_that_is_not_there_is_an_error() {
    let mut world = World::new();
    let task = world.launch(&["fail 404 no such model"]);
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "error", "{text}");
    assert!(text.starts_with("The agent claude answered with an error"), "{text}");
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
        std::thread::sleep(std::time::Duration::from_millis(round * 97 % 1_200));
        if round % 2 == 0 {
            world.stage.kill_daemon();
        } else if let Some(claude) = processes_in(&world.work).pop() {
            kill(claude);
        }
        tasks.push((task, mark));
    }
    for (task, mark) in &tasks {
        let (status, text) = world.stage.result(task);
        let is_killed = text.contains("SIGKILL") || text.starts_with("interrupted: the host ended");
        let is_answered = status == "completed" && text == *mark;
        assert!(is_answered || status == "error" && is_killed, "{status}: {text}");
        // As it was written, without the words for somebody who was interrupted.
        let prompt = script(&[&format!("wait 150\nsay {mark}")]);
        let again = format!("go on with this task:\n\n{prompt}");
        for request in world.model.requests() {
            let times = request.times(&prompt) - request.times(&again);
            assert!(times <= 1, "{mark}: {times} times in request {}", request.number);
        }
    }
    let mail = world.stage.all_mail();
    for (task, _) in &tasks {
        let told = mail.iter().filter(|text| text.contains(task.as_str())).count();
        assert_eq!(told, 1, "{task} in {mail:#?}");
    }
    world.until_nothing_runs();
}
