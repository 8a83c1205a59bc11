//! When the daemon is there, when it ends, and what a killed one leaves to the next.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::local_host::{COMPLAINTS, Daemon, LocalHost, eventually};
use crate::opencode::{Host, OpenCode, task_id};

const SOON: Duration = Duration::from_millis(200);
/// How long a daemon stays that nobody needs yet: also on a busy machine a test has connected by
/// then.
const A_WHILE: Duration = Duration::from_secs(3);

#[test]
fn it_ends_by_itself_when_nobody_needs_it() {
    let home = LocalHost::new();
    // Nobody connects, not even to see whether it listens: it may have ended by then.
    let daemon = home.start_unseen(SOON);
    assert!(daemon.ended().success());
    assert!(!home.socket().exists());
    let log = home.log();
    assert!(log.contains("listens on") && log.contains("Nobody needs"), "{log}");
}

#[test]
fn it_stays_while_somebody_is_connected_or_a_task_is_unfinished() {
    let home = LocalHost::new();
    let mut daemon = home.start_lingering(A_WHILE);
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    stays(&mut daemon);
    let task = host.launched(1, "call-1");
    drop(host);
    stays(&mut daemon);
    let answer = daemon.client().request(json!({ "what": "forget", "tasks": [task] }));
    assert_eq!(answer["type"], "data", "{answer}");
    assert!(daemon.ended().success());
}

fn stays(daemon: &mut Daemon<'_>) {
    let until = Instant::now() + A_WHILE + 4 * SOON;
    eventually("the time is over", || {
        assert!(daemon.is_running());
        (Instant::now() >= until).then_some(())
    });
}

#[test]
fn a_second_daemon_leaves_the_first_one_alone() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    let mut second = home.spawn(SOON);
    let status = eventually("the second one ends", || second.try_wait().unwrap());
    assert!(status.success());
    assert_eq!(client.view()["healthy"], true);
    assert_eq!(daemon.client().view()["healthy"], true);
}

#[test]
fn told_to_end_it_says_goodbye_to_all() {
    for signal in [Signal::TERM, Signal::INT] {
        let home = LocalHost::new();
        let daemon = home.start();
        let (mut client, mut silent) = (daemon.client(), daemon.peer());
        daemon.signal(signal);
        for peer in [&mut client, &mut silent] {
            let bye = peer.next();
            assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(true)));
            assert!(peer.is_closed());
        }
        assert!(daemon.ended().success());
        assert!(!home.socket().exists());
    }
}

#[test]
fn asked_to_end_it_answers_first() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    assert_eq!(client.request(json!({ "what": "shutdown" }))["type"], "data");
    assert_eq!(client.next()["leaving"], true);
    assert!(daemon.ended().success());
}

#[test]
fn a_closed_terminal_does_not_end_it() {
    let home = LocalHost::new();
    let daemon = home.start();
    daemon.signal(Signal::HUP);
    assert_eq!(daemon.client().view()["healthy"], true);
}

#[test]
fn somebody_who_does_not_read_does_not_keep_it_from_ending() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut stuck = daemon.client();
    let queries =
        "{\"type\":\"request\",\"id\":1,\"key\":\"k\",\"request\":{\"what\":\"status\"}}\n"
            .repeat(2_000);
    stuck.send_raw(queries.as_bytes()).unwrap();
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().success());
}

#[test]
fn l6_after_a_kill_in_the_middle_the_same_call_makes_one_task() {
    let home = LocalHost::new();
    let mut opencode = OpenCode::new();
    // Before the host is asked to open a session, and after it did so unheard.
    for (number, asked) in
        ["get /agent", "ses_p/message", "post /session", "prompt_async"].into_iter().enumerate()
    {
        let key = format!("call-{number}");
        let daemon = home.start();
        let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
        host.launch(1, &key);
        host.until_deaf_to(asked);
        drop(host);
        daemon.kill();

        let daemon = home.start();
        let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
        host.launch(1, &key);
        let task = task_id(&host.answer(1));
        host.until(|opencode| opencode.helpers().len() > number);
        assert_eq!(host.opencode.helpers().len(), number + 1, "killed at {asked}");
        let all = daemon.client().data(json!({ "what": "list" }));
        assert_eq!(all["total"], number + 1);
        assert_eq!(all["tasks"][0]["id"], task);
        daemon.kill();
    }
}

#[test]
fn complaints_about_the_settings_are_in_the_log_and_do_not_keep_it_down() {
    let home = LocalHost::new();
    std::fs::write(home.path(COMPLAINTS), "there is no setting limits.max_runing\n").unwrap();
    let daemon = home.start();
    assert_eq!(daemon.client().view()["healthy"], true);
    assert!(home.log().contains("there is no setting limits.max_runing"), "{}", home.log());
}

#[test]
fn k4_a_store_that_cannot_be_read_is_set_aside_with_a_message() {
    let home = LocalHost::new();
    std::fs::create_dir(home.path("store")).unwrap();
    std::fs::write(home.path("store/legwork.db"), "not a database at all").unwrap();
    let daemon = home.start();
    assert_eq!(daemon.client().view()["tasks"], 0);
    assert!(home.path("store/legwork.db.unreadable-1").exists());
    assert!(home.log().contains("They were set aside as"), "{}", home.log());
}
