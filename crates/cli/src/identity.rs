//! What an OpenCode process is called, and where its sessions are kept. The daemon tells from the
//! first whether the process has ended; two processes with the same second have one database open,
//! and reach the same sessions.

use std::fs;
use std::path::{Path, PathBuf};

use legwork_machine::{hash8, process, var};
use legwork_opencode::KIND;
use legwork_protocol::ids::BadId;
use legwork_protocol::{HostId, Place};

/// A project's id is the hash of its first commit; nothing longer is one.
const PROJECT_MAX_BYTES: usize = 100;
/// OpenCode's database, unless it is a build of another channel or was told another name.
const DATABASE: &str = "opencode.db";

/// The name of a process with this mark, for the sessions of one directory: one OpenCode process
/// may serve several.
pub fn host(mark: &str, directory: &str) -> Result<HostId, BadId> {
    process::host_name(KIND, mark, &hash8(directory.as_bytes())).parse()
}

/// The name of a server that is only known by its address. Nobody can tell whether it is another
/// one than before, so it counts as the same, which never ends.
pub fn server(url: &str, directory: &str) -> Result<HostId, BadId> {
    let no_process = format!("url-{}", hash8(url.as_bytes()));
    process::host_name(KIND, &no_process, &hash8(directory.as_bytes())).parse()
}

/// Where the sessions of a project are kept that this database holds.
pub fn place(project: Option<&str>, directory: &str, database: &Database) -> Result<Place, BadId> {
    format!("{KIND}/{}/{}", project_name(project, directory), database.0).parse()
}

/// Where the sessions of a server are kept that is only known by its address: nobody but the server
/// says whose they are, so they have nothing to do with any other's.
pub fn place_of_server(url: &str, project: Option<&str>, directory: &str) -> Result<Place, BadId> {
    let project = project_name(project, directory);
    format!("{KIND}-url/{project}/{}", hash8(url.as_bytes())).parse()
}

/// Directories without a project of their own all have the project `global`, and are told apart
/// here.
fn project_name(project: Option<&str>, directory: &str) -> String {
    let own = project.filter(|id| {
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        is_plain && !id.is_empty() && id.len() <= PROJECT_MAX_BYTES && *id != "global"
    });
    own.map_or_else(|| hash8(directory.as_bytes()), str::to_owned)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database(String);

impl Database {
    /// The one that the process has open. Its environment, which is also ours, does not tell all:
    /// a build of another channel (beta builds excepted) has a database of its own.
    pub fn of_process(pid: u32, mark: &str) -> Self {
        let data = data_folder();
        match named(&data, mark) {
            Some(named) => named,
            None => Self::at(&data, &open_in(&data, pid).unwrap_or_else(|| data.join(DATABASE))),
        }
    }

    /// The one that an OpenCode started from here would have.
    pub fn of_this_user() -> Self {
        let data = data_folder();
        named(&data, "here").unwrap_or_else(|| Self::at(&data, &data.join(DATABASE)))
    }

    fn at(data: &Path, database: &Path) -> Self {
        // The usual one is known by its folder.
        let usual = database == data.join(DATABASE);
        Self(hash8(real(if usual { data } else { database }).as_os_str().as_encoded_bytes()))
    }
}

/// The database that `OPENCODE_DB` names, if it is set (rules of 1.18).
fn named(data: &Path, mark: &str) -> Option<Database> {
    let given = var("OPENCODE_DB")?;
    if given == ":memory:" {
        return Some(Database(format!("memory-{mark}")));
    }
    Some(Database::at(data, &data.join(given)))
}

/// The database in OpenCode's folder that the process has open, where the system tells.
fn open_in(data: &Path, pid: u32) -> Option<PathBuf> {
    let data = real(data);
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let open = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let mut databases: Vec<PathBuf> = open
        .filter(|path| path.parent() == Some(&data) && path.extension() == Some("db".as_ref()))
        .collect();
    databases.sort();
    databases.dedup();
    match &databases[..] {
        [one] => Some(one.clone()),
        _ => None,
    }
}

fn data_folder() -> PathBuf {
    let below_home = || Some(Path::new(&var("HOME")?).join(".local/share"));
    let data = var("XDG_DATA_HOME").map(PathBuf::from).or_else(below_home);
    data.unwrap_or_default().join("opencode")
}

/// One file has one name, however it is spelled.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn one_process_is_a_host_for_each_of_its_directories() {
        assert_eq!(host("1-2-3", "/a"), host("1-2-3", "/a"));
        assert_ne!(host("1-2-3", "/a"), host("1-2-3", "/b"));
    }

    #[test]
    fn directories_without_a_project_are_places_of_their_own() {
        let database = Database("d".to_owned());
        let place = |project, directory| place(project, directory, &database);
        assert_eq!(place(Some("abc"), "/a"), place(Some("abc"), "/b"));
        for none in [None, Some(""), Some("global"), Some("a\nb"), Some("a/b")] {
            assert_ne!(place(none, "/a"), place(none, "/b"), "{none:?}");
            assert_eq!(place(none, "/a"), place(None, "/a"), "{none:?}");
        }
    }

    #[test]
    fn k5_a_server_by_its_address_shares_no_place_with_anybody() {
        let local = place(Some("abc"), "/a", &Database::of_this_user());
        let one = place_of_server("http://127.0.0.1:1", Some("abc"), "/a");
        assert_ne!(one, local);
        assert_ne!(one, place_of_server("http://127.0.0.1:2", Some("abc"), "/a"));
    }

    #[test]
    fn k5_another_database_is_another_place() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("opencode");
        fs::create_dir(&data).unwrap();
        let usual = Database::at(&data, &data.join(DATABASE));
        assert_ne!(Database::at(&data, &data.join("opencode-dev.db")), usual);
        assert_ne!(Database::at(&data, Path::new("/elsewhere/opencode.db")), usual);
        let link = home.path().join("link");
        symlink(&data, &link).unwrap();
        assert_eq!(Database::at(&link, &link.join(DATABASE)), usual, "another spelling");
    }

    #[test]
    fn k5_the_database_that_a_process_has_open_is_found() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("opencode");
        fs::create_dir(&data).unwrap();
        let pid = std::process::id();
        assert_eq!(open_in(&data, pid), None);
        let dev = data.join("opencode-dev.db");
        let _open = fs::File::create(&dev).unwrap();
        let _log = fs::File::create(data.join("opencode-dev.db-wal")).unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(open_in(&data, pid), Some(real(&dev)));
        }
    }
}
