//! A history as a story: one line for each thing that happens. Off unless somebody reads it,
//! because a million histories are not read.

use std::cell::RefCell;
use std::rc::Rc;

use legwork_protocol::Time;

/// Where the lines go. Shared by everybody who has something to tell.
#[derive(Debug, Clone, Default)]
pub struct Trace(Option<Rc<RefCell<Lines>>>);

#[derive(Debug, Default)]
struct Lines {
    now: Time,
    start: Time,
    lines: Vec<String>,
}

impl Trace {
    /// A trace that is kept.
    pub fn kept(start: Time) -> Self {
        Self(Some(Rc::new(RefCell::new(Lines { now: start, start, lines: Vec::new() }))))
    }

    pub fn at(&self, now: Time) {
        if let Some(lines) = &self.0 {
            lines.borrow_mut().now = now;
        }
    }

    /// Something happened; the sentence is made only if it is kept.
    pub fn tell(&self, sentence: impl FnOnce() -> String) {
        if let Some(lines) = &self.0 {
            let mut lines = lines.borrow_mut();
            let ms = lines.now.since(lines.start);
            let line = format!("{:>5}.{:03}  {}", ms / 1000, ms % 1000, sentence());
            lines.lines.push(line);
        }
    }

    /// The story so far.
    pub fn text(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |lines| lines.borrow().lines.join("\n"))
    }
}
