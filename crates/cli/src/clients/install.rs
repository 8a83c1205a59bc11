//! Installing legwork in a client and taking it out again. Everything that may be refused comes
//! first, so that nothing is done by halves.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Target;
use super::editor::{Left, Unclear};
use super::ours::{Entry, NAME};
use super::part::Part;
use crate::fault::Fault;
use crate::plugin::{is_this_program, this_binary};
use crate::programs::find;

pub const UP_TO_DATE: &str = "already up to date";

/// What was done to a file.
#[derive(Debug, Serialize)]
pub struct Change {
    pub file: PathBuf,
    pub done: &'static str,
}

/// What a client has of legwork.
#[derive(Debug)]
pub enum Installed {
    /// Neither an entry nor anything else.
    No,
    /// This entry, in this file. The second file is one that lacks something.
    Yes { entry: Entry, file: PathBuf, lacking: Option<PathBuf> },
    /// A file that cannot be understood, or has something else of the name.
    Unclear { file: PathBuf, is_foreign: bool },
}

/// Writes the entry. Gives the program that it names and what was done to each file.
pub fn add(target: &Target, force: bool) -> Result<(String, Vec<Change>), Fault> {
    let parts = target.parts()?;
    let texts = parts.iter().map(Part::text).collect::<Result<Vec<_>, _>>()?;
    check_folder(target, &parts, &texts, force)?;
    let program = program(&parts, &texts)?;
    let mut drafts = Vec::new();
    for (part, text) in parts.iter().zip(&texts) {
        let draft = match text {
            Some(text) => part.settings.add(text, &program, force),
            None => part.settings.fresh(&program, part.missing_folders()),
        };
        drafts.push(draft.map_err(|why| part.refusal(why, &program))?);
    }
    let mut changes = Vec::new();
    for ((part, before), draft) in parts.iter().zip(&texts).zip(drafts) {
        let done = match before {
            Some(before) if *before == draft => UP_TO_DATE,
            Some(_) => "updated",
            None => "written",
        };
        if done != UP_TO_DATE {
            part.put(before.as_deref(), &Left::Text(draft), target.project.as_deref())?;
        }
        changes.push(Change { file: part.file.clone(), done });
    }
    Ok((program, changes))
}

/// Takes the entry out. Gives the files that were changed.
pub fn remove(target: &Target) -> Result<Vec<Change>, Fault> {
    let parts = target.parts()?;
    let mut drafts = Vec::new();
    for part in &parts {
        // A file without the name is none of our business, whatever else is in it.
        let text = part.text()?.filter(|text| text.contains(NAME));
        let left = text.as_deref().map(|text| part.settings.remove(text)).transpose();
        drafts.push((text, left.map_err(|why| left_alone(part, why))?.flatten()));
    }
    let mut changes = Vec::new();
    // In the opposite order: the folders of one file may have been made for the one before it.
    for (part, (before, left)) in parts.iter().zip(drafts).rev() {
        let Some(left) = left.map(|left| part.left(left)) else { continue };
        part.put(before.as_deref(), &left, target.project.as_deref())?;
        let done = match left {
            Left::Nothing { .. } => "removed",
            Left::Text(_) => "does not name it any more",
        };
        if let Left::Nothing { folders } = left {
            part.remove_folders(folders, &target.folder()?);
        }
        changes.insert(0, Change { file: part.file.clone(), done });
    }
    Ok(changes)
}

pub fn installed(target: &Target) -> Result<Installed, Fault> {
    let (mut found, mut lacking) = (None, None);
    for part in target.parts()? {
        let Some(text) = part.text()?.filter(|text| text.contains(NAME)) else {
            lacking = lacking.or(Some(part.file));
            continue;
        };
        match part.settings.entry(&text) {
            Err(why) => {
                let is_foreign = why == Unclear::Foreign;
                return Ok(Installed::Unclear { file: part.file, is_foreign });
            }
            Ok(entry) => found = found.or(entry.map(|entry| (entry, part.file.clone()))),
        }
        if let Some((entry, _)) = &found
            && !part.settings.has_all(&text, &entry.command)
        {
            lacking = lacking.or(Some(part.file));
        }
    }
    Ok(match found {
        Some((entry, file)) => Installed::Yes { entry, file, lacking },
        None => Installed::No,
    })
}

/// The program that is named. One that is named already stays if it is this one by another path:
/// Claude Code loses sight of open tasks when an entry changes.
fn program(parts: &[Part], texts: &[Option<String>]) -> Result<String, Fault> {
    let named = parts.iter().zip(texts).find_map(|(part, text)| {
        let entry = part.settings.entry(text.as_deref()?).ok()??;
        Some(entry.command).filter(|command| Path::new(command).is_absolute())
    });
    if let Some(named) = named.filter(|named| is_this_program(Path::new(named))) {
        return Ok(named);
    }
    let binary = this_binary()?;
    let text = binary.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Fault::Refused(format!(
            "The path {} is not UTF-8, so no file can name it. Move legwork elsewhere.",
            binary.display()
        ))
    })
}

fn check_folder(
    target: &Target,
    parts: &[Part],
    texts: &[Option<String>],
    force: bool,
) -> Result<(), Fault> {
    let folder = target.folder()?;
    if target.client.makes_folder && target.project.is_none() && !folder.is_dir() {
        return Err(Fault::Refused(format!(
            "{} is not there, so nothing was written. Start {} once, or install for one project \
             with --project.",
            folder.display(),
            target.client.name
        )));
    }
    // A skill of somebody's that has this name would become something else.
    let is_ours = |part: &Part, text: &Option<String>| {
        text.as_ref().is_some_and(|text| part.settings.has_any(text))
    };
    let ours = parts.iter().find(|part| part.own_folders > 0);
    let plugin = ours.and_then(|part| part.file.ancestors().nth(part.own_folders));
    if let Some(plugin) = plugin.filter(|_| !force)
        && !parts.iter().zip(texts).any(|(part, text)| is_ours(part, text))
        && fs::read_dir(plugin).is_ok_and(|mut inside| inside.next().is_some())
    {
        return Err(Fault::Refused(format!(
            "{} is there already and is not legwork's. Nothing was changed. Move it away, or give \
             --force to put legwork's files into it.",
            plugin.display()
        )));
    }
    Ok(())
}

fn left_alone(part: &Part, why: Unclear) -> Fault {
    let file = part.file.display();
    Fault::Refused(match why {
        Unclear::Foreign => {
            format!(
                "{file} has something of the name legwork that is not legwork's, so it was left alone."
            )
        }
        Unclear::NotUnderstood => format!(
            "{file} is not understood, so it was left alone. If it names legwork, take that out of \
             it yourself."
        ),
    })
}

/// The program of an entry, as the client would find it.
pub fn program_of(entry: &Entry) -> Option<PathBuf> {
    find(&entry.command, &env::var_os("PATH").unwrap_or_default())
}
