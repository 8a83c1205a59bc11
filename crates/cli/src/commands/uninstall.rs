//! `legwork uninstall`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::clients::{self, Change, Client, Installed, Target};
use crate::npm_entry::NpmEntry;
use crate::plugin::{FOLDER_MADE, Found, Scope, check_no_link, global_file, look, remove};
use crate::purge::{self, Plan};
use crate::screen::{agrees, remark};
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
    #[arg(value_name = "HOST", value_parser = clients::parser())]
    host: Client,
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
        match self.host.files {
            [] => self.of_opencode(screen),
            _ => self.of_client(screen),
        }
    }
}

impl Uninstall {
    fn of_client(self, screen: &Screen) -> Result<Exit, Fault> {
        let client = self.host;
        let target = self.scope.target(client)?;
        if self.purge {
            return self.purge(&[], &|| clients::remove(&target).map(drop), &[], screen);
        }
        let files = clients::remove(&target)?;
        let done = if files.is_empty() { "not installed" } else { "removed" };
        let value = || json!({ "done": done, "client": client.word, "files": files });
        screen.report(value, || {
            if files.is_empty() {
                return vec![format!("It is not installed in {}.", client.name)];
            }
            let line = |Change { file, done }: &Change| format!("{}: {done}", file.display());
            files.iter().map(line).chain(rid_of(client)).collect()
        })
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
        let take_out = || {
            let more = part.as_ref().map(TuiPart::take_out).transpose()?.unwrap_or_default();
            if is_there {
                remove(&file, is_folder_ours)?;
            }
            Ok(more)
        };
        if self.purge {
            let part = part.as_ref().map(|part| &part.file);
            let part = part.filter(|part| matches!(look(part), Ok(Found::Ours(_))));
            let plugin: Vec<PathBuf> =
                is_there.then_some(&file).into_iter().chain(part).cloned().collect();
            return self.purge(&plugin, &|| take_out().map(drop), &entries, screen);
        }
        let more = take_out()?;
        let done = if is_there { "removed" } else { "not installed" };
        let value =
            || json!({ "done": done, "file": file, "terminal_ui": more, "settings": entries });
        screen.report(value, || {
            let fate = |path: &Path| match path.exists() {
                true => "does not name it any more",
                false => "removed",
            };
            let mut lines = vec![format!("{}: {done}", file.display())];
            lines.extend(more.iter().map(|path| format!("{}: {}", path.display(), fate(path))));
            lines.extend(entries.iter().map(to_take_out));
            if is_there || !more.is_empty() || !entries.is_empty() {
                lines.extend(rid_of(self.host));
            }
            lines
        })
    }

    /// What has OpenCode install legwork by itself. That is the person's own to change.
    fn entries(&self, file: &Path) -> Vec<NpmEntry> {
        match file.ancestors().nth(3).filter(|_| self.scope.is_project()) {
            Some(project) => NpmEntry::in_folders([project, &project.join(".opencode")]),
            None => NpmEntry::in_folders(file.ancestors().nth(2)),
        }
    }

    /// Takes legwork out of its host and removes everything that it keeps. `plugin` are its files
    /// in OpenCode.
    fn purge(
        &self,
        plugin: &[PathBuf],
        take_out: &dyn Fn() -> Result<(), Fault>,
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
        let value = || {
            json!({
                "done": "purged",
                "files": plugin,
                "removed": removed.iter().map(|item| &item.path).collect::<Vec<_>>(),
                "bytes": removed.iter().map(|item| item.bytes).sum::<u64>(),
                "left": purge::left(&removed),
                "still_in": elsewhere,
            })
        };
        screen.report(value, || {
            let mut lines = purge::lines(&removed, plugin);
            let left = purge::left(&removed);
            lines.push(match left.is_empty() {
                true => "All of it is removed.".to_owned(),
                false => "It is removed, but for what is named here:".to_owned(),
            });
            lines.extend(left);
            lines.extend(entries.iter().map(to_take_out));
            lines.extend(elsewhere.clone());
            lines
        })
    }

    /// What else still starts legwork, and how to take it out of there.
    fn elsewhere(&self) -> Vec<String> {
        let others = clients::over_mcp().chain([clients::opencode()]);
        let line = |client: Client| {
            let target = Target { client, project: None };
            let file = if client.files.is_empty() {
                global_file().ok().filter(|file| matches!(look(file), Ok(Found::Ours(_))))?
            } else {
                let Ok(Installed::Yes { file, .. }) = clients::installed(&target) else {
                    return None;
                };
                file
            };
            let (file, command) = (file.display(), target.command("uninstall"));
            Some(format!("{} still starts legwork ({file}): `{command}`.", client.name))
        };
        others.filter(|client| client.word != self.host.word).filter_map(line).collect()
    }
}

fn rid_of(client: Client) -> [String; 2] {
    [
        format!("Restart {} to be rid of it.", client.name),
        format!(
            "Tasks are kept. To remove them and everything else of legwork's too: `legwork \
             uninstall {} --purge`.",
            client.word
        ),
    ]
}

fn to_take_out(NpmEntry { file, entry }: &NpmEntry) -> String {
    format!(
        "{} names {entry:?}, so OpenCode installs it by itself. Take that out of its \"plugin\" list.",
        file.display()
    )
}
