//! `legwork uninstall`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::clients::{self, CLIENTS, Change, Client, Installed, Target};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::npm_entry::NpmEntry;
use crate::plugin::{FOLDER_MADE, Found, Host, Scope, check_no_link, global_file, look, remove};
use crate::purge::{self, Plan};
use crate::screen::{Screen, agrees, remark};
use crate::tui_part::TuiPart;

/// Take legwork out of what it was installed in
///
/// Removes the files that `legwork install` wrote, and what it added to files of the host; nothing
/// else. An entry in `opencode.json` that has OpenCode install legwork by itself is named, and left
/// to you. Tasks are kept, unless --purge says otherwise: that also ends the daemon and removes the
/// records, the conversations, the log and the settings for good, after it has shown what they are
/// and asked. What agents keep for themselves stays.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork uninstall opencode
  legwork uninstall claude
  legwork uninstall codex --project .
  legwork uninstall opencode --purge        and everything that legwork keeps")]
pub struct Uninstall {
    /// Where from
    #[arg(value_name = "HOST")]
    host: Host,
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

impl super::Command for Uninstall {
    const ACTS: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        match clients::of(self.host) {
            Some(client) => self.of_client(client, screen),
            None => self.of_opencode(screen),
        }
    }
}

impl Uninstall {
    fn of_client(self, client: Client, screen: &Screen) -> Result<Exit, Fault> {
        let target = Target { client, project: self.scope.project_folder()? };
        if self.purge {
            let remove = || {
                let changes = clients::remove(&target)?;
                Ok(changes.into_iter().map(|change| change.file).collect())
            };
            return self.purge(None, &remove, &[], screen);
        }
        let files = clients::remove(&target)?;
        let done = if files.is_empty() { "not installed" } else { "removed" };
        if screen.is_json() {
            let shown = json!({ "done": done, "client": client.word, "files": files });
            return screen.value(&shown).map(|()| Exit::Done);
        }
        screen.lines(
            files.iter().map(|Change { file, done }| format!("{}: {done}", file.display())),
        )?;
        if files.is_empty() {
            return screen
                .line(format!("It is not installed in {}.", client.name))
                .map(|()| Exit::Done);
        }
        screen.line(format!("Restart {} to be rid of it.", client.name))?;
        screen.line(kept(client.word))?;
        Ok(Exit::Done)
    }

    fn of_opencode(self, screen: &Screen) -> Result<Exit, Fault> {
        let (file, _) = self.scope.file()?;
        let (is_there, is_folder_ours) = match look(&file)? {
            Found::Nothing => (false, false),
            Found::Ours(text) => (true, text.contains(FOLDER_MADE)),
            Found::Foreign => {
                return Err(Fault::Refused(format!(
                    "{} is not legwork's, so it was left alone.",
                    file.display()
                )));
            }
        };
        let part = (!self.scope.is_project()).then(|| TuiPart::beside(&file));
        let own = part.iter().map(|part| &part.file).chain([&file]);
        own.into_iter().try_for_each(|file| check_no_link(file))?;
        let entries = self.entries(&file);
        if self.purge {
            let remove_all = || {
                let mut all = take_out(part.as_ref())?;
                if is_there {
                    remove(&file, is_folder_ours)?;
                    all.push(file.clone());
                }
                Ok(all)
            };
            return self.purge(is_there.then_some(&*file), &remove_all, &entries, screen);
        }
        let more = take_out(part.as_ref())?;
        let done = if is_there { "removed" } else { "not installed" };
        if is_there {
            remove(&file, is_folder_ours)?;
        }
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
            screen.line(kept("opencode"))?;
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

    /// Takes it out of its host and removes everything that legwork keeps. The plugin is that of
    /// OpenCode, if it is there.
    fn purge(
        &self,
        plugin: Option<&Path>,
        take_out: &dyn Fn() -> Result<Vec<PathBuf>, Fault>,
        entries: &[NpmEntry],
        screen: &Screen,
    ) -> Result<Exit, Fault> {
        let plan = Plan::new(self.force)?;
        let elsewhere = self.elsewhere();
        if !self.yes {
            plan.shown(plugin).into_iter().chain(elsewhere.clone()).for_each(remark);
            if !agrees("Remove all of this for good?")? {
                remark("Nothing was removed.");
                return Ok(Exit::Refused);
            }
        }
        // First, so that no window that is opened meanwhile starts the daemon again.
        take_out()?;
        let removed = plan.carry_out()?;
        if screen.is_json() {
            let all: Vec<&PathBuf> = removed.iter().map(|item| &item.path).collect();
            let bytes: u64 = removed.iter().map(|item| item.bytes).sum();
            screen.value(
                &json!({ "done": "purged", "file": plugin, "removed": all, "bytes": bytes, "left": purge::left(&removed), "still_in": elsewhere }),
            )?;
        } else {
            screen.lines(purge::lines(&removed, plugin))?;
            screen.line("All of it is removed.")?;
            screen.lines(purge::left(&removed))?;
            screen.lines(entries.iter().map(to_take_out))?;
            screen.lines(elsewhere)?;
        }
        Ok(Exit::Done)
    }

    /// What else still starts legwork, and how to take it out of there.
    fn elsewhere(&self) -> Vec<String> {
        let is_other = |client: &Client| client.host != self.host;
        let entry = |client: Client| {
            let target = Target { client, project: None };
            let Ok(Installed::Yes { file, .. }) = clients::installed(&target) else { return None };
            Some((client.name, file, target.command("uninstall")))
        };
        let mut found: Vec<_> = CLIENTS.iter().filter(is_other).filter_map(entry).collect();
        if self.host != Host::Opencode
            && let Ok(file) = global_file()
            && matches!(look(&file), Ok(Found::Ours(_)))
        {
            found.push(("OpenCode", file, "legwork uninstall opencode".to_owned()));
        }
        let line = |(name, file, command): (&str, PathBuf, String)| {
            format!("{name} still starts legwork ({}): `{command}`.", file.display())
        };
        found.into_iter().map(line).collect()
    }
}

fn kept(host: &str) -> String {
    format!(
        "Tasks are kept. To remove them and everything else of legwork's too: `legwork uninstall \
         {host} --purge`."
    )
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
