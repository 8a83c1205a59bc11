//! A panic leaves the terminal whole too. The view itself has none to offer, so this program runs
//! itself once more on a terminal, takes that, and panics.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

use std::env;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use legwork_top::terminal::Taken;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(180);
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

struct Tmux(TempDir);

impl Tmux {
    fn run(&self, args: &[&str]) -> Output {
        let socket = self.0.path().join("tmux");
        let mut tmux = Command::new("tmux");
        tmux.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env_remove("TMUX");
        tmux.args(["-u", "-f", "/dev/null", "-S", socket.to_str().unwrap()]).args(args);
        tmux.output().unwrap()
    }

    fn says(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.run(args).stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// The screen after the program has panicked there.
fn after_a_panic(place: &str) -> String {
    let tmux = Tmux(tempfile::tempdir().unwrap());
    let this = env::current_exe().unwrap();
    let script = format!(
        "echo before; was=$(stty -g); {WHERE}={place} RUST_BACKTRACE=0 {this:?} --exact child \
         --nocapture --test-threads 1; \
         [ \"$was\" = \"$(stty -g)\" ] && echo whole. || echo spoiled.; exec cat"
    );
    let new = ["new-session", "-d", "-x", "100", "-y", "40", "--", "sh", "-c", &script];
    assert!(tmux.run(&new).status.success());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let screen = tmux.says(&["capture-pane", "-p"]);
        if screen.contains("whole.") || screen.contains("spoiled.") {
            let state = tmux.says(&["display-message", "-p", "#{alternate_on}#{cursor_flag}"]);
            assert_eq!(state.trim(), "01", "the alternate screen is on, or the cursor is hidden");
            return screen;
        }
        assert!(Instant::now() < deadline, "{screen}");
        // Else looking takes the processor from what is waited for.
        thread::sleep(Duration::from_millis(5));
    }
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
