//! The package in the real OpenCode.

use std::fs;
use std::path::Path;

use legwork_testkit::{Home, Model, Registry, call, nowhere, output, script};
use serde_json::{Value, json};

use crate::packages::{OTHER, Packages, VERSION, bare, cached, program_of, system};
use crate::stage::{Stage, Task, launch, printed, until};

/// The process of the daemon that this program reaches.
fn daemon_of(home: &Home, program: &Path) -> u64 {
    let told = output(home.command(program).args(["daemon", "status", "--json"]));
    let status: Value = serde_json::from_slice(&told.stdout).unwrap();
    status["daemon"]["pid"].as_u64().unwrap_or_else(|| panic!("no daemon: {status}"))
}

/// A helper is launched, done, and told once.
async fn is_green(stage: &Stage) -> Task {
    let parent = stage.parent().await;
    let task = stage.launch(&parent, "count the files", &["say five files"]).await;
    let notices = stage.until_notices(&parent, 1).await;
    assert!(notices[0].headline.contains("count the files"), "{notices:?}");
    assert!(notices[0].hidden.contains("five files"), "{notices:?}");
    task
}

#[tokio::test]
async fn i1_opencode_alone_installs_everything_that_is_needed() {
    let registry = Registry::start();
    Packages::of(VERSION).publish(&registry);
    let model = Model::start();
    let home = bare(&model, &registry.url(), &json!([]));
    let spec = format!("legwork@{VERSION}");
    let done = output(&mut home.opencode(&["plugin", &spec, "--global"]));
    assert!(done.status.success(), "{done:?}");
    // Both parts are in the settings, by the exact number.
    for name in ["opencode", "tui"] {
        let folder = home.root().join("home/.config/opencode");
        let read = |end: &str| fs::read_to_string(folder.join(format!("{name}.{end}")));
        let settings = read("json").or_else(|_| read("jsonc")).unwrap();
        assert!(settings.contains(&format!("\"{spec}\"")), "{name}: {settings}");
    }
    let asked = registry.asked().len();

    let stage = Stage::open(model, home).await;
    let task = is_green(&stage).await;
    let program = program_of(&stage.home, VERSION);
    let list = output(stage.home.command(&program).arg("list"));
    let short = task.id.trim_start_matches("bg_").get(..3).unwrap();
    let list = printed(&list);
    assert!(list.contains("count the files") && list.contains(short), "{list}");
    let pid = daemon_of(&stage.home, &program);
    assert_eq!(fs::read_link(format!("/proc/{pid}/exe")).unwrap(), program);
    // What is installed is used as it is.
    assert_eq!(registry.asked().len(), asked, "{:?}", registry.asked());
}

#[tokio::test]
async fn i1_without_the_program_opencode_works_and_says_how_to_get_it() {
    let registry = Registry::start();
    let packages = Packages::of(VERSION);
    registry.publish(&packages.legwork());
    let model = Model::start();
    let spec = format!("legwork@{VERSION}");
    let home = bare(&model, &registry.url(), &json!([spec]));
    let mut stage = Stage::open(model, home).await;
    let parent = stage.parent().await;
    let folder = cached(&stage.home, VERSION);
    let sentence = format!(
        "the program for {} was not installed with the package. Remove the folder {} and restart \
         OpenCode, which installs it again.",
        system(),
        folder.display()
    );
    let refused = stage.call(&parent, "background_task", launch("count", &["say five"])).await;
    assert!(refused.refused(), "{refused:?}");
    let expected = format!("legwork is not available: {sentence}");
    assert!(refused.text.contains(&expected), "{}", refused.text);
    assert!(!refused.text.contains("doctor"), "there is none to ask: {}", refused.text);
    let offered = stage.asked(&parent).remove(0).tools;
    let task = offered.iter().find(|tool| tool.name == "background_task").unwrap();
    assert_eq!(task.description, format!("Not available: {sentence}"));

    // What it says to do is what helps.
    registry.publish(&packages.program());
    stage.serve.terminate().await;
    fs::remove_dir_all(&folder).unwrap();
    stage.reopen().await;
    is_green(&stage).await;
}

/// The terminal UI, in a home into which a person has installed the package, and what is on it when
/// a helper was launched.
async fn screen(registry: &Registry, wanted: &str) {
    let model = Model::start();
    let home = bare(&model, &registry.url(), &json!([]));
    let spec = format!("legwork@{VERSION}");
    let done = output(&mut home.opencode(&["plugin", &spec, "--global"]));
    assert!(done.status.success(), "{done:?}");
    let tui = home.tui_of(160, 50, &[]).await;
    tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
    let slow = call("background_task", &launch("Explore the code", &["gate one\nsay found it"]));
    tui.text(&script(&[&slow, "repeat 30 works"]));
    tui.keys(&["Enter"]);
    tui.until("the answer", |screen| screen.contains("worksworksworks")).await;
    let shown = tui.until(wanted, |screen| screen.contains(wanted)).await;
    assert!(!shown.contains("opencode crashed"), "{shown}");
}

#[tokio::test]
async fn i1_the_part_for_the_terminal_ui_comes_with_the_package() {
    let registry = Registry::start();
    Packages::of(VERSION).publish(&registry);
    screen(&registry, "● Explore the code").await;
}

#[tokio::test]
async fn i1_the_terminal_ui_works_without_the_program() {
    let registry = Registry::start();
    registry.publish(&Packages::of(VERSION).legwork());
    screen(&registry, "helpers: not available").await;
}

#[tokio::test]
async fn i1_a_registry_that_is_gone_harms_no_opencode() {
    let model = Model::start();
    let spec = format!("legwork@{VERSION}");
    let home = bare(&model, &nowhere(), &json!([spec]));
    let done = output(&mut home.opencode(&["plugin", &spec, "--global"]));
    assert!(!done.status.success(), "{done:?}");
    let stage = Stage::open(model, home).await;
    let parent = stage.parent().await;
    stage.turn(&parent, &["say hello"]).await;
    let offered = stage.asked(&parent).remove(0);
    assert!(!offered.tool_names().contains(&"background_task"), "{:?}", offered.tool_names());
    assert!(offered.tool_names().contains(&"bash"), "{:?}", offered.tool_names());
}

#[tokio::test]
async fn i1_two_versions_work_side_by_side_with_one_daemon() {
    let registry = Registry::start();
    for version in [OTHER, VERSION] {
        Packages::of(version).publish(&registry);
    }
    let model = Model::start();
    let home = bare(&model, &registry.url(), &json!([format!("legwork@{OTHER}")]));
    let first = Stage::open(model.clone(), home).await;
    is_green(&first).await;
    let daemon = daemon_of(&first.home, &program_of(&first.home, OTHER));

    let file = first.home.project().join("opencode.json");
    let settings = fs::read_to_string(&file).unwrap();
    let newer = settings.replace(&format!("legwork@{OTHER}"), &format!("legwork@{VERSION}"));
    fs::write(&file, newer).unwrap();
    let serve = first.home.serve().await;
    let client = serve.client();
    assert!(program_of(&first.home, OTHER).exists());
    assert!(program_of(&first.home, VERSION).exists());
    let session = client.create(json!({ "title": "newer" })).await;
    let measure = call("background_task", &launch("measure", &["say six files"]));
    client.say(&session, &script(&[&measure, "say ok"])).await;
    until("the notice of the newer one", async || {
        let messages = client.messages(&session).await.ok().to_string();
        messages.contains("[BACKGROUND TASK COMPLETED]").then_some(())
    })
    .await;
    is_green(&first).await;
    let now = daemon_of(&first.home, &program_of(&first.home, VERSION));
    assert_eq!(now, daemon, "one daemon for both");
}
