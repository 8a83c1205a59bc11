//! The agents that drive a program of the person, with a program that is played from a script: what
//! it says is what the real one has said.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod claude;
mod codex;

/// The program, if this one was started as it.
#[test]
fn this_program_is_played_if_it_is_started_so() {
    legwork_testkit::act_as_program();
}

const IS_PROGRAM: &str = "this_program_is_played_if_it_is_started_so";
