//! Whatever is thrown at the socket, the daemon goes on and others notice nothing.

use std::thread;

use serde_json::{Value, json};

use crate::local_host::LocalHost;
use crate::opencode::{Host, OpenCode};

#[test]
fn g2_rubbish_hurts_nobody_but_its_sender() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut good = daemon.client();
    let huge = [b"{\"type\":\"event\",\"name\":\"".as_slice(), &vec![b'x'; 20 << 20], b"\"}\n"];
    let kinds: Vec<Vec<u8>> = vec![
        (0..=255).cycle().take(100_000).collect(),
        b"{\"type\":\"hel".to_vec(),
        huge.concat(),
        b"\n\r\n{\n}\n".repeat(1_000),
        "{\"type\":\"call\",\"id\":1,".repeat(500).into_bytes(),
        b"[".repeat(200_000),
        format!(
            "{{\"type\":\"event\",\"name\":\"e\",\"properties\":{}1{}}}\n",
            "[".repeat(500),
            "]".repeat(500)
        )
        .into_bytes(),
    ];
    thread::scope(|scope| {
        for (number, bytes) in kinds.iter().enumerate() {
            let mut peer = if number % 2 == 0 { daemon.peer() } else { daemon.client() };
            // It may be sent away in the middle.
            scope.spawn(move || drop(peer.send_raw(bytes)));
            let mut peer = if number % 2 == 1 { daemon.peer() } else { daemon.client() };
            scope.spawn(move || drop(peer.send_raw(bytes)));
        }
        for _ in 0..50 {
            assert_eq!(good.view()["healthy"], true);
        }
    });
    assert_eq!(daemon.client().view()["healthy"], true);
}

#[test]
fn g2_a_bad_line_that_is_a_call_is_refused_and_the_next_is_heard() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    let wrong = json!({ "what": "list", "status": 3 });
    for line in [
        json!({ "type": "call", "id": 5, "key": 7, "tool": "background_list" }),
        json!({ "type": "call", "id": 5 }),
        json!({ "type": "request", "id": 5, "key": "k", "request": { "what": "is it" } }),
        json!({ "type": "request", "id": 5, "key": "k", "request": wrong }),
    ] {
        client.send(line);
        let answer = client.next();
        assert_eq!((&answer["id"], &answer["type"]), (&json!(5), &json!("refused")), "{answer}");
    }
    assert_eq!(client.view()["healthy"], true);
}

/// Valid JSON of a kind that is not read: too deep, too many values, too long, half a character.
#[test]
fn g2_a_call_of_any_size_and_depth_is_answered() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    let call = |more: &str| {
        format!(
            "{{\"type\":\"call\",\"id\":5,\"key\":\"k\",\"tool\":\"background_list\",\
             \"arguments\":{{\"status\":{more}}}}}\n"
        )
    };
    for more in [
        format!("{}1{}", "[".repeat(129), "]".repeat(129)),
        format!("[{}0]", "0,".repeat(600_000)),
        format!("\"{}\"", "x".repeat(17 << 20)),
    ] {
        client.send_raw(call(&more).as_bytes()).unwrap();
        let answer = client.next();
        assert_eq!((&answer["id"], &answer["type"]), (&json!(5), &json!("refused")), "{answer}");
        let text = answer["text"].as_str().unwrap();
        assert!(text.starts_with("The call could not be understood: the line "), "{text}");
    }
    client.send_raw(call(r#""half \ud83d""#).as_bytes()).unwrap();
    let answer = client.next();
    assert!(answer["text"].as_str().unwrap().contains("half \u{fffd}"), "{answer}");
    assert_eq!(client.view()["healthy"], true);
}

/// A call whose result is dropped unread is dropped after ten seconds, each time. On a busy machine
/// that may be over before the result is read, but not every time.
#[test]
fn g2_a_result_that_cannot_be_read_fails_its_host_call_at_once() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    // A new window is asked for its agents. Once it has answered, only a launch with an agent that
    // is not among them asks again.
    let of_the_window = asked_for_agents(&mut host);
    assert!(host.do_it(&of_the_window), "{of_the_window}");
    let is_failed = (0..5).any(|number| {
        let arguments = json!({ "prompt": "count", "description": "count", "agent": "planner" });
        host.call(number, &format!("call-{number}"), "background_task", arguments);
        fails_unread(&mut host)
    });
    assert!(is_failed, "each call waits for its time to be over");
    assert!(home.log().contains("a bad line"), "{}", home.log());
}

/// Answers the next question for the agents with what cannot be read. Whether nobody waits for that
/// any more: it is asked again, or the caller is told, before the call is dropped.
fn fails_unread(host: &mut Host<'_>) -> bool {
    let asked = asked_for_agents(host)["id"].clone();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let line = format!("{{\"type\":\"result\",\"id\":{asked},\"status\":200,\"body\":{deep}}}\n");
    host.peer.send_raw(line.as_bytes()).unwrap();
    loop {
        let line = host.peer.next();
        if line["type"] == "drop" && line["id"] == asked {
            return false;
        }
        if asks_for_agents(&line) || line["type"] == "answer" || line["type"] == "refused" {
            return true;
        }
    }
}

/// The next question for the agents. Other lines are passed over.
fn asked_for_agents(host: &mut Host<'_>) -> Value {
    std::iter::repeat_with(|| host.peer.next()).find(asks_for_agents).unwrap()
}

fn asks_for_agents(line: &Value) -> bool {
    line["type"] == "host-call" && line["path"] == "/agent"
}

#[test]
fn g2_who_only_talks_rubbish_is_sent_away() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut peer = daemon.client();
    peer.send_raw(&b"{\"type\":\"nonsense\"}\n".repeat(100)).unwrap();
    let bye = peer.next();
    assert_eq!(bye["why"], "There were 100 bad lines.");
    assert!(peer.is_closed());
    assert!(home.log().matches("a bad line").count() <= 3);
}

#[test]
fn g2_results_and_events_out_of_place_are_passed_over() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut client = daemon.client();
    client.send(json!({ "type": "result", "id": 0, "status": 200 }));
    client.send(json!({ "type": "event", "name": "session.idle", "properties": 3 }));
    client.send(json!({ "type": "cancel", "id": 9 }));
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    host.peer.send(json!({ "type": "result", "id": 900, "error": "?" }));
    for properties in [json!(3), json!([]), json!({ "sessionID": 4 }), json!({ "info": {} })] {
        for name in ["session.idle", "session.error", "message.updated", "permission.asked", "x"] {
            host.peer.send(json!({ "type": "event", "name": name, "properties": properties }));
        }
    }
    host.launched(1, "call-1");
    assert_eq!(client.view()["unfinished"], 1);
}

#[test]
fn g3_who_floods_and_does_not_read_is_cut_off_and_others_are_served() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut good = daemon.client();
    let mut flooding = daemon.client();
    let query = "{\"type\":\"request\",\"id\":1,\"key\":\"k\",\"request\":{\"what\":\"status\"}}\n"
        .repeat(1_000);
    thread::scope(|scope| {
        // Until it is cut off: each answer is longer than its question.
        scope.spawn(move || while flooding.send_raw(query.as_bytes()).is_ok() {});
        for _ in 0..100 {
            assert_eq!(good.view()["healthy"], true);
        }
    });
    assert_eq!(good.view()["healthy"], true);
    assert!(home.log().contains("it left too much unread"), "{}", home.log());
}

#[test]
fn k5_twenty_clients_at_once_see_one_truth() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut opencode = OpenCode::new();
    let mut host = Host::connect(&daemon, "opencode-1", &mut opencode);
    let task = host.launched(1, "call-1");
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let mut client = daemon.client();
                for _ in 0..20 {
                    let all = client.data(json!({ "what": "list" }));
                    assert_eq!((&all["total"], &all["tasks"][0]["id"]), (&json!(1), &json!(task)));
                }
            });
        }
    });
}

#[test]
fn g3_connections_have_a_limit_and_places_are_given_back() {
    let home = LocalHost::new();
    let daemon = home.start();
    // Each of them waits for something, so none can be sent away for another.
    let watching = || {
        let mut client = daemon.client();
        client.send(
            json!({ "type": "request", "id": 1, "key": "k", "request": { "what": "follow" } }),
        );
        client
    };
    let mut many: Vec<_> = (0..192).map(|_| watching()).collect();
    // The last has been heard when the one after it is answered.
    let first = &mut many[0];
    assert_eq!(first.view()["healthy"], true);
    let bye = daemon.peer().hello_as_client();
    assert_eq!((&bye["type"], &bye["leaving"]), (&json!("bye"), &json!(false)), "{bye}");
    // There is always room for hosts.
    let mut opencode = OpenCode::new();
    Host::connect(&daemon, "opencode-1", &mut opencode).launched(1, "call-1");
    drop(many);
    crate::local_host::eventually("there is a place again", || {
        (daemon.peer().hello_as_client()["type"] == "hello").then_some(())
    });
}

#[test]
fn g3_idle_clients_make_room_for_others() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut first = daemon.client();
    let many: Vec<_> = (0..299).map(|_| daemon.client()).collect();
    assert_eq!(daemon.client().view()["healthy"], true);
    // It is told that it may come again.
    assert_eq!(first.next()["leaving"], true);
    drop(many);
}

#[test]
fn g3_who_opens_many_connections_and_says_nothing_keeps_nobody_out() {
    let home = LocalHost::new();
    let daemon = home.start();
    let mut silent: Vec<_> = (0..300).map(|_| daemon.peer()).collect();
    assert_eq!(daemon.client().view()["healthy"], true);
    assert_eq!(silent[0].next()["why"], "Too many connections say nothing.");
}

#[cfg(target_os = "linux")]
#[test]
fn g3_half_lines_of_all_connections_together_are_bounded() {
    let home = LocalHost::new();
    let mut daemon = home.start();
    let half = [b"{\"type\":\"event\",\"name\":\"".as_slice(), &vec![b'x'; 15 << 20]].concat();
    let mut good = daemon.client();
    thread::scope(|scope| {
        let peers: Vec<_> = (0..40).map(|_| daemon.client()).collect();
        let senders: Vec<_> = peers
            .into_iter()
            .map(|mut peer| {
                let half = &half;
                scope.spawn(move || {
                    // It is not read to its end, and nobody waits for that.
                    peer.give_up_after(std::time::Duration::from_secs(2));
                    let _ = peer.send_raw(half);
                    peer
                })
            })
            .collect();
        let held: Vec<_> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
        assert_eq!(good.view()["healthy"], true);
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < 250 << 10, "{peak} kB");
        drop(held);
    });
    assert!(daemon.is_running());
}
