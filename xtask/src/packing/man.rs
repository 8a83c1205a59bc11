//! The manual pages. The program writes them from the definition of its commands, so a page cannot
//! say anything else than `--help`.

use super::{Words, run as run_program, told};
use crate::{Fault, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Writes the manual pages: one for legwork, and one for each command.

Usage: cargo xtask man [--binary TARGET=PATH] --out DIR

Options:
  --binary TARGET=PATH   a program that runs on this machine; without it one is built
  --out DIR              where the .1 files go";

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        let words = Words::read(args, &["--out"])?;
        let out = PathBuf::from(words.needed("--out")?);
        match words.programs.first() {
            Some(program) => write(&mut Command::new(&program.path), &out),
            None => {
                let mut cargo = Command::new("cargo");
                cargo.args(["run", "--quiet", "-p", "legwork", "--"]).current_dir(tree::root());
                write(&mut cargo, &out)
            }
        }
    })
}

fn write(program: &mut Command, out: &Path) -> Result<String, Fault> {
    let out = std::path::absolute(out).map_err(|cause| Fault::trying("finding --out", cause))?;
    run_program(program.arg("man").arg(&out))?;
    Ok(out.display().to_string())
}
