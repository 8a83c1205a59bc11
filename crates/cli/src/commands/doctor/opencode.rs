//! OpenCode: it starts, is new enough, can read its own settings, and knows the project that one
//! stands in by its git repository.

use std::env;
use std::io;
use std::path::Path;
use std::time::Duration;

use legwork_machine::var;

use super::codes;
use super::finding::Finding;
use super::plugin::is_elsewhere;
use crate::programs::{Said, find, said_by};
use crate::project;

/// The first OpenCode with everything that the plugin uses.
const LEAST: (u64, u64) = (1, 18);
/// OpenCode takes some two seconds to start, more on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

pub fn opencode() -> Vec<Finding> {
    if is_elsewhere() {
        return Vec::new();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let Some(program) = find("opencode", &path) else { return vec![codes::opencode_missing()] };
    vec![
        version(&program)
            .and_then(|version| settings(&program, &version))
            .unwrap_or_else(|bad| bad),
    ]
}

fn version(program: &Path) -> Result<String, Finding> {
    let version = match said_by(program, &["--version"], None, START_MAX) {
        Ok(Said { code: Some(0), out, .. }) if !out.is_empty() => out,
        said => {
            let how = how("opencode --version", &said);
            return Err(codes::opencode_does_not_start(program.display(), how));
        }
    };
    let version = version.trim_start_matches('v').to_owned();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u64>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < LEAST { Err(codes::opencode_old(version)) } else { Ok(version) }
}

/// Whether OpenCode reads its settings, for this folder: with a mistake in them it ends at once,
/// and says so to nobody who waits for a helper.
fn settings(program: &Path, version: &str) -> Result<Finding, Finding> {
    let here = env::current_dir().ok();
    match said_by(program, &["debug", "config"], here.as_deref(), START_MAX) {
        Ok(Said { code: Some(0), .. }) => {
            Ok(Finding::good("opencode", format!("version {version}")))
        }
        said => Err(codes::opencode_ends(version, how("opencode debug config", &said))),
    }
}

fn how(asked: &str, said: &io::Result<Said>) -> String {
    match said {
        Err(error) => format!("`{asked}` failed ({error})"),
        Ok(Said { code, out, err }) => {
            let ended = code.map_or("by a signal".to_owned(), |code| format!("with code {code}"));
            let words = if err.is_empty() { out } else { err };
            let words = if words.is_empty() { "nothing" } else { words };
            format!("`{asked}` ended {ended} and said: {words}")
        }
    }
}

pub fn project() -> Vec<Finding> {
    let Ok(here) = env::current_dir() else { return vec![codes::project_gone()] };
    if is_elsewhere() {
        return vec![Finding::good("project", here.display().to_string())];
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if find("git", &path).is_none() {
        return vec![codes::project_git_missing()];
    }
    let root = project::root(&here);
    let is_home = var("HOME").is_some_and(|home| Path::new(&home) == here);
    if root.join(".git").exists() || is_home {
        return vec![Finding::good("project", root.display().to_string())];
    }
    vec![codes::project_no_repository(here.display())]
}
