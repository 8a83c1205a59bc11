//! `legwork man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::Legwork;

/// Write the manual pages into a folder
///
/// Writes a manual page for legwork and one for each command. Packages bring them along; this is
/// for a legwork that came without, as from `cargo install`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork man ~/.local/share/man/man1 && man legwork-run")]
pub struct Man {
    /// The folder, which is made if it is not there
    #[arg(value_name = "DIR")]
    pages: PathBuf,
}

impl super::Command for Man {
    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let fault = Fault::file("write to", &self.pages);
        std::fs::create_dir_all(&self.pages).map_err(&fault)?;
        clap_mangen::generate_to(Legwork::command(), &self.pages).map_err(&fault)?;
        let first = self.pages.join("legwork.1");
        screen.report(
            || json!({ "folder": self.pages }),
            || vec![format!("Written: {} and a page for each command.", first.display())],
        )
    }
}
