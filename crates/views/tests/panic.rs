//! A panic leaves the terminal whole too. The view itself has none to offer, so this program runs
//! itself once more on a terminal, takes that, and panics.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

use std::env;
use std::process::Command;
use std::thread;

use legwork_testkit::Terminal;
use legwork_testkit::legwork::eventually;
use legwork_views::terminal::takeover::Taken;

/// Says to the second run where to panic.
const WHERE: &str = "LEGWORK_TEST_PANICS_IN";

/// No test of its own: what the others run on a terminal.
#[test]
fn child() {
    let Ok(place) = env::var(WHERE) else { return };
    let taken = Taken::take().unwrap();
    match place.as_str() {
        "main" => panic!("on purpose"),
        "thread" => {
            let _ = thread::spawn(|| panic!("on purpose")).join();
            // Not reached: the program has ended with the thread.
            println!("went on");
        }
        _ => drop(taken),
    }
}

/// The screen after the program has panicked there.
fn after_a_panic(place: &str) -> String {
    let this = env::current_exe().unwrap();
    let script = format!(
        "echo before; was=$(stty -g); {WHERE}={place} RUST_BACKTRACE=0 {this:?} --exact child \
         --nocapture --test-threads 1; \
         [ \"$was\" = \"$(stty -g)\" ] && echo whole. || echo spoiled.; exec cat"
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]);
    let terminal = Terminal::run(shell, (100, 40));
    let screen = eventually("the program has ended", || {
        let screen = terminal.screen();
        (screen.contains("whole.") || screen.contains("spoiled.")).then_some(screen)
    });
    assert!(!terminal.is_alternate(), "the alternate screen is on: {screen}");
    assert!(terminal.shows_cursor(), "the cursor is hidden: {screen}");
    screen
}

#[test]
fn v4_a_panic_is_told_on_the_screen_that_was_there_before() {
    for place in ["main", "thread"] {
        let screen = after_a_panic(place);
        assert!(screen.starts_with("before\n") && screen.contains("whole."), "{screen}");
        assert!(screen.contains("on purpose"), "the panic can be read: {screen}");
        assert!(!screen.contains("went on"), "{screen}");
    }
}

#[test]
fn v4_an_end_in_good_order_leaves_the_terminal_whole() {
    let screen = after_a_panic("nowhere");
    assert!(screen.starts_with("before\n") && screen.contains("whole."), "{screen}");
}
