//! What a launch looks like to everybody: one line on the screen, the whole prompt for the helper,
//! and for the model its own call, as it wrote it.

use legwork_testkit::{Model, Request, Tui, block_on, call, output, script};
use serde_json::{Value, json};

use crate::stage::{Stage, Task, cast, furnish, furnish_whole, launch};

/// The arguments of its calls of this tool that a model was sent, as they were sent.
fn own_calls(request: &Request, tool: &str) -> Vec<String> {
    let messages = request.raw["messages"].as_array().unwrap().iter();
    let calls = messages.filter_map(|message| message["tool_calls"].as_array()).flatten();
    let of_tool = calls.filter(|call| call["function"]["name"] == tool);
    of_tool.map(|call| call["function"]["arguments"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn v5_a_model_reads_its_launches_byte_for_byte_as_it_wrote_them() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let odd = "  two\n\n  lines \"quoted\" \\ back\tslash, ünïcödé 🧭, [\"an array\"]  ";
        let mut given = launch("Odd bytes", &["say read it"]);
        given["prompt"] = json!(format!("{}\n\n{odd}", script(&["say read it"])));
        let answer = stage.call(&parent, "background_task", given.clone()).await;
        assert!(!answer.refused(), "{answer:?}");
        let task = stage.task(&answer.text).await;
        stage.until_settled(&task).await;
        // The helper has all of it.
        let prompt = given["prompt"].as_str().unwrap();
        stage.until_asked(&task.session, prompt).await;
        // What is stored has nothing that a line for a call would show, and names the task.
        assert_eq!(answer.input["prompt"], json!([prompt]));
        assert_eq!(answer.metadata["task"], json!(task.id));
        // One that is refused, and one that goes on.
        let mut unknown = given.clone();
        unknown["agent"] = json!("nobody");
        let refused = stage.call(&parent, "background_task", unknown.clone()).await;
        assert!(refused.refused(), "{refused:?}");
        let again = json!({ "prompt": script(&["say again"]), "resume": task.id });
        let resumed = stage.call(&parent, "background_task", again.clone()).await;
        assert!(!resumed.refused(), "{resumed:?}");
        assert_eq!(resumed.metadata["task"], json!(task.id));
        stage.turn(&parent, &["say over"]).await;
        let last = stage.asked(&parent).pop().unwrap();
        let wrote: Vec<String> = [&given, &unknown, &again].map(Value::to_string).to_vec();
        assert_eq!(own_calls(&last, "background_task"), wrote);
    });
}

/// A model whose history has arrays in it may write one itself.
#[test]
fn v5_a_prompt_that_a_model_gives_in_an_array_is_taken() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let mut given = launch("In pieces", &["say whole"]);
        let whole = given["prompt"].as_str().unwrap().to_owned();
        let (first, second) = whole.split_at(10);
        given["prompt"] = json!([first, second]);
        let answer = stage.call(&parent, "background_task", given).await;
        assert!(!answer.refused(), "{answer:?}");
        let task = stage.task(&answer.text).await;
        stage.until_asked(&task.session, &whole).await;
        stage.until_settled(&task).await;
        // What is no text at all is refused as ever.
        let mut odd = launch("Odd", &["say whole"]);
        odd["prompt"] = json!([{ "text": "no" }]);
        let refused = stage.call(&parent, "background_task", odd).await;
        assert!(refused.refused() && refused.text.contains("prompt"), "{refused:?}");
    });
}

/// Says it so that the screen has the marker only if it shows the arguments of the call: in the
/// script that a person pastes it is written with an escape.
fn flooding() -> String {
    let long = "MARKER and so on, ".repeat(30);
    let prompt = format!("{}\n\n{long}", script(&["gate flood\nsay done"]));
    let launch = json!({ "description": "Look around", "agent": "general", "prompt": prompt });
    call("background_task", &launch).replace("MARKER", "\\u004dARKER")
}

/// Launches a helper and sees it through. Gives the line that the screen has for the launch.
async fn launched<'a>(tui: &Tui<'a>, model: &Model, line: &str) -> String {
    tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
    tui.text(&script(&[&flooding(), "say I asked a helper"]));
    tui.keys(&["Enter"]);
    let never = |screen: &str| {
        assert!(!screen.contains("MARKER"), "{screen}");
        screen.contains(line) && screen.contains("I asked a helper")
    };
    let screen = tui.until("the launch", never).await;
    let at = screen.lines().position(|shown| shown.contains(line)).unwrap();
    let below: Vec<&str> = screen.lines().skip(at + 1).take(2).map(str::trim).collect();
    assert!(below.iter().any(|line| line.is_empty()), "at most two lines: {screen}");
    model.open("flood");
    tui.until("the notice", |screen| {
        assert!(!screen.contains("MARKER"), "{screen}");
        screen.contains("[BACKGROUND TASK COMPLETED]")
    })
    .await;
    screen.lines().nth(at).unwrap().to_owned()
}

#[test]
fn v5_a_launch_is_one_line_without_the_part_for_the_terminal_ui() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, cast(), "");
        let tui = home.tui_of(100, 60, &[]).await;
        let line = launched(&tui, &model, "⚙ background_task [").await;
        for shown in ["agent=general", "description=Look around"] {
            assert!(line.contains(shown), "{line}");
        }
    });
}

#[test]
fn v5_a_launch_is_drawn_as_a_subagent_with_the_part_for_the_terminal_ui() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let tui = home.tui_of(100, 60, &[]).await;
        launched(&tui, &model, "General Task (background) — Look around").await;
        tui.until("its end", |screen| screen.contains("✓ General Task (background)")).await;
        // Nothing of that is stored: the tool is ours, and its input is what the model gave.
        let task = Task::of(&stored_output(&home));
        assert!(task.id.starts_with("bg_"));
    });
}

/// What the tool said, by OpenCode's own records.
fn stored_output(home: &legwork_testkit::Home) -> String {
    let listed = output(&mut home.opencode(&["session", "list", "--format", "json"]));
    let sessions: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let root = sessions.as_array().unwrap().iter().find(|one| one["parentID"].is_null()).unwrap();
    let exported = output(&mut home.opencode(&["export", root["id"].as_str().unwrap()]));
    let session: Value = serde_json::from_slice(&exported.stdout).unwrap();
    let calls = legwork_testkit::Call::all(session["messages"].as_array().unwrap());
    let call = calls.iter().find(|call| call.tool == "background_task").unwrap();
    assert!(call.input["prompt"].is_array(), "{call:?}");
    call.text.clone()
}
