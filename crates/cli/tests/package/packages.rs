//! The packages under test, and homes that have nothing but OpenCode.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use legwork_testkit::{Home, Model, Registry};
use serde_json::{Value, json};
use xtask::packing::project::Project;
use xtask::packing::{Program, npm};

use crate::stage::LEGWORK;

/// The version of the workspace, and one that it never had.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
pub const OTHER: &str = "0.0.9";

/// What npm calls this system.
pub fn system() -> &'static str {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "aarch64") => "darwin-arm64",
        ("macos", _) => "darwin-x64",
        _ => "linux-x64",
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The program under test, without what only a debugger reads: that is most of it, and it would be
/// packed and unpacked again and again.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package-legwork");
        let done = Command::new("strip").args(["-g", LEGWORK, "-o"]).arg(&path).status();
        if !done.is_ok_and(|status| status.success()) {
            fs::copy(LEGWORK, &path).unwrap();
        }
        path
    })
}

/// The packages of a version, as folders: the program's and the one that has it in.
pub struct Packages {
    folder: tempfile::TempDir,
}

impl Packages {
    pub fn of(version: &str) -> Self {
        Self::with(version, program())
    }

    /// With another program than the one under test.
    pub fn with(version: &str, program: &Path) -> Self {
        Self::for_system(system(), version, program)
    }

    /// For another system than this one.
    pub fn for_system(system: &str, version: &str, program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Project { version: version.to_owned(), ..Project::of(&root()).unwrap() };
        let program = Program { target: system.to_owned(), path: program.to_owned() };
        npm::lay_out(&root(), &project, &[program], "notices\n", folder.path()).unwrap();
        Self { folder }
    }

    pub fn program(&self) -> PathBuf {
        self.program_for(system())
    }

    pub fn program_for(&self, system: &str) -> PathBuf {
        self.folder.path().join(system)
    }

    pub fn legwork(&self) -> PathBuf {
        self.folder.path().join("legwork")
    }

    pub fn publish(&self, registry: &Registry) {
        registry.publish(&self.program());
        registry.publish(&self.legwork());
    }

    /// The folder `node_modules` that npm would make of them, and its owner.
    pub fn installed(self, with_program: bool) -> (PathBuf, tempfile::TempDir) {
        let modules = self.folder.path().join("node_modules");
        fs::create_dir(&modules).unwrap();
        fs::rename(self.legwork(), modules.join("legwork")).unwrap();
        if with_program {
            let program = modules.join(format!("legwork-{}", system()));
            fs::rename(self.program(), program).unwrap();
        }
        (modules, self.folder)
    }
}

/// A home on whose PATH are git and a shell: no Node, npm, Rust or legwork. OpenCode installs from
/// this registry, and loads these plugins.
pub fn bare(model: &Model, registry: &str, plugins: &Value) -> Home {
    let home = Home::build(model)
        .without_catalogue()
        .git()
        .settings(json!({ "plugin": plugins }))
        // What cannot be reached is given up at once, not after a minute.
        .env("npm_config_fetch_retries", "0")
        .env("npm_config_registry", registry)
        .make();
    let own = home.root().join("legwork");
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    home.set_env("LEGWORK_HOME", &own.to_string_lossy());
    let bin = home.root().join("bin");
    link_tools(&bin, &["git", "sh"]);
    home.set_env("PATH", &bin.to_string_lossy());
    for tool in ["node", "npm", "cargo", "legwork"] {
        let found = home.command("sh").args(["-c", "command -v \"$1\"", "sh", tool]).output();
        assert!(!found.unwrap().status.success(), "{tool} is on the PATH");
    }
    home
}

/// Makes a folder with nothing but these programs of the system in it.
pub fn link_tools(folder: &Path, tools: &[&str]) {
    fs::create_dir_all(folder).unwrap();
    for tool in tools {
        let path = on_the_path(tool).unwrap_or_else(|| panic!("{tool} is needed"));
        symlink(path, folder.join(tool)).unwrap();
    }
}

/// Where a program of the system is.
pub fn on_the_path(tool: &str) -> Option<String> {
    let found = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", tool]).output().unwrap();
    let path = String::from_utf8(found.stdout).unwrap();
    Some(path.trim().to_owned()).filter(|path| !path.is_empty())
}

/// Where OpenCode installs a package.
pub fn cached(home: &Home, version: &str) -> PathBuf {
    home.root().join(format!("home/.cache/opencode/packages/legwork@{version}"))
}

/// The program that came with a package.
pub fn program_of(home: &Home, version: &str) -> PathBuf {
    cached(home, version).join(format!("node_modules/legwork-{}/bin/legwork", system()))
}
