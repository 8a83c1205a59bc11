//! OpenCode: it starts, is new enough, and can read its own settings.

use std::env;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::check::{Check, Look};
use super::finding::{Finding, Remedy};
use super::plugin::is_elsewhere;
use crate::programs::{Said, find, said_by};

pub const OPENCODE: Check = Check {
    name: "opencode",
    doing: "starting OpenCode",
    at_most: Duration::from_secs(130),
    look: Look::Anywhere(opencode),
};

/// The first OpenCode with everything that the plugin uses.
const LEAST: (u64, u64) = (1, 18);
/// It takes some two seconds to start, more on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);
const INSTALL: &str = "Install it from opencode.ai, version 1.18 or later.";

fn opencode() -> Vec<Finding> {
    if is_elsewhere() {
        return Vec::new();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let Some(program) = find("opencode", &path) else {
        let says = "it is not on the PATH";
        return vec![Finding::mind("opencode", "opencode.missing", says, Remedy::words(INSTALL))];
    };
    vec![
        version(&program)
            .and_then(|version| settings(&program, &version))
            .unwrap_or_else(|bad| bad),
    ]
}

fn version(program: &Path) -> Result<String, Finding> {
    let asked = "opencode --version";
    let said = said_by(program, &["--version"], None, START_MAX);
    let version = match said {
        Ok(Said { code: Some(0), out, .. }) if !out.is_empty() => out,
        said => {
            let remedy = Remedy::words(format!(
                "Install it again from opencode.ai; `{asked}` must print a version."
            ));
            let says = format!("{} does not work: {}", program.display(), how(asked, &said));
            return Err(Finding::problem("opencode", "opencode.does-not-start", says, remedy));
        }
    };
    let version = version.trim_start_matches('v').to_owned();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u64>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < LEAST {
        let says = format!("version {version} is too old");
        return Err(Finding::problem("opencode", "opencode.old", says, Remedy::words(INSTALL)));
    }
    Ok(version)
}

/// Whether it reads its settings, for this folder: with a mistake in them it ends at once, and says
/// so to nobody who waits for a helper.
fn settings(program: &Path, version: &str) -> Result<Finding, Finding> {
    let asked = "opencode debug config";
    let here = env::current_dir().ok();
    match said_by(program, &["debug", "config"], here.as_deref(), START_MAX) {
        Ok(Said { code: Some(0), .. }) => {
            Ok(Finding::good("opencode", format!("version {version}")))
        }
        said => {
            let remedy = Remedy::words(format!(
                "Correct OpenCode's settings (opencode.json) until `{asked}` prints them."
            ));
            let says = format!("version {version} ends at once here: {}", how(asked, &said));
            Err(Finding::problem("opencode", "opencode.ends", says, remedy))
        }
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
