//! Helpers outlive their window: an OpenCode without one goes on with them, and ends when nothing
//! needs it. Everything here is the real thing.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use legwork_testkit::{Home, Model, Request, block_on, call, script};
use serde_json::{Value, json};

use crate::processes::{daemon, daemon_of, is_alive, signal, until_ended};
use crate::stage::{
    Stage, Task, bash, cast, furnish, furnish_whole, launch, legwork, printed, until,
};

/// The processes of the headless hosts that are connected.
fn headless(home: &Home) -> Vec<u32> {
    let daemon = daemon(home);
    let hosts = daemon["hosts"].as_array().cloned().unwrap_or_default();
    let headless = hosts.iter().filter(|host| host["lifetime"] == "headless");
    let pid = |host: &Value| host["host"].as_str()?.split('-').nth(1)?.parse().ok();
    headless.filter_map(pid).collect()
}

pub async fn until_headless(home: &Home) -> u32 {
    until("a headless host", async || headless(home).pop()).await
}

/// The helper has been asked to go on, by a prompt of its own in the same session.
pub async fn until_asked_again(model: &Model, session: &str) {
    let again = |one: &Request| {
        one.session.as_deref() == Some(session) && one.said("user", "You were interrupted")
    };
    model.wait_for("the helper to go on", again).await;
}

async fn told_once(stage: &Stage, parent: &str, task: &Task, words: &str) {
    stage.until_settled(task).await;
    let notices = stage.notices(parent).await;
    // A question may stand in the same message.
    let tells = |line: &str| line.contains(&task.id) && !line.contains("TASK WAITING]");
    let told =
        notices.iter().flat_map(|notice| notice.headline.lines().map(move |line| (notice, line)));
    let ended: Vec<_> = told.filter(|(_, line)| tells(line)).collect();
    assert_eq!(ended.len(), 1, "{notices:?}");
    let (notice, line) = ended[0];
    assert!(line.starts_with("[BACKGROUND TASK COMPLETED]"), "{notices:?}");
    assert!(notice.hidden.contains(words), "{notices:?}");
}

/// One is in the middle of a tool call, one streams, one waits for a permission.
#[test]
fn k6_helpers_outlive_a_killed_window_and_are_told_once_when_one_is_back() {
    block_on(async {
        let mut stage = Stage::with(cast(), "").await;
        let parent = stage.parent().await;
        let long = bash("test -e begun || { touch begun; sleep 600; }");
        let in_a_tool = [&*long, "gate tool\nsay after the tool"];
        let tool = stage.launch(&parent, "in a tool", &in_a_tool).await;
        let begun = stage.home.project().join("begun");
        until("the tool call", async || begun.exists().then_some(())).await;
        let streams = ["say so far\ngate stream\nsay streamed"];
        let streams = stage.launch(&parent, "streams", &streams).await;
        let echo = bash("echo hi");
        let asks = [&*echo, "say was allowed"];
        let asks = stage.launch_agent(&parent, "careful", "asks", &asks).await;
        stage.until_notices(&parent, 1).await;
        let window = stage.serve.pid();
        let mark = stage.model.requests().len();
        stage.serve.kill9();
        until_ended(window).await;

        let host = until_headless(&stage.home).await;
        let status = printed(&stage.legwork(&["daemon", "status"]));
        assert!(status.contains("opencode without a window"), "{status}");
        for task in [&tool, &streams, &asks] {
            until_asked_again(&stage.model, &task.session).await;
        }
        stage.model.open("tool");
        stage.model.open("stream");
        until("the question", async || {
            stage.view(&asks.id)["questions"][0]["id"].is_string().then_some(())
        })
        .await;
        let answered = stage.legwork(&["answer", &asks.id, "once"]);
        assert!(answered.status.success(), "{answered:?}");
        for task in [&tool, &streams, &asks] {
            stage.until_status(task, "completed").await;
            stage.until_settled(task).await;
        }
        let turns = |requests: Vec<Request>| {
            requests.iter().filter(|one| one.session.as_ref() == Some(&parent)).count()
        };
        assert_eq!(turns(stage.model.requests().split_off(mark)), 0, "nobody is there");
        stage.reopen().await;
        told_once(&stage, &parent, &tool, "after the tool").await;
        told_once(&stage, &parent, &streams, "streamed").await;
        told_once(&stage, &parent, &asks, "was allowed").await;
        until_ended(host).await;
        daemon_of(&stage.home, 1).await;
    });
}

#[test]
fn k6_a_headless_host_is_closed_to_everybody_else() {
    block_on(async {
        let mut stage = Stage::new().await;
        let parent = stage.parent().await;
        let look = bash("env > seen-by-the-helper.txt");
        let steps = [&*format!("gate first\n{look}"), "gate work\nsay done"];
        let task = stage.launch(&parent, "looks around", &steps).await;
        let working = |one: &Request| one.session.as_ref() == Some(&task.session);
        stage.model.wait_for("its work", working).await;
        stage.serve.kill9();
        stage.model.open("first");
        let host = until_headless(&stage.home).await;
        let proc = |file: &str| fs::read(format!("/proc/{host}/{file}")).unwrap();
        let environ = String::from_utf8_lossy(&proc("environ")).into_owned();
        let password =
            environ.split('\0').find_map(|one| one.strip_prefix("OPENCODE_SERVER_PASSWORD="));
        let password = password.unwrap().to_owned();
        assert_eq!(password.len(), 128, "as much as the dice gave");
        let line = String::from_utf8_lossy(&proc("cmdline")).into_owned();
        assert!(!line.contains(&password), "{line}");
        let port: u16 =
            line.split('\0').skip_while(|word| *word != "--port").nth(1).unwrap().parse().unwrap();
        let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stranger.write_all(b"GET /session HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut said = [0; 12];
        stranger.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"HTTP/1.1 401");
        assert!(
            fs::read(stage.home.root().join("legwork/headless.log"))
                .is_ok_and(|said| { !String::from_utf8_lossy(&said).contains(&password) })
        );

        stage.model.open("work");
        stage.until_status(&task, "completed").await;
        let seen = fs::read_to_string(stage.home.project().join("seen-by-the-helper.txt")).unwrap();
        assert!(seen.contains("PATH="), "{seen}");
        assert!(!seen.contains("OPENCODE_SERVER_PASSWORD") && !seen.contains("LEGWORK_HEADLESS"));
        let ours = stage.home.project().join("seen-by-us.txt");
        fs::write(&ours, "").unwrap();
        let mode = |file| fs::metadata(file).unwrap().permissions().mode();
        let theirs = stage.home.project().join("seen-by-the-helper.txt");
        assert_eq!(mode(&theirs), mode(&ours), "what a helper writes is the person's");
        stage.reopen().await;
        told_once(&stage, &parent, &task, "done").await;
    });
}

/// Also K2. The daemon is killed while the headless one works, then the headless one.
#[test]
fn k6_a_killed_daemon_finds_the_headless_host_again_and_a_killed_headless_host_is_replaced() {
    block_on(async {
        let mut stage = Stage::new().await;
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "long work", &["gate work\nsay done after all"]).await;
        let working = |one: &Request| one.session.as_ref() == Some(&task.session);
        stage.model.wait_for("its work", working).await;
        stage.serve.kill9();
        let first = until_headless(&stage.home).await;
        until_asked_again(&stage.model, &task.session).await;
        let before = daemon_of(&stage.home, 1).await;
        signal(before, "KILL");
        until_ended(before).await;
        until("the next daemon", async || (headless(&stage.home) == [first]).then_some(())).await;

        signal(first, "KILL");
        until_ended(first).await;
        let second = until("another headless host", async || {
            headless(&stage.home).into_iter().find(|host| *host != first)
        })
        .await;
        stage.model.open("work");
        stage.until_status(&task, "completed").await;
        stage.until_settled(&task).await;
        until_ended(second).await;
        stage.reopen().await;
        told_once(&stage, &parent, &task, "done after all").await;
    });
}

#[test]
fn k6_the_helpers_of_an_opencode_run_that_ends_go_on() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        let begin = call("background_task", &launch("look", &["gate work\nsay the finding"]));
        let mut run = home.run(&["--agent", "build", &script(&[&begin, "say all done"])]);
        let ended = run.wait().await;
        assert!(ended.status.success() && ended.stdout.contains("all done"), "{ended:?}");
        until_ended(run.pid()).await;
        let host = until_headless(&home).await;
        model.open("work");
        let view = until("its end", async || {
            let listed = legwork(&home, &["list", "--json"]);
            let listed: Value = serde_json::from_slice(&listed.stdout).ok()?;
            let task = listed["tasks"][0].clone();
            (task["status"] == "completed" && task["notice_pending"] == false).then_some(task)
        })
        .await;
        until_ended(host).await;
        let stage = Stage::open(model, home).await;
        let notices = stage.notices(view["parent"].as_str().unwrap()).await;
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].hidden.contains("the finding"), "{notices:?}");
        assert!(!is_alive(host));
    });
}

#[test]
fn k6_switched_off_no_host_is_started() {
    block_on(async {
        let mut stage = Stage::with(json!({}), "[recovery]\nheadless = false\n").await;
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "long work", &["gate work\nsay done"]).await;
        let working = |one: &Request| one.session.as_ref() == Some(&task.session);
        stage.model.wait_for("its work", working).await;
        stage.serve.kill9();
        until("it is noticed", async || {
            let waits = &stage.view(&task.id)["waiting"][0]["for"];
            (waits == "another-host").then_some(())
        })
        .await;
        stage.model.open("work");
        stage.reopen().await;
        stage.until_status(&task, "completed").await;
        let log = fs::read_to_string(stage.home.root().join("legwork/daemon.log")).unwrap();
        assert!(!log.contains("headless host"), "{log}");
    });
}

/// Also D5: what it asks is told in the window.
#[test]
fn k6_helpers_over_the_limit_of_a_window_work_beside_it_and_are_told_in_it() {
    block_on(async {
        let stage = Stage::with(cast(), "[limits]\nmax_in_window = 1\n").await;
        let parent = stage.parent().await;
        let first = stage.launch(&parent, "first", &["gate first\nsay one"]).await;
        let second = stage.launch(&parent, "second", &["gate second\nsay two"]).await;
        let beside = until_headless(&stage.home).await;
        let echo = bash("echo $PPID > beside.txt");
        let third = stage.launch_agent(&parent, "careful", "third", &[&*echo, "say three"]).await;
        let notices = stage.until_notices(&parent, 1).await;
        assert!(notices[0].headline.contains("echo $PPID"), "{notices:?}");
        let answered = stage.legwork(&["answer", &third.id, "once"]);
        assert!(answered.status.success(), "{answered:?}");
        told_once(&stage, &parent, &third, "three").await;
        let worked_in = fs::read_to_string(stage.home.project().join("beside.txt")).unwrap();
        assert_eq!(worked_in.trim(), beside.to_string());
        stage.model.open("first");
        stage.model.open("second");
        told_once(&stage, &parent, &first, "one").await;
        told_once(&stage, &parent, &second, "two").await;
        until_ended(beside).await;
    });
}

/// The tasks that are kept, oldest first.
fn tasks(home: &Home) -> Vec<Value> {
    let listed = legwork(home, &["list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let mut tasks = listed["tasks"].as_array().unwrap().clone();
    tasks.sort_by_key(|task| task["description"].to_string());
    tasks
}

/// A person closes the terminal UI in the middle of everything, and comes back.
#[test]
fn k6_who_closes_the_terminal_ui_finds_the_results_in_the_conversation() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, cast(), "");
        let tui = home.tui(&[]).await;
        tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
        let long = bash("test -e begun || { touch begun; sleep 600; }");
        let echo = bash("echo hi");
        let begin = |agent: &str, name: &str, steps: &[&str]| {
            let mut arguments = launch(name, steps);
            arguments["agent"] = json!(agent);
            call("background_task", &arguments)
        };
        let all = [
            begin("general", "1 in a tool", &[&*long, "gate tool\nsay after the tool"]),
            begin("general", "2 streams", &["say so far\ngate stream\nsay streamed"]),
            begin("careful", "3 asks", &[&*echo, "say was allowed"]),
        ];
        tui.text(&script(&[&all.join("\n"), "repeat 24 launched"]));
        tui.keys(&["Enter"]);
        // Not in the script, which is on the screen as well.
        tui.until("the launches", |screen| screen.contains("launchedlaunched")).await;
        let begun = home.project().join("begun");
        until("the tool call", async || begun.exists().then_some(())).await;
        until("the one that streams", async || {
            let session = tasks(&home)[1]["session"].as_str().map(str::to_owned);
            let asked = |one: &Request| session.is_some() && one.session == session;
            model.look(|all| all.iter().any(asked)).then_some(())
        })
        .await;
        until("the question", async || tasks(&home)[2]["questions"][0]["id"].as_str().map(drop))
            .await;
        let window = tui.pid().unwrap();
        tui.hang_up();
        until_ended(window).await;

        let host = until_headless(&home).await;
        for task in tasks(&home) {
            until_asked_again(&model, task["session"].as_str().unwrap()).await;
        }
        model.open("tool");
        model.open("stream");
        until("the question", async || tasks(&home)[2]["questions"][0]["id"].as_str().map(drop))
            .await;
        let asks = tasks(&home)[2]["id"].as_str().unwrap().to_owned();
        let answered = legwork(&home, &["answer", &asks, "once"]);
        assert!(answered.status.success(), "{answered:?}");
        until("their ends", async || {
            let settled =
                |task: &Value| task["status"] == "completed" && task["notice_pending"] == false;
            tasks(&home).iter().all(settled).then_some(())
        })
        .await;
        until_ended(host).await;

        let tui = home.tui(&["--continue"]).await;
        let screen = tui
            .until("the results", |screen| {
                screen.matches("[BACKGROUND TASK COMPLETED]").count() == 3
            })
            .await;
        assert!(!screen.contains("noted"), "nobody is woken before somebody writes: {screen}");
        drop(tui);
        let parent = tasks(&home)[0]["parent"].as_str().unwrap().to_owned();
        let found: Vec<Task> = tasks(&home)
            .iter()
            .map(|task| Task::of(&format!("Task ID: {}", task["id"].as_str().unwrap())))
            .collect();
        let stage = Stage::open(model, home).await;
        for (task, words) in found.iter().zip(["after the tool", "streamed", "was allowed"]) {
            told_once(&stage, &parent, task, words).await;
        }
    });
}

/// Two helpers of one project, each in a worktree of its own; the window of the second came last.
/// Gives the folder of the second.
async fn in_two_worktrees(stage: &Stage) -> PathBuf {
    let other = stage.home.root().join("other");
    let added = stage.home.command("git").args(["worktree", "add", "-q"]).arg(&other).status();
    assert!(added.unwrap().success());
    let parent = stage.parent().await;
    stage.launch(&parent, "1 in the first", &["gate first\nsay from the first"]).await;
    let client = stage.serve.client().in_directory(&other);
    let parent = client.create(json!({ "title": "other" })).await;
    let begin = call("background_task", &launch("2 in the other", &["gate other\nsay the other"]));
    client.say(&parent, &script(&[&begin, "say ok"])).await;
    until("both at work", async || {
        let all = tasks(&stage.home);
        let has_begun = |task: &Value| {
            let session = task["session"].as_str();
            let asked = |all: &[Request]| all.iter().any(|one| one.session.as_deref() == session);
            session.is_some() && stage.model.look(asked)
        };
        (all.len() == 2 && all.iter().all(has_begun)).then_some(())
    })
    .await;
    other
}

async fn until_ended_as(stage: &Stage, number: usize, status: &str) -> Value {
    until(&format!("task {number} is {status}"), async || {
        let task = tasks(&stage.home)[number].clone();
        let is_over = task["ended"].is_u64();
        assert!(!is_over || task["status"] == status, "{task}");
        is_over.then_some(task)
    })
    .await
}

#[test]
fn k6_helpers_of_two_worktrees_go_on_each_in_its_own() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let mut stage = Stage::open(model, home).await;
        in_two_worktrees(&stage).await;
        stage.serve.kill9();
        // A host sees what works in its own folder only.
        until("two headless hosts", async || (headless(&stage.home).len() == 2).then_some(()))
            .await;
        for task in tasks(&stage.home) {
            until_asked_again(&stage.model, task["session"].as_str().unwrap()).await;
        }
        stage.model.open("first");
        until_ended_as(&stage, 0, "completed").await;
        stage.model.open("other");
        until_ended_as(&stage, 1, "completed").await;
    });
}

#[test]
fn k6_a_helper_goes_on_in_its_own_folder_though_that_of_the_last_window_is_gone() {
    block_on(async {
        let model = Model::start();
        let home = furnish_whole(&model, cast());
        let mut stage = Stage::open(model, home).await;
        let other = in_two_worktrees(&stage).await;
        stage.serve.kill9();
        fs::remove_dir_all(&other).unwrap();
        stage.model.open("first");
        until_ended_as(&stage, 0, "completed").await;
        let lost = until_ended_as(&stage, 1, "error").await;
        let why = lost["reason"].as_str().unwrap();
        assert!(why.contains("/other") && why.contains("is not there any more"), "{lost}");
    });
}
