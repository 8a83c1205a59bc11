//! Where legwork keeps its files. One folder for everything with `LEGWORK_HOME`, else the folders
//! of the XDG base directory specification, on every system. Creates nothing.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::hash::hash8;

/// The shortest `sun_path` of the systems that we know has 104 bytes, one of them for the end.
const SOCKET_MAX_BYTES: usize = 100;
const SOCKET: &str = "legwork.sock";
/// The file in the store's folder whose lock makes a daemon the only one. It holds the daemon's
/// record.
pub const STORE_LOCK: &str = "legwork.lock";

/// A variable of our environment; an empty one counts as not set.
pub fn var(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    pub config: PathBuf,
    /// The folder of the records.
    pub store: PathBuf,
    /// The folder of the sessions that legwork keeps itself.
    pub sessions: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
}

impl Folders {
    /// All of them in one folder.
    pub fn in_home(home: &Path) -> Self {
        Self {
            config: home.join("config.toml"),
            store: home.join("store"),
            sessions: home.join("sessions"),
            socket: home.join(SOCKET),
            log: home.join("daemon.log"),
        }
    }

    pub fn from_env() -> Result<Self, Fault> {
        Self::find(&var)
    }

    fn find(var: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, Fault> {
        if let Some(home) = var("LEGWORK_HOME") {
            let home = without_links(&std::path::absolute(home).map_err(|_| Fault::NoHome)?);
            let folders = Self::in_home(&home);
            let socket = short(folders.socket.clone(), var);
            return passable(Self { socket, ..folders });
        }
        let home = var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        // The specification wants relative values to be passed over.
        let folder = |name: &str, below_home: &str| {
            let given = var(name).map(PathBuf::from).filter(|path| path.is_absolute());
            given.or_else(|| Some(home.as_ref()?.join(below_home))).ok_or(Fault::NoHome)
        };
        let runtime = var("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| is_usable(path));
        let socket = match runtime {
            Some(runtime) => short(runtime.join("legwork").join(SOCKET), var),
            None => temporary(var).join(SOCKET),
        };
        let data = folder("XDG_DATA_HOME", ".local/share")?.join("legwork");
        passable(Self {
            config: folder("XDG_CONFIG_HOME", ".config")?.join("legwork/config.toml"),
            store: data.join("store"),
            sessions: data.join("sessions"),
            socket,
            log: folder("XDG_STATE_HOME", ".local/state")?.join("legwork/daemon.log"),
        })
    }

    /// What the OpenCode says that was started last without a window.
    pub fn headless_log(&self) -> PathBuf {
        self.log.with_file_name("headless.log")
    }

    /// Where a daemon may listen if it cannot at the wanted place: because that is somebody else's
    /// folder, or because a daemon with other records listens there. Clients go by its record.
    pub fn other_sockets(&self) -> Vec<PathBuf> {
        let own = format!("{}.sock", hash8(self.store.as_os_str().as_bytes()));
        let beside = self.socket.with_file_name(&own);
        let all = [beside, temporary(&var).join(own), self.store.join(SOCKET)];
        all.into_iter().filter(|path| path.as_os_str().len() <= SOCKET_MAX_BYTES).collect()
    }
}

/// Agents are told these names, and what they are told is text. With a name that is close to it
/// they would work in another folder.
fn passable(folders: Folders) -> Result<Folders, Fault> {
    let Folders { config, store, sessions, log, .. } = &folders;
    let all = [config, store, sessions, log];
    if let Some(path) = all.iter().find(|path| path.to_str().is_none()) {
        let folder = path.parent().unwrap_or(path).to_owned();
        return Err(Fault::NotUtf8 { folder });
    }
    Ok(folders)
}

fn is_usable(path: &Path) -> bool {
    path.is_absolute() && path.to_str().is_some()
}

/// The same folder by its one name, as far as it is there.
fn without_links(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = there else { return path.to_owned() };
    match path.strip_prefix(above) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    }
}

/// The wanted path, or one that a socket can have, which is different for each wanted one.
fn short(wanted: PathBuf, var: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    let bytes = wanted.as_os_str().as_bytes();
    if bytes.len() <= SOCKET_MAX_BYTES {
        return wanted;
    }
    temporary(var).join(format!("{}.sock", hash8(bytes)))
}

/// The user's own folder among the temporary files.
fn temporary(var: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    // Room for our folder and the longest name in it.
    let fits = |path: &PathBuf| is_usable(path) && path.as_os_str().len() <= 60;
    let base = var("TMPDIR").map(PathBuf::from).filter(fits).unwrap_or_else(|| "/tmp".into());
    base.join(format!("legwork-{}", rustix::process::getuid().as_raw()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn find(vars: &[(&str, &str)]) -> Result<Folders, Fault> {
        Folders::find(&|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn one_folder_holds_everything_if_it_is_named() {
        let folders = find(&[("LEGWORK_HOME", "/l"), ("HOME", "/h")]).unwrap();
        assert_eq!(folders, Folders::in_home(Path::new("/l")));
        assert_eq!(folders.socket, Path::new("/l/legwork.sock"));
        let relative = find(&[("LEGWORK_HOME", "near")]).unwrap();
        assert_eq!(relative.store, env::current_dir().unwrap().join("near/store"));
    }

    #[test]
    fn without_it_the_xdg_folders_are_used() {
        let folders = find(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "relative"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
        ]);
        let expected = Folders {
            config: "/c/legwork/config.toml".into(),
            store: "/h/.local/share/legwork/store".into(),
            sessions: "/h/.local/share/legwork/sessions".into(),
            socket: "/run/user/1/legwork/legwork.sock".into(),
            log: "/h/.local/state/legwork/daemon.log".into(),
        };
        assert_eq!(folders.unwrap(), expected);
    }

    #[test]
    fn without_a_runtime_folder_the_socket_is_among_the_temporary_files() {
        let uid = rustix::process::getuid().as_raw();
        let folders = find(&[("HOME", "/h"), ("TMPDIR", "/t")]).unwrap();
        assert_eq!(folders.socket, PathBuf::from(format!("/t/legwork-{uid}/legwork.sock")));
    }

    #[test]
    fn a_socket_path_that_is_too_long_is_replaced_by_one_of_its_own() {
        let socket = |last: &str| {
            let long = format!("/{}/{last}", "x".repeat(120));
            find(&[("LEGWORK_HOME", &long), ("TMPDIR", &long)]).unwrap().socket
        };
        assert!(socket("a").starts_with("/tmp"));
        assert!(socket("a").as_os_str().len() <= SOCKET_MAX_BYTES);
        assert_eq!(socket("a"), socket("a"));
        assert_ne!(socket("a"), socket("b"));
    }

    #[test]
    fn without_a_home_it_says_what_to_set() {
        let fault = find(&[("XDG_CONFIG_HOME", "/c")]).unwrap_err();
        assert!(fault.to_string().contains("LEGWORK_HOME"), "{fault}");
    }

    #[test]
    fn p9_a_folder_has_one_name_however_it_is_spelled() {
        let outer = tempfile::tempdir().unwrap();
        let real = outer.path().canonicalize().unwrap().join("real");
        fs::create_dir(&real).unwrap();
        symlink(&real, outer.path().join("link")).unwrap();
        for (spelled, store) in
            [("real/", "store"), ("link", "store"), ("link/not/yet", "not/yet/store")]
        {
            let spelled = outer.path().join(spelled);
            let folders = find(&[("LEGWORK_HOME", spelled.to_str().unwrap())]).unwrap();
            assert_eq!(folders.store, real.join(store));
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_refused_and_makes_no_other_folder() {
        use std::os::unix::ffi::OsStringExt;
        let name = OsString::from_vec(b"/tmp/caf\xe9".to_vec());
        for variable in ["LEGWORK_HOME", "HOME"] {
            let var = |asked: &str| (asked == variable).then(|| name.clone());
            let fault = Folders::find(&var).unwrap_err().to_string();
            assert!(fault.contains("UTF-8") && fault.contains("LEGWORK_HOME"), "{fault}");
        }
    }
}
