//! Which project a folder belongs to: the repository around it, or else the folder itself.

use std::path::{Path, PathBuf};

pub use legwork_views::model::project::{Projects, root};

/// This folder and those above it, up to the root of its project.
pub fn folders(here: &Path) -> Vec<PathBuf> {
    let root = root(here);
    here.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_reaches_up_to_its_repository() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(folders(&inner), std::slice::from_ref(&inner));
        std::fs::create_dir(outer.path().join(".git")).unwrap();
        let all = [inner.clone(), outer.path().join("a"), outer.path().to_owned()];
        assert_eq!(folders(&inner), all);
    }
}
