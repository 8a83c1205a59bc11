//! The command-line front of the campaigns on the real OpenCode: builds them and the binary that
//! they are about in release mode, and runs one. What they do, they tell themselves (`--help`).

use std::process::{Command, ExitCode};

use crate::say;

/// Runs the campaign of this name with the rest of the command line.
pub fn run(name: &str, args: &[String]) -> ExitCode {
    let cargo = |words: &[&str]| Command::new("cargo").args(words).status();
    let packages = ["-p", "legwork", "-p", "legwork-campaigns"];
    let build = [&["build", "--release", "--quiet"], &packages[..]].concat();
    if !cargo(&build).is_ok_and(|status| status.success()) {
        say("The campaigns do not build.");
        return ExitCode::from(2);
    }
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let program = ["run", "--release", "--quiet", "-p", "legwork-campaigns", "--", name];
    let ended = cargo(&[&program[..], &words].concat()).ok().and_then(|status| status.code());
    ExitCode::from(ended.and_then(|code| u8::try_from(code).ok()).unwrap_or(2))
}
