//! The program itself: where it lies, whether another one is called instead, and how many files it
//! may open.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_machine::on_path;
use rustix::process::{Resource, getrlimit};

use super::codes;
use super::finding::Finding;
use crate::plugin::{is_in_build_folder, this_binary, word};
use crate::programs::said_by;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Connections, and three pipes for each of a few hundred agents.
const OPEN_FILES_LEAST: u64 = 1_024;
/// Another legwork says its version at once.
const VERSION_MAX: Duration = Duration::from_secs(5);

pub fn program() -> Vec<Finding> {
    let binary = match this_binary() {
        Err(fault) => return vec![codes::program_unknown(fault.in_full())],
        Ok(binary) => binary,
    };
    let mut found = vec![if is_in_build_folder(&binary) {
        codes::program_in_build_folder(VERSION, binary.display())
    } else {
        Finding::good("program", format!("legwork {VERSION} at {}", binary.display()))
    }];
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
    let version = version.as_deref().unwrap_or("which does not say its version");
    Some(if version == format!("legwork {VERSION}") {
        codes::program_several(other.display(), version, word(other))
    } else {
        codes::program_other_version(other.display(), version, word(other))
    })
}

pub fn open_files() -> Vec<Finding> {
    let most = getrlimit(Resource::Nofile).maximum;
    vec![match most {
        Some(most) if most < OPEN_FILES_LEAST => codes::files_few(most, OPEN_FILES_LEAST),
        Some(most) => Finding::good("files", format!("up to {most} may be open at once")),
        None => Finding::good("files", "any number may be open at once"),
    }]
}
