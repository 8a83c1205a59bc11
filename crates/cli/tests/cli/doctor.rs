//! The doctor: each test breaks something, sees that it is found with its remedy, applies the very
//! command that is named, and sees that all is well again.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use legwork_machine::process::is_suspended;
use legwork_testkit::legwork::{Home, eventually, ran};
use legwork_testkit::{ended, output};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
const NOBODY: u32 = 65_534;
/// Remedies that one fault may need, one after the other.
const ROUNDS: usize = 4;

fn folder_of_legwork() -> String {
    Path::new(LEGWORK).parent().unwrap().display().to_string()
}

/// A home in which the doctor finds nothing wrong, with a daemon that stays.
fn well() -> Home {
    let home = Home::new();
    fs::create_dir(home.path("project")).unwrap();
    fs::create_dir(home.path("bin")).unwrap();
    home.run(["install", "opencode"]).with_code(0);
    start(&home);
    home
}

fn start(home: &Home) -> u32 {
    let mut command = home.command(["daemon", "start", "--json"]);
    command.env("LEGWORK_LINGER_MS", "600000");
    let pid = ran(command).with_code(0).json()["daemon"]["pid"].as_u64().unwrap();
    u32::try_from(pid).unwrap()
}

/// As a person would: in a project, with programs of their own on the PATH.
pub fn in_project(home: &Home, mut command: Command) -> Command {
    let path = format!("{}:{}:/usr/bin:/bin", home.path("bin").display(), folder_of_legwork());
    command.env("PATH", path).current_dir(home.path("project"));
    command
}

pub fn findings(home: &Home, code: i32) -> Vec<Value> {
    let command = in_project(home, home.command(["doctor", "--json"]));
    ran(command).with_code(code).json().as_array().unwrap().clone()
}

/// The finding with this code.
#[track_caller]
pub fn found(home: &Home, exit: i32, code: &str) -> Value {
    let all = findings(home, exit);
    let found = all.iter().find(|finding| finding["code"] == code);
    found.unwrap_or_else(|| panic!("no {code} in {all:#?}")).clone()
}

/// Runs the command of a remedy as a shell would.
#[track_caller]
pub fn apply(home: &Home, finding: &Value) {
    let command = finding["command"].as_str().unwrap_or_else(|| panic!("{finding}"));
    let legwork = home.command([""]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().stdin(Stdio::null());
    shell.envs(legwork.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let applied = output(&mut in_project(home, shell));
    assert!(applied.status.success(), "{command}: {applied:?}");
}

/// Applies what the doctor names until it finds no problem.
#[track_caller]
fn cure(home: &Home) {
    for _ in 0..ROUNDS {
        let command = in_project(home, home.command(["doctor", "--json"]));
        let all = ran(command).json();
        let problems = all.as_array().unwrap().iter().filter(|one| one["state"] == "problem");
        let mut with_command = problems.filter(|one| one["command"].is_string()).peekable();
        if with_command.peek().is_none() {
            break;
        }
        with_command.for_each(|finding| apply(home, finding));
    }
    findings(home, 0);
}

pub fn executable(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

#[test]
fn p7_damaged_records_are_found_beside_a_daemon_that_has_not_noticed() {
    let home = well();
    let words = "hello ".repeat(3_000);
    home.run(["run", "--agent", "rehearsal", &format!("say {words}")]).with_code(0);
    home.run(["daemon", "stop"]).with_code(0);
    start(&home);
    findings(&home, 0);
    // A page in the middle of a long text begins with the number of the next one.
    let file = home.path("legwork/store/legwork.db");
    let mut bytes = fs::read(&file).unwrap();
    let is_text = |page: &&mut [u8]| page[8..].windows(6).all(|six| six.contains(&b'h'));
    let page = bytes.chunks_mut(4096).find(is_text).unwrap();
    page[..4].fill(0xff);
    fs::write(&file, bytes).unwrap();
    let damaged = found(&home, 1, "records.damaged");
    assert!(damaged["says"].as_str().unwrap().contains("damaged"), "{damaged}");
    apply(&home, &damaged);
    let aside = found(&home, 1, "records.set-aside");
    assert!(aside["remedy"].as_str().unwrap().contains("nothing of them is deleted"), "{aside}");
    apply(&home, &aside);
    findings(&home, 0);
}

#[test]
fn p7_records_of_a_newer_version_are_kept_and_can_be_begun_anew() {
    let home = well();
    home.run(["daemon", "stop"]).with_code(0);
    let file = home.path("legwork/store/legwork.db");
    let mut bytes = fs::read(&file).unwrap();
    // The version that a file says it has.
    bytes[60..64].copy_from_slice(&9_999u32.to_be_bytes());
    fs::write(&file, &bytes).unwrap();
    found(&home, 1, "daemon.cannot-start");
    let newer = found(&home, 1, "records.newer");
    assert!(newer["says"].as_str().unwrap().contains("9999"), "{newer}");
    apply(&home, &newer);
    findings(&home, 0);
    assert_eq!(fs::read(home.path("legwork/store.newer/legwork.db")).unwrap(), bytes);
}

#[cfg(target_os = "linux")]
#[test]
fn p7_a_full_disk_is_found_and_all_is_well_when_it_has_room() {
    let home = Home::new();
    let own = home.path("legwork");
    fs::create_dir(&own).unwrap();
    let options = ["-t", "tmpfs", "-o", "size=48m,mode=0700", "tmpfs"];
    let mounted = Command::new("mount").args(options).arg(&own).output();
    // Only root can mount a disk.
    if !mounted.is_ok_and(|it| it.status.success()) {
        return;
    }
    let _disk = Disk(&home);
    for folder in ["project", "bin"] {
        fs::create_dir(home.path(folder)).unwrap();
    }
    home.run(["install", "opencode"]).with_code(0);
    let filler = own.join("filler");
    let fill = || drop(fs::write(&filler, vec![b'x'; 64 << 20]));
    // Before there is anything, and it says so each time.
    fill();
    for _ in 0..2 {
        let full = home.run(["list"]).with_code(6);
        assert!(full.err.contains("the disk is full"), "{full:?}");
    }
    fs::remove_file(&filler).unwrap();
    start(&home);
    findings(&home, 0);
    fill();
    let disk = findings(&home, 1).into_iter().find(|one| one["check"] == "disk").unwrap();
    assert!(disk["remedy"].as_str().unwrap().contains("Make room"), "{disk}");
    assert!(disk["code"].as_str().unwrap().starts_with("disk."), "{disk}");
    fs::remove_file(&filler).unwrap();
    eventually("it goes on by itself", || {
        let command = in_project(&home, home.command(["doctor", "--json"]));
        (ran(command).code == 0).then_some(())
    });
}

/// A small disk under legwork's folder, until nobody uses it.
#[cfg(target_os = "linux")]
struct Disk<'a>(&'a Home);

#[cfg(target_os = "linux")]
impl Drop for Disk<'_> {
    fn drop(&mut self) {
        self.0.run(["daemon", "stop", "--yes"]);
        let _ = Command::new("umount").arg("-l").arg(self.0.path("legwork")).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn p7_a_daemon_that_was_suspended_is_found_and_let_go_on() {
    let home = well();
    let pid = start(&home);
    signal(pid, Signal::STOP);
    eventually("it is suspended", || is_suspended(pid).then_some(()));
    let suspended = found(&home, 1, "daemon.suspended");
    assert!(suspended["says"].as_str().unwrap().contains(&pid.to_string()), "{suspended}");
    apply(&home, &suspended);
    findings(&home, 0);
    assert_eq!(start(&home), pid, "it is the same one");
}

#[cfg(target_os = "linux")]
#[test]
fn p7_a_daemon_that_hangs_is_found_and_stopped() {
    let home = well();
    home.run(["daemon", "stop"]).with_code(0);
    let (mut hung, _listener) = crate::finding::hung_daemon(&home);
    let silent = found(&home, 1, "daemon.silent");
    assert!(silent["says"].as_str().unwrap().contains(&hung.id().to_string()), "{silent}");
    // Without this it would end when it is waited for.
    let _stdin = hung.stdin.take();
    apply(&home, &silent);
    assert!(!ended(&mut hung).success());
    findings(&home, 0);
}

#[test]
fn p7_a_folder_in_the_place_of_a_file_keeps_no_daemon_from_starting_for_long() {
    for name in ["daemon.log", "store/legwork.db"] {
        let home = well();
        home.run(["daemon", "stop"]).with_code(0);
        let path = home.path("legwork").join(name);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        found(&home, 1, "daemon.cannot-start");
        found(&home, 1, "folders.wrong-kind");
        cure(&home);
        assert!(home.path(&format!("legwork/{name}.away")).is_dir());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn p7_a_folder_that_is_closed_to_its_user_is_found_and_opened() {
    let home = Home::new();
    // Only root can become somebody for whom modes count.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    fs::set_permissions(home.path(""), Permissions::from_mode(0o755)).unwrap();
    for folder in ["home", "project", "bin", "legwork"] {
        fs::create_dir(home.path(folder)).unwrap();
        chown(home.path(folder), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = in_project(&home, home.command(args));
        command.uid(NOBODY).gid(NOBODY);
        // Where another user may not run this program, nothing can be shown.
        command.output().ok()
    };
    let Some(installed) = run(&["install", "opencode"]) else { return };
    assert!(installed.status.success(), "{installed:?}");
    fs::set_permissions(home.path("legwork"), Permissions::from_mode(0o500)).unwrap();
    let said = run(&["doctor", "--json"]).unwrap();
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let all: Vec<Value> = serde_json::from_slice(&said.stdout).unwrap();
    let closed = all.iter().find(|one| one["code"] == "folders.closed").unwrap();
    assert!(all.iter().any(|one| one["code"] == "daemon.cannot-start"), "{all:#?}");
    apply(&home, closed);
    let said = run(&["doctor", "--json"]).unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    run(&["daemon", "stop"]).unwrap();
}

#[test]
fn p7_what_others_can_read_is_found_and_closed() {
    let home = well();
    home.run(["run", "--agent", "rehearsal", "say hello"]).with_code(0);
    for folder in ["", "legwork", "legwork/sessions"] {
        fs::set_permissions(home.path(folder), Permissions::from_mode(0o755)).unwrap();
    }
    let open = found(&home, 1, "folders.readable-by-others");
    assert!(open["says"].as_str().unwrap().contains("sessions"), "{open}");
    cure(&home);
    let mode = fs::metadata(home.path("legwork/sessions")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[test]
fn p7_a_plugin_of_another_version_is_found_and_written_anew() {
    let home = well();
    let file = home.path("home/.config/opencode/plugin/legwork.js");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}// of yesterday\n")).unwrap();
    let outdated = found(&home, 1, "plugin.outdated");
    apply(&home, &outdated);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    findings(&home, 0);
    // One whose program has gone.
    fs::write(&file, text.replace(LEGWORK, "/nowhere/legwork")).unwrap();
    apply(&home, &found(&home, 1, "plugin.program-gone"));
    findings(&home, 0);
    fs::remove_file(&file).unwrap();
    apply(&home, &found(&home, 0, "plugin.missing"));
    findings(&home, 0);
}

/// Also V5.
#[test]
fn p7_a_part_for_the_terminal_ui_that_opencode_would_not_load_is_found_and_put_right() {
    let home = well();
    let folder = home.path("home/.config/opencode");
    let (file, settings) = (folder.join("legwork/tui.js"), folder.join("tui.json"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}// of yesterday\n")).unwrap();
    apply(&home, &found(&home, 1, "screen.outdated"));
    fs::write(&file, text.replace(LEGWORK, "/nowhere/legwork")).unwrap();
    apply(&home, &found(&home, 1, "screen.program-gone"));
    fs::write(&file, text.replace("const BIN = ", "const OTHER = ")).unwrap();
    apply(&home, &found(&home, 1, "screen.no-program"));
    fs::write(&file, "export default {}").unwrap();
    apply(&home, &found(&home, 1, "screen.foreign"));
    fs::remove_file(&file).unwrap();
    apply(&home, &found(&home, 1, "screen.file-gone"));
    fs::write(&settings, "{ \"theme\": \"nord\" }").unwrap();
    apply(&home, &found(&home, 1, "screen.not-named"));
    // A folder with somebody else's file in it counts as theirs from then on.
    let text = text.replace("// legwork has made this folder.\n", "");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    findings(&home, 0);
    // What nobody can correct but the person.
    fs::write(&settings, "{ theme: 1 }").unwrap();
    let unclear = found(&home, 1, "screen.settings-unclear");
    assert!(unclear["remedy"].as_str().unwrap().contains("./legwork/tui.js"), "{unclear}");
    fs::write(&settings, "{ theme: 1, plugin: [\"./legwork/tui.js\"] }").unwrap();
    findings(&home, 0);
    // Who does not want it is not told of it.
    fs::remove_file(&settings).unwrap();
    home.run(["install", "opencode", "--no-tui"]).with_code(0);
    let left = findings(&home, 0);
    assert!(!left.iter().any(|one| one["check"] == "screen"), "{left:#?}");
}

#[test]
fn p7_a_plugin_that_is_installed_twice_is_found_and_one_is_removed() {
    let home = well();
    let project = home.path("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    home.run(["install", "opencode", "--project", project.to_str().unwrap()]).with_code(0);
    apply(&home, &found(&home, 0, "plugin.twice"));
    let left = findings(&home, 0);
    assert!(!left.iter().any(|one| one["code"] == "plugin.twice"), "{left:#?}");
    assert!(!project.join(".opencode/plugin/legwork.js").exists());
}

#[test]
fn p7_an_opencode_that_ends_at_once_is_found_with_its_last_words() {
    let home = well();
    let program = home.path("bin/opencode");
    executable(&program, "echo 'cannot load the engine' >&2; exit 3");
    let bad = found(&home, 1, "opencode.does-not-start");
    let says = bad["says"].as_str().unwrap();
    assert!(says.contains("code 3") && says.contains("cannot load the engine"), "{bad}");
    executable(&program, "exit 0");
    found(&home, 1, "opencode.does-not-start");
    executable(&program, "[ \"$1\" = --version ] && echo 1.17.9");
    found(&home, 1, "opencode.old");
    let script = "[ \"$1\" = --version ] && echo 1.18.33 && exit 0; [ \"$1\" = acp ]";
    executable(
        &program,
        &format!("{script} && exec {LEGWORK} rehearsal; echo 'line 1' >&2; exit 1"),
    );
    let ends = found(&home, 1, "opencode.ends");
    assert!(ends["says"].as_str().unwrap().contains("line 1"), "{ends}");
    executable(&program, &format!("{script} && exec {LEGWORK} rehearsal; exit 0"));
    findings(&home, 0);
}

#[test]
fn p7_settings_that_mean_nothing_are_named_with_their_lines() {
    let home = well();
    let config = home.path("legwork/config.toml");
    fs::write(&config, "[limits]\nmax_runing = 1\nmax_depth = = 2\n").unwrap();
    let wrong = found(&home, 1, "settings.wrong");
    let says = wrong["says"].as_str().unwrap();
    assert!(says.contains("config.toml:2:") && says.contains("config.toml:3:"), "{wrong}");
    assert!(says.contains("did you mean limits.max_running?"), "{wrong}");
    fs::write(&config, "[limits]\nmax_running = 1\nmax_depth = 2\n").unwrap();
    findings(&home, 0);
}

#[test]
fn p7_another_legwork_on_the_path_is_found_and_removed() {
    let home = well();
    let other = home.path("bin/legwork");
    executable(&other, "echo legwork 0.0.9");
    let several = found(&home, 1, "program.other-version");
    assert!(several["says"].as_str().unwrap().contains("0.0.9"), "{several}");
    let command = several["command"].as_str().unwrap();
    assert_eq!(command, format!("rm {}", other.display()));
    apply(&home, &several);
    findings(&home, 0);
    std::os::unix::fs::symlink(LEGWORK, &other).unwrap();
    let codes = findings(&home, 0);
    assert!(
        !codes.iter().any(|one| one["code"] == "program.several"),
        "it is this one: {codes:#?}"
    );
}

#[test]
fn p7_an_agent_that_cannot_be_started_is_named_with_the_reason() {
    let home = well();
    let config = home.path("legwork/config.toml");
    fs::write(&config, "[agents.mine]\ncommand = [\"/nowhere/agent\"]\n").unwrap();
    let bad = found(&home, 1, "agents.cannot-start");
    assert!(bad["says"].as_str().unwrap().contains("/nowhere/agent"), "{bad}");
    assert!(bad["remedy"].as_str().unwrap().contains("agents.mine"), "{bad}");
    let settings = format!("[agents.mine]\ncommand = [{LEGWORK:?}, \"rehearsal\"]\n");
    fs::write(&config, settings).unwrap();
    findings(&home, 0);
}

#[test]
fn p7_a_program_to_notify_with_that_is_not_there_is_found() {
    let home = well();
    let config = home.path("legwork/config.toml");
    fs::write(&config, "[notify]\ncommand = [\"tell-me\", \"x\"]\n").unwrap();
    let missing = found(&home, 1, "notify.no-program");
    assert!(missing["says"].as_str().unwrap().contains("tell-me"), "{missing}");
    executable(&home.path("bin/tell-me"), "exit 0");
    findings(&home, 0);
    let desktop = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };
    fs::write(&config, "[notify]\ndesktop = true\n").unwrap();
    executable(&home.path("bin").join(desktop), "exit 0");
    findings(&home, 0);
}

#[test]
fn p7_p9_a_home_whose_name_is_too_long_for_a_socket_is_well() {
    let home = Home::new();
    let long = home.path(&"x".repeat(120));
    let run = |args: &[&str], temporary: &Path| {
        let mut command = home.command(args);
        command.env("LEGWORK_HOME", &long).env("TMPDIR", temporary);
        ran(command)
    };
    let (first, second) = (home.path("t1"), home.path("t2"));
    for folder in [&first, &second] {
        fs::create_dir(folder).unwrap();
    }
    run(&["install", "opencode"], &first).with_code(0);
    for temporary in [&first, &second] {
        let all = run(&["doctor", "--json"], temporary).with_code(0).json();
        let socket = all.as_array().unwrap().iter().find(|one| one["check"] == "socket").unwrap();
        let socket = socket["says"].as_str().unwrap();
        assert!(socket.contains(&first.display().to_string()), "{socket}");
    }
    run(&["daemon", "stop"], &second).with_code(0);
}

#[test]
fn p7_a_folder_without_a_repository_is_worth_knowing() {
    let home = well();
    // A git that is there is enough.
    executable(&home.path("bin/git"), "mkdir .git");
    apply(&home, &found(&home, 0, "project.no-repository"));
    let codes = findings(&home, 0);
    assert!(!codes.iter().any(|one| one["code"] == "project.no-repository"), "{codes:#?}");
}

#[test]
fn p7_every_problem_says_what_to_do_and_has_a_code_that_stays() {
    let home = well();
    let all = findings(&home, 0);
    for finding in &all {
        let is_good = finding["state"] == "good";
        assert_eq!(finding["code"] == "ok", is_good, "{finding}");
        assert_eq!(finding["remedy"].is_null(), is_good, "{finding}");
    }
    let checks: Vec<&str> = all.iter().map(|one| one["check"].as_str().unwrap()).collect();
    let expected = [
        "program", "files", "settings", "folders", "disk", "daemon", "socket", "records", "hosts",
        "agents", "plugin", "screen", "opencode", "project",
    ];
    assert_eq!(checks, expected);
}

#[test]
fn p7_every_code_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../docs/doctor.md")).unwrap();
    let is_code = |text: &&str| {
        let parts = text.split_once('.');
        parts.is_some_and(|(check, rest)| {
            let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
            page.contains(&format!("`{check}."))
                && [check, rest].iter().all(|part| !part.is_empty() && part.chars().all(is_word))
        })
    };
    let mut codes = 0;
    for entry in fs::read_dir(root.join("src/commands/doctor")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        for code in source.split('"').filter(is_code) {
            assert!(page.contains(&format!("`{code}`")), "{code} is not in docs/doctor.md");
            codes += 1;
        }
    }
    assert!(codes > 40, "{codes}");
}
