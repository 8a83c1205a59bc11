//! The command-line front of the campaigns on the real OpenCode: builds them and the binary that
//! they are about in release mode, and runs one. What they do, they tell themselves (`--help`).
//!
//! Campaigns are a workspace of their own, so that `cargo test --workspace` does not build them.
//! Their lock file is a copy of the workspace's: one place says which versions are used.

use std::fs;
use std::process::{Command, ExitCode};

use crate::packing::told;
use crate::{Fault, say, tree};

const USAGE: &str = "\
Checks that the campaigns are formatted, compile without warnings and pass their tests.

Usage: cargo xtask campaigns";

/// Runs the campaign of this name with the rest of the command line.
pub fn run(name: &str, args: &[String]) -> ExitCode {
    let mut legwork = Command::new("cargo");
    legwork.args(["build", "--release", "--quiet", "-p", "legwork"]);
    let built = succeeds(&mut legwork)
        .and_then(|()| succeeds(cargo("build")?.args(["--release", "--quiet"])));
    if let Err(fault) = built {
        say(format!("The campaigns do not build: {fault}"));
        return ExitCode::from(2);
    }
    let ended = cargo("run").ok().and_then(|mut cargo| {
        let status = cargo.args(["--release", "--quiet", "--", name]).args(args).status();
        status.ok()?.code()
    });
    ExitCode::from(ended.and_then(|code| u8::try_from(code).ok()).unwrap_or(2))
}

/// The chore: what `.ci/run` does for the workspace, for the campaigns.
pub fn check(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        if let Some(word) = args.first() {
            return Err(Fault::new(format!("`{word}` is not understood")));
        }
        succeeds(cargo("fmt")?.arg("--check"))?;
        succeeds(cargo("clippy")?.args(["--all-targets", "--", "-D", "warnings"]))?;
        succeeds(&mut cargo("test")?)?;
        Ok("The campaigns are formatted, compile and pass their tests.".to_owned())
    })
}

/// A command of cargo about the campaigns, which builds into the workspace's target folder: a
/// campaign looks for `legwork` beside itself.
fn cargo(command: &str) -> Result<Command, Fault> {
    let root = tree::root();
    let (from, to) = (root.join("Cargo.lock"), root.join("campaigns/Cargo.lock"));
    fs::copy(&from, &to)
        .map_err(|cause| Fault::trying(format!("copying {}", from.display()), cause))?;
    let mut cargo = Command::new("cargo");
    cargo.arg(command).arg("--manifest-path").arg(root.join("campaigns/Cargo.toml"));
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        cargo.env("CARGO_TARGET_DIR", root.join("target"));
    }
    Ok(cargo)
}

/// Runs a command of cargo to its end.
pub(crate) fn succeeds(command: &mut Command) -> Result<(), Fault> {
    let what = format!("{command:?}");
    let ended = command.status().map_err(|cause| Fault::trying(&what, cause))?;
    if ended.success() { Ok(()) } else { Err(Fault::trying(what, ended)) }
}
