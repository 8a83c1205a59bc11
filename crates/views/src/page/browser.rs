//! Opening the browser. The address with its code must not stand among the arguments of a program,
//! where other users of the machine could read it; so what is opened is a file of the user's alone
//! that leads there.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::SystemTime;

use legwork_machine::{Folders, private_file, var};

use crate::page::fault::Fault;
use crate::page::limits::CODE_MAX;
use crate::page::record::{folder, places};
use crate::page::secret::Secret;

const PREFIX: &str = "ui-";
const SUFFIX: &str = ".html";

/// The programs that open a file in the browser, each with its arguments; none where there is no
/// screen to open it on.
fn openers(file: &Path) -> Vec<Vec<OsString>> {
    let plain = |program: &str| vec![program.into(), file.as_os_str().to_owned()];
    if let Some(named) = var("BROWSER") {
        let named = named.to_string_lossy().into_owned();
        return named.split(':').filter_map(|command| with_file(command, file)).collect();
    }
    if cfg!(target_os = "macos") {
        return vec![plain("open")];
    }
    // Without a screen it would take a browser for terminals.
    if var("DISPLAY").is_none() && var("WAYLAND_DISPLAY").is_none() {
        return Vec::new();
    }
    vec![plain("xdg-open")]
}

/// A command of `$BROWSER`, in which `%s` stands for what is to be opened.
fn with_file(command: &str, file: &Path) -> Option<Vec<OsString>> {
    let mut words: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
    let place = words.iter().position(|word| word == "%s");
    let file = file.as_os_str().to_owned();
    match place {
        _ if words.is_empty() => return None,
        Some(place) => words[place] = file,
        None => words.push(file),
    }
    Some(words)
}

/// Opens this address; whether there is a program that does.
pub fn open(folders: &Folders, address: &str) -> Result<bool, Fault> {
    let folder = folder(folders)?;
    remove_old(&folder);
    let file = write(&folder, address)?;
    for words in openers(&file) {
        let [program, arguments @ ..] = words.as_slice() else { continue };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Ok(mut child) = command.spawn() {
            // Some end at once, others stay for as long as the browser is open.
            thread::spawn(move || child.wait());
            return Ok(true);
        }
    }
    let _ = fs::remove_file(file);
    Ok(false)
}

fn write(folder: &Path, address: &str) -> Result<PathBuf, Fault> {
    let name = Secret::new().map_err(Fault::Serve)?;
    let path = folder.join(format!("{PREFIX}{}{SUFFIX}", &name.reveal()[..16]));
    let text = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>legwork</title>\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <p><a href=\"{address}\">To the page of legwork</a>\n"
    );
    let made = private_file().write(true).create_new(true).open(&path);
    made.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(Fault::file("write", &path))?;
    Ok(path)
}

/// Removes the files whose codes are good no more.
fn remove_old(folder: &Path) {
    let is_old = |path: &Path| {
        let written = fs::metadata(path).and_then(|found| found.modified());
        let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age > CODE_MAX)
    };
    for path in ours(folder).into_iter().filter(|path| is_old(path)) {
        // It may be gone, or stay: its code is good no more.
        let _ = fs::remove_file(path);
    }
}

/// Removes all of them, when their front ends.
pub fn remove_all(folders: &Folders) {
    if let Ok(folder) = folder(folders) {
        ours(&folder).into_iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Every file that fronts may have left behind.
pub fn left_behind(folders: &Folders) -> Vec<PathBuf> {
    let records = places(folders);
    let pages = records.iter().filter_map(|path| path.parent()).flat_map(ours);
    pages.chain(records.iter().cloned()).collect()
}

fn ours(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    };
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_takes_the_place_that_a_command_has_for_it() {
        let words = |command| with_file(command, Path::new("/f"));
        let some = |words: &[&str]| Some(words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(words("firefox"), some(&["firefox", "/f"]));
        assert_eq!(words("open %s --new"), some(&["open", "/f", "--new"]));
        assert_eq!(words("  "), None);
    }
}
