//! Installed by a package manager or by OpenCode itself: where the program lies then, what may name
//! it, and what the commands say of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use legwork_testkit::legwork::{Home, Host, Ran, ran};
use serde_json::Value;

use crate::doctor::{apply, executable, findings, found, in_project};

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The program at another place.
fn lies_at(home: &Home, place: &str) -> PathBuf {
    let program = home.path(place);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    // The temporary files may be on another disk.
    if fs::hard_link(LEGWORK, &program).is_err() {
        fs::copy(LEGWORK, &program).unwrap();
    }
    program
}

fn run_at(home: &Home, program: &Path, args: &[&str]) -> Ran {
    let legwork = home.command(args);
    let mut command = Command::new(program);
    command.args(args).env_clear().current_dir(home.path(""));
    command.envs(legwork.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ran(command)
}

/// A home that OpenCode has settings in, and no plugin file.
fn with_settings(settings: &str) -> (Home, PathBuf) {
    let home = Home::new();
    for folder in ["project", "bin", "home/.config/opencode"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    let file = home.path("home/.config/opencode/opencode.jsonc");
    fs::write(&file, settings).unwrap();
    (home, file)
}

/// An OpenCode whose `plugin` command writes what it is given into these settings.
fn fake_opencode(home: &Home, settings: &Path) {
    let script = format!(
        "case $1 in --version) echo 1.18.33;; acp) exec {LEGWORK} rehearsal;; plugin) [ \"$3 $4\" = '--global --force' ] && \
         echo \"{{\\\"plugin\\\": [\\\"$2\\\"]}}\" >{};; esac",
        settings.display()
    );
    executable(&home.path("bin/opencode"), &script);
}

fn code_of<'a>(all: &'a [Value], check: &str) -> Vec<&'a str> {
    let its = all.iter().filter(|one| one["check"] == check);
    its.map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn i3_a_program_in_a_cache_is_named_by_no_file() {
    let home = Home::new();
    for place in [
        "home/.npm/_npx/0a1b/node_modules/legwork-linux-x64/bin/legwork",
        "home/.cache/opencode/packages/legwork@0.1.0/node_modules/legwork-linux-x64/bin/legwork",
    ] {
        let program = lies_at(&home, place);
        let refused = run_at(&home, &program, &["install", "opencode"]).with_code(1);
        let command = format!("`opencode plugin legwork@{VERSION} --global --force`");
        assert!(refused.err.contains(&command), "{refused:?}");
        assert!(refused.err.contains("Nothing was written"), "{refused:?}");
        let project = run_at(&home, &program, &["install", "opencode", "--project", "."]);
        let command = format!("`opencode plugin legwork@{VERSION} --force`");
        assert!(project.with_code(1).err.contains(&command));
        let doctor = run_at(&home, &program, &["doctor"]).with_code(0);
        assert!(doctor.out.contains("opencode plugin legwork@"), "{doctor:?}");
    }
    assert!(!home.path("home/.config").exists() && !home.path(".opencode").exists());
}

#[test]
fn i3_the_plugin_names_the_entry_on_the_path_and_not_where_it_leads() {
    let home = Home::new();
    let file = lies_at(&home, "Cellar/legwork/0.1.0/bin/legwork");
    fs::create_dir(home.path("bin")).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let entry = home.path("bin/legwork");
    symlink(&file, &entry).unwrap();
    let install = || {
        let mut command = Command::new(&entry);
        let legwork = home.command(["install", "opencode", "--json"]);
        command.args(legwork.get_args()).env_clear();
        command.envs(legwork.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
        ran(command).with_code(0).json()
    };
    assert_eq!(install()["binary"], entry.to_str().unwrap());
    let plugin = home.path("home/.config/opencode/plugin/legwork.js");
    let text = fs::read_to_string(&plugin).unwrap();
    assert!(text.contains(entry.to_str().unwrap()) && !text.contains("Cellar"), "{text}");
    // After an update it leads elsewhere, and is as good.
    let next = lies_at(&home, "Cellar/legwork/0.2.0/bin/legwork");
    fs::remove_file(&entry).unwrap();
    symlink(&next, &entry).unwrap();
    fs::remove_dir_all(home.path("Cellar/legwork/0.1.0")).unwrap();
    assert_eq!(install()["done"], "already up to date");
}

#[test]
fn i3_the_doctor_knows_a_plugin_that_opencode_installs_by_itself() {
    let entry = format!("{{ /* mine */ \"plugin\": [\"other\", \"legwork@{VERSION}\"] }}");
    let (home, file) = with_settings(&entry);
    let all = findings(&home, 0);
    assert_eq!(code_of(&all, "plugin"), ["ok"], "{all:#?}");
    // Whatever is written there and is not this version stays as it is for ever.
    fake_opencode(&home, &file);
    for (written, code) in [
        ("legwork", "plugin.npm-unpinned"),
        ("legwork@latest", "plugin.npm-unpinned"),
        ("legwork@0.0.1", "plugin.npm-older"),
    ] {
        fs::write(&file, format!("{{ \"plugin\": [\"{written}\"] }}")).unwrap();
        let loose = found(&home, 0, code);
        assert!(loose["says"].as_str().unwrap().contains(written), "{loose}");
        apply(&home, &loose);
        assert_eq!(code_of(&findings(&home, 0), "plugin"), ["ok"]);
    }
    fs::write(&file, "{ \"plugin\": [\"legwork@999.0.0\"] }").unwrap();
    apply(&home, &found(&home, 0, "plugin.npm-newer"));
    // The last entry counts, and a project's own comes after those for all.
    fs::write(home.path("project/opencode.json"), "{ \"plugin\": [\"legwork@0.0.1\"] }").unwrap();
    let project = found(&home, 0, "plugin.npm-older");
    assert!(project["command"].is_null(), "{project}");
    assert!(project["remedy"].as_str().unwrap().contains(VERSION), "{project}");
}

#[test]
fn i3_a_plugin_file_beside_an_entry_is_one_too_many() {
    let (home, _) = with_settings(&format!("{{ \"plugin\": [\"legwork@{VERSION}\"] }}"));
    home.run(["install", "opencode"]).with_code(0);
    let twice = found(&home, 0, "plugin.twice");
    let says = twice["says"].as_str().unwrap();
    assert!(says.contains("legwork.js") && says.contains("opencode.jsonc"), "{twice}");
    apply(&home, &twice);
    assert!(!home.path("home/.config/opencode/plugin").exists());
    assert_eq!(code_of(&findings(&home, 0), "plugin"), ["ok"]);
}

#[test]
fn i3_a_connected_host_is_proof_of_a_plugin() {
    let (home, _) = with_settings("{}");
    assert_eq!(code_of(&findings(&home, 0), "plugin"), ["plugin.missing"]);
    let _host = Host::connect(&home);
    let all = findings(&home, 0);
    let plugin = all.iter().find(|one| one["check"] == "plugin").unwrap();
    assert!(plugin["says"].as_str().unwrap().contains("0.0.7"), "{plugin}");
    let status = home.run(["daemon", "status"]).with_code(0).out;
    assert!(status.contains(&format!("plugin 0.0.7, bridge {VERSION}")), "{status}");
    assert!(status.contains(&format!("legwork {VERSION}")), "{status}");
    let json = home.run(["daemon", "status", "--json"]).with_code(0).json();
    assert_eq!(json["daemon"]["hosts"][0]["plugin"], "0.0.7");
}

#[test]
fn i3_a_plugin_file_of_a_newer_legwork_is_not_taken_back() {
    let (home, _) = with_settings("{}");
    home.run(["install", "opencode"]).with_code(0);
    let file = home.path("home/.config/opencode/plugin/legwork.js");
    let text = fs::read_to_string(&file).unwrap();
    let newer = text.replace(&format!("VERSION = \"{VERSION}\""), "VERSION = \"999.0.0\"");
    assert_ne!(newer, text);
    fs::write(&file, &newer).unwrap();
    apply(&home, &found(&home, 0, "plugin.newer"));
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    // One that says no version is of before there was such a line.
    fs::write(&file, text.replace("const VERSION", "// VERSION")).unwrap();
    apply(&home, &found(&home, 1, "plugin.outdated"));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn i3_a_remedy_names_the_program_where_the_path_has_none() {
    let (home, _) = with_settings("{}");
    let mut command = in_project(&home, home.command(["doctor", "--json"]));
    command.env("PATH", "/usr/bin:/bin");
    let all = ran(command).with_code(0).json();
    let missing = all.as_array().unwrap().iter().find(|one| one["code"] == "plugin.missing");
    assert_eq!(missing.unwrap()["command"], format!("{LEGWORK} install opencode"));
    assert_eq!(found(&home, 0, "plugin.missing")["command"], "legwork install opencode");
}

#[test]
fn i3_uninstalling_names_an_entry_that_is_left_to_the_person() {
    let settings = "{ // mine\n  \"plugin\": [\"legwork@0.1.0\"] }";
    let (home, file) = with_settings(settings);
    let said = home.run(["uninstall", "opencode"]).with_code(0);
    assert!(
        said.out.contains("\"legwork@0.1.0\"") && said.out.contains("Take that out"),
        "{said:?}"
    );
    let json = home.run(["uninstall", "opencode", "--json"]).with_code(0).json();
    assert_eq!(json["settings"][0]["file"], file.to_str().unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), settings);
    let project = home.path("project");
    fs::write(project.join("opencode.json"), "{\"plugin\": [\"legwork\"]}").unwrap();
    let said = home.run(["uninstall", "opencode", "--project", project.to_str().unwrap()]);
    assert!(said.with_code(0).out.contains("project/opencode.json names \"legwork\""));
}

#[test]
fn i3_update_says_which_command_is_this_installations() {
    let home = Home::new();
    for (place, by, command) in [
        ("home/.cargo/bin/legwork", "cargo", "cargo install --locked legwork"),
        ("brew/Cellar/legwork/0.1.0/bin/legwork", "homebrew", "brew upgrade legwork"),
        (
            "home/.cache/opencode/packages/legwork@0.1.0/node_modules/x/bin/legwork",
            "opencode",
            "opencode plugin legwork@VERSION --global --force",
        ),
    ] {
        let program = lies_at(&home, place);
        let shown = run_at(&home, &program, &["update", "--json"]).with_code(0).json();
        assert_eq!((&shown["installed_by"], &shown["command"]), (&by.into(), &command.into()));
        let said = run_at(&home, &program, &["update"]).with_code(0);
        assert!(said.out.contains(command) && said.out.contains("restart OpenCode"), "{said:?}");
    }
    assert_eq!(home.run(["update", "--json"]).with_code(0).json()["installed_by"], "build");
    assert!(!home.path("legwork").exists(), "no daemon was started");
}
