//! What an OpenCode process is called, and its project. The daemon tells from the first whether the
//! process has ended; two processes with the same second reach the same sessions.

use std::env;
use std::path::PathBuf;

use legwork_client::{hash8, process};
use legwork_opencode::KIND;
use legwork_protocol::ids::BadId;
use legwork_protocol::{HostId, Place};

/// A project's id is the hash of its first commit; nothing longer is one.
const PROJECT_MAX_BYTES: usize = 100;

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

/// The name of a project's sessions in OpenCode's data folder. Directories without a project of
/// their own all have the project `global`, and are told apart here.
pub fn place(project: Option<&str>, directory: &str) -> Result<Place, BadId> {
    let own = project.filter(|id| {
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        is_plain && !id.is_empty() && id.len() <= PROJECT_MAX_BYTES && *id != "global"
    });
    let project = own.map_or_else(|| hash8(directory.as_bytes()), str::to_owned);
    format!("{KIND}/{project}/{}", data_folder()).parse()
}

/// A short name for the folder that OpenCode keeps its sessions in.
fn data_folder() -> String {
    let var = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let xdg = || var("XDG_DATA_HOME");
    let data = xdg().or_else(|| Some(var("HOME")?.join(".local/share"))).unwrap_or_default();
    hash8(data.join("opencode").as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_is_a_host_for_each_of_its_directories() {
        assert_eq!(host("1-2-3", "/a"), host("1-2-3", "/a"));
        assert_ne!(host("1-2-3", "/a"), host("1-2-3", "/b"));
    }

    #[test]
    fn directories_without_a_project_are_places_of_their_own() {
        assert_eq!(place(Some("abc"), "/a"), place(Some("abc"), "/b"));
        for none in [None, Some(""), Some("global"), Some("a\nb"), Some("a/b")] {
            assert_ne!(place(none, "/a"), place(none, "/b"), "{none:?}");
            assert_eq!(place(none, "/a"), place(None, "/a"), "{none:?}");
        }
    }
}
