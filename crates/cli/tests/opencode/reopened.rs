//! A conversation that is opened again while a helper goes on without a window.

use legwork_testkit::{Home, Model, Request, block_on};

use crate::headless::{until_asked_again, until_headless};
use crate::helpers::{Screen, helper};
use crate::processes::until_ended;
use crate::stage::{cast, furnish_whole, until};

/// A helper works behind the gate `work` in an OpenCode without a window, and its conversation is
/// open again.
async fn reopened<'a>(home: &'a Home, model: &Model) -> Screen<'a> {
    let screen = Screen::open(home, 160, 50).await;
    let steps = ["say so far\ngate work\nrepeat 30 found"];
    screen.say(&[&helper("general", "Explore the code", &steps), "repeat 30 asked"]);
    // Its turn is over: one that is cut off would go on with the notice, and say this then.
    screen.shows("askedaskedasked").await;
    screen.shows_line("at work", &["● Explore the code", "s"]).await;
    let session = until("its session", async || {
        let session = screen.task()["session"].as_str().map(str::to_owned);
        let asked = |one: &Request| one.session == session;
        session.clone().filter(|_| model.look(|all| all.iter().any(asked)))
    })
    .await;
    let window = screen.tui.pid().unwrap();
    screen.tui.hang_up();
    until_ended(window).await;
    until_headless(home).await;
    until_asked_again(model, &session).await;
    let screen = Screen::reopen(home, 160, 50).await;
    screen.shows("askedaskedasked").await;
    screen
}

/// Also N8: its screen shows what goes on, so that no toast does.
#[test]
fn n4_what_ends_while_a_reopened_window_shows_its_conversation_wakes_it() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = reopened(&home, &model).await;
        let log = home.root().join("legwork/daemon.log");
        until("it counts as used in the new window", async || {
            let log = std::fs::read_to_string(&log).unwrap();
            (log.matches(" is notified through ").count() == 2).then_some(())
        })
        .await;
        let shown = screen.shows_line("at work", &["● Explore the code", "s"]).await;
        assert!(!shown.contains("background task running"), "{shown}");
        model.open("work");
        screen.shows("[BACKGROUND TASK COMPLETED]").await;
        screen.shows("noted").await;
        screen.works().await;
    });
}

#[test]
fn v5_a_helper_that_goes_on_elsewhere_is_seen_to_do_so_in_a_reopened_window() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let screen = reopened(&home, &model).await;
        screen.shows_line("at work", &["● Explore the code", "s"]).await;
        screen.list().await;
        screen.tui.keys(&["Enter"]);
        screen.shows("Subagent (1 of 1)").await;
        // Its session has been read by then: what comes later is in no event of this process.
        screen.shows("gate work").await;
        model.open("work");
        screen.shows("foundfoundfound").await;
    });
}
