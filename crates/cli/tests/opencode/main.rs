//! legwork in the real OpenCode, end to end: real tool calls of the real binary, the plugin as it
//! is installed, the daemon, the store. Only the model is scripted. Tests are named after the
//! requirement that they show.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod across;
mod answers;
mod block;
mod cancel;
mod clear;
mod commands;
mod cost;
mod doctor;
mod edges;
mod ends;
mod figures;
mod flood;
mod gates;
mod headless;
mod helpers;
mod kills;
mod launch;
mod list;
mod misbehaviour;
mod notices;
mod output;
mod places;
mod processes;
mod questions;
mod reopened;
mod resume;
mod run;
mod screen;
mod serve;
mod stage;
mod transcript;
mod windows;
