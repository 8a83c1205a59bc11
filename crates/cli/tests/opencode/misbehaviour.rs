//! A part for the terminal UI draws in the thread of the terminal UI. Whatever it starts and reads
//! there, a person can go on: type, and get an answer. Each program here takes the place of
//! `legwork bridge board` only; everything else is the real thing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use legwork_testkit::{Home, Model, block_on, call};
use serde_json::json;

use crate::helpers::Screen;
use crate::stage::{LEGWORK, cast, furnish_whole, launch, until};

const AWAY: &str = "helpers: not available";

/// A program that does this when it is to stream the board, and is legwork otherwise.
pub fn in_place_of_the_stream(home: &Home, shell: &str) -> PathBuf {
    let program = home.root().join("legwork-program");
    let script = format!(
        "#!/bin/sh\nLEGWORK='{LEGWORK}'\nunset LEGWORK_BIN\n\
         if [ \"$1 $2\" = 'bridge board' ]; then\n{shell}\nexit 1\nfi\nexec \"$LEGWORK\" \"$@\"\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    home.set_env("LEGWORK_BIN", &program.to_string_lossy());
    program
}

/// Opens a terminal UI with such a program, and types; twice, because much goes wrong later.
async fn stays_usable(shell: &str, wanted: &str) {
    stays_usable_with(shell, wanted, false).await;
}

/// The same, and the program does not end by itself: it is ended, and started again later.
async fn is_cut_off(shell: &str, wanted: &str) {
    stays_usable_with(shell, wanted, true).await;
}

async fn stays_usable_with(shell: &str, wanted: &str, is_ended: bool) {
    let model = Model::start();
    let home = furnish_whole(&model, cast());
    let begun = home.root().join("begun");
    let shell = format!("echo >> '{}'\n{shell}", begun.display());
    in_place_of_the_stream(&home, &shell);
    let screen = Screen::open(&home, 130, 45).await;
    until("it is started", async || begun.exists().then_some(())).await;
    screen.works().await;
    let slow = call("background_task", &launch("Explore the code", &["gate one\nsay found it"]));
    screen.say(&[&slow, "say I asked one"]);
    screen.shows("I asked one").await;
    screen.shows(wanted).await;
    model.open("one");
    screen.shows("[BACKGROUND TASK COMPLETED]").await;
    screen.say(&["repeat 30 still"]);
    let shown = screen.shows("stillstillstill").await;
    assert!(!shown.contains("opencode crashed") && !shown.contains("Loading plugins"), "{shown}");
    if is_ended {
        let starts = || fs::read(&begun).unwrap_or_default().len();
        until("it is started again", async || (starts() > 1).then_some(())).await;
    }
}

#[test]
fn v5_without_a_program_the_terminal_ui_works_and_says_so() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let program = home.root().join("no-program");
        home.set_env("LEGWORK_BIN", &program.to_string_lossy());
        for what in ["missing", "not executable"] {
            if what == "not executable" {
                fs::write(&program, "#!/bin/sh\n").unwrap();
            }
            let screen = Screen::open(&home, 100, 40).await;
            screen.shows(AWAY).await;
            screen.works().await;
        }
    });
}

#[test]
fn v5_a_program_that_says_nothing_at_all_is_not_waited_for() {
    block_on(stays_usable("exec sleep 600", AWAY));
}

#[test]
fn v5_rubbish_is_not_read() {
    block_on(stays_usable(
        "head -c 200000 /dev/urandom; printf '\\n[]\\n1\\n\"x\"\\nnull\\n{'",
        AWAY,
    ));
}

#[test]
fn v5_endless_lines_are_cut_off() {
    block_on(is_cut_off("exec yes '{\"whole\":true}'", AWAY));
}

#[test]
fn v5_a_line_without_an_end_is_cut_off() {
    block_on(is_cut_off("head -c 200000000 /dev/zero | tr '\\0' x; sleep 600", AWAY));
}

/// Every field is there, and none is what it should be.
#[test]
fn v5_values_of_wrong_types_are_left_out() {
    let pages = [
        json!({ "whole": true, "tasks": 7 }),
        json!({ "whole": "yes", "tasks": [1, null, "x", [], {}], "gone": "all", "now": "soon" }),
        json!({ "whole": true, "now": -1e300, "tasks": [{
            "id": "bg_1", "status": "running", "seq": "1", "description": ["d"], "agent": 5,
            "parent": {}, "session": [], "place": 1, "stage": null, "questions": [null, 3,
                { "id": 5 }, { "id": "q", "options": 9, "subject": {}, "kind": [] }],
            "last_tools": "bash", "doing": {}, "started": "now", "ended": [], "reason": 0,
        }, { "id": "bg_2", "status": "running" }, { "id": "bg_3", "status": "odd" },
           { "id": "../../x", "status": "running" }, { "id": 4, "status": "running" }] }),
        json!({ "trouble": { "not": "a text" } }),
        json!({ "trouble": "x".repeat(100_000) }),
    ];
    let lines: Vec<String> = pages.iter().map(|page| format!("printf '%s\\n' '{page}'")).collect();
    block_on(stays_usable(&format!("{}\nexec sleep 600", lines.join("\n")), "I asked one"));
}

/// The real stream, with the fields of tasks taken out or made something else on the way.
#[test]
fn v5_pages_with_missing_fields_are_drawn_as_far_as_they_go() {
    let broken = "\"$LEGWORK\" bridge board | sed -u -e 's/\"started\":/\"begun\":/g' \
        -e 's/\"questions\":\\[\\]/\"questions\":null/g' -e 's/\"agent\":\"general\"/\"agent\":null/g' \
        -e 's/\"last_tools\":/\"tools\":/g' -e 's/\"seq\":/\"number\":/g' -e 's/\"now\":/\"then\":/g'";
    block_on(stays_usable(broken, "● Explore the code"));
}

/// What a model wrote reaches the screen as words or not at all.
#[test]
fn v5_hostile_texts_neither_steer_the_screen_nor_turn_it_around() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let hostile = "Ev\\u200bil \\u001b[31m\\u001b]0;owned\\u0007\\u202e\\u009b2J\\ud800\\nTwo";
        let hostile = format!("{hostile} {}", "long ".repeat(5_000));
        let swap = format!("s/\"description\":\"Explore[^\"]*\"/\"description\":\"{hostile}\"/g");
        // A sign of sed's is one backslash; JSON has its own.
        let swap = swap.replace('\\', "\\\\");
        let file = home.root().join("swap.sed");
        fs::write(&file, swap).unwrap();
        let shell = format!("\"$LEGWORK\" bridge board | sed -u -f '{}'", file.display());
        in_place_of_the_stream(&home, &shell);
        let screen = Screen::open(&home, 160, 50).await;
        let slow = call("background_task", &launch("Explore", &["gate one\nsay found it"]));
        screen.say(&[&slow, "say I asked one"]);
        let shown = screen.shows("● Evil � Two long").await;
        for bad in ["[31m", "owned", "2J", "\u{202e}", "\u{200b}"] {
            assert!(!shown.contains(bad), "{bad:?}: {shown}");
        }
        screen.list().await;
        let list = screen.shows_all(&["ctrl+k call off", "● Evil � Two long"]).await;
        assert!(!list.contains("[31m") && !list.contains('\u{202e}'), "{list}");
        screen.tui.keys(&["Escape"]);
        screen.tui.until("closed", |shown| !shown.contains("ctrl+k call off")).await;
        model.open("one");
        screen.works().await;
    });
}

/// Also V8.
#[test]
fn v5_a_daemon_that_cannot_be_started_leaves_the_terminal_ui_as_it_is() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let program = home.root().join("legwork-without-a-daemon");
        let script = format!("#!/bin/sh\n[ \"$1\" = daemon ] && exit 1\nexec '{LEGWORK}' \"$@\"\n");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        home.set_env("LEGWORK_BIN", &program.to_string_lossy());
        let screen = Screen::open(&home, 100, 40).await;
        screen.shows(AWAY).await;
        screen.tui.keys(&["C-x", "w"]);
        screen.shows("Helpers: not available").await;
        screen.tui.keys(&["Escape"]);
        screen.tui.until("closed", |shown| !shown.contains("ctrl+k call off")).await;
        screen.works().await;
    });
}
