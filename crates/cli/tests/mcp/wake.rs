//! Waking a model from outside: the inbox of Claude Code when its front is gone, and the queue of
//! Codex. Both are played here; the real ones are in `cargo xtask clients`.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use legwork_protocol::limits::COLLECT_LEASE_MS;
use legwork_testkit::DEADLINE;
use legwork_testkit::legwork::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Client, gated, open};
use crate::tasks::kill_daemon;

/// This very process as a Claude Code notes that it has this session now.
fn has_session(home: &Home, session: &str) {
    let folder = home.path("home/.claude");
    let (pid, socket) = (std::process::id(), folder.join("inbox"));
    let note = json!({ "pid": pid, "sessionId": session, "messagingSocketPath": socket });
    fs::write(folder.join(format!("sessions/{pid}.json")), note.to_string()).unwrap();
}

/// This very process as a Claude Code with a session in this home: what it notes of itself, and
/// its inbox.
fn claude(home: &Home) -> (Command, Receiver<Value>) {
    let folder = home.path("home/.claude");
    fs::create_dir_all(folder.join("sessions")).unwrap();
    let socket = folder.join("inbox");
    has_session(home, "5e55-1");
    let listener = UnixListener::bind(&socket).unwrap();
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut line = String::new();
            stream.read_to_string(&mut line).unwrap();
            // What its model has read is in the transcript.
            let project = folder.join("projects/-p");
            fs::create_dir_all(&project).unwrap();
            let mut transcript = fs::OpenOptions::new();
            let transcript = transcript.create(true).append(true);
            let mut transcript = transcript.open(project.join("5e55-1.jsonl")).unwrap();
            transcript.write_all(line.as_bytes()).unwrap();
            if say.send(serde_json::from_str(&line).unwrap()).is_err() {
                return;
            }
        }
    });
    (home.command(["mcp"]), heard)
}

fn content(message: &Value) -> &str {
    message["message"]["content"].as_str().unwrap()
}

#[test]
fn m3_a_session_without_tasks_is_woken_through_its_inbox() {
    let home = Home::new();
    let (command, inbox) = claude(&home);
    let mut client = Client::old_as(command, "claude-code", json!({}));
    let said = client.says("background_task", crate::client::launch("wait 200ms; say woken"));
    assert!(said.contains("A notification with the whole result will follow"), "{said}");
    let message = inbox.recv_timeout(DEADLINE).unwrap();
    assert!(content(&message).contains("woken"), "{message}");
    assert!(!client.says("background_list", json!({})).contains("woken"), "it is told once");
}

#[test]
fn m3_a_session_whose_front_has_died_is_woken_through_its_inbox_once() {
    let home = gated("not lost");
    let (command, inbox) = claude(&home);
    let mut client = Client::modern_as(command, "claude-code");
    let task = client.launch_gated();
    client.get(&task);
    client.kill();
    open(&home);
    let message = inbox.recv_timeout(DEADLINE).unwrap();
    assert!(content(&message).starts_with("[BACKGROUND TASK COMPLETED]"), "{message}");
    assert!(content(&message).contains("not lost"), "{message}");
    // A front that comes back is told that the model knows it.
    let mut again = Client::modern_as(home.command(["mcp"]), "claude-code");
    let end = again.poll(&task, "completed");
    let said = crate::client::text(&end["result"]);
    assert!(said.contains("told in this conversation already"), "{said}");
    assert!(inbox.recv_timeout(Duration::from_millis(200)).is_err());
}

/// Claude Code does not poll while it shows a form.
#[test]
fn m3_an_end_right_after_a_form_that_was_long_open_is_left_to_the_next_poll() {
    let home = Home::new();
    let (command, inbox) = claude(&home);
    let mut client = Client::modern_as(command, "claude-code");
    let task = client.launch_task("ask rm -rf target; say done");
    let asks = client.poll(&task, "input_required");
    let question = asks["inputRequests"].as_object().unwrap().keys().next().unwrap();
    // Nobody polls, so the lease runs out.
    std::thread::sleep(Duration::from_millis(COLLECT_LEASE_MS + 500));
    let filled = json!({ question: { "action": "accept", "content": { "reply": "once" } } });
    client.ask("tasks/update", json!({ "taskId": task, "inputResponses": filled }));
    eventually("the helper is done", || {
        (home.run(["show", &task, "--json"]).json()["status"] == "completed").then_some(())
    });
    assert!(inbox.recv_timeout(Duration::from_secs(1)).is_err(), "its client polls again");
    let end = client.poll(&task, "completed");
    assert!(crate::client::text(&end["result"]).contains("done"), "{end}");
    assert!(inbox.recv_timeout(Duration::from_millis(200)).is_err());
}

#[test]
fn m3_an_end_that_claude_code_has_told_is_not_put_into_its_inbox() {
    let home = gated("told already");
    let (command, inbox) = claude(&home);
    let mut client = Client::modern_as(command, "claude-code");
    let task = client.launch_gated();
    client.get(&task);
    client.kill();
    // As if its poll had been answered, and the front had died before it could say so.
    let project = home.path("home/.claude/projects/-p");
    fs::create_dir_all(&project).unwrap();
    let told = format!("MCP task {task} (legwork/background_task) completed.");
    fs::write(project.join("5e55-1.jsonl"), told).unwrap();
    open(&home);
    eventually("the notice is settled", || {
        let view = home.run(["show", &task, "--json"]).json();
        (view["status"] == "completed" && view["notice_pending"] == false).then_some(())
    });
    assert!(inbox.recv_timeout(Duration::from_millis(200)).is_err());
}

/// A shell as a Claude Code with that session, which does this after it has noted that.
fn shell(home: &Home, then: &str) -> Command {
    fs::create_dir_all(home.path("home/.claude/sessions")).unwrap();
    let note = r#"printf '{"sessionId":"5e55-1","messagingSocketPath":"%s"}' "$QUEUE" \
        >"$HOME/.claude/sessions/$$.json""#;
    let mut shell = Command::new("sh");
    let like = home.command(["x"]);
    shell.args(["-c", &format!("{note}; {then}")]).env_clear();
    shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("LEGWORK", env!("CARGO_BIN_EXE_legwork")).env("QUEUE", home.path("queue"));
    shell.stdout(std::process::Stdio::piped());
    shell
}

/// A task of a Claude Code that has ended, before its helper did, in a home that is [`gated`].
fn left_behind(home: &Home) -> String {
    let mut client = Client::modern_as(shell(home, r#""$LEGWORK" mcp; exit 0"#), "claude-code");
    let task = client.launch_gated();
    client.leave();
    open(home);
    eventually("it has ended", || {
        let view = home.run(["show", &task, "--json"]).json();
        (view["status"] == "completed").then_some(())
    });
    let view = home.run(["show", &task, "--json"]).json();
    assert_eq!(view["notice_pending"], true);
    task
}

#[test]
fn m3_a_session_that_is_back_and_knows_nothing_of_its_task_is_woken() {
    let home = gated("kept for later");
    left_behind(&home);
    // It was killed before it had noted the task, so it does not poll.
    let (command, inbox) = claude(&home);
    let mut again = Client::modern_as(command, "claude-code");
    again.ask("server/discover", json!({}));
    let message = inbox.recv_timeout(DEADLINE).unwrap();
    assert!(content(&message).contains("kept for later"), "{message}");
}

#[test]
fn m3_a_claude_code_that_does_not_run_is_told_when_it_is_back() {
    let home = gated("kept for later");
    let task = left_behind(&home);
    let mut again = Client::modern(&home);
    let end = again.poll(&task, "completed");
    assert!(crate::client::text(&end["result"]).contains("kept for later"));
}

#[test]
fn m3_a_message_that_died_in_the_queue_of_its_process_was_not_told() {
    let home = gated("read by nobody");
    let listener = UnixListener::bind(home.path("queue")).unwrap();
    // A Claude Code that outlives its front, and only queues what comes into its inbox.
    let script = r#"exec 3<&0; "$LEGWORK" mcp <&3 & echo $! >"$HOME/front"
        exec 3<&-; wait; exec sleep 300"#;
    let mut client = Client::modern_as(shell(&home, script), "claude-code");
    let task = client.launch_gated();
    let front = eventually("the shell has noted its front", || {
        fs::read_to_string(home.path("home/front")).ok()?.trim().parse().ok()
    });
    kill_process(Pid::from_raw(front).unwrap(), Signal::KILL).unwrap();
    open(&home);
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        listener.accept().unwrap().0.read_to_string(&mut line).unwrap();
        say.send(line)
    });
    let message = heard.recv_timeout(DEADLINE).unwrap();
    assert!(message.contains("read by nobody"), "{message}");
    client.kill();
    // It goes on in another process, which polls and has an inbox: one of them tells it.
    let (_, inbox) = claude(&home);
    let mut again = Client::modern(&home);
    let end = crate::client::text(&again.poll(&task, "completed")["result"]);
    let by_poll = end.contains("read by nobody");
    // A poll that says it was told may be answered before we hear of that.
    let message = if by_poll { inbox.try_recv().ok() } else { inbox.recv_timeout(DEADLINE).ok() };
    let by_inbox = message.is_some_and(|message| content(&message).contains("read by"));
    assert_ne!(by_poll, by_inbox, "{end}");
}

/// A `codex` that has no server and keeps what is queued in a file.
fn codex(path: &Path, queue: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = queue ] || exit 1\nprintf '%s\\n' \"$@\" >>'{}'\n",
        queue.display()
    );
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn m4_a_thread_of_codex_is_woken_through_its_queue() {
    let home = Home::new();
    let queue = home.path("queue");
    codex(&home.path("bin/codex"), &queue);
    let mut command = home.command(["mcp"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
    let mut client = Client::old_as(command, "codex-mcp-client", json!({}));
    let turn = json!({ "turn_trigger": "user", "thread_source": "user" });
    client.meta = json!({ "threadId": "01a1", "callId": "c", "x-codex-turn-metadata": turn });
    let said = client.says("background_task", crate::client::launch("wait 200ms; say queued"));
    assert!(said.contains("A notification with the whole result will follow"), "{said}");
    let queued = eventually("the message is queued", || {
        fs::read_to_string(&queue).ok().filter(|text| text.contains("queued"))
    });
    assert!(queued.starts_with("queue\n--thread\n01a1\n--message\n[BACKGROUND TASK"), "{queued}");
    assert!(!client.says("background_list", json!({})).contains("begin words of"));
}

/// After `/clear` Claude Code polls on for what it has launched, under another id.
#[test]
fn s4_a_session_has_the_tasks_that_its_client_has_gone_on_with_as_its_own() {
    let home = Home::new();
    let (command, _inbox) = claude(&home);
    let mut client = Client::modern_as(command, "claude-code");
    let before: Vec<String> = (0..3).map(|_| client.launch_task("hang")).collect();
    before.iter().for_each(|task| drop(client.get(task)));
    has_session(&home, "5e55-2");
    assert_eq!(client.says("background_list", json!({})), "No background tasks found.");
    let own = client.launch_task("hang");
    before[..2].iter().for_each(|task| drop(client.get(task)));
    let listed = |client: &mut Client| -> Vec<String> {
        let said = client.says("background_list", json!({}));
        said.lines().filter_map(|line| line.split("  ").next()).map(str::to_owned).collect()
    };
    let all = [&own, &before[1], &before[0]].map(String::clone);
    assert_eq!(listed(&mut client), all, "newest first");
    // Another daemon and another front know it too.
    client.leave();
    kill_daemon(&home);
    let mut client = Client::modern_as(home.command(["mcp"]), "claude-code");
    assert_eq!(listed(&mut client), all);
    let cancelled = client.says("background_cancel", json!({ "task_id": before[0] }));
    assert!(!cancelled.contains("Its parent is notified"), "{cancelled}");
    let cleared = client.says("background_clear", json!({}));
    assert_eq!(cleared, "Cancelled 2 unfinished tasks and cleared 3 tasks.");
    assert_eq!(client.says("background_list", json!({})), "No background tasks found.");
    // What it did not go on with is the other session's.
    has_session(&home, "5e55-1");
    assert_eq!(listed(&mut client), [before[2].clone()]);
}
