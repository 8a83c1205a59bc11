//! Keys from the terminal, without Enter. Stdin may be a prompt, so the terminal itself is read.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};

use super::Event;

/// How soon a reader notices that nobody wants keys any more.
const GLANCE: Duration = Duration::from_millis(50);
/// A paste of more comes in several pieces.
const PIECE_MAX_BYTES: usize = 4096;

/// A terminal that gives keys as they are pressed. It is as before when this value is dropped.
#[derive(Debug)]
pub struct Keys {
    terminal: File,
    before: Termios,
    is_over: Arc<AtomicBool>,
}

impl Keys {
    /// Tells of keys from now on. Nothing if there is no terminal, or somebody else has it: a
    /// process in the background that touched it would be stopped.
    pub fn open(tell: Sender<Event>) -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        if tcgetpgrp(&terminal).ok()? != getpgrp() {
            return None;
        }
        let reading = terminal.try_clone().ok()?;
        let before = tcgetattr(&terminal).ok()?;
        let mut now = before.clone();
        // Ctrl-C stays a signal.
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Flush, &now).ok()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        thread::spawn(move || read(reading, &tell, &over));
        Some(Self { terminal, before, is_over })
    }

    /// Forgets what was typed before now: nobody can have meant it for what is asked next.
    pub fn forget_typed(&self) {
        let _ = tcflush(&self.terminal, QueueSelector::IFlush);
    }
}

/// Reads what is typed, piece by piece.
fn read(mut terminal: File, tell: &Sender<Event>, is_over: &AtomicBool) {
    let glance = Timespec { tv_sec: 0, tv_nsec: GLANCE.as_nanos() as i64 };
    let mut piece = [0; PIECE_MAX_BYTES];
    while !is_over.load(Ordering::Relaxed) {
        let mut readable = [PollFd::new(&terminal, PollFlags::IN)];
        match poll(&mut readable, Some(&glance)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) if is_over.load(Ordering::Relaxed) => return,
            Ok(_) | Err(_) => {}
        }
        let count = terminal.read(&mut piece).unwrap_or(0);
        let typed = (count > 0).then(|| piece[..count].to_vec());
        let is_gone = typed.is_none();
        if tell.send(Event::Typed(typed)).is_err() || is_gone {
            return;
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Flush: an arrow key is several bytes, and the shell should not get the rest.
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
