//! The program itself: where it lies, whether another one is called instead, and how many files it
//! may open.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_machine::on_path;
use rustix::process::{Resource, getrlimit};

use super::check::{Check, Look};
use super::finding::{Finding, Remedy, word};
use crate::plugin::{is_in_build_folder, this_binary};
use crate::programs::said_by;

pub const PROGRAM: Check = Check {
    name: "program",
    doing: "looking for other legworks",
    at_most: Duration::from_secs(10),
    look: Look::Anywhere(program),
};

pub const FILES: Check = Check {
    name: "files",
    doing: "asking for the limit on open files",
    at_most: Duration::from_secs(2),
    look: Look::Anywhere(open_files),
};

/// Connections, and three pipes for each of a few hundred agents.
const OPEN_FILES_LEAST: u64 = 1_024;
/// Another legwork says its version at once.
const VERSION_MAX: Duration = Duration::from_secs(5);

fn program() -> Vec<Finding> {
    let binary = match this_binary() {
        Err(fault) => return vec![Finding::of_fault("program", "program.unknown", &fault)],
        Ok(binary) => binary,
    };
    let says = format!("legwork {} at {}", env!("CARGO_PKG_VERSION"), binary.display());
    let mut found = vec![Finding::good("program", &says)];
    if is_in_build_folder(&binary) {
        let remedy = Remedy::run(
            "cargo install --locked --path crates/cli",
            "it is in a build folder, which goes with the next `cargo clean`",
        );
        found = vec![Finding::mind("program", "program.in-build-folder", says, remedy)];
    }
    let path = env::var_os("PATH").unwrap_or_default();
    found.extend(others(&binary, on_path("legwork", &path).collect()));
    found
}

/// Another legwork on the PATH takes turns with this one, depending on who calls it. Of another
/// version it may speak another line format.
fn others(this: &Path, mut found: Vec<PathBuf>) -> Option<Finding> {
    let this = this.canonicalize().unwrap_or_else(|_| this.to_owned());
    let is_other = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real != this);
    found.retain(is_other);
    let other = found.first()?;
    let version = said_by(other, &["--version"], None, VERSION_MAX);
    let version = version.ok().filter(|said| said.code == Some(0)).map(|said| said.out);
    let says = format!(
        "there is another one on the PATH: {} ({})",
        other.display(),
        version.as_deref().unwrap_or("which does not say its version")
    );
    let remedy = Remedy::run(
        format!("rm {}", word(other)),
        "if it is left over from an earlier installation; a package manager removes its own",
    );
    let same = format!("legwork {}", env!("CARGO_PKG_VERSION"));
    Some(if version.as_deref() == Some(&same) {
        Finding::mind("program", "program.several", says, remedy)
    } else {
        Finding::problem("program", "program.other-version", says, remedy)
    })
}

fn open_files() -> Vec<Finding> {
    let most = getrlimit(Resource::Nofile).maximum;
    vec![match most {
        Some(most) if most < OPEN_FILES_LEAST => Finding::mind(
            "files",
            "files.few",
            format!("processes here may have {most} files open, too few for many helpers"),
            Remedy::run(format!("ulimit -Hn {OPEN_FILES_LEAST}"), "as root, before the shell"),
        ),
        Some(most) => Finding::good("files", format!("up to {most} may be open at once")),
        None => Finding::good("files", "any number may be open at once"),
    }]
}
