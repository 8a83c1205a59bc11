//! What the daemon stands on: whose folders they are, what becomes of it when they go, and what it
//! takes along from whoever started it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use legwork_testkit::legwork::{Home, eventually, ran};
use serde_json::Value;

const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The daemon; one that is started stays for longer than a test takes.
fn started(home: &Home) -> Value {
    let mut command = home.command(["daemon", "start", "--json"]);
    command.env("LEGWORK_LINGER_MS", "600000");
    ran(command).with_code(0).json()["daemon"].clone()
}

#[test]
fn k4_records_that_are_deleted_under_it_end_the_daemon_in_words() {
    let home = Home::new();
    let first = started(&home);
    fs::remove_dir_all(home.path("legwork/store")).unwrap();
    // Nobody is told to go to a daemon whose records nobody finds.
    let second = started(&home);
    assert_ne!(first["pid"], second["pid"]);
    let pid = u32::try_from(first["pid"].as_u64().unwrap()).unwrap();
    let is_gone = || legwork_machine::process::process_mark(pid).is_none().then_some(());
    eventually("the first one ends by itself", is_gone);
    let log = fs::read_to_string(home.path("legwork/daemon.log")).unwrap();
    assert!(log.contains("was deleted or replaced"), "{log}");
    assert_eq!(started(&home)["pid"], second["pid"]);
    assert!(home.path("legwork/store/legwork.db").exists());
}

#[test]
fn k4_a_call_to_a_daemon_whose_records_are_gone_is_refused_in_words() {
    let home = Home::new();
    let folders = legwork_machine::Folders {
        config: home.path("legwork/config.toml"),
        store: home.path("legwork/store"),
        sessions: home.path("legwork/sessions"),
        socket: home.path("legwork/legwork.sock"),
        log: home.path("legwork/daemon.log"),
    };
    started(&home);
    let role = legwork_protocol::line::Role::Client;
    let mut client =
        legwork_client::Client::connect(&folders, role, legwork_client::Start::Never).unwrap();
    fs::rename(home.path("legwork/store"), home.path("moved")).unwrap();
    let answered = client.call(None, "background_list", Value::Null, &mut |_| {}).unwrap();
    assert!(answered.refused && answered.text.contains("deleted or replaced"), "{answered:?}");
    // What was moved is whole.
    assert!(home.path("moved/legwork.db").exists());
}

#[test]
fn k4_a_home_that_is_deleted_under_it_ends_the_daemon_and_stays_deleted() {
    let home = Home::new();
    let pid = started(&home)["pid"].as_u64().unwrap();
    let mark = legwork_machine::process::process_mark(u32::try_from(pid).unwrap()).unwrap();
    fs::remove_dir_all(home.path("legwork")).unwrap();
    let is_gone = || (!legwork_machine::process::is_alive(&mark)).then_some(());
    eventually("the daemon ends by itself", is_gone);
    assert!(!home.path("legwork").exists());
}

#[test]
fn g1_root_does_not_use_the_folders_of_somebody_else() {
    let home = Home::new();
    // Only root can play root.
    if !is_root() {
        return;
    }
    fs::create_dir(home.path("home")).unwrap();
    chown(home.path("home"), Some(NOBODY), None).unwrap();
    let mut command = home.command(["list"]);
    command.env_remove("LEGWORK_HOME");
    let refused = ran(command).with_code(6);
    assert!(refused.err.contains("without sudo"), "{refused:?}");
    assert_eq!(fs::read_dir(home.path("home")).unwrap().count(), 0, "nothing was left there");
    let mut doctor = home.command(["doctor"]);
    doctor.env_remove("LEGWORK_HOME");
    let doctor = ran(doctor).with_code(1);
    assert!(doctor.out.contains("without sudo"), "{doctor:?}");
}

#[test]
fn g1_root_puts_no_socket_into_the_runtime_folder_of_somebody_else() {
    let home = Home::new();
    if !is_root() {
        return;
    }
    let run = home.path("run");
    fs::create_dir(&run).unwrap();
    chown(&run, Some(NOBODY), None).unwrap();
    // `sudo -H -E` changes HOME and keeps this.
    let with_theirs = |args: &[&str]| {
        let mut command = home.command(args);
        command.env_remove("LEGWORK_HOME").env("XDG_RUNTIME_DIR", &run);
        ran(command)
    };
    with_theirs(&["list"]).with_code(0);
    assert_eq!(fs::read_dir(&run).unwrap().count(), 0, "nothing was left there");
    let doctor = with_theirs(&["doctor"]);
    assert!(doctor.out.contains("listens on"), "{doctor:?}");
    with_theirs(&["daemon", "stop"]).with_code(0);
}

#[test]
fn g1_a_folder_that_root_has_left_is_named_with_what_gives_it_back() {
    let home = Home::new();
    if !is_root() {
        return;
    }
    fs::set_permissions(home.path(""), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(home.path("home")).unwrap();
    chown(home.path("home"), Some(NOBODY), None).unwrap();
    // As `sudo -E` left it: nobody else can look into it.
    fs::create_dir_all(home.path("home/.local/share/legwork/store")).unwrap();
    fs::set_permissions(home.path("home/.local"), Permissions::from_mode(0o700)).unwrap();
    for command in ["list", "doctor"] {
        let mut command = home.command([command]);
        command.env_remove("LEGWORK_HOME").uid(NOBODY);
        // Where another user may not run this program, nothing can be shown.
        let Ok(output) = command.output() else { return };
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        let remedy = format!("sudo chown -R {NOBODY} {}", home.path("home/.local").display());
        assert!(said.contains(&remedy), "{said}");
    }
    // And it does.
    let local = home.path("home/.local");
    let given = Command::new("chown").args(["-R", &NOBODY.to_string()]).arg(local).status();
    assert!(given.unwrap().success());
    for args in [["daemon", "start"], ["daemon", "stop"]] {
        let mut command = home.command(args);
        command.env_remove("LEGWORK_HOME").uid(NOBODY).gid(NOBODY);
        ran(command).with_code(0);
    }
}

#[test]
fn g1_a_home_that_others_can_enter_is_made_private_and_a_link_to_one_is_followed() {
    let home = Home::new();
    fs::create_dir(home.path("real")).unwrap();
    fs::set_permissions(home.path("real"), Permissions::from_mode(0o755)).unwrap();
    symlink(home.path("real"), home.path("legwork")).unwrap();
    started(&home);
    assert_eq!(mode(&home.path("real")), 0o700);
    assert_eq!(mode(&home.path("real/store")), 0o700);
}

#[test]
fn a_daemon_that_cannot_start_says_why_to_whoever_started_it() {
    let home = Home::new();
    for (folder, hint) in [("daemon.log", "open the log"), ("store/legwork.db", "legwork.db")] {
        let path = home.path("legwork").join(folder);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(home.path("legwork"), Permissions::from_mode(0o700)).unwrap();
        let ran = home.run(["list"]).with_code(6);
        assert!(ran.err.contains("could not start") && ran.err.contains(hint), "{ran:?}");
        let doctor = home.run(["doctor"]).with_code(1);
        assert!(doctor.out.contains(hint), "{doctor:?}");
        fs::remove_dir(&path).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn g1_the_daemon_keeps_nothing_of_whoever_started_it() {
    let home = Home::new();
    let legwork = home.command([""]);
    let mut shell = Command::new("/bin/sh");
    let script = "exec 7>held; umask 0; ulimit -Sn 256; exec \"$0\" daemon start --json 8<held";
    shell.args(["-c", script]).arg(legwork.get_program()).current_dir(home.path(""));
    shell.env_clear();
    let set = legwork.get_envs().filter_map(|(name, value)| Some((name, value?)));
    shell.envs(set);
    let shown = ran(shell_with_pipes(shell)).with_code(0).json();
    let process = Path::new("/proc").join(shown["daemon"]["pid"].to_string());
    // It lets go of the first three when it has said that it listens.
    let files = || {
        let all = fs::read_dir(process.join("fd")).unwrap().flatten();
        let names = all.filter_map(|file| fs::read_link(file.path()).ok());
        names.map(|name| name.display().to_string()).collect::<Vec<String>>()
    };
    eventually("its output is closed", || {
        (files().iter().filter(|name| *name == "/dev/null").count() >= 3).then_some(())
    });
    assert!(!files().iter().any(|name| name.contains("held")), "{:?}", files());
    assert_eq!(fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    let status = fs::read_to_string(process.join("status")).unwrap();
    assert!(status.contains("Umask:\t0077"), "{status}");
    let limits = fs::read_to_string(process.join("limits")).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert!(!files.contains(" 256 "), "{files}");
    let stat = fs::read_to_string(process.join("stat")).unwrap();
    let session = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_owned();
    assert_eq!(session, shown["daemon"]["pid"].to_string(), "it leads a session of its own");
}

#[cfg(target_os = "linux")]
fn shell_with_pipes(mut shell: Command) -> Command {
    use std::process::Stdio;
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}
