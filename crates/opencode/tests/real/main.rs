//! Every action on the real OpenCode, over HTTP. A new version of it shows here what it changed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod asking;
mod connecting;
mod opening;
mod stopping;
mod telling;
mod working;
mod world;
