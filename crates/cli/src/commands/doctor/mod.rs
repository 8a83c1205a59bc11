//! `legwork doctor`: one file a subject, each with its checks. A check says what is so and, where
//! something is wrong, a remedy that was tried.

mod agents;
mod check;
mod clients;
mod codes;
mod daemon;
mod disk;
mod finding;
mod folders;
mod opencode;
mod plugin;
mod program;
mod records;
mod settings;
mod terminal_ui;

use std::sync::{Arc, OnceLock};

use crate::config::Config;
use clap::Args;
use legwork_machine::Folders;

use self::check::Needs::{Folders as WithFolders, FoldersIfAny, Nothing};
use self::check::{Check, DoctorContext};
use self::finding::{Finding, State};
use super::{Exit, Fault, Screen};
use crate::screen::{BAD, DIM, GOOD, MIND, paint};
use crate::words::counted;

/// In the order of a start: what the daemon needs, the daemon, what needs the daemon. With what
/// goes on, and how many seconds it may take.
const CHECKS: [Check; 15] = [
    Check::new("program", "looking for other legworks", 10, Nothing(program::program)),
    Check::new("files", "asking for the limit on open files", 2, Nothing(program::open_files)),
    Check::new("settings", "reading the settings", 5, WithFolders(settings::settings)),
    Check::new("folders", "looking at legwork's folders", 5, WithFolders(folders::folders)),
    Check::new("disk", "writing a trial file", 10, WithFolders(disk::disk)),
    Check::new("daemon", "waiting for the daemon", 20, WithFolders(daemon::daemon)),
    Check::new("records", "reading all records", 60, WithFolders(records::records)),
    Check::new("hosts", "counting the connected hosts", 2, WithFolders(daemon::hosts)),
    Check::new("agents", "starting every agent", 30, WithFolders(agents::agents)),
    Check::new(
        "notify",
        "looking for the program to notify with",
        2,
        WithFolders(settings::notify),
    ),
    Check::new("plugin", "looking for the plugin", 5, FoldersIfAny(plugin::plugin)),
    Check::new(
        "screen",
        "looking for the part for the terminal UI",
        5,
        Nothing(terminal_ui::terminal_ui),
    ),
    Check::new("opencode", "starting OpenCode", 130, Nothing(opencode::opencode)),
    Check::new("project", "looking at this project", 5, Nothing(opencode::project)),
    Check::new("clients", "starting what clients start", 60, Nothing(clients::all)),
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

impl super::Command for Doctor {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut all = Vec::new();
        let mut add = |finding: Finding| {
            let shown = if screen.is_json() { Ok(()) } else { show(&finding, screen) };
            all.push(finding);
            shown
        };
        let context = match Folders::from_env() {
            Ok(folders) => {
                let (config, mistakes) = Config::read(&folders.config);
                let daemon = OnceLock::new();
                Some(Arc::new(DoctorContext { folders, config, mistakes, daemon }))
            }
            Err(fault) => {
                add(codes::folders_unknown(Fault::from(fault).in_full()))?;
                None
            }
        };
        for check in CHECKS {
            check.run(context.as_ref()).into_iter().try_for_each(&mut add)?;
        }
        let count = |state| all.iter().filter(|finding| finding.state == state).count();
        let problems = count(State::Problem);
        if screen.is_json() {
            screen.value(&all)?;
        } else {
            let verdict = match (problems, count(State::Mind)) {
                (0, 0) => paint(GOOD, "All is well."),
                (0, some) => paint(MIND, format!("No problem, {}.", counted(some, "warning"))),
                (some, _) => paint(BAD, format!("{}.", counted(some, "problem"))),
            };
            screen.lines(["", &verdict])?;
        }
        Ok(if problems > 0 { Exit::Refused } else { Exit::Done })
    }
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
