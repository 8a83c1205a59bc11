//! The clients that start `legwork mcp`: what each has is there, and answers when it is started as
//! the client would start it. Who has legwork in none of them wants it so.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use legwork_client::is_newer;

use super::codes;
use super::finding::Finding;
use crate::clients::{self, Client, Entry, Installed, Target};
use crate::plugin::{is_this_program, word};
use crate::project;
use crate::round_trip::{self, Server};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What came of starting a program, so that each is started once.
type Asked = BTreeMap<(PathBuf, Vec<String>), (Result<Server, String>, Duration)>;

pub fn all() -> Vec<Finding> {
    let projects = project::folders(&env::current_dir().unwrap_or_default());
    let mut asked = Asked::new();
    clients::over_mcp().flat_map(|client| one(client, &projects, &mut asked)).collect()
}

/// The clients that have legwork, for all projects or for this one.
pub fn names() -> Vec<&'static str> {
    let projects = project::folders(&env::current_dir().unwrap_or_default());
    let has_it = |client: &Client| {
        let mut places = projects.iter().cloned().map(Some).chain([None]);
        places.any(|project| {
            let target = Target { client, project };
            matches!(clients::installed(&target), Ok(Installed::Yes { .. }))
        })
    };
    clients::over_mcp().filter(has_it).map(|client| client.name).collect()
}

fn one(client: Client, projects: &[PathBuf], asked: &mut Asked) -> Vec<Finding> {
    let global = Target { client, project: None };
    let of_project = |folder: &PathBuf| Target { client, project: Some(folder.clone()) };
    let mut found: Vec<Finding> = match clients::installed(&global) {
        Ok(installed) => of(&global, installed, asked).into_iter().collect(),
        Err(fault) => vec![codes::client_unreadable(fault.in_full()).about(client.word)],
    };
    for target in projects.iter().map(of_project) {
        // Where a project has none, or leads elsewhere, there is nothing of ours. A home is no
        // project.
        let is_other = target.folder().ok() != global.folder().ok();
        if let (true, Ok(installed)) = (is_other, clients::installed(&target)) {
            found.extend(of(&target, installed, asked));
        }
    }
    if found.is_empty() && global.folder().is_ok_and(|folder| folder.is_dir()) {
        let says = format!("it has no legwork; `{}` adds it", global.command("install"));
        found.push(Finding::good(client.word, says));
    }
    found
}

fn of(target: &Target, installed: Installed, asked: &mut Asked) -> Option<Finding> {
    let command = target.command("install");
    let found = match installed {
        Installed::No => return None,
        Installed::Unclear { file, is_foreign: true } => {
            codes::client_foreign(file.display(), command)
        }
        Installed::Unclear { file, is_foreign: false } => {
            codes::client_unclear(file.display(), command)
        }
        Installed::Yes { entry, file, lacking } => {
            started(target, &entry, &file, lacking.as_deref(), asked)
        }
    };
    Some(found.about(target.client.word))
}

fn started(
    target: &Target,
    entry: &Entry,
    file: &Path,
    lacking: Option<&Path>,
    asked: &mut Asked,
) -> Finding {
    let file = file.display();
    let again = target.command("install");
    let name = target.client.name;
    let Some(program) = clients::program_of(entry) else {
        return codes::client_program_gone(file, &entry.command, again, name);
    };
    let is_this = is_this_program(&program);
    // What lies in a project may be anybody's, and is not started.
    if target.project.is_some() && !is_this {
        return codes::client_other_program(file, program.display(), again, name);
    }
    let (answer, took) = asked.entry((program.clone(), entry.args.clone())).or_insert_with(|| {
        let began = Instant::now();
        (round_trip::ask(&program, &entry.args, ANSWER_MAX), began.elapsed())
    });
    let server = match answer {
        Ok(server) => server,
        Err(why) if is_this => {
            return codes::client_of_this_silent(file, program.display(), why, word(&program));
        }
        Err(why) => return codes::client_silent(file, program.display(), why, again, name),
    };
    if server.name != "legwork" {
        return codes::client_not_legwork(file, program.display(), &server.name, again, name);
    }
    if is_newer(VERSION, &server.version) {
        return codes::client_older(file, &server.version, VERSION, again, name);
    }
    if let Some(lacking) = lacking {
        return codes::client_incomplete(lacking.display(), again, name);
    }
    if let Some(settings) = clients::claude::refused_in(target) {
        return codes::client_refused(file, clients::claude::take_back(&settings));
    }
    let took = took.as_millis();
    let says = format!("{file}; legwork {} answered in {took} ms", server.version);
    Finding::good(target.client.word, says)
}
