//! Entries of OpenCode's settings that have it install legwork by itself: `"plugin":
//! ["legwork@0.1.0"]` in `opencode.json`. These files are only read.

use std::fs;
use std::path::{Path, PathBuf};

use legwork_client::is_newer;
use serde::Serialize;

use crate::clients::first_words;

/// The list in the settings.
const LIST: &str = "plugin";
const PACKAGE: &str = "legwork";
/// Far more than anybody writes by hand.
const SETTINGS_MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NpmEntry {
    /// The settings that it stands in.
    pub file: PathBuf,
    /// As it is written there.
    pub entry: String,
}

/// What an entry says of the version.
#[derive(Debug, PartialEq, Eq)]
pub enum Pin {
    Exactly(String),
    /// The newest on the day when OpenCode installed it: it looks for no newer one.
    Loose,
    /// A file or another place, which says nothing.
    Elsewhere,
}

impl NpmEntry {
    /// All of them in these folders of settings.
    pub fn in_folders<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Vec<Self> {
        let names = |folder: &'a Path| {
            ["opencode.json", "opencode.jsonc", "config.json"].map(|name| folder.join(name))
        };
        folders.into_iter().flat_map(names).flat_map(Self::in_file).collect()
    }

    /// All that OpenCode reads: the settings for all projects beside this plugin file, then those
    /// of these folders of a project.
    pub fn all(global: Option<&Path>, projects: &[PathBuf]) -> Vec<Self> {
        let global = global.and_then(|file| file.ancestors().nth(2));
        let mut found = Self::in_folders(global);
        if let Some(named) = legwork_machine::var("OPENCODE_CONFIG") {
            found.extend(Self::in_file(PathBuf::from(named)));
        }
        let inner: Vec<PathBuf> = projects.iter().map(|folder| folder.join(".opencode")).collect();
        let folders = projects.iter().zip(&inner).flat_map(|(outer, inner)| [outer, inner]);
        found.extend(Self::in_folders(folders.map(PathBuf::as_path)));
        found.dedup();
        found
    }

    /// What is not there or is not understood names nothing: OpenCode says what is wrong with its
    /// own settings.
    fn in_file(file: PathBuf) -> Vec<Self> {
        let is_readable =
            |found: fs::Metadata| found.is_file() && found.len() <= SETTINGS_MAX_BYTES;
        if !fs::metadata(&file).is_ok_and(is_readable) {
            return Vec::new();
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        let words = first_words(&text, LIST).into_iter();
        let ours = words.filter(|word| rest(word).is_some());
        ours.map(|entry| Self { file: file.clone(), entry }).collect()
    }

    pub fn pin(&self) -> Pin {
        match rest(&self.entry).unwrap_or_default() {
            elsewhere if elsewhere.contains(':') => Pin::Elsewhere,
            exact if is_newer(exact, "0.0.0") => Pin::Exactly(exact.to_owned()),
            _ => Pin::Loose,
        }
    }

    /// Whether it stands in the settings for all projects, beside this plugin file.
    pub fn is_for_all(&self, global: Option<&Path>) -> bool {
        let folder = global.and_then(|file| file.ancestors().nth(2));
        folder.is_some() && self.file.parent() == folder
    }
}

/// What stands behind the package's name, if this names it.
fn rest(word: &str) -> Option<&str> {
    match word.strip_prefix(PACKAGE)? {
        "" => Some(""),
        rest => rest.strip_prefix('@'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("opencode.jsonc"), text).unwrap();
        let found = NpmEntry::in_folders([folder.path()]);
        assert!(found.iter().all(|entry| entry.file == folder.path().join("opencode.jsonc")));
        found.into_iter().map(|entry| entry.entry).collect()
    }

    #[test]
    fn i3_entries_of_the_package_are_found_and_no_others() {
        let text = "{ // mine\n \"plugin\": [\"legwork@0.1.0\", [\"legwork\", { \"a\": 1 }], \
                    \"legworks@1\", \"@x/legwork\", \"./legwork\", \"file:///legwork.js\"] }";
        assert_eq!(entries(text), ["legwork@0.1.0", "legwork"]);
        for text in
            ["", "{", "{}", "{\"plugin\": \"legwork\"}", "{\"x\": {\"plugin\": [\"legwork\"]}}"]
        {
            assert_eq!(entries(text), [""; 0], "{text}");
        }
        assert_eq!(NpmEntry::in_folders([Path::new("/does/not/exist")]), []);
    }

    #[test]
    fn i3_only_a_whole_number_is_a_pin() {
        let pin = |entry: &str| {
            let entry = entry.to_owned();
            NpmEntry { file: PathBuf::new(), entry }.pin()
        };
        assert_eq!(pin("legwork@0.1.0"), Pin::Exactly("0.1.0".to_owned()));
        for loose in ["legwork", "legwork@latest", "legwork@^0.1.0", "legwork@1"] {
            assert_eq!(pin(loose), Pin::Loose, "{loose}");
        }
        assert_eq!(pin("legwork@file:/a/legwork.tgz"), Pin::Elsewhere);
    }
}
