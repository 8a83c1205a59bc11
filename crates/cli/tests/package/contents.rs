//! What is in the packages, and that nothing else is.

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::packing::npm;
use xtask::packing::project::Project;

use crate::packages::{OTHER, Packages, VERSION, root};
use crate::stage::{LEGWORK, printed};

/// Bytes of the package without a program: the plugin is most of it. More than this is a mistake.
const PACKAGE_MAX_BYTES: u64 = 40_000;

/// The files of an archive, and of each whether it can be run.
fn listed(archive: &Path) -> Vec<(String, bool)> {
    let done = Command::new("tar").arg("-tvzf").arg(archive).output().unwrap();
    let mut files: Vec<(String, bool)> = printed(&done)
        .lines()
        .filter(|line| line.starts_with('-'))
        .map(|line| {
            let name = line.rsplit(' ').next().unwrap();
            (name.to_owned(), line.starts_with("-rwx"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn i1_the_packages_have_these_files_and_no_others() {
    let out = tempfile::tempdir().unwrap();
    // Any program will do, and npm takes seconds for ours.
    let packages = Packages::with(VERSION, Path::new("/bin/sh"));
    let main = npm::pack(&packages.legwork(), out.path()).unwrap();
    let file = |name: &str, runs| (format!("package/{name}"), runs);
    let expected = [
        file("LICENSE-APACHE", false),
        file("LICENSE-MIT", false),
        file("README.md", false),
        file("bin/legwork.mjs", true),
        file("find.js", false),
        file("package.json", false),
        file("plugin.js", false),
        file("tui.js", false),
    ];
    assert_eq!(listed(&main), expected);
    assert!(main.ends_with(format!("legwork-{VERSION}.tgz")), "{}", main.display());
    let bytes = fs::metadata(&main).unwrap().len();
    assert!(bytes < PACKAGE_MAX_BYTES, "{bytes}");

    let program = npm::pack(&packages.program(), out.path()).unwrap();
    let expected = [
        file("LICENSE-APACHE", false),
        file("LICENSE-MIT", false),
        file("THIRD-PARTY.md", false),
        file("bin/legwork", true),
        file("package.json", false),
    ];
    assert_eq!(listed(&program), expected);
}

#[test]
fn i1_the_manifests_name_one_version_and_run_nothing() {
    let packages = Packages::with(OTHER, Path::new("/bin/sh"));
    let read = |folder: &Path| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join("package.json")).unwrap()).unwrap()
    };
    let (main, program) = (read(&packages.legwork()), read(&packages.program()));
    assert_eq!((&main["name"], &program["name"]), (&"legwork".into(), &"legwork".into()));
    assert_eq!(main["version"], OTHER);
    for (alias, spec) in main["optionalDependencies"].as_object().unwrap() {
        let system = alias.strip_prefix("legwork-").unwrap();
        assert_eq!(spec, &format!("npm:legwork@{OTHER}-{system}"));
        let known = xtask::packing::SYSTEMS.iter().any(|(name, _)| *name == system);
        assert!(known, "{system}");
    }
    assert_eq!(main["optionalDependencies"].as_object().unwrap().len(), 4);
    for manifest in [&main, &program] {
        assert!(manifest["scripts"].is_null() && manifest["dependencies"].is_null(), "{manifest}");
        assert!(!manifest.to_string().contains("@LEGWORK"), "{manifest}");
    }
    for entry in ["./server", "./tui"] {
        let file = main["exports"][entry].as_str().unwrap();
        assert!(packages.legwork().join(file).is_file(), "{entry}");
    }
}

/// One source of the plugin: the package has what `install` writes, but for who wrote it, where the
/// program is, and whose folder it lies in.
#[test]
fn i1_the_package_has_the_plugin_that_install_writes() {
    let home = tempfile::tempdir().unwrap();
    let done = Command::new(LEGWORK)
        .args(["install", "opencode"])
        .env_clear()
        .env("HOME", home.path())
        .env("LEGWORK_HOME", home.path().join("legwork"))
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let packages = Packages::with(VERSION, Path::new("/bin/sh"));
    let body = |text: &str| {
        let lines = text.split_once("\n//\n").unwrap().1.lines();
        let differs = [
            "const BIN = ",
            "const NO_BIN = ",
            "import { find } ",
            "const { path: BIN ",
            "// legwork has made this folder.",
        ];
        let kept = lines.filter(|line| !differs.iter().any(|begin| line.starts_with(begin)));
        kept.map(str::to_owned).collect::<Vec<_>>()
    };
    let folder = home.path().join(".config/opencode");
    for (written, packed) in [("plugin/legwork.js", "plugin.js"), ("legwork/tui.js", "tui.js")] {
        let written = fs::read_to_string(folder.join(written)).unwrap();
        let packed = fs::read_to_string(packages.legwork().join(packed)).unwrap();
        assert_eq!(body(&packed), body(&written));
        assert!(packed.starts_with("// legwork for OpenCode, "), "{packed}");
        assert!(packed.contains("from the npm package legwork@"), "{packed}");
    }
}

#[test]
fn i2_the_same_repository_is_named_everywhere() {
    let project = Project::of(&root()).unwrap();
    assert_eq!(project.version, VERSION);
    let script = fs::read_to_string(root().join("install.sh")).unwrap();
    assert_eq!(script.matches(&format!("{}/releases", project.repository)).count(), 2);
}

/// OpenCode never updates a plugin, so people are told exact numbers.
#[test]
fn i2_documents_tell_people_this_version() {
    for name in xtask::release::documents(&root()).unwrap() {
        let text = fs::read_to_string(root().join(&name)).unwrap();
        for (at, _) in text.match_indices("legwork@") {
            let rest = &text[at + "legwork@".len()..];
            let number: String =
                rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let is_one = number.split('.').filter(|part| !part.is_empty()).count() == 3;
            assert!(!is_one || number.trim_end_matches('.') == VERSION, "{name}: {number}");
        }
    }
}

#[test]
fn i5_what_is_released_is_small_and_survives_a_panic() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let profile = manifest.split("\n[").find(|part| part.starts_with("profile.dist]")).unwrap();
    let lines: Vec<&str> = profile.lines().filter(|line| !line.starts_with('#')).collect();
    let wanted = ["inherits = \"release\"", "lto = \"fat\"", "codegen-units = 1"];
    for line in wanted.into_iter().chain(["strip = \"symbols\""]) {
        assert!(lines.contains(&line), "{line}");
    }
    assert!(!manifest.lines().any(|line| line.starts_with("panic")), "a driver may panic");
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    assert!(workflow.contains("--profile dist"), "{workflow}");
}
