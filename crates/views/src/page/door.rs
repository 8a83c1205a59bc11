//! The way in. A browser is given a code that works once, and trades it for the token of the
//! page; so what stands in an address, on a screen or in a file is worth nothing afterwards.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::time::Instant;

use legwork_machine::lock;

use crate::page::limits::{CODE_MAX, CODES_MAX};
use crate::page::secret::Secret;

/// The codes that were given out and not used, oldest first.
#[derive(Debug, Default)]
pub struct Door(Mutex<VecDeque<(Secret, Instant)>>);

impl Door {
    pub fn new_code(&self) -> io::Result<Secret> {
        let code = Secret::new()?;
        let mut codes = lock(&self.0);
        if codes.len() >= CODES_MAX {
            codes.pop_front();
        }
        codes.push_back((code.clone(), Instant::now()));
        Ok(code)
    }

    /// Whether this is a code, which is none any more from now on.
    pub fn takes(&self, given: &str) -> bool {
        let mut codes = lock(&self.0);
        codes.retain(|(_, since)| since.elapsed() < CODE_MAX);
        // All of them are compared, so that the time says nothing.
        let before = codes.len();
        codes.retain(|(code, _)| !code.is(given));
        codes.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v3_a_code_opens_once() {
        let door = Door::default();
        let (one, other) = (door.new_code().unwrap(), door.new_code().unwrap());
        assert!(!door.takes(""));
        assert!(door.takes(one.reveal()));
        assert!(!door.takes(one.reveal()), "a second time");
        assert!(door.takes(other.reveal()));
    }

    #[test]
    fn v3_only_the_newest_codes_are_good() {
        let door = Door::default();
        let first = door.new_code().unwrap();
        let rest: Vec<Secret> = (0..CODES_MAX).map(|_| door.new_code().unwrap()).collect();
        assert!(!door.takes(first.reveal()));
        assert!(rest.iter().all(|code| door.takes(code.reveal())));
    }
}
