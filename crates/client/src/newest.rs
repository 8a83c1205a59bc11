//! The newest program that has been the daemon of a store. Several versions on one machine are
//! normal: a pin in a project, a plugin file, a command on the PATH. A newer one may have changed
//! the records so that an older one cannot read them, so whoever has to start a daemon starts the
//! newest that is still there.

use std::io;
use std::path::{Path, PathBuf};

use legwork_machine::{is_program, program};
use serde::{Deserialize, Serialize};

use crate::failed::Failed;
use crate::note;
use crate::version::is_newer;

/// Beside the records, which are the reason for it.
const FILE: &str = "newest.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Newest {
    pub program: PathBuf,
    pub version: String,
}

impl Newest {
    /// The one that is noted, if it is still there.
    pub fn of(store: &Path) -> Option<Self> {
        let noted: Self = note::read(store, FILE)?;
        (noted.program.is_absolute() && is_program(&noted.program)).then_some(noted)
    }

    /// Notes this program, unless a newer one is noted and still there. To be called by the daemon,
    /// which has the store to itself.
    pub fn note(store: &Path, version: &str) -> io::Result<()> {
        let own = Self { program: program()?, version: version.to_owned() };
        Failed::forget(store, &own.program);
        let noted = Self::of(store);
        if noted.is_some_and(|noted| noted == own || is_newer(&noted.version, version)) {
            return Ok(());
        }
        note::write(store, FILE, &own)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn noted(store: &Path, program: &Path, version: &str) {
        let newest = Newest { program: program.to_owned(), version: version.to_owned() };
        fs::write(store.join(FILE), serde_json::to_vec(&newest).unwrap()).unwrap();
    }

    #[test]
    fn i3_the_newest_program_stays_noted_for_as_long_as_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        assert_eq!(Newest::of(store), None);
        Newest::note(store, "0.2.0").unwrap();
        let own = Newest::of(store).unwrap();
        assert_eq!((own.program, &*own.version), (program().unwrap(), "0.2.0"));

        let newer = store.join("newer");
        fs::write(&newer, "").unwrap();
        noted(store, &newer, "0.10.0");
        assert_eq!(Newest::of(store), None, "nobody can run it");
        fs::set_permissions(&newer, fs::Permissions::from_mode(0o755)).unwrap();
        Newest::note(store, "0.2.0").unwrap();
        assert_eq!(Newest::of(store).unwrap().program, newer);
        Newest::note(store, "0.11.0").unwrap();
        assert_eq!(Newest::of(store).unwrap().version, "0.11.0");

        noted(store, &newer, "0.12.0");
        fs::remove_file(&newer).unwrap();
        assert_eq!(Newest::of(store), None);
        Newest::note(store, "0.2.0").unwrap();
        assert_eq!(Newest::of(store).unwrap().version, "0.2.0");
    }

    #[test]
    fn k4_a_note_that_cannot_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        fs::create_dir_all(store.join(FILE).join("in the way")).unwrap();
        assert!(Newest::note(store, "0.2.0").is_err());
        let left: Vec<_> = fs::read_dir(store).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, [FILE]);
    }

    #[test]
    fn i3_what_is_no_note_is_none() {
        let folder = tempfile::tempdir().unwrap();
        // Where a relative name leads depends on whoever reads it.
        let relative = format!("{}bin/sh", "../".repeat(40));
        let relative = format!(r#"{{"program":"{relative}","version":"9.0.0"}}"#);
        for text in ["", "{", "[]", &relative] {
            fs::write(folder.path().join(FILE), text).unwrap();
            assert_eq!(Newest::of(folder.path()), None, "{text}");
        }
    }
}
