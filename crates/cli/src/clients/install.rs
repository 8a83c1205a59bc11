//! Installing legwork in a client and taking it out again. Everything that may be refused comes
//! first, so that nothing is done by halves.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::notation::{Entry, Left, Unclear};
use super::part::Part;
use super::{Client, Target};
use crate::fault::Fault;
use crate::plugin::{is_this_program, this_binary};
use crate::programs::find;

pub const UP_TO_DATE: &str = "already up to date";

/// A file without it is none of our business, whatever else is in it.
const NAME: &str = "legwork";

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
    check_folder(target, &parts, force)?;
    let texts = parts.iter().map(Part::text).collect::<Result<Vec<_>, _>>()?;
    let program = program(&parts, &texts)?;
    let mut drafts = Vec::new();
    for (part, text) in parts.iter().zip(&texts) {
        let refused = |why| part.refusal(why, &program);
        drafts.push(part.notation.add(text.as_deref(), &program, force).map_err(refused)?);
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
        let text = part.text()?.filter(|text| text.contains(NAME));
        let left = text.as_deref().map(|text| part.notation.remove(text)).transpose();
        drafts.push((text, left.map_err(|why| left_alone(part, why))?.flatten()));
    }
    let mut changes = Vec::new();
    for (part, (before, left)) in parts.iter().zip(drafts) {
        let Some(left) = left else { continue };
        part.put(before.as_deref(), &left, target.project.as_deref())?;
        let done = match left {
            Left::Nothing => "removed",
            Left::Text(_) => "does not name it any more",
        };
        if left == Left::Nothing {
            remove_empty(&part.file, &target.folder()?);
        }
        changes.push(Change { file: part.file.clone(), done });
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
        match part.notation.entry(&text) {
            Err(why) => {
                let is_foreign = why == Unclear::Foreign;
                return Ok(Installed::Unclear { file: part.file, is_foreign });
            }
            Ok(Some(entry)) if !entry.is_ours() => {
                return Ok(Installed::Unclear { file: part.file, is_foreign: true });
            }
            Ok(entry) => found = found.or(entry.map(|entry| (entry, part.file.clone()))),
        }
        if let Some((entry, _)) = &found
            && !has_all(&part, &text, &entry.command)
        {
            lacking = lacking.or(Some(part.file));
        }
    }
    Ok(match found {
        Some((entry, file)) => Installed::Yes { entry, file, lacking },
        None => Installed::No,
    })
}

/// Whether a file has all that an install would write, of whichever version.
fn has_all(part: &Part, text: &str, program: &str) -> bool {
    let is_version = |line: &&str| line.trim_start().starts_with("\"version\"");
    let without = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !is_version(line)).map(str::to_owned).collect()
    };
    let wanted = part.notation.add(Some(text), program, false);
    wanted.is_ok_and(|wanted| without(&wanted) == without(text))
}

/// The program that is named. One that is named already stays if it is this one by another path:
/// Claude Code loses sight of open tasks when an entry changes.
fn program(parts: &[Part], texts: &[Option<String>]) -> Result<String, Fault> {
    let named = parts.iter().zip(texts).find_map(|(part, text)| {
        let entry = part.notation.entry(text.as_deref()?).ok()??;
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

fn check_folder(target: &Target, parts: &[Part], force: bool) -> Result<(), Fault> {
    let folder = target.folder()?;
    // VS Code makes its profile itself, and would not look into another one.
    if target.client == Client::Vscode && target.project.is_none() && !folder.is_dir() {
        return Err(Fault::Refused(format!(
            "{} is not there, so nothing was written. Start VS Code once, or install for one \
             project with --project.",
            folder.display()
        )));
    }
    // A skill of somebody's that has this name would become something else.
    let plugin = parts.first().and_then(|part| part.file.ancestors().nth(2));
    if let Some(plugin) = plugin.filter(|_| target.client == Client::Claude && !force)
        && parts.iter().all(|part| !part.file.exists())
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

/// Removes the folders that a file has left empty, up to the client's own.
fn remove_empty(file: &Path, folder: &Path) {
    for above in file.ancestors().skip(1).take_while(|above| above.starts_with(folder)) {
        // Fails if anything else is in the folder, and that is right.
        if fs::remove_dir(above).is_err() {
            return;
        }
    }
}

/// The program of an entry, as the client would find it.
pub fn program_of(entry: &Entry) -> Option<PathBuf> {
    find(&entry.command, &env::var_os("PATH").unwrap_or_default())
}
