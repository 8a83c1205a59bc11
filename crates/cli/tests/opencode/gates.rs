//! Nobody gets in who should not, and nobody who gets in with rubbish hurts anybody: while real
//! helpers work, rubbish is thrown at the socket, at a bridge and at the tools. Each way of sending
//! rubbish by itself is tried in the daemon's own tests.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use legwork_testkit::{Home, Model, Patient, block_on, call, ended, output, output_of};
use serde_json::{Value, json};

use crate::processes::{bridges, daemon};
use crate::stage::{LEGWORK, Stage, until};

/// Somebody who is neither the superuser nor a person.
const NOBODY: u32 = 65_534;

/// Also G3: what does not end is not gathered.
#[test]
fn g2_g3_rubbish_at_every_entrance_disturbs_no_helper() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "undisturbed", &["gate rubbish\nsay undisturbed"]).await;
        // One of each project that is open in it.
        let (pid, fronts) = (daemon(&stage.home)["pid"].clone(), bridges(stage.serve.pid()));
        assert!(!fronts.is_empty(), "the launch came through one");
        for rubbish in rubbish() {
            let socket = stage.home.root().join("legwork/legwork.sock");
            let mut socket = UnixStream::connect(socket).unwrap();
            // It may be sent away in the middle.
            let _ = socket.write_all(&rubbish);
        }
        rubbish_through_a_bridge(&stage.home);

        let calls = [
            call("background_task", &json!({ "prompt": 5, "description": [], "agent": {} })),
            call("background_task", &json!({ "prompt": "x", "resume": "\u{0}\u{7}../.." })),
            call("background_block", &json!({ "task_ids": "all", "timeout": "soon" })),
            call("background_output", &json!({ "task_id": "x".repeat(100_000) })),
            call("background_cancel", &json!(null)),
            call("background_list", &json!({ "status": 7, "all": "perhaps" })),
        ];
        let steps: Vec<&str> = calls.iter().map(String::as_str).chain(["say ok"]).collect();
        stage.turn(&parent, &steps).await;
        let refused = stage.calls(&parent).await.split_off(1);
        assert_eq!(refused.len(), calls.len());
        assert!(refused.iter().all(|call| call.refused() && !call.text.is_empty()), "{refused:?}");

        stage.model.open("rubbish");
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].hidden.contains("undisturbed"), "{notices:?}");
        stage.until_settled(&task).await;
        assert_eq!(stage.client.children(&parent).await.len(), 1);
        assert_eq!(daemon(&stage.home)["pid"], pid, "the daemon went on");
        let now = bridges(stage.serve.pid());
        assert!(fronts.iter().all(|front| now.contains(front)), "and so did the bridge: {now:?}");
    });
}

fn rubbish() -> Vec<Vec<u8>> {
    let hello = json!({
        "type": "hello", "version": legwork_protocol::line::LINE_VERSION, "build": "0.1.0", "role": { "is": "client" },
    });
    let bad_call = json!({ "type": "call", "id": "x", "key": [] });
    vec![
        (0..=255).cycle().take(100_000).collect(),
        b"{\"type\":\"hello\",\"vers".to_vec(),
        b"[".repeat(100_000),
        b"x".repeat(40 << 20),
        format!("{hello}\n{}", "no line\n".repeat(500)).into_bytes(),
        format!("{hello}\n{bad_call}\n").into_bytes(),
    ]
}

/// A front that says who it is and then talks rubbish is sent away, with the reason.
fn rubbish_through_a_bridge(home: &Home) {
    let mut command = home.command(LEGWORK);
    command.args(["bridge", "opencode"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut bridge = command.spawn().unwrap();
    let mut stdin = bridge.stdin.take().unwrap();
    // Not this process: what a connected host has started may decide nothing, and it starts the
    // commands of all tests.
    let pid = bridge.id();
    let init = json!({ "type": "init", "pid": pid, "directory": "/nowhere", "project": "none" });
    writeln!(stdin, "{init}").unwrap();
    // It may be sent away in the middle.
    let _ = stdin.write_all("\u{0}\u{1b}[2J{\n".repeat(200).as_bytes());
    let mut said = String::new();
    Patient::new(bridge.stdout.take().unwrap()).read_to_string(&mut said).unwrap();
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "bye", "{said}");
    assert!(!ended(&mut bridge).success());
}

/// The same daemon serves all: of those that are started at once, one stays.
#[test]
fn k5_commands_at_once_start_one_daemon_whose_files_are_the_users_alone() {
    block_on(async {
        let home = Home::new(&Model::start());
        home.set_env("XDG_RUNTIME_DIR", &home.root().join("tmp").to_string_lossy());
        let start = || -> Child {
            let mut command = home.command(LEGWORK);
            command.args(["list", "--json"]).stdout(Stdio::piped()).spawn().unwrap()
        };
        let commands: Vec<Child> = (0..8).map(|_| start()).collect();
        for command in commands {
            let listed = output_of(command);
            assert!(listed.status.success(), "{listed:?}");
        }
        let daemon = daemon(&home);
        let log = fs::read_to_string(daemon["log"].as_str().unwrap()).unwrap();
        let began = log.lines().filter(|line| line.contains("listens on")).count();
        assert_eq!(began, 1, "{log}");
        let own = [
            (home.root().join("tmp/legwork"), 0o700),
            (home.root().join("tmp/legwork/legwork.sock"), 0o600),
            (daemon["log"].as_str().unwrap().into(), 0o600),
            (daemon["store"].as_str().unwrap().into(), 0o600),
        ];
        for (path, wanted) in own {
            assert_eq!(mode(&path), wanted, "{}", path.display());
        }
        let store = Path::new(daemon["store"].as_str().unwrap()).parent().unwrap();
        assert_eq!(mode(store), 0o700, "{}", store.display());
    });
}

/// Of a full disk the store's and the shell's own tests tell.
#[test]
fn k4_records_that_cannot_be_read_are_set_aside_and_nothing_is_lost() {
    let home = Home::new(&Model::start());
    let own = home.root().join("own");
    home.set_env("LEGWORK_HOME", &own.to_string_lossy());
    let rubbish = "no database ".repeat(1_000);
    fs::create_dir_all(own.join("store")).unwrap();
    for folder in [own.clone(), own.join("store")] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::write(own.join("store/legwork.db"), &rubbish).unwrap();
    let listed = output(home.command(LEGWORK).arg("list"));
    assert!(listed.status.success(), "{listed:?}");
    let log = fs::read_to_string(own.join("daemon.log")).unwrap();
    assert!(log.contains("set aside as"), "{log}");
    let kept = fs::read_dir(own.join("store")).unwrap().filter(|entry| {
        fs::read_to_string(entry.as_ref().unwrap().path()).is_ok_and(|text| text == rubbish)
    });
    assert_eq!(kept.count(), 1);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Not even the superuser hears a word. Only the superuser can play two users; where the tests run
/// without it, the daemon's own tests show the check.
#[test]
fn g1_a_process_of_another_user_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    if fs::metadata(folder.path()).unwrap().uid() != 0 {
        return;
    }
    let (binary, home) = (folder.path().join("legwork"), folder.path().join("home"));
    // By another process: while a thread of this one starts something, a file that was written here
    // counts as still open.
    assert!(Command::new("cp").arg(LEGWORK).arg(&binary).status().unwrap().success());
    fs::create_dir(&home).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = Command::new(&binary);
    command.args(["daemon", "run", "--foreground"]).env("LEGWORK_HOME", &home);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").stderr(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    let socket = home.join("legwork.sock");
    let heard = block_on(until("an answer of the socket", async || {
        let mut socket = UnixStream::connect(&socket).ok()?;
        let mut heard = Vec::new();
        // It may be closed before anything can be said.
        let _ = socket.write_all(b"{\"type\":\"hello\"}\n");
        let _ = Patient::new(socket).read_to_end(&mut heard);
        Some(heard)
    }));
    let log = fs::read_to_string(home.join("daemon.log")).unwrap();
    let list = output(Command::new(&binary).arg("list").env("LEGWORK_HOME", &home));
    daemon.kill().unwrap();
    ended(&mut daemon);
    assert!(heard.is_empty(), "{heard:?}");
    assert!(log.contains("a connection was refused: it is of user 0, not of 65534"), "{log}");
    let complaint = String::from_utf8_lossy(&list.stderr).into_owned();
    assert!(!list.status.success() && complaint.contains("belongs to user 65534"), "{complaint}");
}
