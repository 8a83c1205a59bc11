//! Which project a folder belongs to: the repository around it, or else the folder itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The outermost folder of the project that this folder is in.
pub fn root(folder: &Path) -> PathBuf {
    let is_root = |above: &&Path| above.join(".git").exists();
    folder.ancestors().find(is_root).unwrap_or(folder).to_owned()
}

/// What the project of this folder is called.
pub fn name(folder: &str) -> String {
    let root = root(Path::new(folder));
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| folder.to_owned())
}

/// The names of projects, each looked up once.
#[derive(Debug, Default)]
pub struct Projects(BTreeMap<String, String>);

impl Projects {
    /// What the project of this folder is called.
    pub fn name(&mut self, folder: &str) -> &str {
        self.0.entry(folder.to_owned()).or_insert_with(|| name(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p5_a_project_is_the_repository_around_a_folder_or_the_folder_itself() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("shop/src/cart");
        std::fs::create_dir_all(&deep).unwrap();
        let mut projects = Projects::default();
        assert_eq!(projects.name(deep.to_str().unwrap()), "cart");
        std::fs::create_dir(home.path().join("shop/.git")).unwrap();
        assert_eq!(Projects::default().name(deep.to_str().unwrap()), "shop");
        assert_eq!(root(&deep), home.path().join("shop"));
        assert_eq!(Projects::default().name("/"), "/");
        assert_eq!(Projects::default().name(""), "");
    }
}
