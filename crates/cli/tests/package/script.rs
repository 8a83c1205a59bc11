//! `install.sh`, as people run it: piped into a shell, with the releases on loopback.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use legwork_testkit::Shelf;
use xtask::packing::{
    Program, SYSTEMS,
    archive::{self, Around},
};

use crate::packages::{VERSION, link_tools, on_the_path, program, root, system};
use crate::stage::printed;

/// What the script asks of a system, and how it can download.
const TOOLS: [&str; 14] = [
    "sh",
    "id",
    "uname",
    "mktemp",
    "tar",
    "gzip",
    "grep",
    "sha256sum",
    "rm",
    "chmod",
    "mkdir",
    "cp",
    "mv",
    "env",
];
const DOWNLOADERS: [&str; 2] = ["curl", "wget"];

struct Machine {
    folder: tempfile::TempDir,
    shelf: Shelf,
}

impl Machine {
    /// With everything on its PATH that the script asks for.
    fn new() -> Self {
        let there = DOWNLOADERS.into_iter().find(|tool| on_the_path(tool).is_some());
        let machine = Self::with(&[&TOOLS[..], there.as_slice()].concat());
        if there.is_none() {
            machine.add_curl();
        }
        machine
    }

    /// With these programs on its PATH.
    fn with(tools: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        link_tools(&folder.path().join("bin"), tools);
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder, shelf: Shelf::start() }
    }

    /// Node in the part of curl, for a machine that has no downloader.
    fn add_curl(&self) {
        let node = on_the_path("node").unwrap();
        let script = format!(
            "#!{node}\n\
             const [to, from] = [process.argv[process.argv.indexOf(\"-o\") + 1], process.argv.at(-1)];\n\
             const keep = (bytes) => require(\"fs\").writeFileSync(to, Buffer.from(bytes));\n\
             fetch(from)\n\
             .then((answer) => (answer.ok ? answer.arrayBuffer() : process.exit(22)))\n\
             .then(keep, () => process.exit(7));\n"
        );
        let path = self.path("bin/curl");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a release where the script looks for it; gives the name of its archive.
    fn release(&self, place: &str, program: &Path) -> String {
        let target = SYSTEMS.iter().find(|(name, _)| *name == system()).unwrap().1.to_owned();
        let program = Program { target, path: program.to_owned() };
        fs::create_dir_all(self.path("man")).unwrap();
        fs::write(self.path("man/legwork.1"), ".TH legwork 1\n").unwrap();
        let around = Around { third_party: "notices\n".to_owned(), man: self.path("man") };
        let file = archive::make(&root(), &program, &around, &self.path("release")).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let sums = Command::new("sha256sum").arg(&name).current_dir(self.path("release")).output();
        self.shelf.put(&format!("/{place}/{name}"), fs::read(&file).unwrap());
        self.shelf.put(&format!("/{place}/SHA256SUMS"), sums.unwrap().stdout);
        name
    }

    fn install(&self, settings: &[(&str, &str)]) -> Output {
        let mut command = Command::new(self.path("bin/sh"));
        command.stdin(File::open(root().join("install.sh")).unwrap()).env_clear();
        command
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("LEGWORK_RELEASES", self.shelf.url())
            .envs(settings.iter().copied());
        command.output().unwrap()
    }

    /// Nothing is in the home, and nothing is left elsewhere.
    #[track_caller]
    fn is_untouched(&self) {
        for name in ["home", "tmp"] {
            assert_eq!(fs::read_dir(self.path(name)).unwrap().count(), 0, "{name}");
        }
    }
}

#[track_caller]
fn refused(done: &Output) -> String {
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    let words = words.trim_end().to_owned();
    words.strip_prefix("legwork was not installed: ").unwrap_or(&words).to_owned()
}

#[test]
fn i2_the_script_installs_a_release() {
    let machine = Machine::new();
    machine.release("latest/download", program());
    let done = machine.install(&[]);
    assert!(done.status.success(), "{done:?}");
    let folder = machine.path("home/.local/bin");
    let expected = format!(
        "legwork {VERSION} is in {folder}.\n\
         That folder is not on your PATH. Add this to the settings of your shell:\n  \
         export PATH=\"{folder}:$PATH\"\n\
         Next: `legwork demo` shows it, `legwork install opencode` adds it to OpenCode.\n",
        folder = folder.display()
    );
    assert_eq!(printed(&done), expected);
    let installed = fs::read(folder.join("legwork")).unwrap();
    assert!(installed == fs::read(program()).unwrap(), "it is the one of the release");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
    assert_eq!(fs::read_dir(machine.path("tmp")).unwrap().count(), 0);
}

#[test]
fn i2_a_version_and_a_folder_can_be_named_and_a_newer_one_takes_the_place() {
    let machine = Machine::new();
    let program = machine.path("program");
    let folder = machine.path("elsewhere");
    let to = folder.display().to_string();
    for (version, asked) in [("0.0.1", "0.0.1"), ("0.0.2", "v0.0.2")] {
        fs::write(&program, format!("#!/bin/sh\necho legwork {version}\n")).unwrap();
        machine.release(&format!("download/v{version}"), &program);
        let before = File::open(folder.join("legwork"));
        let settings = [("LEGWORK_VERSION", asked), ("LEGWORK_INSTALL_DIR", to.as_str())];
        let done = machine.install(&settings);
        assert!(
            printed(&done).starts_with(&format!("legwork {version} is in {to}.\n")),
            "{done:?}"
        );
        // What runs goes on with the file that it has.
        if let Ok(before) = before {
            let words = std::io::read_to_string(before).unwrap();
            assert!(words.contains("0.0.1"), "{words}");
        }
    }
}

#[test]
fn i2_a_damaged_archive_is_refused() {
    let machine = Machine::new();
    let program = machine.path("program");
    fs::write(&program, "#!/bin/sh\necho legwork 0.0.1\n").unwrap();
    let name = machine.release("latest/download", &program);
    let file = machine.path("release").join(&name);
    let mut bytes = fs::read(file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    machine.shelf.put(&format!("/latest/download/{name}"), bytes);
    let expected =
        format!("{name} is not what was released: its checksum is another. Nothing was changed.");
    assert_eq!(refused(&machine.install(&[])), expected);
    machine.shelf.put("/latest/download/SHA256SUMS", "");
    let expected = format!("the release has no checksum for {name}. Nothing was changed.");
    assert_eq!(refused(&machine.install(&[])), expected);
    machine.is_untouched();
}

#[test]
fn i2_a_program_that_does_not_run_here_is_not_installed() {
    let machine = Machine::new();
    let program = machine.path("program");
    fs::write(&program, "#!/no/such/program\n").unwrap();
    machine.release("latest/download", &program);
    let expected = "the program does not run on this system. Nothing was changed.";
    assert_eq!(refused(&machine.install(&[])), expected);
    machine.is_untouched();
}

#[test]
fn i2_a_missing_tool_is_named() {
    let without = |missing: &str| {
        let all = TOOLS.into_iter().chain(DOWNLOADERS);
        let left = all.filter(|tool| *tool != missing && on_the_path(tool).is_some());
        let machine = Machine::with(&left.collect::<Vec<_>>());
        let done = machine.install(&[]);
        assert!(machine.shelf.asked().is_empty(), "before anything is asked for");
        machine.is_untouched();
        refused(&done)
    };
    let expected = "tar is not on the PATH, and it is needed. Install it, then try again.";
    assert_eq!(without("tar"), expected);
    let expected = "neither sha256sum nor shasum is on the PATH, so nothing can be checked. \
                    Install one.";
    assert_eq!(without("sha256sum"), expected);
    let expected = "neither curl nor wget is on the PATH. Install one, then try again.";
    assert_eq!(refused(&Machine::with(&TOOLS).install(&[])), expected);
}

#[test]
fn i2_what_cannot_be_downloaded_is_named() {
    let there = DOWNLOADERS.into_iter().filter(|tool| on_the_path(tool).is_some());
    for tool in there {
        let machine = Machine::with(&[&TOOLS[..], &[tool]].concat());
        let words = refused(&machine.install(&[]));
        let url = format!("{}/latest/download/legwork-", machine.shelf.url());
        assert!(words.contains(&url) && words.contains("cannot be downloaded"), "{tool}: {words}");
        machine.is_untouched();
    }
}
