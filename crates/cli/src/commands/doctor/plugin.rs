//! The plugin in OpenCode: it is there, once, of this version, and starts this program. It is a
//! file that `legwork install opencode` wrote, or an entry of OpenCode's settings, which has
//! OpenCode install it by itself.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_client::is_newer;

use super::check::{Check, Ground, Look};
use super::clients;
use super::finding::{Finding, Remedy, word};
use crate::fault::Fault;
use crate::installation::{Installation, opencode_command};
use crate::npm_entry::{NpmEntry, Pin};
use crate::plugin::{
    Found, binary_of, file_in, global_file, is_same, is_this_program, look, text, this_file,
    version_of,
};
use crate::programs::find;
use crate::project;

pub const PLUGIN: Check = Check {
    name: "plugin",
    doing: "looking for the plugin",
    at_most: Duration::from_secs(5),
    look: Look::Perhaps(plugin),
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

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

fn plugin(ground: Option<&Ground>) -> Vec<Finding> {
    let installed = match installed() {
        Err(fault) => return vec![Finding::of_fault("plugin", "plugin.unreadable", &fault)],
        Ok(installed) => installed,
    };
    let here = env::current_dir().unwrap_or_default();
    let global = global_file().ok();
    let entries = NpmEntry::all(global.as_deref(), &project::folders(&here));
    // OpenCode goes by the last one.
    let entry = entries.last();
    let mut found: Vec<Finding> = installed.iter().map(one).collect();
    found.extend(entry.map(|entry| of_entry(entry, entry.is_for_all(global.as_deref()))));
    if found.is_empty() {
        return vec![connected(ground).or_else(elsewhere).unwrap_or_else(missing)];
    }
    found.extend(twice(&installed, entry));
    found
}

/// A host that is connected has a plugin, wherever it has it from.
fn connected(ground: Option<&Ground>) -> Option<Finding> {
    let hosts = &ground?.daemon.get()?.hosts;
    let version = hosts.iter().find_map(|host| host.plugin.as_ref())?;
    Some(Finding::good("plugin", format!("a connected OpenCode has it, legwork {version}")))
}

/// Who uses legwork from another client needs no plugin.
fn elsewhere() -> Option<Finding> {
    let path = env::var_os("PATH").unwrap_or_default();
    let others = clients::names();
    let add = match find("opencode", &path) {
        Some(_) => "; `legwork install opencode` adds it to OpenCode",
        None => "",
    };
    let says = format!("none is needed: legwork is installed in {}{add}", others.join(", "));
    (!others.is_empty()).then(|| Finding::good("plugin", says))
}

/// Whether legwork is installed in other clients and not in OpenCode: then OpenCode is none of our
/// business.
pub fn is_elsewhere() -> bool {
    let here = env::current_dir().unwrap_or_default();
    let entries = NpmEntry::all(global_file().ok().as_deref(), &project::folders(&here));
    let is_here = !entries.is_empty() || installed().map_or(true, |files| !files.is_empty());
    !is_here && !clients::names().is_empty()
}

fn missing() -> Finding {
    let says = "it is not installed in OpenCode";
    let is_cache = |file: PathBuf| Installation::of(&file, &legwork_machine::var).is_cache();
    let command = match this_file().is_ok_and(is_cache) {
        true => opencode_command(false),
        false => "legwork install opencode".to_owned(),
    };
    let remedy = Remedy::run(command, "then restart OpenCode");
    Finding::problem("plugin", "plugin.missing", says, remedy)
}

fn twice(installed: &[Installed], entry: Option<&NpmEntry>) -> Option<Finding> {
    let (first, last, other) = match (installed, entry) {
        ([first, ..], Some(NpmEntry { file, entry })) => {
            (first, first, format!("{entry:?} in {}", file.display()))
        }
        ([first, .., last], None) => (first, last, last.file.display().to_string()),
        _ => return None,
    };
    let says = format!("it is installed twice: {} and {other}", first.file.display());
    let remedy = Remedy::run(last.command("uninstall"), "leaves the other");
    Some(Finding::mind("plugin", "plugin.twice", says, remedy))
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
    if let Some(newer) = version_of(&installed.text).filter(|version| is_newer(version, VERSION)) {
        let says = format!("{file} is of legwork {newer}, and this is {VERSION}");
        let remedy = Remedy::run("legwork update", "says how to update this one; both work");
        return Finding::mind("plugin", "plugin.newer", says, remedy);
    }
    if text(&binary).is_ok_and(|ours| !is_same(&installed.text, &ours)) {
        let says = format!("{file} is of another version than this legwork");
        return Finding::problem("plugin", "plugin.outdated", says, again);
    }
    if !is_this_program(&binary) {
        let says = format!("{file} starts {}, not this one", binary.display());
        return Finding::mind("plugin", "plugin.other-program", says, again);
    }
    Finding::good("plugin", file.to_string())
}

/// An entry of OpenCode's settings. Other versions work together, so another one is no problem.
fn of_entry(npm: &NpmEntry, is_for_all: bool) -> Finding {
    let NpmEntry { file, entry } = npm;
    let says = format!("OpenCode installs {entry:?} by itself ({})", file.display());
    let pin = match is_for_all {
        false => Remedy::words(format!(
            "Write \"legwork@{VERSION}\" there, for everybody who works on this project, and \
             restart OpenCode."
        )),
        true => Remedy::run(opencode_command(false), "then restart OpenCode"),
    };
    match npm.pin() {
        Pin::Loose => {
            let says = format!("{says}; without a whole number it never updates it");
            Finding::mind("plugin", "plugin.npm-unpinned", says, pin)
        }
        Pin::Exactly(theirs) if is_newer(VERSION, &theirs) => {
            let says = format!("{says}; this is legwork {VERSION}");
            Finding::mind("plugin", "plugin.npm-older", says, pin)
        }
        Pin::Exactly(theirs) if is_newer(&theirs, VERSION) => {
            let says = format!("{says}; this is legwork {VERSION}");
            let remedy = Remedy::run("legwork update", "says how to update this one; both work");
            Finding::mind("plugin", "plugin.npm-newer", says, remedy)
        }
        Pin::Exactly(_) | Pin::Elsewhere => Finding::good("plugin", says),
    }
}
