//! `legwork top`.

use clap::Args;
use legwork_machine::Folders;
use legwork_views::terminal::{Ended, Launches, Setup};

use super::{Exit, Fault, Screen};
use crate::agents::Agents;
use crate::{inside, signals};

/// See and steer all helpers on one live screen
///
/// Shows the tasks of all sessions and projects as they change: those that ask you first, then
/// those at work, in the queue and finished. The chosen task is shown with what it asks, its
/// conversation as it comes, its result, and why it is not done. From 100 columns on both are side
/// by side.
#[derive(Args)]
#[command(after_help = "\
Keys:
  j k ↓ ↑     move in the list; scroll in an open task
  Enter Esc   open the task; back to the list
  1 2 3       conversation, result, why it is not done
  n           launch a new task in this folder
  o w r e     answer: once, always, reject, reject and say why (or answer a question)
  x           cancel the task            c    have a finished task go on
  R           try a failed task again    C    clear finished tasks
  f           follow the conversation
  /           find by words              g    timeline over the whole width
  ?           all keys                   q    quit; helpers work on

Examples:
  legwork top
  NO_COLOR=1 legwork top            without colours
  legwork ui                        the same in a browser
  legwork watch                     only the list, line by line in a pipe")]
pub struct Top {}

impl super::Command for Top {
    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        if screen.is_json() {
            return Err(Fault::Usage(
                "`legwork top` draws on a terminal and prints no JSON. `legwork list --json` has \
                 the tasks, `legwork watch --json` what happens to them."
                    .to_owned(),
            ));
        }
        let folders = Folders::from_env()?;
        let setup = Setup {
            launches: launches(&folders),
            folders,
            colours: legwork_machine::var("NO_COLOR").is_none(),
            only_looking: inside::is_inside().then(|| inside::refusal().to_string()),
        };
        let ended = legwork_views::terminal::run(setup, |stopper| {
            signals::listen_and_hang_up(move |exit| stopper.stop(exit as u8))
        });
        Ok(match ended? {
            Ended::Quit => Exit::Done,
            Ended::Stopped(code) if code == Exit::Interrupted as u8 => Exit::Interrupted,
            Ended::Stopped(_) => Exit::Terminated,
        })
    }
}

/// As `legwork run` would, here.
fn launches(folders: &Folders) -> Result<Launches, String> {
    let agents = Agents::find(folders);
    let agent = agents.default().ok_or_else(|| {
        format!("{} `legwork agents` shows what there is.", agents.advice().unwrap_or_default())
    })?;
    let folder = std::env::current_dir().map_err(
        |_| "The folder of this view is gone. Start `legwork top` in another one to launch tasks.",
    )?;
    Ok(Launches { agent: agent.to_owned(), folder })
}
