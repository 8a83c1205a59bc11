//! The daemon from outside: it is there when it is needed, once.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use legwork_testkit::legwork::{Home, eventually, ran};
use legwork_testkit::{output, output_of};

#[test]
fn commands_that_start_it_at_once_start_one() {
    let home = Home::new();
    let starts: Vec<_> =
        (0..6).map(|_| home.command(["daemon", "start", "--json"]).spawn().unwrap()).collect();
    let mut pids = Vec::new();
    for start in starts {
        let output = output_of(start);
        assert!(output.status.success(), "{output:?}");
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        pids.push(shown["daemon"]["pid"].as_u64().unwrap());
    }
    pids.dedup();
    assert_eq!(pids.len(), 1);
}

#[test]
fn one_that_is_started_inside_of_an_agent_does_not_end_itself_as_left_over() {
    let home = Home::new();
    let mut command = home.command(["daemon", "start"]);
    // An agent of a daemon that is no more: the command itself is left over, and ended; perhaps by
    // the daemon of another test, before it has started one.
    command.env("LEGWORK_INSIDE", "1-1-00000000-0");
    eventually("the daemon is there", || {
        output(&mut command);
        (home.run(["daemon", "status"]).code == 0).then_some(())
    });
}

#[test]
fn it_is_started_looked_at_and_stopped() {
    let home = Home::new();
    let ran = home.run(["daemon"]).with_code(6);
    assert!(ran.out.contains("not running"), "{ran:?}");
    assert_eq!(home.run(["daemon", "stop", "--json"]).with_code(0).json()["done"], "not running");
    assert_eq!(home.run(["daemon", "start", "--json"]).with_code(0).json()["done"], "started");
    let again = home.run(["daemon", "start"]).with_code(0);
    assert!(again.out.contains("already running"), "{again:?}");
    let status = home.run(["daemon", "status"]).with_code(0);
    assert!(status.out.contains("0 tasks") && status.out.contains("none is connected"));
    let log = home.run(["daemon", "log", "-n", "1", "--json"]).with_code(0).json();
    assert_eq!(log["lines"].as_array().unwrap().len(), 1);
    assert_eq!(home.run(["daemon", "stop", "--json"]).with_code(0).json()["done"], "stopped");
    home.run(["daemon", "status", "--json"]).with_code(6).json();
}

#[test]
fn a_daemon_that_cannot_be_started_is_code_six_with_what_to_do() {
    let home = Home::new();
    for (program, hint) in [("/bin/false", "legwork daemon log"), ("/nowhere", "LEGWORK_BIN")] {
        let mut command = home.command(["list"]);
        command.env("LEGWORK_BIN", program);
        let ran = ran(command).with_code(6);
        assert!(ran.err.contains(hint), "{ran:?}");
    }
}

#[test]
fn g1_a_folder_that_others_can_change_holds_no_socket() {
    let home = Home::new();
    fs::create_dir(home.path("legwork")).unwrap();
    fs::write(home.path("legwork/delivery.txt"), "").unwrap();
    fs::set_permissions(home.path("legwork"), fs::Permissions::from_mode(0o775)).unwrap();
    home.run(["list"]).with_code(0);
    let status = home.run(["daemon", "status"]).with_code(0);
    let socket = status.out.lines().find(|line| line.starts_with("Socket")).unwrap();
    assert!(!home.path("legwork/legwork.sock").exists(), "{socket}");
}

#[test]
fn the_doctor_names_each_problem_with_its_remedy() {
    let home = Home::new();
    home.configure("[limits]\nmax_runing = 1\n");
    let ill = home.run(["doctor"]).with_code(1);
    assert!(ill.out.contains("config.toml:2:") && ill.out.contains("max_running"), "{ill:?}");
    assert!(ill.out.contains("legwork install opencode"), "{ill:?}");

    fs::remove_file(home.path("legwork/config.toml")).unwrap();
    home.run(["install", "opencode"]).with_code(0);
    let well = home.run(["doctor", "--json"]).with_code(0).json();
    let states: Vec<_> = well.as_array().unwrap().iter().map(|check| &check["state"]).collect();
    assert!(states.len() >= 8 && !states.contains(&&"problem".into()), "{well}");
}
