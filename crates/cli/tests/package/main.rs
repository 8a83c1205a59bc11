//! What people get who have no Rust: the npm package in the real OpenCode and under Node, the
//! script of a release, the chores that make them. The program in them is the one under test;
//! the registry and the releases are on loopback.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod contents;
mod installed;
mod launcher;
mod packages;
mod readme;
mod script;
#[expect(dead_code, reason = "of the stage of the other tests only a part is wanted here")]
#[path = "../opencode/stage.rs"]
mod stage;
