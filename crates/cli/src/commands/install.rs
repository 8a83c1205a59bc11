//! `legwork install`.

use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::plugin::{Found, Host, Scope, is_in_build_folder, look, text, this_binary, write};
use crate::screen::{GOOD, MIND, Screen, paint};

/// Set legwork up in a host
///
/// Writes one file, `plugin/legwork.js`, into OpenCode's configuration folder
/// ($OPENCODE_CONFIG_DIR, $XDG_CONFIG_HOME/opencode or ~/.config/opencode). OpenCode loads it from
/// there by itself; no configuration file is changed. Doing it again updates the file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork install opencode                  for all projects
  legwork install opencode --project .      for this project only")]
pub struct Install {
    /// The host
    #[arg(value_name = "HOST")]
    _host: Host,
    #[command(flatten)]
    scope: Scope,
    /// Overwrite a legwork.js that is not ours
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Shown {
    done: &'static str,
    file: String,
    binary: String,
    in_build_folder: bool,
}

impl Install {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let (file, from) = self.scope.file()?;
        let binary = this_binary()?;
        let wanted = text(&binary)?;
        let done = match look(&file)? {
            Found::Nothing => "written",
            Found::Ours(installed) if installed == wanted => "already up to date",
            Found::Ours(_) => "updated",
            Found::Foreign if self.force => "overwritten",
            Found::Foreign => {
                return Err(Fault::Refused(format!(
                    "{} is there already and is not legwork's. Move it away, or give --force to \
                     overwrite it.",
                    file.display()
                )));
            }
        };
        if done != "already up to date" {
            let own = legwork_machine::check_owner_of(&file);
            own.map_err(|fault| Fault::Refused(fault.to_string()))?;
            write(&file, &from, &wanted)?;
        }
        let in_build_folder = is_in_build_folder(&binary);
        let (file, binary) = (file.display().to_string(), binary.display().to_string());
        if screen.is_json() {
            return screen
                .value(&Shown { done, file, binary, in_build_folder })
                .map(|()| Exit::Done);
        }
        screen.line(format!("{file}: {}", paint(GOOD, done)))?;
        screen.line(format!("It starts {binary}"))?;
        if in_build_folder {
            let hint = "That is a build folder: the next `cargo clean` removes it. To keep it, run \
                 `cargo install --path crates/cli` and then `legwork install opencode` again.";
            screen.line(paint(MIND, hint))?;
        }
        if done != "already up to date" {
            screen.line("Restart OpenCode to use it. `legwork doctor` checks that it works.")?;
        }
        Ok(Exit::Done)
    }
}
