//! `legwork uninstall`.

use std::fs;

use clap::Args;
use legwork_machine::Folders;
use serde_json::json;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::plugin::{Found, Host, Scope, look};
use crate::screen::Screen;

/// Take legwork out of a host
///
/// Removes the file that `legwork install` wrote, and nothing else. Tasks are kept.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork uninstall opencode
  legwork uninstall opencode --project .")]
pub struct Uninstall {
    /// The host
    #[arg(value_name = "HOST")]
    _host: Host,
    #[command(flatten)]
    scope: Scope,
}

impl Uninstall {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let (file, _) = self.scope.file()?;
        let done = match look(&file)? {
            Found::Nothing => "not installed",
            Found::Ours(_) => "removed",
            Found::Foreign => {
                return Err(Fault::Refused(format!(
                    "{} is not legwork's, so it was left alone.",
                    file.display()
                )));
            }
        };
        if done == "removed" {
            fs::remove_file(&file).map_err(Fault::file("remove", &file))?;
            // Fails if anything else is in the folder, and that is right.
            let _ = file.parent().map(fs::remove_dir);
        }
        if screen.is_json() {
            return screen
                .value(&json!({ "done": done, "file": file.display().to_string() }))
                .map(|()| Exit::Done);
        }
        screen.line(format!("{}: {done}", file.display()))?;
        if done == "removed" {
            screen.line("Restart OpenCode to be rid of it.")?;
            screen.line(format!(
                "Tasks are kept. To forget them too: `legwork clear`, then `legwork daemon stop` \
                 and remove {}.",
                Folders::from_env()?.store.display()
            ))?;
        }
        Ok(Exit::Done)
    }
}
