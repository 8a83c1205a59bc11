//! The program as a person and a plugin use it: the real binary, the real daemon, and a host that
//! the tests play behind a real bridge.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod bridge;
mod client_doctor;
mod client_hooks;
mod clients;
mod cost;
mod daemon;
mod doctor;
mod errors;
mod finding;
mod front;
mod ground;
mod help;
mod install;
mod others;
mod packages;
mod questions;
mod settings;
mod steering;
mod tasks;
mod versions;
