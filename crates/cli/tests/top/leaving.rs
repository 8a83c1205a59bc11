//! However it ends, the terminal is as it was before.

use legwork_testkit::legwork::{Home, Shell};
use rustix::process::Signal;

const SIZE: (u16, u16) = (100, 24);

fn begun(home: &Home) -> Shell {
    home.launch("Goes on and on", "tool read for 600s");
    let terminal = Shell::run(home, SIZE, "legwork top");
    terminal.until_has("▌● Goes on and on");
    assert!(terminal.is_alternate());
    terminal
}

#[test]
fn v4_a_signal_leaves_the_terminal_whole() {
    let signals = [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 143)];
    for (signal, code) in signals {
        let home = Home::new();
        let terminal = begun(&home);
        terminal.signal(signal);
        terminal.until_left(code);
    }
}

#[test]
fn p8_what_is_removed_while_a_view_is_open_stays_removed() {
    let home = Home::new();
    let terminal = Shell::run(&home, SIZE, "legwork top");
    terminal.until_has("Nobody is out on an errand.");
    let removed = home.run(["uninstall", "opencode", "--purge", "--yes"]).with_code(0);
    assert!(removed.out.contains("All of it is removed."), "{removed:?}");
    terminal.until_has("legwork was removed from here");
    assert!(!home.path("legwork").exists(), "the view has begun anew");
    terminal.keys(&["q"]);
    terminal.until_left(0);
    home.run(["list"]).with_code(0);
    assert!(home.path("legwork").exists(), "a command begins anew");
}

#[test]
fn v4_keys_that_quit_leave_the_terminal_whole() {
    for key in ["q", "C-c"] {
        let home = Home::new();
        let terminal = begun(&home);
        terminal.keys(&[key]);
        terminal.until_left(0);
    }
}
