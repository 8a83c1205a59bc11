//! One key from the terminal, without Enter. Stdin may be a prompt, so the terminal itself is read.

use std::fs::File;
use std::io::Read;
use std::sync::mpsc::Sender;
use std::thread;

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

use super::Event;

/// A terminal that gives keys as they are pressed. It is as before when this value is dropped.
#[derive(Debug)]
pub struct Keys {
    terminal: File,
    before: Termios,
}

impl Keys {
    /// Tells of the next key. Nothing if there is no terminal, or somebody else has it: a process
    /// in the background that touched it would be stopped.
    pub fn ask(tell: Sender<Event>) -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        if tcgetpgrp(&terminal).ok()? != getpgrp() {
            return None;
        }
        let mut reading = terminal.try_clone().ok()?;
        let before = tcgetattr(&terminal).ok()?;
        let mut now = before.clone();
        // Ctrl-C stays a signal.
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Flush, &now).ok()?;
        thread::spawn(move || {
            let mut key = [0];
            let pressed = reading.read(&mut key).ok().filter(|count| *count > 0);
            let _ = tell.send(Event::Key(pressed.map(|_| key[0])));
        });
        Some(Self { terminal, before })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // Flush: an arrow key is several bytes, and the shell should not get the rest.
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
