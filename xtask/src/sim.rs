//! The command-line front of the simulation: one seed to replay, or many to search.

use crate::say;
use std::process::ExitCode;

const USAGE: &str = "\
Runs simulated histories of legwork: a virtual host, faults, crashes, and the checkers.

Usage: cargo xtask sim [options]

Options:
  --seed S       replay the history of one seed and print its trace
  --seeds N      run N histories; the first that breaks a rule prints its trace
  --mutants      plant each known defect and check that a history catches it
  --help         print this";

/// Runs the simulation as the words of the command line say.
pub fn run(args: &[String]) -> ExitCode {
    say(USAGE);
    let asked = args.iter().any(|word| word == "--help" || word == "-h");
    // A run that simulated nothing must not look like one that found nothing.
    if asked { ExitCode::SUCCESS } else { ExitCode::from(2) }
}
