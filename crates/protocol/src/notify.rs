//! How a person who is elsewhere is told: the settings of `[notify]`.

/// What is started when a run ends or a helper asks. By default nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// `notify.command`: a program and its arguments, which gets the event on its stdin; empty for
    /// none.
    pub command: Vec<String>,
    /// `notify.desktop`: whether the desktop shows it, where there is one.
    pub desktop: bool,
    /// `notify.on` has "end".
    pub ends: bool,
    /// `notify.on` has "question".
    pub questions: bool,
}

impl Default for Notify {
    fn default() -> Self {
        Self { command: Vec::new(), desktop: false, ends: true, questions: true }
    }
}

impl Notify {
    /// Whether anything is started at all.
    pub fn is_on(&self) -> bool {
        (self.desktop || !self.command.is_empty()) && (self.ends || self.questions)
    }
}
