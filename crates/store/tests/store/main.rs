//! The store from outside: opening, keeping, formats.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;
mod keep;
mod open;
mod schemas;
mod usage;
