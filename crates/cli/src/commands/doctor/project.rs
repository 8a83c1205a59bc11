//! The project that one stands in: OpenCode knows it by its git repository.

use std::env;
use std::path::Path;
use std::time::Duration;

use legwork_machine::var;

use super::check::{Check, Look};
use super::finding::{Finding, Remedy};
use super::plugin::is_elsewhere;
use crate::programs::find;
use crate::project;

pub const PROJECT: Check = Check {
    name: "project",
    doing: "looking at this project",
    at_most: Duration::from_secs(5),
    look: Look::Anywhere(this_project),
};

fn this_project() -> Vec<Finding> {
    let Ok(here) = env::current_dir() else {
        let says = "the folder that this is run in is gone";
        let remedy = Remedy::words("Change to another one.");
        return vec![Finding::mind("project", "project.gone", says, remedy)];
    };
    if is_elsewhere() {
        return vec![Finding::good("project", here.display().to_string())];
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if find("git", &path).is_none() {
        let says = "git is not on the PATH, so OpenCode knows no projects";
        let remedy = Remedy::words("Install git.");
        return vec![Finding::mind("project", "project.git-missing", says, remedy)];
    }
    let root = project::root(&here);
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
