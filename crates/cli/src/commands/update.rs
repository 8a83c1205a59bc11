//! `legwork update`.

use clap::Args;
use serde::Serialize;

use super::{Exit, Fault, Screen};
use crate::installation::Installation;
use crate::plugin::this_file;
use crate::screen::{BOLD, DIM, paint};

/// Say how to update legwork
///
/// Names the command that updates this installation, whether npm, Homebrew, cargo, the install
/// script or OpenCode has made it. Asks nobody over the network and downloads nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork update
  legwork update --json | jq -r .command")]
pub struct Update {}

#[derive(Serialize)]
struct Shown {
    version: &'static str,
    program: String,
    installed_by: &'static str,
    /// Nothing if it is not known.
    command: Option<String>,
    /// What to know or to do besides.
    then: &'static str,
}

impl super::Command for Update {
    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let file = this_file()?;
        let installation = Installation::of(&file, &legwork_machine::var);
        let shown = Shown {
            version: env!("CARGO_PKG_VERSION"),
            program: file.display().to_string(),
            installed_by: installation.name(),
            command: installation.update(),
            then: then(&installation),
        };
        screen.report(
            || &shown,
            || {
                let Shown { version, program, command, then, .. } = &shown;
                let folder = match &installation {
                    Installation::Project { folder } => {
                        Some(format!("Run it in {}.", folder.display()))
                    }
                    _ => None,
                };
                let how = match command {
                    Some(command) => format!("To update it: {}", paint(BOLD, command)),
                    None => "To update it, do again what you did to install it.".to_owned(),
                };
                let mut lines =
                    vec![format!("legwork {version}, {} ({program})", installation.says())];
                lines.push(how);
                lines.extend(folder);
                lines.push(paint(DIM, then));
                lines
            },
        )
    }
}

fn then(installation: &Installation) -> &'static str {
    match installation {
        Installation::OpenCode { .. } => {
            "Write the new number for VERSION: OpenCode never updates a plugin by itself. Then \
             restart OpenCode."
        }
        Installation::PackageCache { .. } => {
            "It is fetched anew when it is run like this; there is nothing to update."
        }
        _ => {
            "Then run `legwork install opencode` again, if that is how OpenCode has the plugin, and \
             restart OpenCode. A daemon that runs makes way for the new one when it has nothing to \
             do."
        }
    }
}
