//! The part of the plugin for OpenCode's terminal UI. OpenCode does not find it by itself, so it is
//! two things: a file, and a word in the settings of the terminal UI (`tui.json`), which belong to
//! the person and are otherwise left as they are, to the byte.
//!
//! It is for all projects only. With such a word in the settings of a project, OpenCode would
//! install a package of its own into that project, and everybody who checks the project out would
//! load it.

use std::path::{Path, PathBuf};

use legwork_opencode::TUI_PLUGIN;

use crate::clients::{Format, Item, Leaf, Left, Part, Settings};
use crate::fault::Fault;
use crate::plugin::{self, Found, look, remove};

/// What the settings name, relative to themselves.
pub const WORD: &str = "./legwork/tui.js";
/// What is said of settings to which nothing had to be done.
pub const NAMED: &str = "names it already";
/// The two places, in one configuration folder of OpenCode.
#[derive(Debug)]
pub struct TuiPart {
    pub file: PathBuf,
    folder: PathBuf,
}

/// Whether the settings name the file.
#[derive(Debug, PartialEq, Eq)]
pub enum Listed {
    No,
    /// In this file.
    In(PathBuf),
    /// This file cannot be understood.
    Unclear(PathBuf),
}

impl TuiPart {
    /// The one beside this plugin file.
    pub fn beside(plugin: &Path) -> Self {
        let folder = plugin.ancestors().nth(2).unwrap_or(plugin).to_owned();
        Self { file: folder.join("legwork").join("tui.js"), folder }
    }

    pub fn text(binary: &Path) -> Result<String, Fault> {
        plugin::filled(TUI_PLUGIN, binary)
    }

    /// The settings that may name the file. OpenCode reads both names.
    fn settings(&self) -> [Part; 2] {
        ["tui.json", "tui.jsonc"].map(|name| {
            // A person may have called the file so.
            let words = vec![WORD.to_owned(), self.file.display().to_string()];
            let settings = Settings {
                format: Format::Json,
                items: vec![Item { way: &["plugin"], leaf: Leaf::Word(words) }],
                base: "{ \"plugin\": [] }".to_owned(),
                is_own: false,
            };
            Part { file: self.folder.join(name), settings, own_folders: 0 }
        })
    }

    pub fn listed(&self) -> Result<Listed, Fault> {
        let mut unclear = None;
        for part in self.settings() {
            let Some(text) = part.text()? else { continue };
            match part.settings.add(&text, "", false) {
                Ok(same) if same == text => return Ok(Listed::In(part.file)),
                Ok(_) => {}
                // Somebody may have added it by hand, as they were told to.
                Err(_) if text.contains(WORD) => return Ok(Listed::In(part.file)),
                Err(_) => unclear = unclear.or(Some(part.file)),
            }
        }
        Ok(unclear.map_or(Listed::No, Listed::Unclear))
    }

    /// Refuses settings that [`TuiPart::list`] would refuse.
    pub fn check(&self) -> Result<(), Fault> {
        match self.listed()? {
            Listed::Unclear(path) => Err(not_understood(&path)),
            Listed::No | Listed::In(_) => Ok(()),
        }
    }

    /// Has the settings name the file. Gives the settings and what was done to them.
    pub fn list(&self) -> Result<(PathBuf, &'static str), Fault> {
        self.check()?;
        if let Listed::In(path) = self.listed()? {
            return Ok((path, NAMED));
        }
        let [first, second] = self.settings();
        let part = if first.text()?.is_none() && second.text()?.is_some() { second } else { first };
        let before = part.text()?;
        let (after, done) = match &before {
            Some(text) => (part.settings.add(text, "", false), "names it now"),
            None => (part.settings.fresh("", 0), "written"),
        };
        let after = Left::Text(after.map_err(|_| not_understood(&part.file))?);
        part.put(before.as_deref(), &after, None)?;
        Ok((part.file, done))
    }

    /// Takes every mention of the file out of the settings. Gives those that were changed.
    fn unlist(&self) -> Result<Vec<PathBuf>, Fault> {
        let mut changed = Vec::new();
        for part in self.settings() {
            let Some(text) = part.text()? else { continue };
            match part.settings.remove(&text) {
                Ok(None) => {}
                Ok(Some(left)) => {
                    part.put(Some(&text), &part.left(left), None)?;
                    changed.push(part.file);
                }
                Err(_) if text.contains(WORD) => {
                    return Err(Fault::Refused(format!(
                        "{} is not understood, so it was left alone. Take {WORD:?} out of it \
                         yourself.",
                        part.file.display()
                    )));
                }
                Err(_) => {}
            }
        }
        Ok(changed)
    }

    /// Takes the part out. Gives the files that were removed or changed. The settings first: ones
    /// that name a file that is not there would be a fault. Nobody else has a folder of our name.
    pub fn take_out(&self) -> Result<Vec<PathBuf>, Fault> {
        let mut changed = self.unlist()?;
        if matches!(look(&self.file)?, Found::Ours(_)) {
            remove(&self.file, true)?;
            changed.push(self.file.clone());
        }
        Ok(changed)
    }
}

fn not_understood(path: &Path) -> Fault {
    Fault::Refused(format!(
        "{} is not understood, so nothing was changed. Add {WORD:?} to its \"plugin\" list yourself, \
         then do this again; or give --no-tui, and helpers are not shown in the terminal UI.",
        path.display()
    ))
}
