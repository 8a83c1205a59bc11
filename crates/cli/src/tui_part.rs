//! The part of the plugin for OpenCode's terminal UI. OpenCode does not find it by itself, so it is
//! two things: a file, and a word in the settings of the terminal UI (`tui.json`), which belong to
//! the person and are otherwise left as they are, to the byte.
//!
//! It is for all projects only. With such a word in the settings of a project, OpenCode would
//! install a package of its own into that project, and everybody who checks the project out would
//! load it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legwork_machine::if_there;
use legwork_opencode::TUI_PLUGIN;

use crate::fault::Fault;
use crate::jsonc::Outline;
use crate::plugin::{self, Found, look, overwrite};

/// What the settings name, relative to themselves.
pub const WORD: &str = "./legwork/tui.js";
/// The list in the settings.
const LIST: &str = "plugin";
/// Settings that were not there. One line, so that they are told from an empty object of somebody's
/// to which the word was added.
const FRESH: &str = "{ \"plugin\": [\"./legwork/tui.js\"] }\n";
/// What is said of settings to which nothing had to be done.
pub const NAMED: &str = "names it already";
/// Far more than anybody writes by hand.
const SETTINGS_MAX_BYTES: u64 = 1 << 20;

/// The two places, in one configuration folder of OpenCode.
#[derive(Debug)]
pub struct TuiPart {
    pub file: PathBuf,
    folder: PathBuf,
}

/// Settings of the terminal UI, and what they say.
#[derive(Debug)]
struct Settings {
    path: PathBuf,
    text: String,
    /// Nothing if the text is not understood.
    outline: Option<Outline>,
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

    /// What the person has called the file in the settings, or may have.
    fn words(&self) -> [String; 2] {
        [WORD.to_owned(), self.file.display().to_string()]
    }

    /// The settings that are there. OpenCode reads both names.
    fn settings(&self) -> Result<Vec<Settings>, Fault> {
        let mut all = Vec::new();
        for name in ["tui.json", "tui.jsonc"] {
            let path = self.folder.join(name);
            let fault = Fault::file("read", &path);
            let Some(found) = if_there(fs::metadata(&path)).map_err(&fault)? else { continue };
            if !found.is_file() || found.len() > SETTINGS_MAX_BYTES {
                return Err(fault(io::ErrorKind::InvalidData.into()));
            }
            let text = fs::read_to_string(&path).map_err(&fault)?;
            let outline = Outline::of(&text, LIST);
            all.push(Settings { path: path.clone(), text, outline });
        }
        Ok(all)
    }

    pub fn listed(&self) -> Result<Listed, Fault> {
        let settings = self.settings()?;
        if let Some(naming) = settings.iter().find(|one| one.names(&self.words())) {
            return Ok(Listed::In(naming.path.clone()));
        }
        let unclear = settings.into_iter().find(|one| one.outline.is_none());
        Ok(unclear.map_or(Listed::No, |one| Listed::Unclear(one.path)))
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
        let Some(Settings { path, text, outline }) = self.settings()?.into_iter().next() else {
            let path = self.folder.join("tui.json");
            plugin::write(&path, &self.folder, FRESH)?;
            return Ok((path, "written"));
        };
        let outline = outline.ok_or_else(|| not_understood(&path))?;
        overwrite(&path, &outline.with(&text, LIST, WORD))?;
        Ok((path, "names it now"))
    }

    /// Takes every mention of the file out of the settings. Gives those that were changed.
    pub fn unlist(&self) -> Result<Vec<PathBuf>, Fault> {
        let words = self.words();
        let words = [&*words[0], &*words[1]];
        let mut changed = Vec::new();
        for Settings { path, text, outline } in self.settings()? {
            if text == FRESH {
                fs::remove_file(&path).map_err(Fault::file("remove", &path))?;
                changed.push(path);
                continue;
            }
            let (mut left, mut next) = (text.clone(), outline);
            while let Some(less) = next.and_then(|outline| outline.without(&left, LIST, &words)) {
                next = Outline::of(&less, LIST);
                left = less;
            }
            if left != text {
                overwrite(&path, &left)?;
                changed.push(path);
            } else if text.contains(WORD) && Outline::of(&text, LIST).is_none() {
                return Err(Fault::Refused(format!(
                    "{} is not understood, so it was left alone. Take {WORD:?} out of it yourself.",
                    path.display()
                )));
            }
        }
        Ok(changed)
    }

    /// Removes the file, if it is there and ours.
    pub fn remove(&self) -> Result<bool, Fault> {
        if !matches!(look(&self.file)?, Found::Ours(_)) {
            return Ok(false);
        }
        fs::remove_file(&self.file).map_err(Fault::file("remove", &self.file))?;
        // Fails if anything else is in the folder, and that is right.
        let _ = self.file.parent().map(fs::remove_dir);
        Ok(true)
    }
}

impl Settings {
    fn names(&self, words: &[String; 2]) -> bool {
        match &self.outline {
            Some(outline) => outline.contains(&[&words[0], &words[1]]),
            // Somebody may have added it by hand, as they were told to.
            None => self.text.contains(WORD),
        }
    }
}

fn not_understood(path: &Path) -> Fault {
    Fault::Refused(format!(
        "{} is not understood, so nothing was changed. Add {WORD:?} to its \"plugin\" list yourself, \
         then do this again; or give --no-tui, and helpers are not shown in the terminal UI.",
        path.display()
    ))
}
