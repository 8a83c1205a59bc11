//! `legwork uninstall`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::plugin::{Found, Host, Scope, look};
use crate::purge::{self, Plan};
use crate::screen::{Screen, agrees, remark};
use crate::tui_part::TuiPart;

/// Take legwork out of a host
///
/// Removes the files that `legwork install` wrote, and what it added to `tui.json`; nothing else.
/// Tasks are kept, unless --purge says otherwise: that also ends the daemon and removes the records, the conversations, the log
/// and the settings for good, after it has shown what they are and asked. What agents keep for
/// themselves stays.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork uninstall opencode
  legwork uninstall opencode --project .
  legwork uninstall opencode --purge        and everything that legwork keeps")]
pub struct Uninstall {
    /// The host
    #[arg(value_name = "HOST")]
    _host: Host,
    #[command(flatten)]
    scope: Scope,
    /// Remove everything that legwork keeps, too
    #[arg(long, conflicts_with = "project")]
    purge: bool,
    /// Do not ask
    #[arg(long, short, requires = "purge")]
    yes: bool,
    /// Even while helpers are at work or a host is open
    #[arg(long, requires = "purge")]
    force: bool,
}

impl Uninstall {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let (file, _) = self.scope.file()?;
        let is_there = match look(&file)? {
            Found::Nothing => false,
            Found::Ours(_) => true,
            Found::Foreign => {
                return Err(Fault::Refused(format!(
                    "{} is not legwork's, so it was left alone.",
                    file.display()
                )));
            }
        };
        let part = (!self.scope.is_project()).then(|| TuiPart::beside(&file));
        if self.purge {
            return self.purge(&file, is_there, part.as_ref(), screen);
        }
        let more = take_out(part.as_ref())?;
        let done = if is_there { "removed" } else { "not installed" };
        remove(&file, is_there)?;
        if screen.is_json() {
            let shown = json!({ "done": done, "file": file, "terminal_ui": more });
            return screen.value(&shown).map(|()| Exit::Done);
        }
        screen.line(format!("{}: {done}", file.display()))?;
        screen.lines(more.iter().map(|path| format!("{}: {}", path.display(), fate(path))))?;
        if is_there || !more.is_empty() {
            screen.line("Restart OpenCode to be rid of it.")?;
            screen.line(
                "Tasks are kept. To remove them and everything else of legwork's too: `legwork \
                 uninstall opencode --purge`.",
            )?;
        }
        Ok(Exit::Done)
    }

    fn purge(
        &self,
        file: &Path,
        is_there: bool,
        part: Option<&TuiPart>,
        screen: &Screen,
    ) -> Result<Exit, Fault> {
        let plan = Plan::new(self.force)?;
        let plugin = is_there.then_some(file);
        if !self.yes {
            plan.shown(plugin).into_iter().for_each(remark);
            if !agrees("Remove all of this for good?")? {
                remark("Nothing was removed.");
                return Ok(Exit::Refused);
            }
        }
        // First, so that no window that is opened meanwhile starts the daemon again.
        take_out(part)?;
        remove(file, is_there)?;
        let removed = plan.carry_out()?;
        if screen.is_json() {
            let all: Vec<&PathBuf> = removed.iter().map(|item| &item.path).collect();
            let bytes: u64 = removed.iter().map(|item| item.bytes).sum();
            screen.value(
                &json!({ "done": "purged", "file": plugin, "removed": all, "bytes": bytes }),
            )?;
        } else {
            screen.lines(purge::lines(&removed, plugin))?;
            screen.line("All of it is removed.")?;
        }
        Ok(Exit::Done)
    }
}

fn remove(file: &Path, is_there: bool) -> Result<(), Fault> {
    if is_there {
        fs::remove_file(file).map_err(Fault::file("remove", file))?;
        // Fails if anything else is in the folder, and that is right.
        let _ = file.parent().map(fs::remove_dir);
    }
    Ok(())
}

/// Takes the part for the terminal UI out. Gives the files that were removed or changed. The settings
/// first: ones that name a file that is not there would be a fault.
fn take_out(part: Option<&TuiPart>) -> Result<Vec<PathBuf>, Fault> {
    let Some(part) = part else { return Ok(Vec::new()) };
    let mut all = part.unlist()?;
    if part.remove()? {
        all.push(part.file.clone());
    }
    Ok(all)
}

fn fate(path: &Path) -> &'static str {
    if path.exists() { "does not name it any more" } else { "removed" }
}
