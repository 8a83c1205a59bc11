//! A check: one subject, looked at within a bounded time on a thread of its own. One that hangs, on
//! a disk that does not answer say, is given up and is itself a finding.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::config::Config;
use legwork_machine::Folders;
use legwork_protocol::view::DaemonView;

use super::codes;
use super::finding::Finding;
use crate::progress::{Live, REDRAW, elapsed, is_live};
use crate::table::fit;

/// A check that takes longer than this shows that it goes on.
const QUIET: Duration = Duration::from_secs(1);

/// What all checks look at.
#[derive(Debug)]
pub struct DoctorContext {
    pub folders: Folders,
    pub config: Config,
    /// What is wrong with the settings.
    pub mistakes: Vec<String>,
    /// What the daemon said of itself, once it has been asked.
    pub daemon: OnceLock<DaemonView>,
}

/// A check by what it needs.
#[derive(Debug, Clone, Copy)]
pub enum Needs {
    Nothing(fn() -> Vec<Finding>),
    Folders(fn(&DoctorContext) -> Vec<Finding>),
    FoldersIfAny(fn(Option<&DoctorContext>) -> Vec<Finding>),
}

#[derive(Debug, Clone, Copy)]
pub struct Check {
    pub name: &'static str,
    /// What goes on, for a person who waits.
    pub doing: &'static str,
    pub at_most: Duration,
    pub look: Needs,
}

impl Check {
    pub const fn new(name: &'static str, doing: &'static str, seconds: u64, look: Needs) -> Self {
        Self { name, doing, at_most: Duration::from_secs(seconds), look }
    }

    /// Runs the check. It finds nothing where it needs legwork's folders and they are unknown.
    pub fn run(&self, context: Option<&Arc<DoctorContext>>) -> Vec<Finding> {
        let (sender, found) = mpsc::channel();
        let look = self.look;
        let context = context.cloned();
        thread::spawn(move || {
            sender.send(match (look, context.as_deref()) {
                (Needs::Nothing(look), _) => look(),
                (Needs::FoldersIfAny(look), context) => look(context),
                (Needs::Folders(look), Some(context)) => look(context),
                (Needs::Folders(_), None) => Vec::new(),
            })
        });
        let began = Instant::now();
        let mut board = None;
        loop {
            match found.recv_timeout(REDRAW) {
                Ok(findings) => return findings,
                Err(RecvTimeoutError::Disconnected) => {
                    return vec![codes::check_failed(self.doing).about(self.name)];
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() > self.at_most => {
                    let slow = codes::check_slow(self.doing, self.at_most.as_secs());
                    return vec![slow.about(self.name)];
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if began.elapsed() > QUIET && is_live() {
                let board = board.get_or_insert_with(Live::default);
                let line = format!("{} {} {}", board.turn(), self.doing, elapsed(began.elapsed()));
                board.draw(&[fit(&line, Live::room().0)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(look: fn() -> Vec<Finding>, seconds: u64) -> Vec<&'static str> {
        let check = Check::new("x", "looking", seconds, Needs::Nothing(look));
        check.run(None).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn p7_a_check_that_hangs_or_fails_is_a_finding_and_no_hang() {
        assert_eq!(check(|| vec![Finding::good("x", "y")], 60), ["ok"]);
        assert_eq!(check(|| panic!("on purpose"), 60), ["check.failed"]);
        let hangs = || -> Vec<Finding> {
            thread::park();
            Vec::new()
        };
        assert_eq!(check(hangs, 0), ["check.slow"]);
    }

    #[test]
    fn what_needs_folders_says_nothing_without_them() {
        let look = Needs::Folders(|_| vec![Finding::good("x", "y")]);
        assert!(Check::new("x", "looking", 60, look).run(None).is_empty());
    }
}
