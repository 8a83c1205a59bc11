//! The command-line front of the simulation: builds it, runs it, and says how long it took.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::say;

const USAGE: &str = "\
Runs simulated histories of legwork: a virtual host, faults, crashes, and the checkers.

Usage: cargo xtask sim [options]

Options:
  --seed S       replay the history of one seed and print its story
  --seeds N      run N histories; the first that breaks a rule prints its story
  --from S       begin with seed S instead of 0
  --sqlite       keep the records in a file, as the daemon does; slower
  --mutants      plant each known defect and check that a history catches it
  --help         print this

A history follows from its seed alone: the same seed is the same story on every machine.";

/// Runs the simulation as the words of the command line say.
pub fn run(args: &[String]) -> ExitCode {
    if args.is_empty() || args.iter().any(|word| word == "--help" || word == "-h") {
        say(USAGE);
        // A run that simulated nothing must not look like one that found nothing.
        return if args.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let cargo = |words: &[&str]| Command::new("cargo").args(words).status();
    let target = ["-p", "legwork-sim", "--bin", "sim"];
    let build = [&["build", "--release", "--quiet"], &target[..]].concat();
    if !cargo(&build).is_ok_and(|status| status.success()) {
        say("The simulation does not build.");
        return ExitCode::FAILURE;
    }
    let begin = Instant::now();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = [&["run", "--release", "--quiet"], &target[..], &["--"], &words].concat();
    let held = cargo(&run).is_ok_and(|status| status.success());
    say(format!(
        "{} after {:.1} s",
        if held { "held" } else { "broken" },
        begin.elapsed().as_secs_f64()
    ));
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
