//! `legwork doctor`: one file a subject, each with its checks. A check says what is so and, where
//! something is wrong, a remedy that was tried.

mod agents;
mod check;
mod clients;
mod daemon;
mod disk;
mod finding;
mod folders;
mod notify;
mod opencode;
mod plugin;
mod program;
mod project;
mod records;
mod settings;
mod terminal_ui;

use std::sync::{Arc, OnceLock};

use clap::Args;
use legwork_config::Config;
use legwork_machine::Folders;

use self::check::{Check, Ground};
use self::finding::{Finding, State};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::{BAD, DIM, GOOD, MIND, Screen, paint};
use crate::words::counted;

/// In the order of a start: what the daemon needs, the daemon, what needs the daemon.
const CHECKS: [Check; 15] = [
    program::PROGRAM,
    program::FILES,
    settings::SETTINGS,
    folders::FOLDERS,
    disk::DISK,
    daemon::DAEMON,
    records::RECORDS,
    daemon::HOSTS,
    agents::AGENTS,
    notify::NOTIFY,
    plugin::PLUGIN,
    terminal_ui::TERMINAL_UI,
    opencode::OPENCODE,
    project::PROJECT,
    clients::CHECK,
];

/// Check that everything works, and say what to do if not
///
/// Checks one thing after the other: the program, the settings, the folders, the disk, the daemon,
/// its socket and records, the agents, the plugin, its part for the terminal UI, OpenCode, this
/// project, the other clients that legwork is installed in. Each problem comes with what to do.
/// Starts the daemon if it does not run, and every agent and what each client starts for a moment.
/// The exit code is 1 if there is a problem. For programs each finding has a
/// code that stays the same, and the command of its remedy, if there is one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork doctor
  legwork doctor --json | jq '.[] | select(.state != \"good\") | {code, command}'")]
pub struct Doctor {}

impl Doctor {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut all = Vec::new();
        let mut add = |finding: Finding| {
            let shown = if screen.is_json() { Ok(()) } else { show(&finding, screen) };
            all.push(finding);
            shown
        };
        let ground = match Folders::from_env() {
            Ok(folders) => Some(Arc::new(ground(folders))),
            Err(fault) => {
                add(Finding::of_fault("folders", "folders.unknown", &fault.into()))?;
                None
            }
        };
        for check in CHECKS {
            check.run(ground.as_ref()).into_iter().try_for_each(&mut add)?;
        }
        let problems = all.iter().filter(|finding| finding.is_problem()).count();
        if screen.is_json() {
            screen.value(&all)?;
        } else {
            let warnings = all.iter().filter(|finding| finding.state == State::Mind).count();
            let verdict = match (problems, warnings) {
                (0, 0) => paint(GOOD, "All is well."),
                (0, some) => paint(MIND, format!("No problem, {}.", counted(some, "warning"))),
                (some, _) => paint(BAD, format!("{}.", counted(some, "problem"))),
            };
            screen.lines(["", &verdict])?;
        }
        Ok(if problems > 0 { Exit::Refused } else { Exit::Done })
    }
}

fn ground(folders: Folders) -> Ground {
    let (config, mistakes) = Config::read(&folders.config);
    Ground { folders, config, mistakes, daemon: OnceLock::new() }
}

fn show(finding: &Finding, screen: &Screen) -> Result<(), Fault> {
    let mark = match finding.state {
        State::Good => paint(GOOD, "✓"),
        State::Mind => paint(MIND, "!"),
        State::Problem => paint(BAD, "✗"),
    };
    let mut says = finding.says.lines();
    let first = says.next().unwrap_or_default();
    screen.line(format!("{mark} {:<10} {first}", finding.check))?;
    for more in says {
        screen.line(format!("  {:<10} {more}", ""))?;
    }
    match &finding.remedy {
        Some(remedy) => screen.line(format!("  {:<10} {} {remedy}", "", paint(DIM, "→"))),
        None => Ok(()),
    }
}
