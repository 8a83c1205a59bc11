//! The clients that start `legwork mcp`: what each has is there, and answers when it is started as
//! the client would start it. Who has legwork in none of them wants it so.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use legwork_client::is_newer;

use super::check::{Check, Look};
use super::finding::{Finding, Remedy, word};
use crate::clients::{self, CLIENTS, Client, Entry, Installed, Target};
use crate::plugin::is_this_program;
use crate::project;
use crate::round_trip::{self, Server};

pub const CHECK: Check = Check {
    name: "clients",
    doing: "starting what clients start",
    at_most: Duration::from_secs(60),
    look: Look::Anywhere(all),
};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What came of starting a program, so that each is started once.
type Asked = BTreeMap<(PathBuf, Vec<String>), (Result<Server, String>, Duration)>;

fn all() -> Vec<Finding> {
    let projects = project::folders(&env::current_dir().unwrap_or_default());
    let mut asked = Asked::new();
    CLIENTS.iter().flat_map(|client| one(client, &projects, &mut asked)).collect()
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
    CLIENTS.iter().filter(has_it).map(|client| client.name).collect()
}

fn one(client: Client, projects: &[PathBuf], asked: &mut Asked) -> Vec<Finding> {
    let global = Target { client, project: None };
    let of_project = |folder: &PathBuf| Target { client, project: Some(folder.clone()) };
    let mut found: Vec<Finding> = match clients::installed(&global) {
        Ok(installed) => of(&global, installed, asked).into_iter().collect(),
        Err(fault) => vec![Finding::of_fault(client.word, "client.unreadable", &fault)],
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
    let check = target.client.word;
    match installed {
        Installed::No => None,
        Installed::Unclear { file, is_foreign: true } => {
            let says = format!("{} has something else of the name legwork", file.display());
            let command = format!("{} --force", target.command("install"));
            let remedy = Remedy::run(command, "replaces it");
            Some(Finding::problem(check, "client.foreign", says, remedy))
        }
        Installed::Unclear { file, is_foreign: false } => {
            let says = format!("{} is not understood", file.display());
            let remedy = Remedy::words(format!(
                "Correct it, then run `{}`, which says what to add if it still cannot.",
                target.command("install")
            ));
            Some(Finding::problem(check, "client.unclear", says, remedy))
        }
        Installed::Yes { entry, file, lacking } => {
            Some(started(target, &entry, &file, lacking.as_deref(), asked))
        }
    }
}

fn started(
    target: &Target,
    entry: &Entry,
    file: &Path,
    lacking: Option<&Path>,
    asked: &mut Asked,
) -> Finding {
    let (check, file) = (target.client.word, file.display());
    let name = target.client.name;
    let again = Remedy::run(target.command("install"), format!("then restart {name}"));
    let Some(program) = clients::program_of(entry) else {
        let says = format!("{file} starts {}, which is gone", entry.command);
        return Finding::problem(check, "client.program-gone", says, again);
    };
    let is_this = is_this_program(&program);
    // What lies in a project may be anybody's, and is not started.
    if target.project.is_some() && !is_this {
        let says = format!("{file} starts {}, not this one", program.display());
        return Finding::mind(check, "client.other-program", says, again);
    }
    let (answer, took) = asked.entry((program.clone(), entry.args.clone())).or_insert_with(|| {
        let began = Instant::now();
        (round_trip::ask(&program, &entry.args, ANSWER_MAX), began.elapsed())
    });
    let server = match answer {
        Ok(server) => server,
        Err(why) => {
            let says = format!("{file} starts {}, but {why}", program.display());
            let by_hand = format!(
                "Try `{} mcp --help`; `legwork update` says how to update it.",
                word(&program)
            );
            let remedy = if is_this { Remedy::words(by_hand) } else { again };
            return Finding::problem(check, "client.silent", says, remedy);
        }
    };
    if server.name != "legwork" {
        let says = format!("{file} starts {}, which is {}", program.display(), server.name);
        return Finding::problem(check, "client.not-legwork", says, again);
    }
    if is_newer(VERSION, &server.version) {
        let older = &server.version;
        let says = format!("{file} starts legwork {older}, and this is {VERSION}");
        return Finding::mind(check, "client.older", says, again);
    }
    if let Some(lacking) = lacking {
        let says = format!("{} lacks what shows {name} results by itself", lacking.display());
        return Finding::mind(check, "client.incomplete", says, again);
    }
    if let Some(settings) = clients::claude::refused_in(target) {
        let says = format!("{file} is not used: this project's server was refused in Claude Code");
        let remedy = Remedy::words(clients::claude::take_back(&settings));
        return Finding::problem(check, "client.refused", says, remedy);
    }
    let Server { version, .. } = server;
    let took = took.as_millis();
    Finding::good(check, format!("{file}; legwork {version} answered in {took} ms"))
}
