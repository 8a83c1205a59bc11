//! The project that one stands in: OpenCode knows it by its git repository.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_machine::var;

use super::check::{Check, Look};
use super::finding::{Finding, Remedy};
use crate::programs::find;

pub const PROJECT: Check = Check {
    name: "project",
    doing: "looking at this project",
    at_most: Duration::from_secs(5),
    look: Look::Anywhere(project),
};

/// This folder and those above it, up to the one that holds the repository; only this one if none
/// does.
pub fn folders_of_project(here: &Path) -> Vec<PathBuf> {
    let root = here.ancestors().position(|folder| folder.join(".git").exists());
    here.ancestors().take(root.unwrap_or(0) + 1).map(Path::to_owned).collect()
}

fn project() -> Vec<Finding> {
    let Ok(here) = env::current_dir() else {
        let says = "the folder that this is run in is gone";
        let remedy = Remedy::words("Change to another one.");
        return vec![Finding::mind("project", "project.gone", says, remedy)];
    };
    let path = env::var_os("PATH").unwrap_or_default();
    if find("git", &path).is_none() {
        let says = "git is not on the PATH, so OpenCode knows no projects";
        let remedy = Remedy::words("Install git.");
        return vec![Finding::mind("project", "project.git-missing", says, remedy)];
    }
    let root = folders_of_project(&here).pop().unwrap_or_else(|| here.clone());
    let is_home = var("HOME").is_some_and(|home| Path::new(&home) == here);
    if root.join(".git").exists() || is_home {
        return vec![Finding::good("project", root.display().to_string())];
    }
    let says = format!(
        "{} is in no git repository: windows in other folders do not share its tasks",
        here.display()
    );
    let remedy = Remedy::run("git init", "makes a project of it, once it has a commit");
    vec![Finding::mind("project", "project.no-repository", says, remedy)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_reaches_up_to_its_repository() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(folders_of_project(&inner), std::slice::from_ref(&inner));
        std::fs::create_dir(outer.path().join(".git")).unwrap();
        let all = [inner.clone(), outer.path().join("a"), outer.path().to_owned()];
        assert_eq!(folders_of_project(&inner), all);
    }
}
