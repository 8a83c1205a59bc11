//! The real Gemini CLI as an agent over ACP, with a scripted model: a second agent that we have not
//! written, which loads conversations but cannot resume them, and asks in words of its own. Only on
//! demand, because it is installed for this alone and one test waits for a minute to be over.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod model;
#[path = "../acp/stage.rs"]
#[expect(dead_code, reason = "the tests of the agent that is built in use more of it")]
mod stage;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use legwork_testkit::legwork::eventually;
use legwork_testkit::npm;
use serde_json::json;

use crate::model::Model;
use crate::stage::{Stage, processes_in};

const VERSION: &str = "0.61.0";

/// A terminal whose agent `gemini` is the real one.
struct World {
    stage: Stage,
    model: Model,
    work: PathBuf,
    _own: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let model = Model::start();
        let own = tempfile::tempdir().unwrap();
        let folder = npm("gemini-cli", "@google/gemini-cli", VERSION, |_| {});
        let program = folder.join("node_modules/.bin/gemini");
        let env = [
            ("HOME", own.path().to_str().unwrap()),
            ("PATH", &std::env::var("PATH").unwrap()),
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", &model.url()),
            // Else another model is asked first which one is to answer.
            ("GEMINI_MODEL", "gemini-2.5-flash"),
        ];
        let env = env.map(|(key, value)| format!("{key} = {value:?}")).join(", ");
        let stage = Stage::with(&format!(
            "[agents.gemini]\ncommand = [{program:?}, \"--acp\"]\nenv = {{ {env} }}\n"
        ));
        let work = stage.home.path("work");
        Self { stage, model, work, _own: own }
    }

    fn launch(&mut self, prompt: &str) -> String {
        self.stage.launch_as("gemini", prompt)
    }

    fn until_nothing_runs(&self) {
        eventually("nothing of it is left running", || {
            processes_in(&self.work).is_empty().then_some(())
        });
    }
}

fn minute() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 60
}

fn completed(text: &str) -> (String, String) {
    ("completed".to_owned(), text.to_owned())
}

#[test]
fn r6_r8_k2_a_helper_remembers_in_its_process_and_out_of_it() {
    let mut world = World::new();
    let task = world.launch("say the answer is 42");
    assert_eq!(world.stage.result(&task), completed("the answer is 42"));

    // In the minute in which it began it could not be loaded, but its process is still there.
    world.stage.resume(&task, "recall");
    let all = "say the answer is 42 / the answer is 42";
    assert_eq!(world.stage.result(&task), completed(all));

    let began = minute();
    while minute() == began {
        std::thread::sleep(Duration::from_millis(200));
    }
    world.stage.kill_daemon();
    world.stage.resume(&task, "say only this");
    assert_eq!(world.stage.result(&task), completed("only this"));
    world.stage.resume(&task, "recall");
    let (_, text) = world.stage.result(&task);
    assert!(text.starts_with(all) && text.ends_with("only this"), "{text}");
}

#[test]
fn d5_o2_a_permission_is_asked_of_a_person() {
    let mut world = World::new();
    let task = world.launch("run echo yes > asked");
    let view = world.stage.until(&task, "it asks", |task| !task.questions.is_empty());
    assert!(view.questions[0].subject.contains("echo yes > asked"), "{view:?}");
    assert!(!world.work.join("asked").exists());
    world.stage.home.run(["answer", &task, "once"]).with_code(0);
    assert_eq!(world.stage.result(&task), completed("it was run"));
    assert_eq!(std::fs::read_to_string(world.work.join("asked")).unwrap(), "yes\n");
    let view = world.stage.view(&task);
    assert_eq!(view.tool_calls, 1, "{view:?}");
}

#[test]
fn x1_a_cancelled_helper_lets_go_of_the_model_and_is_gone() {
    let mut world = World::new();
    let task = world.launch("hang");
    eventually("the model is asked", || (world.model.hung().asked == 1).then_some(()));
    world.stage.done("background_cancel", json!({ "task_id": task }));
    world.until_nothing_runs();
    eventually("the model is let go", || (world.model.hung().given_up == 1).then_some(()));
    assert_eq!(world.stage.all_mail(), Vec::<String>::new());
}

#[test]
fn d3_a_stream_that_was_cut_each_time_is_an_error() {
    let mut world = World::new();
    let task = world.launch("cut partial");
    let (status, text) = world.stage.result(&task);
    assert_eq!(status, "error", "{text}");
    assert!(text.contains("may have been cut") && text.contains("partial"), "{text}");
}
