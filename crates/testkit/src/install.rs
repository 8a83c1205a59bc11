//! The real OpenCode, installed once into the target folder by whichever test needs it first; the
//! others wait; so is any other agent that npm has. Of OpenCode the binary itself is started, not
//! the wrapper of the npm package: a signal to a wrapper does not reach what it wraps.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The version that everything is tested with.
pub const VERSION: &str = "1.18.33";

/// An OpenCode on this machine.
#[derive(Debug)]
pub struct Installed {
    binary: PathBuf,
}

impl Installed {
    /// Finds it, or installs it, which takes a while and needs npm.
    pub fn get() -> &'static Self {
        static ONCE: OnceLock<Installed> = OnceLock::new();
        ONCE.get_or_init(|| Self { binary: find() })
    }

    /// The program.
    pub fn binary(&self) -> &Path {
        &self.binary
    }
}

fn target() -> PathBuf {
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR") {
        let folder = PathBuf::from(folder);
        if folder.is_absolute() {
            return folder;
        }
    }
    let program = std::env::current_exe().expect("the path of the test");
    let target = above(&program);
    target.unwrap_or_else(|| panic!("no target folder above {}", program.display())).to_owned()
}

/// A test is target/PROFILE/deps/NAME, an example target/PROFILE/examples/NAME, a program
/// target/PROFILE/NAME.
fn above(program: &Path) -> Option<&Path> {
    let ours = |folder: &&Path| folder.ends_with("deps") || folder.ends_with("examples");
    let inside = program.ancestors().find(ours).or(Some(program));
    inside.and_then(|inside| inside.ancestors().nth(2))
}

fn find() -> PathBuf {
    binary(&npm("opencode", "opencode-ai", VERSION, |fresh| drop(binary(fresh))))
}

/// The folder that this package is installed in. Installs it, and what it needs, if it is not yet;
/// `check` panics if it does not run.
pub fn npm(name: &str, package: &str, version: &str, check: impl Fn(&Path)) -> PathBuf {
    let target = target();
    let folder = target.join(format!("{name}-{version}"));
    fs::create_dir_all(&target).expect("the target folder");
    let lock = File::create(target.join(format!("{name}-{version}.lock"))).expect("a lock file");
    // Other tests may be at it; the lock goes with the file.
    lock.lock().expect("the lock");
    if !folder.exists() {
        let fresh = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(&target);
        let fresh = fresh.expect("a folder to install into");
        let package = format!("{package}@{version}");
        // It may take a minute. Whoever closed stderr does not want to know.
        let _ = writeln!(std::io::stderr(), "installing {package} into {}", target.display());
        install(fresh.path(), &package);
        check(fresh.path());
        fs::rename(fresh.keep(), &folder).expect("the installed folder moves to its place");
    }
    folder
}

fn install(folder: &Path, package: &str) {
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"])
        .arg(folder)
        .arg(package)
        .output();
    let npm = npm.unwrap_or_else(|why| panic!("npm is needed to install {package}: {why}"));
    assert!(
        npm.status.success(),
        "npm could not install {package}:\n{}{}",
        String::from_utf8_lossy(&npm.stdout),
        String::from_utf8_lossy(&npm.stderr)
    );
}

/// The first binary that runs here: npm brings several for one platform (with and without AVX2).
fn binary(folder: &Path) -> PathBuf {
    let modules = folder.join("node_modules");
    let entries = fs::read_dir(&modules).expect("what npm installed");
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    let programs = names.iter().map(|name| name.join("bin").join("opencode"));
    let runs = |program: &PathBuf| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == VERSION)
    };
    let found = programs.filter(|program| program.exists()).find(runs);
    found.unwrap_or_else(|| panic!("no OpenCode {VERSION} that runs here in {}", modules.display()))
}

#[cfg(test)]
mod tests {
    use super::above;
    use std::path::Path;

    #[test]
    fn the_target_folder_is_found_from_tests_examples_and_programs() {
        for place in ["debug/deps/smoke-1f", "debug/examples/rehearse", "release/campaigns"] {
            let program = Path::new("/a/target").join(place);
            assert_eq!(above(&program), Some(Path::new("/a/target")), "{place}");
        }
    }
}
