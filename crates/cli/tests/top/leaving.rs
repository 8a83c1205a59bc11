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
fn v4_keys_that_quit_leave_the_terminal_whole() {
    for key in ["q", "C-c"] {
        let home = Home::new();
        let terminal = begun(&home);
        terminal.keys(&[key]);
        terminal.until_left(0);
    }
}
