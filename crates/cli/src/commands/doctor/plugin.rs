//! The plugin file in OpenCode: it is there, once, of this version, and starts this program.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::check::{Check, Look};
use super::finding::{Finding, Remedy, word};
use crate::fault::Fault;
use crate::plugin::{Found, binary_of, file_in, global_file, look, text, this_binary};
use crate::project;

pub const PLUGIN: Check = Check {
    name: "plugin",
    doing: "looking for the plugin",
    at_most: Duration::from_secs(5),
    look: Look::Anywhere(plugin),
};

/// A plugin file of ours.
struct Installed {
    file: PathBuf,
    text: String,
    /// The project that it is for; nothing if it is for all.
    project: Option<PathBuf>,
}

impl Installed {
    /// The command that writes or removes it.
    fn command(&self, verb: &str) -> String {
        match &self.project {
            None => format!("legwork {verb} opencode"),
            Some(project) => format!("legwork {verb} opencode --project {}", word(project)),
        }
    }

    fn update(&self) -> Remedy {
        Remedy::run(self.command("install"), "then restart OpenCode")
    }
}

fn plugin() -> Vec<Finding> {
    let installed = match installed() {
        Err(fault) => return vec![Finding::of_fault("plugin", "plugin.unreadable", &fault)],
        Ok(installed) => installed,
    };
    if installed.is_empty() {
        let remedy = Remedy::run("legwork install opencode", "then restart OpenCode");
        let says = "it is not installed in OpenCode";
        return vec![Finding::problem("plugin", "plugin.missing", says, remedy)];
    }
    let mut found: Vec<Finding> = installed.iter().map(one).collect();
    if let [first, .., last] = &installed[..] {
        let says =
            format!("it is installed twice: {} and {}", first.file.display(), last.file.display());
        let remedy = Remedy::run(last.command("uninstall"), "leaves the other");
        found.push(Finding::mind("plugin", "plugin.twice", says, remedy));
    }
    found
}

/// Looks where `legwork install opencode` would have put it: for everybody, and for this project.
fn installed() -> Result<Vec<Installed>, Fault> {
    let here = env::current_dir().unwrap_or_default();
    let of_project = |folder: &Path| (file_in(&folder.join(".opencode")), Some(folder.to_owned()));
    let global = global_file().ok().map(|file| (file, None));
    let projects = project::folders(&here);
    let mut all: Vec<Installed> = Vec::new();
    for (file, project) in global.into_iter().chain(projects.iter().map(|path| of_project(path))) {
        let is_known = all.iter().any(|other| other.file == file);
        if let (false, Found::Ours(text)) = (is_known, look(&file)?) {
            all.push(Installed { file, text, project });
        }
    }
    Ok(all)
}

fn one(installed: &Installed) -> Finding {
    let file = installed.file.display();
    let again = installed.update();
    let Some(binary) = binary_of(&installed.text) else {
        let says = format!("{file} names no program");
        return Finding::problem("plugin", "plugin.no-program", says, again);
    };
    if !binary.exists() {
        let says = format!("{file} starts {}, which is gone", binary.display());
        return Finding::problem("plugin", "plugin.program-gone", says, again);
    }
    if text(&binary).is_ok_and(|ours| ours != installed.text) {
        let says = format!("{file} is of another version than this legwork");
        return Finding::problem("plugin", "plugin.outdated", says, again);
    }
    if this_binary().is_ok_and(|this| this != binary) {
        let says = format!("{file} starts {}, not this one", binary.display());
        return Finding::mind("plugin", "plugin.other-program", says, again);
    }
    Finding::good("plugin", file.to_string())
}
