//! `legwork install`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use legwork_machine::Folders;
use serde::Serialize;
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::agents::Agents;
use crate::clients::{self, CLIENTS, Change, Client, UP_TO_DATE};
use crate::installation::{Installation, opencode_command};
use crate::plugin::{
    FOLDER_MADE, Found, Scope, is_in_build_folder, is_same, look, on_path_as, overwrite, text,
    this_binary, this_file, write,
};
use crate::screen::{DIM, GOOD, MIND, paint};
use crate::tui_part::{NAMED, TuiPart};

#[derive(Args)]
#[command(about = about(), long_about = long_about(), after_help = "\
Examples:
  legwork install opencode                  for all projects
  legwork install opencode --no-tui         without the helpers in the terminal UI
  legwork install claude --project .        for this project only
  legwork install codex --json              what was done, for programs")]
pub struct Install {
    /// Where to
    #[arg(value_name = "HOST", value_parser = clients::parser())]
    host: Client,
    #[command(flatten)]
    scope: Scope,
    /// Overwrite files of these names that are not ours
    #[arg(long)]
    force: bool,
    /// OpenCode without the part for the terminal UI; takes out what an earlier install has added
    #[arg(long)]
    no_tui: bool,
}

fn about() -> String {
    let names = CLIENTS.iter().map(|client| client.name);
    format!("Set legwork up in {}", clients::one_of(names))
}

fn long_about() -> String {
    let writes = |client: Client| format!("{}: {}", client.word, client.writes);
    let over_mcp: Vec<String> = clients::over_mcp().map(writes).collect();
    format!(
        "{}\n\nWrites into the host's own files what has it load legwork. The rest of each file \
         stays as it is, byte for byte, with its comments. Doing it again changes nothing, or \
         repairs what is missing; `legwork uninstall` takes it out again. A file that is not \
         understood is left alone, and what to add to it is printed.\n\n{}\n\n{} All of these \
         start `legwork mcp`, by its absolute path.\n\nA legwork that lies in the cache of a \
         package manager (npx, OpenCode's own packages) writes nothing, because the files would \
         name it: it says how to install it instead.",
        about(),
        writes(clients::opencode()),
        over_mcp.join(" "),
    )
}

#[derive(Serialize)]
struct Shown {
    done: &'static str,
    file: PathBuf,
    binary: PathBuf,
    in_build_folder: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_ui: Option<TerminalUi>,
}

#[derive(Serialize)]
struct TerminalUi {
    done: &'static str,
    file: PathBuf,
    settings: PathBuf,
    settings_done: &'static str,
}

impl super::Command for Install {
    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        match self.host.files {
            [] => self.in_opencode(screen),
            _ => self.in_client(screen),
        }
    }
}

impl Install {
    fn in_client(self, screen: &Screen) -> Result<Exit, Fault> {
        if self.no_tui {
            return Err(Fault::Usage("--no-tui is for OpenCode only.".to_owned()));
        }
        let client = self.host;
        let target = self.scope.target(client)?;
        check_stays(None)?;
        let (binary, files) = clients::add(&target, self.force)?;
        let is_same = files.iter().all(|change| change.done == UP_TO_DATE);
        let in_build_folder = is_in_build_folder(Path::new(&binary));
        let note = clients::claude::note(&target);
        let agents = Folders::from_env().map(|folders| Agents::find(&folders));
        let advice = agents.ok().and_then(|agents| agents.advice()).into_iter();
        let advice: Vec<String> = advice.collect();
        let value = || {
            json!({
                "done": if is_same { UP_TO_DATE } else { "installed" },
                "client": client.word,
                "files": files,
                "binary": binary,
                "in_build_folder": in_build_folder,
                "note": note,
                "advice": advice,
            })
        };
        screen.report(value, || {
            let done = |Change { file, done }: &Change| done_line(file, done);
            let mut lines: Vec<String> = files.iter().map(done).collect();
            lines.push(format!("{} starts {binary}", client.name));
            lines.extend(in_build_folder.then(|| build_folder_hint(client)));
            lines.extend(note.iter().chain(&advice).map(|line| paint(MIND, line)));
            if !is_same {
                lines.push(client.next.to_owned());
                lines.push(format!("`{} doctor` checks that it works.", on_path_as()));
            }
            lines
        })
    }

    fn in_opencode(self, screen: &Screen) -> Result<Exit, Fault> {
        let (file, from) = self.scope.file()?;
        let is_project = self.scope.is_project();
        check_stays(Some(is_project))?;
        let binary = this_binary()?;
        let part = TuiPart::beside(&file);
        // Everything that may be refused comes first, so that nothing is done by halves.
        let plugin = Draft::of(&file, text(&binary)?, self.force)?;
        let tui = if self.no_tui || is_project {
            None
        } else {
            part.check()?;
            Some(Draft::of(&part.file, TuiPart::text(&binary)?, self.force)?)
        };
        plugin.write(&file, &from)?;
        let terminal_ui = tui.as_ref().map(|draft| add(&part, draft)).transpose()?;
        let taken_out = self.no_tui && !is_project && !part.take_out()?.is_empty();
        let in_build_folder = is_in_build_folder(&binary);
        let shown = Shown { done: plugin.done, file, binary, in_build_folder, terminal_ui };
        screen.report(
            || &shown,
            || {
                let mut lines = shown.lines(self.host);
                if is_project {
                    let why = "Helpers are shown in the terminal UI only by an install for all \
                           projects, without --project.";
                    lines.push(paint(DIM, why));
                } else if taken_out {
                    lines.push(format!("{}: removed", part.file.display()));
                }
                lines
            },
        )
    }
}

impl Shown {
    fn lines(&self, client: Client) -> Vec<String> {
        let mut lines = vec![done_line(&self.file, self.done)];
        let mut is_new = self.done != UP_TO_DATE;
        let mut starts = "It starts";
        if let Some(ui) = &self.terminal_ui {
            lines.push(done_line(&ui.file, ui.done));
            lines.push(done_line(&ui.settings, ui.settings_done));
            is_new |= ui.done != UP_TO_DATE || ui.settings_done != NAMED;
            starts = "Both start";
        }
        lines.push(format!("{starts} {}", self.binary.display()));
        lines.extend(self.in_build_folder.then(|| build_folder_hint(client)));
        if is_new {
            let legwork = on_path_as();
            lines.push(format!("{} `{legwork} doctor` checks that it works.", client.next));
        }
        lines
    }
}

fn done_line(file: &Path, done: &str) -> String {
    format!("{}: {}", file.display(), paint(GOOD, done))
}

/// Refuses to write a file that would name a program in a cache. OpenCode can install it by itself,
/// for a project or for all.
fn check_stays(opencode: Option<bool>) -> Result<(), Fault> {
    let program = this_file()?;
    let installation = Installation::of(&program, &legwork_machine::var);
    if !installation.is_cache() {
        return Ok(());
    }
    let instead = match opencode {
        Some(is_project) => {
            format!("Let OpenCode install it instead: `{}`.", opencode_command(is_project))
        }
        None => "Install it for good first: `npm install -g legwork`.".to_owned(),
    };
    Err(Fault::Refused(format!(
        "Nothing was written: this legwork is {}, and the files would name a program that is gone \
         when that folder is emptied ({}). {instead}",
        installation.says(),
        program.display()
    )))
}

fn build_folder_hint(client: Client) -> String {
    let hint = format!(
        "That is a build folder: the next `cargo clean` removes it. To keep it, run `cargo install \
         --path crates/cli` and then `legwork install {}` again.",
        client.word
    );
    paint(MIND, hint)
}

/// A file that is to be written, if it is not so already.
struct Draft {
    done: &'static str,
    text: String,
}

impl Draft {
    fn of(file: &Path, wanted: String, force: bool) -> Result<Self, Fault> {
        let found = look(file)?;
        let is_made = match &found {
            Found::Ours(installed) => installed.contains(FOLDER_MADE),
            Found::Nothing | Found::Foreign => file.parent().is_some_and(|folder| !folder.exists()),
        };
        let done = match found {
            Found::Nothing => "written",
            Found::Ours(installed) if is_same(&installed, &wanted) => UP_TO_DATE,
            Found::Ours(_) => "updated",
            Found::Foreign if force => "overwritten",
            Found::Foreign => {
                return Err(Fault::Refused(format!(
                    "{} is there already and is not legwork's. Move it away, or give --force to \
                     overwrite it.",
                    file.display()
                )));
            }
        };
        Ok(Self { done, text: wanted + if is_made { FOLDER_MADE } else { "" } })
    }

    fn write(&self, file: &Path, from: &Path) -> Result<(), Fault> {
        if self.done == UP_TO_DATE {
            return Ok(());
        }
        let own = legwork_machine::check_owner_of(file);
        own.map_err(|fault| Fault::Refused(fault.to_string()))?;
        match fs::symlink_metadata(file) {
            // A link of the person's to a file of ours stays one.
            Ok(found) if found.is_symlink() => overwrite(file, &self.text),
            _ => write(file, from, &self.text),
        }
    }
}

/// The file first: settings that name a file that is not there would be a fault.
fn add(part: &TuiPart, draft: &Draft) -> Result<TerminalUi, Fault> {
    let folder = part.file.parent().unwrap_or(&part.file);
    draft.write(&part.file, folder)?;
    let (settings, settings_done) = part.list()?;
    Ok(TerminalUi { done: draft.done, file: part.file.clone(), settings, settings_done })
}
