//! `legwork install`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use legwork_machine::Folders;
use serde::Serialize;
use serde_json::json;

use crate::agents::Agents;
use crate::clients::{self, Change, Client, Target, UP_TO_DATE};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::installation::{Installation, opencode_command};
use crate::plugin::{
    FOLDER_MADE, Found, Host, Scope, is_in_build_folder, is_same, look, on_path_as, overwrite,
    text, this_binary, this_file, write,
};
use crate::screen::{DIM, GOOD, MIND, Screen, paint};
use crate::tui_part::{NAMED, TuiPart};

/// Set legwork up in OpenCode, Claude Code, Codex, Gemini CLI, Goose, Cursor or VS Code
///
/// Writes into the host's own files what has it load legwork. The rest of each file stays as it is,
/// byte for byte, with its comments. Doing it again changes nothing, or repairs what is missing;
/// `legwork uninstall` takes it out again. A file that is not understood is left alone, and what to
/// add to it is printed.
///
/// opencode: `plugin/legwork.js`, which OpenCode loads by itself, and `legwork/tui.js`, which shows
/// helpers in its terminal UI, in $OPENCODE_CONFIG_DIR, $XDG_CONFIG_HOME/opencode or
/// ~/.config/opencode. For the second one it adds "./legwork/tui.js" to the list "plugin" in
/// `tui.json`. With --project only `plugin/legwork.js` is written, into the project: OpenCode would
/// install a package of its own into a project whose settings name a part for the terminal UI.
///
/// claude: the folder ~/.claude/skills/legwork, a plugin with the server and two hooks
/// ($CLAUDE_CONFIG_DIR in place of ~/.claude). codex: a table in ~/.codex/config.toml
/// ($CODEX_HOME). gemini: a server and two hooks in ~/.gemini/settings.json. goose: an extension in
/// ~/.config/goose/config.yaml. cursor: a server in ~/.cursor/mcp.json, a hook in hooks.json.
/// vscode: a server in mcp.json of the user's profile. All of these start `legwork mcp`, by its
/// absolute path.
///
/// A legwork that lies in the cache of a package manager (npx, OpenCode's own packages) writes
/// nothing, because the files would name it: it says how to install it instead.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork install opencode                  for all projects
  legwork install opencode --no-tui         without the helpers in the terminal UI
  legwork install claude --project .        for this project only
  legwork install codex --json              what was done, for programs")]
pub struct Install {
    /// Where to
    #[arg(value_name = "HOST")]
    host: Host,
    #[command(flatten)]
    scope: Scope,
    /// Overwrite files of these names that are not ours
    #[arg(long)]
    force: bool,
    /// OpenCode without the part for the terminal UI; takes out what an earlier install has added
    #[arg(long)]
    no_tui: bool,
}

#[derive(Serialize)]
struct Shown {
    done: &'static str,
    file: String,
    binary: String,
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
        match clients::of(self.host) {
            Some(client) => self.in_client(client, screen),
            None => self.in_opencode(screen),
        }
    }
}

impl Install {
    fn in_client(self, client: Client, screen: &Screen) -> Result<Exit, Fault> {
        if self.no_tui {
            return Err(Fault::Usage("--no-tui is for OpenCode only.".to_owned()));
        }
        let target = Target { client, project: self.scope.project_folder()? };
        check_stays(None)?;
        let (binary, files) = clients::add(&target, self.force)?;
        let is_same = files.iter().all(|change| change.done == UP_TO_DATE);
        let done = if is_same { UP_TO_DATE } else { "installed" };
        let in_build_folder = is_in_build_folder(Path::new(&binary));
        let note = clients::claude::note(&target);
        let agents = Folders::from_env().map(|folders| Agents::find(&folders));
        let advice = agents.map(|agents| agents.advice(Some(client.word))).unwrap_or_default();
        if screen.is_json() {
            let shown = json!({
                "done": done,
                "client": client.word,
                "files": files,
                "binary": binary,
                "in_build_folder": in_build_folder,
                "note": note,
                "advice": advice,
            });
            return screen.value(&shown).map(|()| Exit::Done);
        }
        let line =
            |Change { file, done }: &Change| format!("{}: {}", file.display(), paint(GOOD, *done));
        screen.lines(files.iter().map(line))?;
        screen.line(format!("{} starts {binary}", client.name))?;
        if in_build_folder {
            screen.line(paint(MIND, build_folder_hint(client.word)))?;
        }
        if let Some(note) = note {
            screen.line(paint(MIND, note))?;
        }
        screen.lines(advice.iter().map(|line| paint(MIND, line)))?;
        if !is_same {
            let legwork = on_path_as();
            screen.line(client.next)?;
            screen.line(format!("`{legwork} doctor` checks that it works."))?;
        }
        Ok(Exit::Done)
    }

    fn in_opencode(self, screen: &Screen) -> Result<Exit, Fault> {
        let (file, from) = self.scope.file()?;
        check_stays(Some(self.scope.is_project()))?;
        let binary = this_binary()?;
        let part = TuiPart::beside(&file);
        let has_part = !self.no_tui && !self.scope.is_project();
        // Everything that may be refused comes first, so that nothing is done by halves.
        let plugin = Draft::of(&file, text(&binary)?, self.force)?;
        let tui = if has_part {
            part.check()?;
            Some(Draft::of(&part.file, TuiPart::text(&binary)?, self.force)?)
        } else {
            None
        };
        plugin.write(&file, &from)?;
        let terminal_ui = match &tui {
            Some(draft) => Some(add(&part, draft)?),
            None => None,
        };
        let taken_out = self.no_tui && !self.scope.is_project() && take_out(&part)?;
        let shown = Shown {
            done: plugin.done,
            file: file.display().to_string(),
            binary: binary.display().to_string(),
            in_build_folder: is_in_build_folder(&binary),
            terminal_ui,
        };
        if screen.is_json() {
            return screen.value(&shown).map(|()| Exit::Done);
        }
        tell(&shown, screen)?;
        if self.scope.is_project() {
            let why = "Helpers are shown in the terminal UI only by an install for all projects, \
                       without --project.";
            screen.line(paint(DIM, why))?;
        } else if taken_out {
            screen.line(format!("{}: removed", part.file.display()))?;
        }
        Ok(Exit::Done)
    }
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

fn build_folder_hint(host: &str) -> String {
    format!(
        "That is a build folder: the next `cargo clean` removes it. To keep it, run `cargo install \
         --path crates/cli` and then `legwork install {host}` again."
    )
}

fn tell(shown: &Shown, screen: &Screen) -> Result<(), Fault> {
    screen.line(format!("{}: {}", shown.file, paint(GOOD, shown.done)))?;
    if let Some(ui) = &shown.terminal_ui {
        screen.line(format!("{}: {}", ui.file.display(), paint(GOOD, ui.done)))?;
        screen.line(format!("{}: {}", ui.settings.display(), paint(GOOD, ui.settings_done)))?;
    }
    let starts = if shown.terminal_ui.is_some() { "Both start" } else { "It starts" };
    screen.line(format!("{starts} {}", shown.binary))?;
    if shown.in_build_folder {
        screen.line(paint(MIND, build_folder_hint("opencode")))?;
    }
    let is_new = |ui: &TerminalUi| ui.done != UP_TO_DATE || ui.settings_done != NAMED;
    if shown.done != UP_TO_DATE || shown.terminal_ui.as_ref().is_some_and(is_new) {
        let legwork = on_path_as();
        screen.line(format!(
            "Restart OpenCode to use it. `{legwork} doctor` checks that it works."
        ))?;
    }
    Ok(())
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

fn take_out(part: &TuiPart) -> Result<bool, Fault> {
    let changed = part.unlist()?;
    Ok(part.remove()? || !changed.is_empty())
}
