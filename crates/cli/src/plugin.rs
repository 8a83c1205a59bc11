//! The plugin file: where it belongs, what is in it, and whether one that lies there is ours.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::Args;
use legwork_machine::on_path;
use legwork_opencode::PLUGIN;
use legwork_protocol::tools::tools;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::clients::{self, Client, Target};
use crate::fault::Fault;

/// How a file of ours begins.
const MARK: &str = "// legwork for OpenCode, ";
/// The hole for the path of the binary, in the line that begins with [`BINARY`].
const BINARY_HOLE: &str = "\"@LEGWORK_BIN@\"";
const BINARY: &str = "const BIN = process.env.LEGWORK_BIN || ";
const VERSION: &str = "const VERSION = ";
const VERSION_HOLE: &str = "@LEGWORK_VERSION@";
const TOOLS_HOLE: &str = "\"@LEGWORK_TOOLS@\"";
/// The last line of a plugin whose folder was made with it, and goes with it.
pub const FOLDER_MADE: &str = "// legwork has made this folder.\n";
/// Far more than the plugin has.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Names that are tried for a draft: one is taken once in 2⁶⁴ times.
const DRAFT_TRIES: u32 = 8;

#[derive(Debug, Args)]
pub struct Scope {
    /// Only for the project in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "global")]
    project: Option<PathBuf>,
    /// For all projects of this user (the default)
    #[arg(long)]
    global: bool,
}

impl Scope {
    /// Whether it is one project alone.
    pub fn is_project(&self) -> bool {
        self.project.is_some()
    }

    /// A client, for all projects or for the one that was named.
    pub fn target(&self, client: Client) -> Result<Target, Fault> {
        Ok(Target { client, project: self.project_folder()? })
    }

    /// The plugin file, and the folder that is trusted to be where it says: the project's, or the
    /// one of the user's own that the file lies in, which may well be a link.
    pub fn file(&self) -> Result<(PathBuf, PathBuf), Fault> {
        match self.project_folder()? {
            None => {
                let file = global_file()?;
                let folder = file.parent().unwrap_or(&file).to_owned();
                Ok((file, folder))
            }
            Some(folder) => {
                let file = file_in(&folder.join(".opencode"));
                check_way(&folder, &file)?;
                Ok((file, folder))
            }
        }
    }

    /// The folder of the project, without links; nothing if it is for all of them.
    fn project_folder(&self) -> Result<Option<PathBuf>, Fault> {
        let Some(project) = &self.project else { return Ok(None) };
        let fault = Fault::file("find the project", project);
        let folder = fs::canonicalize(project).map_err(&fault)?;
        if folder.is_dir() {
            Ok(Some(folder))
        } else {
            Err(fault(io::ErrorKind::NotADirectory.into()))
        }
    }
}

/// Refuses a file of a project that a link leads to: what lies in a project may be anybody's, and
/// does not decide where we write.
pub fn check_way(project: &Path, file: &Path) -> Result<(), Fault> {
    match linked(project, file) {
        None => Ok(()),
        Some(link) => Err(Fault::Refused(format!(
            "{} is a symbolic link, so it may lead out of the project. Nothing was changed. \
             Remove the link, or install for all projects without --project.",
            link.display()
        ))),
    }
}

/// The first symbolic link on the way from a folder to a file in it, the file included.
fn linked(folder: &Path, file: &Path) -> Option<PathBuf> {
    let way: Vec<&Path> = file.ancestors().take_while(|path| *path != folder).collect();
    let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    way.into_iter().rev().find(is_link).map(Path::to_owned)
}

pub fn global_file() -> Result<PathBuf, Fault> {
    Ok(file_in(&clients::opencode().own_folder()?))
}

/// The file in a configuration folder of OpenCode, which loads it from there by itself.
pub fn file_in(folder: &Path) -> PathBuf {
    folder.join("plugin").join("legwork.js")
}

/// This program by the name that it keeps: the entry on the PATH that leads to it, else the file
/// that it is. An entry of Homebrew's leads to a folder with a version in its name, which is gone
/// after the next update.
pub fn this_binary() -> Result<PathBuf, Fault> {
    let file = this_file()?;
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(entry_of(&file, &path).unwrap_or(file))
}

/// The file that this program is, without links.
pub fn this_file() -> Result<PathBuf, Fault> {
    let found = env::current_exe().and_then(fs::canonicalize);
    found.map_err(Fault::file("find the program", Path::new("legwork")))
}

fn entry_of(file: &Path, path: &OsStr) -> Option<PathBuf> {
    let leads_to = |entry: &PathBuf| fs::canonicalize(entry).is_ok_and(|real| real == file);
    on_path("legwork", path).find(|entry| entry.is_absolute() && leads_to(entry))
}

/// How a person calls this program: by its name if the PATH has one of that name, else by its path,
/// as a word of a shell's command.
pub fn on_path_as() -> String {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = on_path("legwork", &path).next().is_some();
    let file = this_binary().ok().filter(|_| !is_there);
    file.map_or_else(|| "legwork".to_owned(), |file| word(&file))
}

/// A path as a word of a shell's command.
pub fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:,=".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a program is this one, whatever it is called.
pub fn is_this_program(binary: &Path) -> bool {
    let file = fs::canonicalize(binary);
    file.is_ok_and(|file| this_file().is_ok_and(|this| this == file))
}

/// Whether a program lies where cargo builds it, and goes away with the next `cargo clean`.
pub fn is_in_build_folder(binary: &Path) -> bool {
    let file = fs::canonicalize(binary).unwrap_or_else(|_| binary.to_owned());
    // Cargo keeps its own notes beside what it builds.
    file.parent().is_some_and(|folder| folder.join(".fingerprint").is_dir())
}

pub fn text(binary: &Path) -> Result<String, Fault> {
    filled(PLUGIN, binary)
}

/// A file of the plugin, with its holes filled.
pub fn filled(plugin: &str, binary: &Path) -> Result<String, Fault> {
    let binary = binary.to_str().ok_or_else(|| {
        Fault::Refused(format!(
            "The path {} is not UTF-8, so no plugin can name it. Move legwork elsewhere.",
            binary.display()
        ))
    })?;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let names: Vec<String> = tools().iter().map(|tool| quoted(&tool.name)).collect();
    Ok(plugin
        .replacen(BINARY_HOLE, &quoted(binary), 1)
        .replacen(VERSION_HOLE, env!("CARGO_PKG_VERSION"), 1)
        .replacen(TOOLS_HOLE, &names.join(", "), 1))
}

#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// A plugin of ours, of this or another version.
    Ours(String),
    Foreign,
}

pub fn look(file: &Path) -> Result<Found, Fault> {
    let fault = Fault::file("read", file);
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(fault(error)),
        Ok(found) if !found.is_file() || found.len() > FILE_MAX_BYTES => return Ok(Found::Foreign),
        Ok(_) => {}
    }
    match String::from_utf8(fs::read(file).map_err(fault)?) {
        Ok(text) if text.starts_with(MARK) => Ok(Found::Ours(text)),
        _ => Ok(Found::Foreign),
    }
}

/// Whether an installed plugin file is what would be written now.
pub fn is_same(installed: &str, wanted: &str) -> bool {
    installed.strip_suffix(FOLDER_MADE).unwrap_or(installed) == wanted
}

/// Removes a file of ours, and its folder if that is ours too and nothing else is in it.
pub fn remove(file: &Path, is_folder_ours: bool) -> Result<(), Fault> {
    fs::remove_file(file).map_err(Fault::file("remove", file))?;
    if is_folder_ours {
        // Fails if anything else is in the folder, or if it is a link, and that is right.
        let _ = file.parent().map(fs::remove_dir);
    }
    Ok(())
}

/// Refuses to remove what a person's own link leads to.
pub fn check_no_link(file: &Path) -> Result<(), Fault> {
    match fs::read_link(file) {
        Err(_) => Ok(()),
        Ok(target) => Err(Fault::Refused(format!(
            "{} is a link of yours to {}, so it was left alone. Remove both yourself.",
            file.display(),
            target.display()
        ))),
    }
}

pub fn binary_of(plugin: &str) -> Option<PathBuf> {
    let quoted = plugin.lines().find_map(|line| line.strip_prefix(BINARY))?;
    serde_json::from_str(quoted.trim_end_matches(';')).ok()
}

/// Of which legwork a plugin is; nothing if it is older than such a line.
pub fn version_of(plugin: &str) -> Option<String> {
    let quoted = plugin.lines().find_map(|line| line.strip_prefix(VERSION))?;
    serde_json::from_str(quoted).ok()
}

/// Puts a text in the place of a file, so that a reader sees the old or the new one whole. From
/// this folder on no symbolic link is followed.
pub fn write(file: &Path, from: &Path, text: &str) -> Result<(), Fault> {
    put(file, from, text, None)
}

/// Puts a text in the place of a person's own file, which may be a link and keeps its mode.
pub fn overwrite(path: &Path, text: &str) -> Result<(), Fault> {
    let fault = Fault::file("write", path);
    let file = fs::canonicalize(path).map_err(&fault)?;
    let own = legwork_machine::check_owner_of(&file);
    own.map_err(|foreign| Fault::Refused(foreign.to_string()))?;
    let mode = fs::metadata(&file).map_err(&fault)?.permissions();
    let folder = file.parent().unwrap_or(&file).to_owned();
    put(&file, &folder, text, Some(mode))
}

fn put(file: &Path, from: &Path, text: &str, mode: Option<fs::Permissions>) -> Result<(), Fault> {
    let fault = Fault::file("write", file);
    let name = file.file_name().ok_or_else(|| fault(io::ErrorKind::InvalidInput.into()))?;
    let folder = enter(from, file).map_err(&fault)?;
    // What others may not read of a file, they may not read of its draft either.
    let open_to = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
    let (draft, mut out) = draft_in(&folder, name, open_to).map_err(&fault)?;
    let written = mode
        .map_or(Ok(()), |mode| out.set_permissions(mode))
        .and_then(|()| out.write_all(text.as_bytes()))
        .and_then(|()| out.sync_all())
        .and_then(|()| renameat(&folder, &draft, &folder, name).map_err(io::Error::from));
    written.map_err(|source| {
        // Gone already if the last step failed after all.
        let _ = unlinkat(&folder, &draft, AtFlags::empty());
        fault(source)
    })
}

/// Opens the folder that a file belongs into, and makes what is missing of it. What is above
/// `from` is the user's own; below, each step is taken from the one before, so that nobody can
/// change the way meanwhile.
fn enter(from: &Path, file: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::create_dir_all(from)?;
    let mut folder = open(from, flags, Mode::empty())?;
    let below = file.parent().and_then(|parent| parent.strip_prefix(from).ok());
    for name in below.into_iter().flatten() {
        match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(folder)
}

/// A new file in a folder, under a name that was free: nobody can have put a link or a file of
/// theirs there. OpenCode loads every .js file of the folder, so it is called otherwise.
fn draft_in(folder: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<(PathBuf, fs::File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut tries = 0;
    loop {
        let number = RandomState::new().build_hasher().finish();
        let draft = Path::new(name).with_extension(format!("{number:016x}.draft"));
        match openat(folder, &draft, flags, mode) {
            Err(Errno::EXIST) if tries < DRAFT_TRIES => tries += 1,
            made => return Ok((draft, made?.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_names_the_binary_and_the_tools_and_has_no_holes_left() {
        let binary = Path::new("/opt/a \"b\"/legwork");
        let text = text(binary).unwrap();
        assert!(text.starts_with(MARK));
        assert!(!text.contains("@LEGWORK"));
        assert!(text.contains("\"background_task\", \"background_output\""));
        assert_eq!(binary_of(&text).as_deref(), Some(binary));
        assert_eq!(version_of(&text).as_deref(), Some(env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn i3_a_program_is_named_by_the_entry_that_leads_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["Cellar/legwork/0.1.0/bin", "bin", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let file = at("Cellar/legwork/0.1.0/bin/legwork");
        for program in [&file, &at("other/legwork")] {
            fs::write(program, "").unwrap();
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(program, executable).unwrap();
        }
        std::os::unix::fs::symlink(&file, at("bin/legwork")).unwrap();
        let path = |names: &[&str]| env::join_paths(names.iter().map(|name| at(name))).unwrap();
        assert_eq!(entry_of(&file, &path(&["other", "bin"])), Some(at("bin/legwork")));
        assert_eq!(entry_of(&file, &path(&["other", "nowhere"])), None);
        assert_eq!(entry_of(&file, OsStr::new("")), None);
    }

    #[test]
    fn a_build_folder_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("legwork");
        assert!(!is_in_build_folder(&binary));
        fs::create_dir(folder.path().join(".fingerprint")).unwrap();
        assert!(is_in_build_folder(&binary));
    }
}
