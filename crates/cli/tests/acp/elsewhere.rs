//! Two daemons of one user in different containers: each sees some of the other's processes, and
//! must not take them for its own.

use std::process::{Child, Command, Stdio};

use legwork_machine::process::{is_alive, mark_in, pid_here};
use legwork_testkit::legwork::{Home, eventually};

use crate::stage::processes_in;

/// A container with processes of its own. Ends with all that is in it.
struct Container(Child);

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a script in a PID namespace of its own; nothing where that is not allowed.
fn contained(home: &Home, script: &str) -> Option<Container> {
    let unshare = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let is_allowed = Command::new("unshare").args(unshare).arg("true").output();
    if !is_allowed.is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: this user may not make a PID namespace");
        return None;
    }
    let like = home.command(["x"]);
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", script]).env_clear().stdin(Stdio::piped());
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(Container(command.current_dir(home.path("work")).spawn().unwrap()))
}

#[cfg(target_os = "linux")]
#[test]
fn k5_a_daemon_leaves_the_helpers_of_another_container_alone() {
    let inner = Home::new();
    inner.configure(&crate::bad::bad_agent("rehearsal", None));
    std::fs::create_dir(inner.path("work")).unwrap();
    let legwork = env!("CARGO_BIN_EXE_legwork");
    let script = format!(
        "{legwork} run --agent rehearsal --detach 'spawn 600; wait 600s' >task 2>&1; cat >/dev/null"
    );
    let Some(_container) = contained(&inner, &script) else { return };
    let work = inner.path("work");
    let helpers = || {
        let is_sleep = |id: &u32| {
            std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|c| c.trim() == "sleep")
        };
        processes_in(&work).into_iter().find(is_sleep)
    };
    let before = eventually("the helper runs in its container", helpers);
    let outer = Home::new();
    outer.configure("");
    outer.run(["daemon", "start"]).with_code(0);
    outer.run(["list"]).with_code(0);
    assert_eq!(helpers(), Some(before), "the daemon outside has ended what is not its own");
}

#[cfg(target_os = "linux")]
#[test]
fn k5_a_host_in_another_container_is_never_taken_for_gone() {
    let home = Home::new();
    home.configure("");
    std::fs::create_dir(home.path("work")).unwrap();
    home.run(["daemon", "start"]).with_code(0);
    let legwork = env!("CARGO_BIN_EXE_legwork");
    let init = r#"{"type":"init","pid":'$$',"directory":"/d","project":"p"}"#;
    let script = format!("(echo '{init}'; cat) | {legwork} bridge opencode >hello");
    let Some(_container) = contained(&home, &script) else { return };
    let host = eventually("the host is there", || {
        let status = home.run(["daemon", "status", "--json"]).json();
        status["daemon"]["hosts"][0]["host"].as_str().map(str::to_owned)
    });
    let mark = mark_in(&host).unwrap();
    assert!(mark.starts_with("1-"), "the first process of its container: {host}");
    assert!(is_alive(mark), "{host}");
    assert_eq!(pid_here(mark), None, "{host}");
}
