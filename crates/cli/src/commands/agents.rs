//! `legwork agents`.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use legwork_acp::agents::{Agent, Source};
use legwork_acp::orphans::ProcessTree;
use legwork_acp::{Introduction, Login, Program};
use legwork_machine::Folders;
use legwork_protocol::refusal::plain;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::time::interval;

use super::{Exit, Fault, Screen};
use crate::agents::{Agents as Known, start_all};
use crate::progress::{Live, REDRAW, is_live};
use crate::screen::{BAD, DIM, GOOD, paint};
use crate::sentences::unknown_agent;
use crate::table::{Cell, fit, headings, table_within};

/// The columns that are cut on a narrow screen: the command, then what is wrong.
const YIELDING: [(usize, usize); 2] = [(3, 20), (2, 20)];

/// Show which agents `legwork run` can use
///
/// Shows the agents that speak the Agent Client Protocol: those of your settings, those that were
/// found on the PATH, and the one that is built in to try things with. Each is started, asked who
/// it is, and ended again; nothing is asked of any model. The exit code is 1 if one does not start.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork agents
  legwork agents gemini             only this one
  legwork agents --no-start         only look which there are")]
pub struct Agents {
    /// Only this agent
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Do not start them
    #[arg(long)]
    no_start: bool,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    from: &'static str,
    command: Vec<String>,
    default: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts: Option<Starts>,
}

/// The program of the person that an agent drives.
#[derive(Serialize)]
struct Drives {
    program: String,
    version: String,
    /// In words; nothing if nobody is.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<Option<String>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Starts {
    Well {
        says: String,
        version: String,
        resumes: bool,
        logins: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        drives: Option<Drives>,
    },
    Wrong {
        wrong: String,
    },
}

impl super::Command for Agents {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let folders = Folders::from_env()?;
        let known = Known::find(&folders);
        let default = known.default().map(str::to_owned);
        let advice = known.advice().filter(|_| self.name.is_none());
        let agents = self.chosen(known)?;
        let mut all: Vec<Shown> = agents.iter().map(|agent| shown(agent, &default)).collect();
        if !self.no_start {
            let processes = ProcessTree::of_command(&folders.store);
            let Some(starts) = start(agents, processes)? else { return Ok(Exit::Interrupted) };
            for (shown, starts) in all.iter_mut().zip(starts) {
                shown.starts = Some(starts);
            }
        }
        screen.report(
            || &all,
            || {
                let table = table_within(&rows(&all), screen.columns(), &YIELDING);
                [table, notes(&all, default.as_deref(), advice)].concat()
            },
        )?;
        let is_wrong = |shown: &Shown| matches!(shown.starts, Some(Starts::Wrong { .. }));
        Ok(if all.iter().any(is_wrong) { Exit::Refused } else { Exit::Done })
    }
}

impl Agents {
    fn chosen(&self, known: Known) -> Result<Vec<Agent>, Fault> {
        let Some(name) = &self.name else { return Ok(known.known) };
        let names: Vec<String> = known.names().map(str::to_owned).collect();
        let is_it = |agent: &Agent| agent.name == *name;
        let found: Vec<Agent> = known.known.into_iter().filter(is_it).collect();
        if found.is_empty() {
            return Err(Fault::Refused(unknown_agent(name, &names)));
        }
        Ok(found)
    }
}

fn shown(agent: &Agent, default: &Option<String>) -> Shown {
    let from = match agent.source {
        Source::Config => "settings",
        Source::Path(_) => "PATH",
        Source::Native(_) => "native",
        Source::BuiltIn => "built in",
    };
    Shown {
        name: agent.name.clone(),
        from,
        command: agent.command.clone(),
        default: default.as_ref() == Some(&agent.name),
        starts: None,
    }
}

/// Starts all of them at once. Nothing if Ctrl-C was pressed; then they are gone too.
fn start(agents: Vec<Agent>, processes: Arc<ProcessTree>) -> Result<Option<Vec<Starts>>, Fault> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Fault::Input)?;
    let directory = env::current_dir().map_err(Fault::Input)?;
    let found = runtime.block_on(async {
        tokio::select! {
            found = start_each(agents, directory, processes) => Ok(Some(found)),
            pressed = tokio::signal::ctrl_c() => pressed.map(|()| None),
        }
    });
    found.map_err(|error: io::Error| Fault::Input(error))
}

async fn start_each(
    agents: Vec<Agent>,
    directory: PathBuf,
    processes: Arc<ProcessTree>,
) -> Vec<Starts> {
    let mut open: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
    let mut found: Vec<Option<Starts>> = agents.iter().map(|_| None).collect();
    let mut starting = start_all(agents, &directory, &processes);
    let mut board = is_live().then(Live::default);
    let mut redraw = interval(REDRAW);
    loop {
        tokio::select! {
            started = starting.join_next() => match started {
                Some(Ok((number, agent, said))) => {
                    open.retain(|other| *other != agent.name);
                    found[number] = Some(match said {
                        Ok(introduction) => well_started(introduction),
                        Err(wrong) => Starts::Wrong { wrong },
                    });
                }
                Some(Err(_)) => {}
                None => break,
            },
            _ = redraw.tick() => {
                if let Some(board) = &mut board {
                    let line = format!("{} starting {}", board.turn(), open.join(", "));
                    board.draw(&[fit(&line, Live::room().0)]);
                }
            }
        }
    }
    let lost = || Starts::Wrong { wrong: "The check itself failed. Try again.".to_owned() };
    found.into_iter().map(|starts| starts.unwrap_or_else(lost)).collect()
}

fn well_started(introduction: Introduction) -> Starts {
    let Introduction { name, version, loads, logins, program, .. } = introduction;
    let drives = program.map(|Program { path, version, login }| Drives {
        program: path,
        version,
        login: match login {
            Login::As(whom) => Some(Some(whom)),
            Login::Nobody => Some(None),
            Login::Unknown => None,
        },
    });
    Starts::Well { says: name, version, resumes: loads, logins, drives }
}

fn rows(all: &[Shown]) -> Vec<Vec<Cell>> {
    let mut rows = vec![headings(["NAME", "FROM", "STARTS", "COMMAND"])];
    for Shown { name, from, command, default, starts } in all {
        let name = if *default { format!("{name} (default)") } else { name.clone() };
        let (starts, style) = match starts {
            None => ("not tried".to_owned(), DIM),
            Some(Starts::Well { says, version, resumes, .. }) => {
                (well(says, version, *resumes), GOOD)
            }
            Some(Starts::Wrong { .. }) => ("no, see below".to_owned(), BAD),
        };
        rows.push(vec![
            Cell::new(name),
            Cell::new(from).styled(DIM),
            Cell::new(starts).styled(style),
            Cell::new(command.join(" ")).styled(DIM),
        ]);
    }
    rows
}

/// `ok, gemini-cli 0.61, resumes`
fn well(says: &str, version: &str, resumes: bool) -> String {
    let who = format!("{says} {version}");
    let resumes = if resumes { "resumes" } else { "" };
    let words = ["ok", who.trim(), resumes];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// What does not fit a line of the table.
fn notes(all: &[Shown], default: Option<&str>, advice: Option<String>) -> Vec<String> {
    let mut notes: Vec<String> = advice.into_iter().collect();
    for Shown { name, starts, .. } in all {
        match starts {
            Some(Starts::Wrong { wrong }) => {
                notes.push(format!("{} {name}: {}", paint(BAD, "✗"), plain(wrong, 1_500)));
            }
            Some(Starts::Well { drives: Some(drives), logins, .. }) => {
                let Drives { program, version, login } = drives;
                let about = format!("{name} is {} {}", plain(program, 500), plain(version, 100));
                notes.push(match login {
                    Some(Some(whom)) => {
                        paint(DIM, format!("{about}; logged in: {}", plain(whom, 500)))
                    }
                    Some(None) => {
                        let ways = plain(&logins.join(", "), 500);
                        format!("{} {about}; nobody is logged in: {ways}", paint(BAD, "✗"))
                    }
                    None => paint(DIM, about),
                });
            }
            Some(Starts::Well { logins, .. }) if !logins.is_empty() => {
                let ways = plain(&logins.join(", "), 500);
                notes.push(paint(DIM, format!("{name} offers these logins: {ways}")));
            }
            Some(Starts::Well { .. }) | None => {}
        }
    }
    if default.is_none() {
        notes.push("`legwork run` takes none of them by itself: name one with --agent.".to_owned());
    }
    if !notes.is_empty() {
        notes.insert(0, String::new());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_of_itself_is_short_and_may_be_nothing() {
        assert_eq!(well("gemini-cli", "0.61", true), "ok, gemini-cli 0.61, resumes");
        assert_eq!(well("x", "", false), "ok, x");
        assert_eq!(well("", "", false), "ok");
    }
}
