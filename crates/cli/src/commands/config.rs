//! `legwork config`.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::config::{Config, Effective, Value};
use clap::{Args, Subcommand};
use legwork_client::{Holder, holder};
use legwork_machine::{Folders, create_folder, if_there, private_file};
use legwork_protocol::refusal::plain;
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::plugin::overwrite;
use crate::screen::{DIM, GOOD, paint, warn};
use crate::table::{Cell, headings, table_within};

/// The columns that are cut on a narrow screen, each with its least width: what it is, the value.
const YIELDING: [(usize, usize); 2] = [(3, 8), (1, 12)];

/// A list of many names is cut in the table; `--json` has it whole.
const VALUE_MAX_CHARS: usize = 40;

/// The sections that the daemon reads when it starts. The others are read when they are needed.
const READ_AT_START: [&str; 3] = ["limits.", "notices.", "recovery."];

/// Show, set and check the settings
///
/// Shows where the settings are read from, each setting with its value, and where that comes from:
/// a line of the file, or the default. `set` changes one and leaves the rest of the file as it is;
/// `check` names every mistake, with the setting that was meant, and ends with 1 if there is one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork config
  legwork config set limits.max_cost 2.50
  legwork config set notices.wake last
  legwork config set agents.mine.command '[\"my-agent\", \"--acp\"]'
  legwork config check
  $EDITOR $(legwork config path)")]
pub struct ConfigCommand {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Show every setting, with its value and where that comes from
    Show,
    /// Set one
    Set {
        /// Its section and key, as `legwork config` shows them
        #[arg(value_name = "NAME")]
        name: String,
        /// A number, true or false, a word, or a list like '["a", "b"]'
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
    },
    /// Name the mistakes
    Check,
    /// Print where the file is
    Path,
}

impl super::Command for ConfigCommand {
    const IS_FOR_PEOPLE: bool = false;

    fn acts(&self) -> bool {
        matches!(self.action, Some(Action::Set { .. }))
    }

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let folders = Folders::from_env()?;
        match self.action.unwrap_or(Action::Show) {
            Action::Show => show(&folders.config, screen),
            Action::Set { name, value } => set(&folders, &name, &value, screen),
            Action::Check => check(&folders.config, screen),
            Action::Path => {
                let file = &folders.config;
                screen.report(|| json!({ "file": file }), || vec![file.display()])
            }
        }
    }
}

fn show(file: &Path, screen: &Screen) -> Result<Exit, Fault> {
    let (settings, mistakes) = Config::effective(file);
    let values: Vec<serde_json::Value> = settings.iter().map(for_programs).collect();
    let page = || json!({ "file": file, "settings": values, "mistakes": mistakes });
    screen.report(page, || {
        let there = if file.exists() { "" } else { " is not there: these are the defaults" };
        let mut rows = vec![headings(["SETTING", "VALUE", "FROM", "WHAT IT IS"])];
        rows.extend(settings.iter().map(row));
        let mut lines = vec![format!("{}{there}", file.display()), String::new()];
        lines.extend(table_within(&rows, screen.columns(), &YIELDING));
        lines
    })?;
    if !screen.is_json() {
        mistakes.iter().for_each(|mistake| warn(mistake));
    }
    Ok(Exit::Done)
}

fn row(setting: &Effective) -> Vec<Cell> {
    let source = setting.line.map(|line| format!("line {line}"));
    vec![
        Cell::new(&setting.name),
        Cell::new(plain(&setting.value.to_string(), VALUE_MAX_CHARS)),
        Cell::new(source.unwrap_or_else(|| "default".to_owned())),
        Cell::new(setting.about).styled(DIM),
    ]
}

fn for_programs(setting: &Effective) -> serde_json::Value {
    let value = match &setting.value {
        Value::Unset => serde_json::Value::Null,
        Value::Plain(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Value::Text(text) => json!(text),
        Value::Texts(texts) => json!(texts),
    };
    let source = if setting.line.is_some() { "file" } else { "default" };
    let mut shown = json!({
        "name": setting.name, "value": value, "source": source, "about": setting.about,
    });
    if let Some(line) = setting.line {
        shown["line"] = json!(line);
    }
    shown
}

fn check(file: &Path, screen: &Screen) -> Result<Exit, Fault> {
    let (_, mistakes) = Config::read(file);
    screen.report(
        || json!({ "file": file, "mistakes": mistakes }),
        || match mistakes.is_empty() {
            true if !file.exists() => {
                vec![format!("{} is not there: every setting has its default.", file.display())]
            }
            true => vec![format!("{} has no mistake.", file.display())],
            false => mistakes.clone(),
        },
    )?;
    Ok(if mistakes.is_empty() { Exit::Done } else { Exit::Refused })
}

fn set(folders: &Folders, name: &str, typed: &str, screen: &Screen) -> Result<Exit, Fault> {
    let file = &folders.config;
    let text = if_there(fs::read_to_string(file)).map_err(Fault::file("read", file))?;
    let before = value(file, name);
    let edited = crate::config::set(text.as_deref().unwrap_or_default(), name, typed);
    let edited = edited.map_err(|why| {
        let end = if why.ends_with('?') { "" } else { "." };
        Fault::Usage(format!("{why}{end} Nothing was changed."))
    })?;
    match text {
        Some(text) if text == edited => {}
        Some(_) => overwrite(file, &edited)?,
        None => create(file, &edited).map_err(Fault::file("write", file))?,
    }
    let now = value(file, name);
    let is_old = READ_AT_START.iter().any(|section| name.starts_with(section))
        && before != now
        && matches!(holder(&folders.store), Ok(Holder::Daemon(_)));
    let page = || {
        json!({
            "file": file, "name": name, "value": now, "before": before, "needs_new_daemon": is_old,
        })
    };
    screen.report(page, || {
        let done = format!("{} (was {before})", paint(GOOD, format!("{name} = {now}")));
        let then = "The daemon that runs has read the old settings. `legwork daemon stop` ends it; \
                    the next one reads the new.";
        [Some(done), is_old.then(|| then.to_owned())].into_iter().flatten().collect()
    })
}

fn value(file: &Path, name: &str) -> String {
    let (settings, _) = Config::effective(file);
    let found = settings.into_iter().find(|setting| setting.name == name);
    found.map_or(Value::Unset, |setting| setting.value).to_string()
}

/// A first file of settings is the user's alone, as everything of legwork's is.
fn create(file: &Path, text: &str) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), create_folder)?;
    let mut out = private_file().write(true).create_new(true).open(file)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()
}
