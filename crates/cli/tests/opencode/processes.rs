//! The processes of a stage, found by what is known of them: the daemon by its own words, a bridge
//! as a child of the OpenCode that the test started. Nothing is ever killed by a name.

use std::process::Command;

use legwork_testkit::Home;
use serde_json::Value;

use crate::stage::{legwork, until};

/// What the daemon says of itself; null while there is none. Starts none.
pub fn daemon(home: &Home) -> Value {
    let status = legwork(home, &["daemon", "status", "--json"]);
    let mut status: Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
    status["daemon"].take()
}

/// The daemon's process, when it is there and so many hosts are connected to it.
pub async fn daemon_of(home: &Home, hosts: usize) -> u32 {
    until(&format!("a daemon with {hosts} hosts"), async || {
        let daemon = daemon(home);
        let connected = daemon["hosts"].as_array().is_some_and(|all| all.len() == hosts);
        connected.then(|| u32::try_from(daemon["pid"].as_u64().unwrap()).unwrap())
    })
    .await
}

/// The bridges that this OpenCode process has.
pub fn bridges(opencode: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid=,stat=,args="]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let bridge = |line: &str| {
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        let parent: u32 = words.next()?.parse().ok()?;
        let alive = !words.next()?.starts_with('Z');
        let args: Vec<&str> = words.collect();
        let is_bridge = args.ends_with(&["bridge", "opencode"]);
        (alive && parent == opencode && is_bridge).then_some(pid)
    };
    listed.lines().filter_map(bridge).collect()
}

/// The one bridge of this OpenCode process.
pub async fn bridge(opencode: u32) -> u32 {
    until("one bridge", async || match bridges(opencode)[..] {
        [bridge] => Some(bridge),
        _ => None,
    })
    .await
}

/// Sends a signal to one process, by its number.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).output();
    assert!(sent.unwrap().status.success(), "process {pid} is not there");
}

/// Whether a process is there and more than its exit code.
pub fn is_alive(pid: u32) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let stat = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    !stat.is_empty() && !stat.starts_with('Z')
}

/// Waits until a process has ended.
pub async fn until_ended(pid: u32) {
    until(&format!("process {pid} has ended"), async || (!is_alive(pid)).then_some(())).await;
}
