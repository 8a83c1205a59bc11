//! The terminal while it is drawn on. Whatever ends the view (a key, a signal, a panic), the screen
//! that was there before comes back, the cursor with it, and the terminal's settings.

use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// Whether the terminal is not as we found it.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal; it is given back with this value.
#[derive(Debug)]
pub struct Taken {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Taken {
    pub fn take() -> io::Result<Self> {
        give_back_on_panic();
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken = Self { terminal: Terminal::new(CrosstermBackend::new(io::stdout()))? };
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, once. If it is gone, there is nobody to be told.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// A panic is told on the screen that was there before, where it can be read. One in a thread ends
/// the program: a view of which a part is dead would show what is not so.
fn give_back_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        let main = thread::current().id();
        panic::set_hook(Box::new(move |about| {
            let was_taken = IS_TAKEN.load(Ordering::SeqCst);
            give_back();
            before(about);
            if was_taken && thread::current().id() != main {
                std::process::exit(PANICKED);
            }
        }));
    });
}

/// How Rust's own runtime ends a program whose main thread panicked.
const PANICKED: i32 = 101;
