//! A check: one subject, looked at within a bounded time on a thread of its own. One that hangs, on
//! a disk that does not answer say, is given up and is itself a finding.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use legwork_config::Config;
use legwork_machine::Folders;
use legwork_protocol::view::DaemonView;

use super::finding::{Finding, Remedy};
use crate::progress::{Board, REDRAW, elapsed, is_live};
use crate::table::fit;

/// What takes longer than this shows that it goes on.
const QUIET: Duration = Duration::from_secs(1);

/// What all checks look at.
#[derive(Debug)]
pub struct Ground {
    pub folders: Folders,
    pub config: Config,
    /// What is wrong with the settings.
    pub mistakes: Vec<String>,
    /// What the daemon said of itself, once it has been asked.
    pub daemon: OnceLock<DaemonView>,
}

#[derive(Debug, Clone, Copy)]
pub enum Look {
    /// It needs nothing of legwork's own.
    Anywhere(fn() -> Vec<Finding>),
    /// It needs to know where legwork's folders are.
    In(fn(&Ground) -> Vec<Finding>),
    /// It is better off if that is known.
    Perhaps(fn(Option<&Ground>) -> Vec<Finding>),
}

#[derive(Debug, Clone, Copy)]
pub struct Check {
    pub name: &'static str,
    /// What goes on, for a person who waits.
    pub doing: &'static str,
    pub at_most: Duration,
    pub look: Look,
}

impl Check {
    /// Looks. Nothing comes of it where legwork's folders are needed and unknown.
    pub fn run(&self, ground: Option<&Arc<Ground>>) -> Vec<Finding> {
        let (tell, told) = mpsc::channel();
        match (self.look, ground) {
            (Look::Anywhere(look), _) => {
                thread::spawn(move || tell.send(look()));
            }
            (Look::Perhaps(look), ground) => {
                let ground = ground.cloned();
                thread::spawn(move || tell.send(look(ground.as_deref())));
            }
            (Look::In(look), Some(ground)) => {
                let ground = ground.clone();
                thread::spawn(move || tell.send(look(&ground)));
            }
            (Look::In(_), None) => return Vec::new(),
        }
        let began = Instant::now();
        let mut board = None;
        loop {
            match told.recv_timeout(REDRAW) {
                Ok(findings) => return findings,
                Err(RecvTimeoutError::Disconnected) => return vec![self.failed()],
                Err(RecvTimeoutError::Timeout) if began.elapsed() > self.at_most => {
                    return vec![self.gave_up()];
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if began.elapsed() > QUIET && is_live() {
                let board = board.get_or_insert_with(Board::default);
                let line = format!("{} {} {}", board.turn(), self.doing, elapsed(began.elapsed()));
                board.draw(&[fit(&line, Board::room().0)]);
            }
        }
    }

    fn gave_up(&self) -> Finding {
        let says = format!("{}: not done within {} s", self.doing, self.at_most.as_secs());
        let remedy = "A disk or a program there does not answer. Try again when it does.";
        Finding::problem(self.name, "check.slow", says, Remedy::words(remedy))
    }

    fn failed(&self) -> Finding {
        let says = format!("{}: the check itself failed", self.doing);
        Finding::problem(self.name, "check.failed", says, Remedy::words("Please report this."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(look: fn() -> Vec<Finding>, at_most: Duration) -> Vec<&'static str> {
        let check = Check { name: "x", doing: "looking", at_most, look: Look::Anywhere(look) };
        check.run(None).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn p7_a_check_that_hangs_or_fails_is_a_finding_and_no_hang() {
        let long = Duration::from_secs(60);
        assert_eq!(check(|| vec![Finding::good("x", "y")], long), ["ok"]);
        assert_eq!(check(|| panic!("on purpose"), long), ["check.failed"]);
        let hangs = || -> Vec<Finding> {
            thread::park();
            Vec::new()
        };
        assert_eq!(check(hangs, Duration::ZERO), ["check.slow"]);
    }

    #[test]
    fn what_needs_folders_says_nothing_without_them() {
        let look = Look::In(|_| vec![Finding::good("x", "y")]);
        let check = Check { name: "x", doing: "looking", at_most: Duration::ZERO, look };
        assert!(check.run(None).is_empty());
    }
}
