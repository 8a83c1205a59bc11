//! The real OpenCode as an agent over ACP, with a scripted model and legwork's own plugin in its
//! settings: what the agent that is built in only plays, a real one must do as well.

use std::process::Command;

use legwork_testkit::legwork::eventually;
use legwork_testkit::{Home, Model, Request, block_on, call, script};
use serde_json::{Value, json};

use crate::stage::{Stage, first_of, kill, processes_in};

const EXPIRED: &str = "Session expired or was deleted. Start a new background_task to continue.";

/// A terminal whose agent `oc` is OpenCode. What is first here ends first.
struct World {
    stage: Stage,
    opencode: Home,
    model: Model,
}

impl World {
    /// With more settings for OpenCode.
    fn new(settings: Value) -> Self {
        let model = Model::start();
        let opencode = Home::build(&model).without_catalogue().settings(settings).make();
        let command = opencode.opencode(&["acp"]);
        // A daemon of its own: that of its helper does not take it for a host.
        let own = opencode.root().join("legwork").display().to_string();
        let outside = [("LEGWORK_INSIDE", ""), ("LEGWORK_HOME", own.as_str())];
        let agents = agent("oc", &command, &[]) + &agent("outside", &command, &outside);
        let stage = Stage::with(&agents);
        let project = opencode.project().display().to_string();
        stage.home.run(["install", "opencode", "--project", &project]).with_code(0);
        Self { stage, opencode, model }
    }

    fn launch(&mut self, steps: &[&str]) -> String {
        self.stage.launch_as("oc", &script(steps))
    }

    fn resume(&mut self, task: &str, steps: &[&str]) -> String {
        self.stage.resume(task, &script(steps))
    }

    /// Waits until the model was asked about this.
    fn asked(&self, words: &str) -> Request {
        let is_it = |one: &Request| one.said("user", words) && !one.tools.is_empty();
        block_on(self.model.wait_for(words, is_it))
    }

    fn processes(&self) -> Vec<u32> {
        processes_in(&self.opencode.project())
    }

    fn until_nothing_runs(&self) {
        eventually("nothing of it is left running", || self.processes().is_empty().then_some(()));
    }
}

/// The settings of an agent that is this command.
fn agent(name: &str, command: &Command, more: &[(&str, &str)]) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let own = command.get_envs().filter_map(|(key, value)| Some((key.to_str()?, value?.to_str()?)));
    let env = own.chain(more.iter().copied()).map(|(key, value)| format!("{key} = {value:?}"));
    let env = env.collect::<Vec<_>>().join(", ");
    let folder = command.get_current_dir().unwrap();
    format!("[agents.{name}]\ncommand = {words:?}\ncwd = {folder:?}\nenv = {{ {env} }}\n")
}

fn bash(command: &str) -> String {
    call("bash", &json!({ "command": command, "description": "run it" }))
}

#[test]
fn o2_o3_r6_r8_k2_a_helper_shows_what_it_does_answers_in_full_and_remembers() {
    let mut world = World::new(json!({}));
    let first = format!("say let me see\n{}", bash("echo one"));
    let task = world.launch(&[&first, "gate look\nrepeat 20000 x"]);
    let view = world.stage.until(&task, "it has used a tool", |task| task.tool_calls == 1);
    assert_eq!(view.last_tools, ["bash"], "{view:?}");
    world.model.open("look");
    assert_eq!(world.stage.result(&task), ("completed".to_owned(), "x".repeat(20_000)));

    world.resume(&task, &["echo-history"]);
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "completed");
    assert!(text.starts_with("history: ") && text.contains("+bash"), "{text}");

    world.stage.kill_daemon();
    let answer = world.resume(&task, &["count"]);
    assert!(answer.contains("Resume count: 2"), "{answer}");
    assert_eq!(world.stage.result(&task), ("completed".to_owned(), "3".to_owned()));
    world.until_nothing_runs();
}

#[test]
fn l5_a_helper_is_not_offered_the_six_tools() {
    let mut world = World::new(json!({}));
    // The plugin is there: without the sign that this is a helper they are offered.
    for (agent, offered) in [("oc", false), ("outside", true)] {
        let task = world.stage.launch_as(agent, &script(&[&format!("say I am {agent}")]));
        assert_eq!(world.stage.result(&task).1, format!("I am {agent}"));
        let request = world.asked(&format!("I am {agent}"));
        let tools = request.tool_names();
        assert!(tools.contains(&"bash"), "{tools:?}");
        assert_eq!(tools.iter().any(|tool| tool.starts_with("background_")), offered, "{tools:?}");
    }
}

#[test]
fn x1_a_cancelled_helper_lets_go_of_the_model_and_of_its_commands() {
    let mut world = World::new(json!({}));
    let asking = world.launch(&["say on it\nhang"]);
    let request = world.asked("on it");
    // Not before: of two that make the same database at once one fails (seen in 1.18.33).
    let acting = world.launch(&[&bash("sleep 600"), "say late"]);
    world.stage.until(&acting, "its command runs", |task| task.tool_calls == 1);
    for task in [&asking, &acting] {
        world.stage.done("background_cancel", json!({ "task_id": task }));
        assert_eq!(world.stage.view(task).status.to_string(), "cancelled");
    }
    let closed = |all: &[Request]| all[request.number].closed().then_some(());
    block_on(world.model.wait_until("the request is given up", closed));
    world.until_nothing_runs();
    assert_eq!(world.stage.all_mail(), Vec::<String>::new());
}

#[test]
fn d5_a_permission_is_asked_of_a_person() {
    let mut world = World::new(json!({ "permission": { "bash": "ask" } }));
    let task = world.launch(&[&bash("echo yes > asked"), "say it is done"]);
    let view = world.stage.until(&task, "it asks", |task| !task.questions.is_empty());
    assert!(view.questions[0].subject.contains("echo yes > asked"), "{view:?}");
    let asked = world.opencode.project().join("asked");
    assert!(!asked.exists());
    world.stage.home.run(["answer", &task, "once"]).with_code(0);
    assert_eq!(world.stage.result(&task), ("completed".to_owned(), "it is done".to_owned()));
    assert_eq!(std::fs::read_to_string(asked).unwrap(), "yes\n");

    world.resume(&task, &[&bash("echo no > refused"), "say it is done"]);
    world.stage.until(&task, "it asks", |task| !task.questions.is_empty());
    world.stage.home.run(["answer", &task, "reject"]).with_code(0);
    let (status, text) = world.stage.result(&task);
    assert!(!world.opencode.project().join("refused").exists(), "{status}: {text}");
    assert!(
        text.contains("after this was refused") && text.contains("echo no > refused"),
        "{text}"
    );
}

#[test]
fn d3_r5_r9_an_error_of_the_provider_is_told_with_its_cause() {
    let mut world = World::new(json!({}));
    let task = world.launch(&["fail 400 the model is out of stock"]);
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "error");
    assert!(text.contains("the model is out of stock"), "{text}");

    let task = world.launch(&["say x"]);
    world.stage.finish(&task);
    std::fs::remove_dir_all(world.opencode.root().join("home/.local")).unwrap();
    let arguments = json!({ "resume": task, "prompt": "again" });
    let said = world.stage.call("background_task", arguments);
    if said.refused {
        assert_eq!(said.text, EXPIRED);
        return;
    }
    // On a busy machine it may say so too late for a refusal.
    let (status, text) = world.stage.result(&task);
    assert!(status == "error" && text.contains("session/resume"), "{status}: {text}");
}

#[test]
fn n1_k2_a_killed_opencode_is_an_error_that_is_told_once_and_leaves_nothing() {
    let mut world = World::new(json!({}));
    let task = world.launch(&[&bash("sleep 600"), "say late"]);
    world.stage.until(&task, "its command runs", |task| task.tool_calls == 1);
    let agent = eventually("OpenCode and its command", || {
        let all = world.processes();
        (all.len() >= 2).then(|| first_of(&all)).flatten()
    });
    kill(agent);
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "error");
    assert!(text.contains("signal: 9"), "{text}");
    world.until_nothing_runs();
    let mail = world.stage.all_mail();
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert!(mail[0].starts_with("[BACKGROUND TASK FAILED]"), "{mail:?}");
}

#[test]
fn a_person_chooses_one_of_its_models() {
    let other = json!({
        "name": "Other", "tool_call": true, "limit": { "context": 200_000, "output": 8_000 },
    });
    let world = World::new(json!({ "provider": { "fake": { "models": { "other": other } } } }));
    let home = &world.stage.home;
    let run = |model: &str, words: &str| {
        home.run(["run", "--agent", "oc", "--model", model, &script(&[&format!("say {words}")])])
    };
    assert_eq!(run("fake/other", "chosen").with_code(0).out, "chosen\n");
    assert_eq!(world.asked("chosen").model, "other");
    assert_eq!(home.run(["list", "--json"]).json()["tasks"][0]["model"], "fake/other");
    let wrong = run("fake/none", "wrong").with_code(3);
    assert!(wrong.err.contains("fake/fake") && wrong.err.contains("fake/other"), "{wrong:?}");
}
