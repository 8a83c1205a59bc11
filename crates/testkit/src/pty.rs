//! A program on a terminal: a pseudo-terminal of the system, and a screen that is kept up to date
//! with what the program writes, so that a test can read it and type.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use pty_process::Size;
use pty_process::blocking::{self, Pty};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use vt100::{Cell, Color, Parser, Screen};

use crate::kit::DEADLINE;

/// Rows that are kept when they have left the screen at the top.
const HISTORY_ROWS: usize = 2_000;

/// What programs draw in place of what is no character. The parser drops it, though a terminal
/// shows it in a cell of its own.
const REPLACEMENT: char = '\u{fffd}';

/// What the parser keeps in that cell: a character for private use, as long in bytes and in cells.
const STAND_IN: char = '\u{e0fd}';

/// Lets Ctrl-C and the end of a terminal end the programs that are started from now on. Tests that
/// run in the background of a script, or under nohup, ignore these signals, and so would what they
/// start. A signal with a handler goes back to its default in a new program.
fn heed_signals_of_terminals() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    for signal in [Signal::INT, Signal::HUP, Signal::QUIT].map(Signal::as_raw) {
        if ignored & (1 << (signal - 1)) != 0 {
            let nobody = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal, nobody).expect("a signal can have a handler");
        }
    }
}

/// A program on a terminal of its own; it is killed with this value.
pub struct Terminal {
    pty: Arc<Pty>,
    parser: Arc<Mutex<Parser<Asked>>>,
    pid: u32,
    ended: Arc<AtomicBool>,
    /// Whether the program is left to itself when this value goes.
    hung_up: bool,
    /// The thread that reads ends when this is closed, and with it the terminal.
    _reading: UnixStream,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Terminal").field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl Terminal {
    /// Runs a command on a terminal with so many columns and rows.
    pub fn run(mut command: Command, size: (u16, u16)) -> Self {
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let (pty, pts) = blocking::open().expect("a pseudo-terminal");
        pty.resize(Size::new(size.1, size.0)).expect("a terminal has a size");
        rustix::io::ioctl_fionbio(&pty, true).expect("a terminal can be read without waiting");
        heed_signals_of_terminals();
        let command = blocking::Command::from(command);
        let mut child = command.spawn(pts).unwrap_or_else(|why| panic!("it does not start: {why}"));
        let (pid, pty, ended) = (child.id(), Arc::new(pty), Arc::new(AtomicBool::new(false)));
        let (rows, columns) = cells(size);
        let parser = Parser::new_with_callbacks(rows, columns, HISTORY_ROWS, Asked::default());
        let parser = Arc::new(Mutex::new(parser));
        let (reading, until) = UnixStream::pair().expect("a pair of sockets");
        let reader = Reader { pty: pty.clone(), parser: parser.clone(), until };
        thread::spawn(move || reader.read());
        let has_ended = ended.clone();
        thread::spawn(move || {
            let _ = child.wait();
            has_ended.store(true, Ordering::SeqCst);
        });
        Self { pty, parser, pid, ended, hung_up: false, _reading: reading }
    }

    fn parser(&self) -> MutexGuard<'_, Parser<Asked>> {
        self.parser.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is on the screen, one line a row, without spaces at the ends of rows.
    pub fn screen(&self) -> String {
        rows(self.parser().screen())
    }

    /// The screen, and before it the rows that have left it at the top.
    pub fn history(&self) -> String {
        let mut screen = self.parser().screen().clone();
        let mut text = String::new();
        for above in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(above);
            text.push_str(rows(&screen).split_inclusive('\n').next().unwrap_or_default());
        }
        screen.set_scrollback(0);
        text + &rows(&screen)
    }

    /// The screen with its colours as escape sequences, and with the spaces at the ends of rows.
    pub fn painted(&self) -> String {
        painted(self.parser().screen())
    }

    /// Whether the program has taken the alternate screen, which hides what was there before.
    pub fn is_alternate(&self) -> bool {
        self.parser().screen().alternate_screen()
    }

    pub fn shows_cursor(&self) -> bool {
        !self.parser().screen().hide_cursor()
    }

    /// Whether anything has given the terminal another name or title.
    pub fn was_renamed(&self) -> bool {
        self.parser().callbacks().renamed
    }

    /// Types keys by their names, `Enter`, `Escape`, `Up`, `C-c`, or as the character that they
    /// are.
    pub fn keys(&self, keys: &[&str]) {
        let application = self.parser().screen().application_cursor();
        for key in keys {
            self.send(&bytes_of(key, application));
        }
    }

    /// Pastes a text. Line breaks go as a part of it, not as so many Enters, if the program knows
    /// the difference.
    pub fn paste(&self, text: &str) {
        let text = text.replace('\n', "\r");
        let is_bracketed = self.parser().screen().bracketed_paste();
        let whole = if is_bracketed { format!("\x1b[200~{text}\x1b[201~") } else { text };
        self.send(whole.as_bytes());
    }

    /// Gives the screen another size.
    pub fn resize(&self, size: (u16, u16)) {
        self.set_size(size, b"");
    }

    /// Gives the screen another size. It is empty until the program draws for that size.
    pub fn resize_empty(&self, size: (u16, u16)) {
        self.set_size(size, b"\x1b[2J");
    }

    fn set_size(&self, size: (u16, u16), written: &[u8]) {
        let (rows, columns) = cells(size);
        // The screen first: what the program draws for the new size must find it.
        let mut parser = self.parser();
        parser.set_size(rows, columns);
        parser.process(written);
        drop(parser);
        self.pty.resize(Size::new(size.1, size.0)).expect("a terminal has a size");
    }

    /// The process id of the program; nothing when it has ended.
    pub fn pid(&self) -> Option<u32> {
        (!self.ended.load(Ordering::SeqCst)).then_some(self.pid)
    }

    /// Closes the terminal under the program, as who closes its window does.
    pub fn hang_up(mut self) {
        self.hung_up = true;
        // The system does the same when the terminal is closed, unless a process that a test has
        // just started holds it open for a moment.
        self.signal(Signal::HUP);
    }

    fn signal(&self, signal: Signal) {
        let pid = self.pid().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            // It may have ended by now.
            let _ = kill_process(pid, signal);
        }
    }

    fn send(&self, bytes: &[u8]) {
        send(&self.pty, bytes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.hung_up {
            self.signal(Signal::KILL);
        }
    }
}

/// Keeps the screen up to date, until the terminal is closed or nobody has it open any more.
struct Reader {
    pty: Arc<Pty>,
    parser: Arc<Mutex<Parser<Asked>>>,
    until: UnixStream,
}

impl Reader {
    fn read(self) {
        let mut bytes = vec![0; 64 * 1024];
        let mut cells = Vec::new();
        loop {
            let mut both =
                [PollFd::new(&*self.pty, PollFlags::IN), PollFd::new(&self.until, PollFlags::IN)];
            match poll(&mut both, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) if !both[1].revents().is_empty() => return,
                Ok(_) => {}
            }
            let read = match (&*self.pty).read(&mut bytes) {
                Ok(read) if read > 0 => read,
                Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => continue,
                // No process has it open any more.
                _ => return,
            };
            cells.extend_from_slice(&bytes[..read]);
            let mut parser = self.parser.lock().unwrap_or_else(PoisonError::into_inner);
            parser.process(&take_drawable(&mut cells));
            let replies = std::mem::take(&mut parser.callbacks_mut().replies);
            drop(parser);
            send(&self.pty, &replies);
        }
    }
}

/// Takes what the parser can draw, with [`STAND_IN`] for each [`REPLACEMENT`]. The first bytes of
/// one that has not come whole stay behind.
fn take_drawable(bytes: &mut Vec<u8>) -> Vec<u8> {
    let (mut wanted, mut drawn) = ([0; 3], [0; 3]);
    REPLACEMENT.encode_utf8(&mut wanted);
    STAND_IN.encode_utf8(&mut drawn);
    let cut = (1..wanted.len()).rev().find(|length| bytes.ends_with(&wanted[..*length]));
    let rest = bytes.split_off(bytes.len() - cut.unwrap_or(0));
    let mut whole = std::mem::replace(bytes, rest);
    let mut at = 0;
    while let Some(found) = whole[at..].windows(wanted.len()).position(|three| three == wanted) {
        at += found;
        whole[at..at + drawn.len()].copy_from_slice(&drawn);
    }
    whole
}

/// Writes what is typed. A program that reads nothing for so long hangs.
fn send(pty: &Pty, mut bytes: &[u8]) {
    let mut pty_in = pty;
    while !bytes.is_empty() {
        match pty_in.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => {
                let within = Timespec::try_from(DEADLINE).expect("a short time");
                let ready = poll(&mut [PollFd::new(pty, PollFlags::OUT)], Some(&within));
                assert_ne!(ready, Ok(0), "the program does not read what is typed");
            }
            // It has ended.
            Err(_) => return,
        }
    }
}

/// What programs ask of a terminal, and what they tell it besides drawing.
#[derive(Default)]
struct Asked {
    replies: Vec<u8>,
    renamed: bool,
}

impl vt100::Callbacks for Asked {
    fn set_window_icon_name(&mut self, _: &mut Screen, _: &[u8]) {
        self.renamed = true;
    }

    fn set_window_title(&mut self, _: &mut Screen, _: &[u8]) {
        self.renamed = true;
    }

    fn unhandled_escape(&mut self, _: &mut Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        // The name of a window in screen and tmux.
        self.renamed |= byte == b'k';
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        order: char,
    ) {
        let parameter = params.first().and_then(|values| values.first()).copied();
        let reply = match (first, order, parameter) {
            (None, 'n', Some(5)) => "\x1b[0n".to_owned(),
            (None, 'n', Some(6)) => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            (None, 'c', _) => "\x1b[?1;2c".to_owned(),
            _ => return,
        };
        self.replies.extend(reply.into_bytes());
    }
}

fn cells((columns, rows): (u16, u16)) -> (NonZeroU16, NonZeroU16) {
    let some = |number| NonZeroU16::new(number).expect("a screen has cells");
    (some(rows), some(columns))
}

fn rows(screen: &Screen) -> String {
    let columns = screen.size().1.get();
    let rows = screen.rows(0, columns).map(|row| row.trim_end().to_owned() + "\n");
    rows.collect::<String>().replace(STAND_IN, &String::from(REPLACEMENT))
}

fn painted(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (mut text, mut last) = (String::new(), String::new());
    for row in 0..rows.get() {
        let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
        for cell in cells.filter(|cell| !cell.is_wide_continuation()) {
            let style = style(cell);
            if style != last {
                let _ = write!(text, "\x1b[0{style}m");
                last = style;
            }
            text.push_str(if cell.has_contents() { cell.contents() } else { " " });
        }
        text.push('\n');
    }
    text.replace(STAND_IN, &String::from(REPLACEMENT))
}

/// The parameters that give a cell its looks, each behind a semicolon.
fn style(cell: &Cell) -> String {
    let switches = [
        (cell.bold(), ";1"),
        (cell.dim(), ";2"),
        (cell.italic(), ";3"),
        (cell.underline(), ";4"),
        (cell.inverse(), ";7"),
    ];
    let on = switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, code)| code);
    let colours = colour(cell.fgcolor(), 30) + &colour(cell.bgcolor(), 40);
    on.collect::<String>() + &colours
}

/// A colour's parameters; `first` is the parameter of the first colour.
fn colour(colour: Color, first: u8) -> String {
    match colour {
        Color::Default => String::new(),
        Color::Idx(index @ 0..8) => format!(";{}", first + index),
        Color::Idx(index @ 8..16) => format!(";{}", first + 60 + index - 8),
        Color::Idx(index) => format!(";{};5;{index}", first + 8),
        Color::Rgb(red, green, blue) => format!(";{};2;{red};{green};{blue}", first + 8),
    }
}

/// What a terminal sends for a key.
fn bytes_of(key: &str, application: bool) -> Vec<u8> {
    let arrow = |end: char| format!("\x1b{}{end}", if application { 'O' } else { '[' });
    let sent = match key {
        "Enter" => "\r".to_owned(),
        "Escape" => "\x1b".to_owned(),
        "Tab" => "\t".to_owned(),
        "BSpace" => "\x7f".to_owned(),
        "Up" => arrow('A'),
        "Down" => arrow('B'),
        "Right" => arrow('C'),
        "Left" => arrow('D'),
        _ => match key.strip_prefix("C-").map(str::as_bytes) {
            Some([letter]) => char::from(letter & 0x1f).to_string(),
            _ => key.to_owned(),
        },
    };
    sent.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn until(terminal: &Terminal, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + DEADLINE;
        loop {
            let screen = terminal.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "{screen}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn shell(script: &str) -> Terminal {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Terminal::run(command, (20, 4))
    }

    #[test]
    fn a_terminal_shows_types_and_keeps_what_has_left_the_screen() {
        let terminal = shell("for n in 1 2 3 4 5; do echo $n; done; stty size; exec cat");
        // The line break may come after the line.
        until(&terminal, |screen| screen == "4\n5\n4 20\n\n");
        assert!(terminal.history().starts_with("1\n2\n3\n4\n"), "{}", terminal.history());
        terminal.paste("hi");
        terminal.keys(&["Enter"]);
        until(&terminal, |screen| screen.matches("hi").count() == 2);
        assert!(terminal.pid().is_some());
        terminal.keys(&["C-c"]);
        let end = Instant::now() + DEADLINE;
        while terminal.pid().is_some() {
            assert!(Instant::now() < end, "Ctrl-C ends nothing");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_terminal_has_colours_modes_and_answers() {
        let script = "printf '\\033[31mred\\033[38;5;200mpink\\033[0m\\033[?1049h\\033[?25lA\\033[6n'; \
                      exec cat -v";
        let terminal = shell(script);
        // The answer is typed, and the terminal shows what is typed.
        until(&terminal, |screen| screen.contains("^[[1;"));
        assert!(terminal.is_alternate() && !terminal.shows_cursor());
        assert!(!terminal.was_renamed());
        let terminal =
            shell("printf '\\033[31mred\\033[38;5;200mpink\\033[0m\\033kname\\033\\\\'; exec cat");
        until(&terminal, |screen| screen.contains("name"));
        assert!(terminal.painted().starts_with("\x1b[0;31mred\x1b[0;38;5;200mpink"));
        assert!(terminal.was_renamed());
    }

    #[test]
    fn what_is_no_character_has_a_cell_whatever_it_was_read_with() {
        let terminal = shell("printf 'a\\357\\277\\275b'; exec cat");
        until(&terminal, |screen| screen.starts_with("a\u{fffd}b\n"));
        assert!(terminal.painted().starts_with("a\u{fffd}b"), "{}", terminal.painted());
        let mut bytes = b"\xef\xbf\xbdx\xef\xbf".to_vec();
        assert_eq!(take_drawable(&mut bytes), "\u{e0fd}x".as_bytes());
        assert_eq!(bytes, b"\xef\xbf");
        bytes.push(0xbd);
        assert_eq!(take_drawable(&mut bytes), "\u{e0fd}".as_bytes());
        assert!(bytes.is_empty());
    }

    #[test]
    fn who_hangs_up_ends_the_program() {
        let terminal = shell("echo begun; exec sleep 600");
        until(&terminal, |screen| screen.contains("begun"));
        let ended = terminal.ended.clone();
        terminal.hang_up();
        let end = Instant::now() + DEADLINE;
        while !ended.load(Ordering::SeqCst) {
            assert!(Instant::now() < end, "it runs on");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
