//! `legwork completions`.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Legwork;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

/// Print a completion script for a shell
///
/// Prints a script that completes legwork's commands in a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork completions bash > ~/.local/share/bash-completion/completions/legwork
  legwork completions zsh > \"${fpath[1]}/_legwork\"
  legwork completions fish > ~/.config/fish/completions/legwork.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Legwork::command(), "legwork", &mut script);
        if screen.is_json() {
            let shell = self.shell.to_string();
            let script = String::from_utf8_lossy(&script);
            screen.value(&serde_json::json!({ "shell": shell, "script": script }))?;
        } else {
            io::stdout().write_all(&script).map_err(Fault::Output)?;
        }
        Ok(Exit::Done)
    }
}
