//! Every action on recorded answers: what is read, what is written, what is found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod errors;
mod fake;
mod looking;
mod opening;
mod others;
mod overhearing;
mod spending;
mod telling;
