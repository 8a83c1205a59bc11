//! For everybody: axe-core finds nothing in any state, all of it works by keyboard, and motion
//! stops for who wants none.

use legwork_testkit::Page;
use legwork_testkit::legwork::eventually;
use serde_json::json;

use crate::look::{choose, reads, row, seen, unseen};
use crate::stage::Stage;

/// What is shown now, light and dark.
#[track_caller]
fn is_accessible(page: &Page, state: &str) {
    for dark in [false, true] {
        page.dark(dark);
        page.wait_for(&format!("matchMedia('(prefers-color-scheme: dark)').matches === {dark}"));
        // What has just changed may not have its colours yet.
        eventually(&format!("nothing is found: {state}, dark: {dark}"), || {
            let found = page.violations();
            if !found.is_empty() {
                eprintln!("{state}, dark: {dark}: {found:#?}");
            }
            found.is_empty().then_some(())
        });
    }
}

#[test]
fn v9_axe_finds_nothing_in_a_task_that_asks_and_its_dialogs() {
    let stage = Stage::new();
    stage.launch("say a paragraph\nthink about it\ntool read src/main.rs\ntool bash fails\nask to run the tests");
    let page = stage.open();
    page.resize(1280, 800);
    page.wait_for(&seen(".ask-card"));
    page.wait_for(&reads("#pane-conversation", "a paragraph"));
    is_accessible(&page, "a question and its conversation");
    page.click(".tools summary");
    page.wait_for(&seen(".tools .inside"));
    is_accessible(&page, "an open tool call");
    page.key("2");
    page.wait_for(&reads("#pane-result", "no result yet"));
    is_accessible(&page, "no result yet");
    page.key("3");
    page.wait_for(&reads("#pane-why", "waits for you"));
    is_accessible(&page, "why it is not done");
    for (key, dialog) in [("?", "#keys"), ("x", "#ask"), ("w", "#ask")] {
        eventually("the key counts", || {
            page.key(key);
            (page.eval(&seen(dialog)) == true).then_some(())
        });
        is_accessible(&page, &format!("the dialog of {key}"));
        page.key("Escape");
        page.wait_for(&unseen(dialog));
    }
    page.resize(390, 844);
    page.wait_for(&unseen("#detail"));
    is_accessible(&page, "a narrow list");
    page.click(".row");
    page.wait_for(&seen(".ask-card"));
    is_accessible(&page, "a narrow task");
}

#[test]
fn v9_axe_finds_nothing_in_finished_tasks_and_the_timeline() {
    let stage = Stage::with("[limits]\nmax_running = 2\n");
    let done = stage.launch(
        "say # Done\nsay ### Too deep\nsay - one\nsay 1. two\nsay > quote\nsay `code` and **bold** \
         and [a link](https://example.com)",
    );
    let failed = stage.launch("fail the provider refused");
    for over in [&done, &failed] {
        stage.until(over, "it is over", |task| !task["ended"].is_null());
    }
    for script in ["wait 10m", "tool read\nwait 10m", "say queued", "say queued too"] {
        stage.launch(script);
    }
    let page = stage.open();
    page.resize(1280, 800);
    choose(&page, &done);
    page.wait_for(&seen("#pane-result h3"));
    is_accessible(&page, "a result");
    choose(&page, &failed);
    page.wait_for(&reads("#pane-why", "the provider refused"));
    is_accessible(&page, "what happened");
    page.key("g");
    page.wait_for(&unseen("#detail"));
    is_accessible(&page, "the timeline");
    page.key("/");
    page.type_text("no such task");
    page.wait_for(&reads("#more", "No task has"));
    is_accessible(&page, "nothing found");
}

#[test]
fn v9_axe_finds_nothing_when_there_is_nothing_or_the_door_is_closed() {
    let mut stage = Stage::new();
    let page = stage.open();
    page.resize(1280, 800);
    page.wait_for(&seen("#empty"));
    is_accessible(&page, "no tasks");
    let closed = stage.context.open(&format!("{}/#code=used-up", stage.origin()));
    // This browser has a token; another one has not.
    closed.eval("localStorage.clear(); location.reload(); null");
    closed.wait_for(&reads("main", "Run legwork ui again"));
    is_accessible(&closed, "closed");
    let task = stage.launch("say still here");
    page.wait_for(&seen(&row(&task)));
    stage.kill_front();
    page.wait_for(&reads("#trouble", "Last updated at"));
    page.wait_for(&seen(&row(&task)));
    is_accessible(&page, "the front is gone");
}

#[test]
fn v9_all_of_it_works_by_keyboard() {
    let stage = Stage::new();
    let first = stage.launch("say the first result");
    stage.until(&first, "it is over", |task| !task["ended"].is_null());
    let second = stage.launch("ask to go on\nsay went on");
    stage.until(&second, "it asks", |task| task["questions"] != json!([]));
    let page = stage.open();
    page.resize(1280, 800);
    page.wait_for(&reads("#task-id", &second));
    // Down and up the list, with the focus and the selection together.
    page.key("j");
    page.wait_for(&format!("document.activeElement.matches({})", json!(row(&first))));
    page.wait_for(&reads("#task-id", &first));
    page.key("ArrowUp");
    page.wait_for(&reads("#task-id", &second));
    // Into the task and back.
    page.key("Enter");
    page.wait_for("document.activeElement.id === 'title'");
    page.key("Escape");
    page.wait_for(&format!("document.activeElement.matches({})", json!(row(&second))));
    // Tab reaches the buttons of the question, and Enter presses them.
    page.key("Enter");
    let mut pressed = false;
    for _ in 0..8 {
        page.key("Tab");
        if page.eval("document.activeElement.innerText.startsWith('Allow once')") == true {
            page.key("Enter");
            pressed = true;
            break;
        }
    }
    assert!(pressed, "Tab does not reach the answer");
    page.wait_for(&unseen(".ask-card"));
    page.wait_for(&reads("#state", "Completed"));
    // The focus is not lost with the card.
    page.wait_for("document.activeElement !== document.body");
    // The arrow keys walk along the tabs.
    page.eval(
        "document.querySelector('#tab-conversation').click(); \
               document.querySelector('#tab-conversation').focus(); null",
    );
    for name in ["tab-result", "tab-why", "tab-conversation"] {
        page.key("ArrowRight");
        page.wait_for(&format!("document.activeElement.id === '{name}'"));
        assert_eq!(page.eval(&format!("document.querySelector('#{name}').ariaSelected")), "true");
    }
    page.key("2");
    page.wait_for(&reads("#pane-result", "went on"));
    page.key("?");
    page.wait_for(&seen("#keys"));
    for key in
        ["j", "k", "Enter", "Esc", "1", "2", "3", "o", "w", "r", "e", "x", "c", "g", "f", "/", "?"]
    {
        let there = format!(
            "[...document.querySelectorAll('#keys kbd')].some((it) => it.innerText === '{key}')"
        );
        assert_eq!(page.eval(&there), true, "{key} is not told");
    }
    page.key("Escape");
    page.wait_for(&unseen("#keys"));
    page.key("/");
    page.type_text("first");
    page.wait_for("document.querySelectorAll('.row').length === 1");
    page.key("Escape");
    page.wait_for("document.activeElement.id !== 'find'");
}

#[test]
fn v9_landmarks_names_and_live_regions_are_there() {
    let stage = Stage::new();
    stage.launch("ask to be heard");
    let page = stage.open();
    page.wait_for(&seen(".ask-card"));
    for part in
        ["header", "main", "nav[aria-label]", "article[aria-labelledby]", "[role=tablist]", "h1"]
    {
        assert_eq!(page.eval(&format!("document.querySelectorAll('{part}').length")), 1, "{part}");
    }
    // Buttons are buttons and rows are links: nothing else is clicked.
    let odd = page
        .eval("document.querySelectorAll('[onclick], div[tabindex=\"0\"][role=button]').length");
    assert_eq!(odd, 0);
    assert_eq!(page.eval("document.querySelector('#live').role"), "status");
    // A new question is read aloud.
    stage.launch("ask again");
    page.wait_for(&reads("#news", "asks you"));
    assert_eq!(page.eval("document.querySelector('#news').role"), "status");
}

#[test]
fn v9_who_wants_no_motion_sees_none() {
    let stage = Stage::new();
    stage.launch("wait 10m");
    let page = stage.open();
    page.wait_for(&seen(".row .spin"));
    let moves = "document.getAnimations().length > 0";
    page.wait_for(moves);
    page.prefer(&[("prefers-reduced-motion", "reduce")]);
    page.wait_for(&format!("!({moves})"));
}
