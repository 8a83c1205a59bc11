//! How this legwork was installed, by where its program lies: that decides how it is updated, and
//! whether a file may name it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::plugin::is_in_build_folder;

/// Where the project's releases are; empty in a build that does not say.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// Where cargo builds it.
    Build,
    /// OpenCode has installed it as a plugin, in a folder that is called as the plugin is written
    /// in its settings.
    OpenCode {
        written: String,
    },
    /// A cache of a package manager, for one run.
    PackageCache {
        runner: &'static str,
    },
    /// A package manager of JavaScript's, for the whole machine.
    Global {
        manager: &'static str,
    },
    /// The same for one project: this folder.
    Project {
        folder: PathBuf,
    },
    Homebrew,
    Cargo,
    /// The install script, into the user's own folder for programs.
    Script,
    Unknown,
}

impl Installation {
    /// Of a program, by the file that it is and what its launcher says.
    pub fn of(program: &Path, var: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let names: Vec<&str> = program.iter().filter_map(|name| name.to_str()).collect();
        let has = |name: &str| names.contains(&name);
        if is_in_build_folder(program) {
            return Self::Build;
        }
        if let [.., written] = opencodes(&names) {
            return Self::OpenCode { written: (*written).to_owned() };
        }
        if let Some(runner) = names.iter().find_map(|name| runner(name)) {
            return Self::PackageCache { runner };
        }
        if has("Cellar") {
            return Self::Homebrew;
        }
        if let Some(at) = names.iter().position(|name| *name == "node_modules") {
            return of_packages(program, &names[..at]);
        }
        if var("LEGWORK_INSTALLED_BY").is_some_and(|by| by == "npm") {
            return Self::Global { manager: "npm" };
        }
        let home = var("HOME").map(PathBuf::from).unwrap_or_default();
        let cargo = var("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
        match program.parent() {
            Some(folder) if folder == cargo.join("bin") => Self::Cargo,
            Some(folder) if folder == home.join(".local/bin") => Self::Script,
            _ => Self::Unknown,
        }
    }

    /// Whether the program may be gone tomorrow, so that no file is to name it.
    pub fn is_cache(&self) -> bool {
        matches!(self, Self::OpenCode { .. } | Self::PackageCache { .. })
    }

    /// What it is called for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::OpenCode { .. } => "opencode",
            Self::PackageCache { .. } => "package-cache",
            Self::Global { .. } | Self::Project { .. } => "npm",
            Self::Homebrew => "homebrew",
            Self::Cargo => "cargo",
            Self::Script => "script",
            Self::Unknown => "unknown",
        }
    }

    /// In words for people.
    pub fn says(&self) -> String {
        match self {
            Self::Build => "built in this folder".to_owned(),
            Self::OpenCode { written } => format!("installed by OpenCode, as {written:?}"),
            Self::PackageCache { runner } => format!("in the cache of {runner}, for one run"),
            Self::Global { manager } => format!("installed by {manager}"),
            Self::Project { folder } => format!("installed by npm in {}", folder.display()),
            Self::Homebrew => "installed by Homebrew".to_owned(),
            Self::Cargo => "installed by cargo".to_owned(),
            Self::Script => "installed by the install script".to_owned(),
            Self::Unknown => "installed in a way that is not known".to_owned(),
        }
    }

    /// The command that updates it, if there is one.
    pub fn update(&self) -> Option<String> {
        Some(match self {
            Self::Build => "git pull && cargo build --release -p legwork".to_owned(),
            Self::OpenCode { .. } => opencode_plugin("VERSION", " --global --force"),
            Self::PackageCache { runner } => format!("{runner} legwork@latest"),
            Self::Global { manager: "npm" } => "npm install -g legwork@latest".to_owned(),
            Self::Global { manager } => format!("{manager} add -g legwork@latest"),
            Self::Project { .. } => "npm install legwork@latest".to_owned(),
            Self::Homebrew => "brew upgrade legwork".to_owned(),
            Self::Cargo => "cargo install --locked legwork".to_owned(),
            Self::Script if REPOSITORY.is_empty() => return None,
            Self::Script => {
                format!("curl -fsSL {REPOSITORY}/releases/latest/download/install.sh | sh")
            }
            Self::Unknown => return None,
        })
    }
}

/// The command that has OpenCode install the plugin of this version by itself. Without a number it
/// would stay at what was newest on the first day: OpenCode never updates a plugin.
pub fn opencode_command(is_project: bool) -> String {
    opencode_plugin(VERSION, if is_project { " --force" } else { " --global --force" })
}

fn opencode_plugin(version: &str, options: &str) -> String {
    format!("opencode plugin legwork@{version}{options}")
}

/// The way to a folder of OpenCode's own packages, up to the name that the plugin has there.
fn opencodes<'a>(names: &'a [&'a str]) -> &'a [&'a str] {
    let is_there = |four: &[&str]| matches!(four, ["opencode", "packages", _, "node_modules"]);
    let at = names.windows(4).position(is_there);
    at.map_or(&[], |at| &names[..at + 3])
}

/// Whose cache a folder of this name is, if it is one.
fn runner(name: &str) -> Option<&'static str> {
    match name {
        "_npx" => Some("npx"),
        "dlx" => Some("pnpm dlx"),
        _ if name.starts_with("dlx-") => Some("yarn dlx"),
        _ if name.starts_with("bunx-") => Some("bunx"),
        _ => None,
    }
}

/// Packages below a folder: of the whole machine, or of a project.
fn of_packages(program: &Path, above: &[&str]) -> Installation {
    match above {
        [.., ".bun", "install", "global"] => Installation::Global { manager: "bun" },
        _ if above.windows(2).any(|two| two == ["pnpm", "global"]) => {
            Installation::Global { manager: "pnpm" }
        }
        // As in /usr/local/lib/node_modules.
        [.., "lib"] => Installation::Global { manager: "npm" },
        _ => {
            let is_packages = |path: &&Path| path.ends_with("node_modules");
            let packages = program.ancestors().filter(is_packages).last();
            let folder = packages.and_then(Path::parent).unwrap_or(program);
            Installation::Project { folder: folder.to_owned() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(program: &str, vars: &[(&str, &str)]) -> Installation {
        let var = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Installation::of(Path::new(program), &var)
    }

    #[test]
    fn i3_an_installation_is_known_by_its_place_and_has_a_command_that_updates_it() {
        let home = [("HOME", "/h")];
        for (program, name, command) in [
            (
                "/h/.cache/opencode/packages/legwork@0.1.0/node_modules/legwork-linux-x64/bin/legwork",
                "opencode",
                "opencode plugin legwork@VERSION --global --force",
            ),
            (
                "/h/.npm/_npx/0a1b/node_modules/legwork-linux-x64/bin/legwork",
                "package-cache",
                "npx legwork@latest",
            ),
            (
                "/h/.cache/pnpm/dlx/ab/node_modules/x/legwork",
                "package-cache",
                "pnpm dlx legwork@latest",
            ),
            (
                "/tmp/bunx-0-legwork@latest/node_modules/x/legwork",
                "package-cache",
                "bunx legwork@latest",
            ),
            (
                "/usr/local/lib/node_modules/legwork/node_modules/legwork-linux-x64/bin/legwork",
                "npm",
                "npm install -g legwork@latest",
            ),
            (
                "/h/.bun/install/global/node_modules/legwork-linux-x64/bin/legwork",
                "npm",
                "bun add -g legwork@latest",
            ),
            (
                "/h/.local/share/pnpm/global/5/.pnpm/x/node_modules/legwork/bin/legwork",
                "npm",
                "pnpm add -g legwork@latest",
            ),
            (
                "/h/p/node_modules/legwork-linux-x64/bin/legwork",
                "npm",
                "npm install legwork@latest",
            ),
            ("/opt/homebrew/Cellar/legwork/0.1.0/bin/legwork", "homebrew", "brew upgrade legwork"),
            ("/h/.cargo/bin/legwork", "cargo", "cargo install --locked legwork"),
        ] {
            let found = of(program, &home);
            assert_eq!(found.name(), name, "{program}");
            assert_eq!(found.update().as_deref(), Some(command), "{program}");
        }
        let project = of("/h/p/node_modules/a/node_modules/b/legwork", &home);
        assert_eq!(project, Installation::Project { folder: "/h/p".into() });
        assert_eq!(of("/c/bin/legwork", &[("CARGO_HOME", "/c")]), Installation::Cargo);
        assert_eq!(of("/h/.local/bin/legwork", &home), Installation::Script);
        assert_eq!(of("/opt/legwork", &home), Installation::Unknown);
        let launched = [("LEGWORK_INSTALLED_BY", "npm")];
        assert_eq!(of("/opt/legwork", &launched), Installation::Global { manager: "npm" });
    }

    #[test]
    fn i3_only_a_cache_is_gone_tomorrow() {
        let opencode = of("/c/opencode/packages/legwork/node_modules/x/legwork", &[]);
        assert_eq!(opencode, Installation::OpenCode { written: "legwork".to_owned() });
        assert!(opencode.is_cache());
        assert!(of("/h/.npm/_npx/0a1b/node_modules/x/legwork", &[]).is_cache());
        for program in
            ["/opt/legwork", "/h/opencode/packages/legwork", "/lib/node_modules/x/legwork"]
        {
            assert!(!of(program, &[]).is_cache(), "{program}");
        }
    }
}
