//! What was done in a history and when, for whoever wants to know why it failed.

use std::time::{Duration, Instant};

use crate::progress::note;

/// The notes of one history.
#[derive(Debug)]
pub struct Diary {
    begun: Instant,
    lines: Vec<(Duration, String)>,
}

impl Diary {
    /// An empty one that begins now.
    pub fn new() -> Self {
        Self { begun: Instant::now(), lines: Vec::new() }
    }

    /// Notes something, and shows it.
    pub fn tell(&mut self, what: String) {
        note(&what);
        self.lines.push((self.begun.elapsed(), what));
    }

    /// All of it, a line each.
    pub fn text(&self) -> String {
        let line = |(at, what): &(Duration, String)| format!("{:>8.2} s  {what}", at.as_secs_f64());
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
