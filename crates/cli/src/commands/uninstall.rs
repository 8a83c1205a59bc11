//! `legwork uninstall`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::npm_entry::NpmEntry;
use crate::plugin::{Found, Host, Scope, look};
use crate::purge::{self, Plan};
use crate::screen::{Screen, agrees, remark};
use crate::tui_part::TuiPart;

/// Take legwork out of a host
///
/// Removes the files that `legwork install` wrote, and what it added to `tui.json`; nothing else.
/// An entry in `opencode.json` that has OpenCode install legwork by itself is named, and left to
/// you. Tasks are kept, unless --purge says otherwise: that also ends the daemon and removes the
/// records, the conversations, the log and the settings for good, after it has shown what they are
/// and asked. What agents keep for themselves stays.
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
        let entries = self.entries(&file);
        if self.purge {
            return self.purge((&file, is_there), part.as_ref(), &entries, screen);
        }
        let more = take_out(part.as_ref())?;
        let done = if is_there { "removed" } else { "not installed" };
        remove(&file, is_there)?;
        if screen.is_json() {
            let shown =
                json!({ "done": done, "file": file, "terminal_ui": more, "settings": entries });
            return screen.value(&shown).map(|()| Exit::Done);
        }
        screen.line(format!("{}: {done}", file.display()))?;
        screen.lines(more.iter().map(|path| format!("{}: {}", path.display(), fate(path))))?;
        screen.lines(entries.iter().map(to_take_out))?;
        if is_there || !more.is_empty() || !entries.is_empty() {
            screen.line("Restart OpenCode to be rid of it.")?;
            screen.line(
                "Tasks are kept. To remove them and everything else of legwork's too: `legwork \
                 uninstall opencode --purge`.",
            )?;
        }
        Ok(Exit::Done)
    }

    /// What has OpenCode install legwork by itself. That is the person's own to change.
    fn entries(&self, file: &Path) -> Vec<NpmEntry> {
        match file.ancestors().nth(3).filter(|_| self.scope.is_project()) {
            Some(project) => NpmEntry::in_folders([project, &project.join(".opencode")]),
            None => NpmEntry::in_folders(file.ancestors().nth(2)),
        }
    }

    fn purge(
        &self,
        (file, is_there): (&Path, bool),
        part: Option<&TuiPart>,
        entries: &[NpmEntry],
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
            screen.lines(entries.iter().map(to_take_out))?;
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

/// Takes the part for the terminal UI out. Gives the files that were removed or changed. The
/// settings first: ones that name a file that is not there would be a fault.
fn take_out(part: Option<&TuiPart>) -> Result<Vec<PathBuf>, Fault> {
    let Some(part) = part else { return Ok(Vec::new()) };
    let mut all = part.unlist()?;
    if part.remove()? {
        all.push(part.file.clone());
    }
    Ok(all)
}

fn to_take_out(NpmEntry { file, entry }: &NpmEntry) -> String {
    format!(
        "{} names {entry:?}, so OpenCode installs it by itself. Take that out of its \"plugin\" list.",
        file.display()
    )
}

fn fate(path: &Path) -> &'static str {
    if path.exists() { "does not name it any more" } else { "removed" }
}
