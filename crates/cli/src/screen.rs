//! Where text goes and how it looks: colours and the width of a terminal, plain text in a pipe.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use legwork_protocol::api::{Answer, Refusal};
use legwork_protocol::refusal::steers;
use legwork_views::model::State;
pub use legwork_views::model::text::harmless;
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::fault::Fault;
use crate::sentences;

pub const BAD: Style = AnsiColor::Red.on_default();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const MIND: Style = AnsiColor::Yellow.on_default();
pub const LIVE: Style = AnsiColor::Cyan.on_default();
pub const DIM: Style = Style::new().dimmed();
pub const BOLD: Style = Style::new().bold();

pub fn style_of(state: State) -> Style {
    match state {
        State::Asks | State::Queued => MIND,
        State::Working => LIVE,
        State::Completed => GOOD,
        State::Failed => BAD,
        State::Cancelled => DIM,
    }
}

/// A text in a style. The style is dropped on the way where it cannot be seen.
pub fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// What came of something that was asked, for programs.
#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(flatten)]
    about: Value,
    pub refused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Refusal>,
    pub text: String,
}

impl Report {
    pub fn new(about: Value, answered: &Result<Answer, Refusal>) -> Self {
        let text = answered.as_ref().map_or_else(sentences::refusal, sentences::done);
        let refusal = answered.as_ref().err().cloned();
        Self { about, refused: refusal.is_some(), refusal, text }
    }
}

/// Stdout, for people or for programs.
#[derive(Debug)]
pub struct Screen {
    json: bool,
}

impl Screen {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    pub fn line(&self, text: impl Display) -> Result<(), Fault> {
        writeln!(anstream::stdout(), "{text}").map_err(Fault::Output)
    }

    pub fn lines<T: Display>(&self, lines: impl IntoIterator<Item = T>) -> Result<(), Fault> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Writes what a command has found or done, as a value for programs or in lines for people.
    /// That is the end of most commands.
    pub fn report<V: Serialize, T: Display>(
        &self,
        value: impl FnOnce() -> V,
        lines: impl FnOnce() -> Vec<T>,
    ) -> Result<Exit, Fault> {
        let written = if self.json { self.value(&value()) } else { self.lines(lines()) };
        written.map(|()| Exit::Done)
    }

    /// Writes a value for programs, on many lines.
    pub fn value(&self, value: &impl Serialize) -> Result<(), Fault> {
        Self::json(serde_json::to_string_pretty(value))
    }

    /// Writes a value for programs, on one line of several.
    pub fn value_line(&self, value: &impl Serialize) -> Result<(), Fault> {
        Self::json(serde_json::to_string(value))
    }

    fn json(text: serde_json::Result<String>) -> Result<(), Fault> {
        let text = text.map_err(|error| Fault::Output(error.into()))?;
        writeln!(io::stdout(), "{}", harmless_json(&text)).map_err(Fault::Output)
    }

    /// Writes a text of somebody else as it is; on a terminal without what could steer it.
    pub fn raw(&self, text: &str) -> Result<(), Fault> {
        self.raw_piece(text)?;
        if text.ends_with('\n') { Ok(()) } else { self.raw_piece("\n") }
    }

    /// The same for a piece of a text, of which more may come.
    pub fn raw_piece(&self, text: &str) -> Result<(), Fault> {
        let mut out = io::stdout();
        let written = if out.is_terminal() {
            out.write_all(harmless(text).as_bytes())
        } else {
            out.write_all(text.as_bytes())
        };
        written.and_then(|()| out.flush()).map_err(Fault::Output)
    }

    /// Writes a piece of a line, which is seen at once.
    pub fn piece(&self, text: impl Display) -> Result<(), Fault> {
        let mut out = anstream::stdout();
        write!(out, "{text}").and_then(|()| out.flush()).map_err(Fault::Output)
    }

    /// The columns of the terminal; nothing in a pipe, where lines may be of any length.
    pub fn columns(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }
}

/// The same JSON with characters that steer a terminal as escapes. The writer has escaped those
/// below U+0020, and outside of texts JSON has none of the others.
fn harmless_json(json: &str) -> Cow<'_, str> {
    // Nearly all of it is ASCII without DEL, whatever its length.
    if json.bytes().all(|byte| byte < 0x7f) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // All that steer are within the first plane, so one escape is enough.
        match c {
            '\u{7f}'.. if steers(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.into()
}

/// Whether a person says yes to this. Where nobody can be asked, `--yes` has to say it.
pub fn agrees(question: &str) -> Result<bool, Fault> {
    if !io::stdin().is_terminal() {
        return Err(Fault::Usage(format!("{question} Nobody is there to say so: give --yes.")));
    }
    let question = format!("{question} [y/N]");
    if is_for_programs() {
        remark(question);
    } else {
        let mut out = io::stderr();
        write!(out, "{question} ").and_then(|()| out.flush()).map_err(Fault::Output)?;
    }
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(Fault::Input)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Whether a program reads stderr (`--json`): then each line there is an object of JSON.
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// From now on a program reads stderr.
pub fn speak_json() {
    FOR_PROGRAMS.store(true, Ordering::Relaxed);
}

fn is_for_programs() -> bool {
    FOR_PROGRAMS.load(Ordering::Relaxed)
}

/// Tells on stderr that something went wrong.
pub fn complain(fault: &Fault) {
    tell(fault.for_programs(), || format!("{} {}", paint(BAD, "legwork:"), fault.in_full()));
}

/// The same of what the command goes on without.
pub fn warn(text: &str) {
    tell(warning(text), || format!("{} {text}", paint(MIND, "legwork:")));
}

/// Tells something beside the output, on stderr.
pub fn remark(text: impl Display) {
    let text = text.to_string();
    tell(warning(&text), || text.clone());
}

fn warning(text: &str) -> Value {
    json!({ "warning": anstream::adapter::strip_str(text).to_string() })
}

fn tell(for_programs: Value, for_people: impl FnOnce() -> String) {
    let line = match is_for_programs() {
        true => harmless_json(&for_programs.to_string()).into_owned(),
        false => for_people(),
    };
    // There is nobody left to be told if that fails.
    let _ = writeln!(anstream::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEERING: &str =
        "a\u{7}\u{1b}[2J\u{9b}2J\u{7f}\u{202e}b\u{2066}\u{2069}\u{200f}\u{61c}\u{2028}c";

    #[test]
    fn json_stays_the_same_and_has_nothing_raw_that_steers() {
        let value = serde_json::json!({ STEERING: [STEERING, "é 😀 \\u202e"] });
        for json in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = harmless_json(&json);
            assert!(!shown.chars().any(|c| c != '\n' && steers(c)), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
        assert!(harmless_json(&value.to_string()).contains("é 😀"));
    }
}
