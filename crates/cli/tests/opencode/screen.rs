//! The terminal UI, on a real terminal: what a person sees of helpers, and that nothing is printed
//! over it.

use legwork_testkit::{Home, Model, Tui, block_on, call, script};
use serde_json::json;

use crate::processes::{bridge, bridges, daemon_of, until_ended};
use crate::stage::{furnish, launch, until};

async fn open<'a>(home: &'a Home, args: &[&str]) -> Tui<'a> {
    let tui = home.tui(args).await;
    tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
    tui
}

/// A person's turn: pastes a script for the model and sends it.
fn say(tui: &Tui<'_>, steps: &[&str]) {
    tui.text(&script(steps));
    tui.keys(&["Enter"]);
}

/// Also N4: the notice and its turn are on the screen; and a closed window leaves nothing behind.
#[test]
fn n8_a_terminal_ui_shows_progress_outcome_and_notice_and_stays_clean() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        home.set_env("LEGWORK_LINGER_MS", "200");
        let tui = open(&home, &[]).await;
        let helper = ["gate look\nrepeat 24 found"];
        let begin = call("background_task", &launch("Explore the code", &helper));
        say(&tui, &[&begin, "repeat 24 asked"]);
        tui.until("progress", |screen| {
            screen.contains("1 background task running") && screen.contains("Explore the code")
        })
        .await;
        // Not in the script, which is on the screen as well.
        tui.until("the parent's answer", |screen| screen.contains("askedasked")).await;
        model.open("look");
        tui.until("the outcome", |screen| screen.contains("Completed: Explore the code")).await;
        tui.until("the notice and its turn", |screen| {
            screen.contains("[BACKGROUND TASK COMPLETED]") && screen.contains("noted")
        })
        .await;
        let quiet =
            |screen: &str| !screen.contains("Completed: Explore") && !screen.contains("interrupt");
        let before = tui.until("the toast goes", quiet).await;
        assert!(!before.contains("foundfound"), "the result is for the model: {before}");
        tui.redraw().await;
        tui.until("the same screen, drawn anew", |screen| screen == before).await;

        let pid = tui.pid().unwrap();
        let (front, daemon) = (bridge(pid).await, daemon_of(&home, 1).await);
        tui.keys(&["C-c"]);
        until_ended(pid).await;
        until_ended(front).await;
        until_ended(daemon).await;
    });
}

/// A free port below those that the system gives away by itself, so that it is still free when
/// OpenCode listens on it, seconds later.
fn unclaimed_port() -> u16 {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..).find(is_free).unwrap()
}

/// OpenCode loads its plugins twice in one process when the terminal UI has a port.
#[test]
fn k5_a_plugin_that_is_loaded_twice_is_one_bridge() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        let loads = home.root().join("loads");
        home.set_env("LOADS", &loads.to_string_lossy());
        home.add_plugin(
            "loads.js",
            "import { appendFileSync } from 'node:fs'\n\
             export const Loads = async () => (appendFileSync(process.env.LOADS, '.'), {})\n",
        );
        let tui = open(&home, &["--port", &unclaimed_port().to_string()]).await;
        say(&tui, &[&call("background_task", &launch("once", &["say one"])), "say asked"]);
        tui.until("the notice", |screen| screen.contains("[BACKGROUND TASK COMPLETED]")).await;
        until("the plugins are loaded twice", async || {
            (std::fs::read(&loads).unwrap_or_default().len() == 2).then_some(())
        })
        .await;
        daemon_of(&home, 1).await;
        assert_eq!(bridges(tui.pid().unwrap()).len(), 1);
    });
}

/// Also N8: what is wrong, and what to do about it, is shown in the terminal UI.
#[test]
fn g2_without_a_binary_the_terminal_ui_works_and_a_toast_says_what_to_do() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        home.set_env("LEGWORK_BIN", &home.root().join("missing").to_string_lossy());
        let tui = open(&home, &[]).await;
        say(&tui, &["gate toast\nrepeat 30 works"]);
        tui.until("the toast", |screen| {
            screen.contains("legwork is not available") && screen.contains("Restart OpenCode")
        })
        .await;
        model.open("toast");
        tui.until("the answer", |screen| screen.contains("worksworksworks")).await;
    });
}
