//! A scenario for every requirement that the engine or the store decides, and for every way in
//! which others are known to fail. The requirement's number begins the test's name.

#![expect(clippy::unwrap_used, reason = "a helper that finds nothing has failed its test")]

mod across;
mod assumptions;
mod block;
mod cancel;
mod clear;
mod clients;
mod cost;
mod ends;
mod field;
mod field_asks;
mod headless;
mod keeping;
mod launch;
mod launch_limits;
mod list;
mod notices;
mod output;
mod questions;
mod reading;
mod restarts;
mod resume;
mod resume_ends;
mod rubbish;
mod shown;
mod silence;
mod step_in;
mod telling;
mod wake_last;
mod words_of_others;
