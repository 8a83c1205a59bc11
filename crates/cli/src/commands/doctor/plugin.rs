//! The plugin in OpenCode: it is there, once, of this version, and starts this program. It is a
//! file that `legwork install opencode` wrote, or an entry of OpenCode's settings, which has
//! OpenCode install it by itself.

use std::env;
use std::path::{Path, PathBuf};

use legwork_client::is_newer;

use super::check::DoctorContext;
use super::clients;
use super::codes;
use super::finding::Finding;
use crate::agents::Agents;
use crate::clients::{Target, opencode};
use crate::fault::Fault;
use crate::installation::{Installation, opencode_command};
use crate::npm_entry::{NpmEntry, Pin};
use crate::plugin::{
    Found, binary_of, file_in, global_file, is_same, is_this_program, look, text, this_file,
    version_of,
};
use crate::programs::find;
use crate::project;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Its program, and its agent's name.
const OPENCODE: &str = "opencode";

/// A plugin file of ours.
struct Installed {
    file: PathBuf,
    text: String,
    target: Target,
}

pub fn plugin(context: Option<&DoctorContext>) -> Vec<Finding> {
    let installed = match installed() {
        Err(fault) => return vec![codes::plugin_unreadable(fault.in_full())],
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
        return vec![connected(context).or_else(elsewhere).unwrap_or_else(|| missing(context))];
    }
    found.extend(twice(&installed, entry));
    found
}

/// A host that is connected has a plugin, wherever it has it from.
fn connected(context: Option<&DoctorContext>) -> Option<Finding> {
    let hosts = &context?.daemon.get()?.hosts;
    let version = hosts.iter().find_map(|host| host.plugin.as_ref())?;
    Some(Finding::good("plugin", format!("a connected OpenCode has it, legwork {version}")))
}

/// Who uses legwork from another client needs no plugin.
fn elsewhere() -> Option<Finding> {
    let path = env::var_os("PATH").unwrap_or_default();
    let others = clients::names();
    let add = match find(OPENCODE, &path) {
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

/// It is a problem where helpers could work in OpenCode alone. Somebody with another agent may use
/// `legwork run`, or another client in a project elsewhere.
fn missing(context: Option<&DoctorContext>) -> Finding {
    let is_cache = |file: PathBuf| Installation::of(&file, &legwork_machine::var).is_cache();
    let command = match this_file().is_ok_and(is_cache) {
        true => opencode_command(false),
        false => "legwork install opencode".to_owned(),
    };
    let has_opencode = find(OPENCODE, &env::var_os("PATH").unwrap_or_default()).is_some();
    let has_another = context
        .is_some_and(|context| Agents::find(&context.folders).names().any(|name| name != OPENCODE));
    match has_opencode && !has_another {
        true => codes::plugin_missing(command),
        false => codes::plugin_not_used(command),
    }
}

fn twice(installed: &[Installed], entry: Option<&NpmEntry>) -> Option<Finding> {
    let (first, last, other) = match (installed, entry) {
        ([first, ..], Some(NpmEntry { file, entry })) => {
            (first, first, format!("{entry:?} in {}", file.display()))
        }
        ([first, .., last], None) => (first, last, last.file.display().to_string()),
        _ => return None,
    };
    Some(codes::plugin_twice(first.file.display(), other, last.target.command("uninstall")))
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
            let target = Target { client: opencode(), project };
            all.push(Installed { file, text, target });
        }
    }
    Ok(all)
}

fn one(installed: &Installed) -> Finding {
    let file = installed.file.display();
    let again = installed.target.command("install");
    let Some(binary) = binary_of(&installed.text) else {
        return codes::plugin_no_program(file, again);
    };
    if !binary.exists() {
        return codes::plugin_program_gone(file, binary.display(), again);
    }
    if let Some(newer) = version_of(&installed.text).filter(|version| is_newer(version, VERSION)) {
        return codes::plugin_newer(file, newer, VERSION);
    }
    if text(&binary).is_ok_and(|ours| !is_same(&installed.text, &ours)) {
        return codes::plugin_outdated(file, again);
    }
    if !is_this_program(&binary) {
        return codes::plugin_other_program(file, binary.display(), again);
    }
    Finding::good("plugin", file.to_string())
}

/// An entry of OpenCode's settings. Other versions work together, so another one is no problem.
fn of_entry(npm: &NpmEntry, is_for_all: bool) -> Finding {
    let NpmEntry { file, entry } = npm;
    let says = format!("OpenCode installs {entry:?} by itself ({})", file.display());
    let pin = opencode_command(false);
    match npm.pin() {
        Pin::Loose if is_for_all => codes::plugin_npm_unpinned(says, pin),
        Pin::Loose => codes::plugin_project_unpinned(says, VERSION),
        Pin::Exactly(theirs) if is_newer(VERSION, &theirs) => match is_for_all {
            true => codes::plugin_npm_older(says, VERSION, pin),
            false => codes::plugin_project_older(says, VERSION),
        },
        Pin::Exactly(theirs) if is_newer(&theirs, VERSION) => {
            codes::plugin_npm_newer(says, VERSION)
        }
        Pin::Exactly(_) | Pin::Elsewhere => Finding::good("plugin", says),
    }
}
