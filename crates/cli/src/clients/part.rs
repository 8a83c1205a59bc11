//! One file of a client: reading it, and putting another text in its place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legwork_machine::if_there;

use super::editor::{Left, Settings, Unclear};
use crate::fault::Fault;
use crate::plugin::{check_way, overwrite, write};

/// Far more than anybody writes by hand.
const FILE_MAX_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub struct Part {
    pub file: PathBuf,
    pub settings: Settings,
    /// How many of the folders around it are ours alone.
    pub own_folders: usize,
}

impl Part {
    /// Its text; nothing if there is no such file.
    pub fn text(&self) -> Result<Option<String>, Fault> {
        let fault = Fault::file("read", &self.file);
        let Some(found) = if_there(fs::metadata(&self.file)).map_err(&fault)? else {
            // A link that leads nowhere is somebody's.
            return match if_there(fs::symlink_metadata(&self.file)).map_err(&fault)? {
                Some(_) => Err(fault(io::ErrorKind::NotFound.into())),
                None => Ok(None),
            };
        };
        if !found.is_file() || found.len() > FILE_MAX_BYTES {
            return Err(fault(io::ErrorKind::InvalidData.into()));
        }
        fs::read_to_string(&self.file).map(Some).map_err(fault)
    }

    /// Puts a text in its place, if it still is what it was.
    pub fn put(
        &self,
        before: Option<&str>,
        after: &Left,
        project: Option<&Path>,
    ) -> Result<(), Fault> {
        if self.text()?.as_deref() != before {
            return Err(Fault::Refused(format!(
                "{} was changed meanwhile, by the client perhaps. Nothing was changed in it; do \
                 this again.",
                self.file.display()
            )));
        }
        if let Some(project) = project {
            check_way(project, &self.file)?;
        }
        let folder = self.file.parent().unwrap_or(&self.file);
        match (before, after) {
            (None, Left::Text(text)) => {
                let own = legwork_machine::check_owner_of(&self.file);
                own.map_err(|foreign| Fault::Refused(foreign.to_string()))?;
                write(&self.file, project.unwrap_or(folder), text)
            }
            (Some(_), Left::Text(text)) => overwrite(&self.file, text),
            (_, Left::Nothing { .. }) => {
                let removed = fs::remove_file(&self.file);
                if_there(removed).map(drop).map_err(Fault::file("remove", &self.file))
            }
        }
    }

    /// The folders that a new file needs first.
    pub fn missing_folders(&self) -> usize {
        self.file.ancestors().skip(1).take_while(|folder| !folder.exists()).count()
    }

    /// What becomes of the file. A link is somebody's, and leads to a file without ours.
    pub fn left(&self, left: Left) -> Left {
        let is_link = fs::symlink_metadata(&self.file).is_ok_and(|found| found.is_symlink());
        match left {
            Left::Nothing { .. } if is_link => Left::Text(format!("{}\n", self.settings.base)),
            left => left,
        }
    }

    /// Removes the folders that were made for the file and are empty, up to the client's own.
    pub fn remove_folders(&self, made: usize, folder: &Path) {
        let above = self.file.ancestors().skip(1).take_while(|above| above.starts_with(folder));
        for above in above.take(made.max(self.own_folders)) {
            // Fails if anything else is in the folder, or if it is a link, and that is right.
            if fs::remove_dir(above).is_err() {
                return;
            }
        }
    }

    /// What is said where the file is left alone.
    pub fn refusal(&self, why: Unclear, program: &str) -> Fault {
        let file = self.file.display();
        Fault::Refused(match why {
            Unclear::Foreign => format!(
                "{file} has something else of the name legwork. Nothing was changed. Move it away, \
                 or give --force to replace it."
            ),
            Unclear::NotUnderstood => format!(
                "{file} is not understood, so nothing was changed. Add this to it yourself:\n\n{}\n",
                self.settings.by_hand(program)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::clients::CLIENTS;

    #[test]
    fn m7_a_file_that_the_client_has_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        let settings = CLIENTS[6].files[0].settings();
        let part = Part { file: file.clone(), settings, own_folders: 0 };
        assert_eq!(part.text().unwrap(), None);
        fs::write(&file, "theirs").unwrap();
        for (before, after) in
            [(None, Left::Text("x".to_owned())), (Some("older"), Left::Nothing { folders: 0 })]
        {
            let refused = part.put(before, &after, None).unwrap_err().to_string();
            assert!(refused.contains("was changed meanwhile"), "{refused}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        part.put(Some("theirs"), &Left::Text("ours".to_owned()), None).unwrap();
        assert_eq!(part.text().unwrap().as_deref(), Some("ours"));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
        part.put(Some("ours"), &Left::Nothing { folders: 0 }, None).unwrap();
        assert!(!file.exists());
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert!(part.text().is_err(), "a link that leads nowhere is somebody's");
    }
}
