//! The testkit itself, on the real binary: a server that answers by a script, makes real tool calls
//! and is gone afterwards, a run, and the terminal UI. When these fail, look at the kit before
//! looking at what it tests.

use legwork_testkit::{DEADLINE, End, Home, Model, block_on, call, poll, script};
use serde_json::json;

/// Whether any process still bears the home in its environment.
fn anything_left(home: &str) -> bool {
    let mark = format!("HOME={home}/");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    processes.map(|process| process.path().join("environ")).any(|environ| {
        let bytes = std::fs::read(environ).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&mark)
    })
}

#[test]
fn a_server_does_what_the_script_says_and_leaves_nothing() {
    let model = Model::start();
    let home = Home::build(&model).git().make();
    let root = home.root().to_owned();
    block_on(async {
        let serve = home.serve().await;
        let client = serve.client();
        let events = client.events().await;
        let session = client.create(json!({ "title": "smoke" })).await;
        let bash = call("bash", &json!({ "command": "echo real", "description": "d" }));
        let text = script(&["say looking\ngate go", &bash, "say bg_0000000a", "say never"]);
        client.say(&session, &text).await;
        let first = model.wait_for("the prompt", |one| one.said("user", "gate go")).await;
        assert_eq!(first.session.as_deref(), Some(&*session));
        assert!(first.tool_names().contains(&"bash"));
        assert_eq!(first.end, None);
        model.open("go");
        events.until_event(0, "session.idle", &session).await;
        let texts = client.texts(&session).await;
        assert_eq!(texts[1], ("assistant".to_owned(), "looking".to_owned()));

        client.say(&session, &script(&["echo-history\nsay {{last_task}}\nhang"])).await;
        let hanging = model.wait_for("the hang", |one| one.said("user", "hang")).await;
        client.abort(&session).await.ok();
        let is_closed = |one: &&legwork_testkit::Request| one.number == hanging.number;
        let closed = model.wait_until("closed", |all| all.iter().find(is_closed)?.end).await;
        assert_eq!(closed.0, End::Closed);
        client.say(&session, "[BACKGROUND] something").await;
        events.until("noted", |event| event.properties["part"]["text"] == "noted").await;

        // A command of a tool has a process group of its own and must go all the same.
        let sleep = call("bash", &json!({ "command": "sleep 600", "description": "d" }));
        let other = client.create(json!({})).await;
        client.say(&other, &script(&[&sleep])).await;
        let runs = |event: &legwork_testkit::Event| {
            event.properties["part"]["state"]["status"] == "running"
                && event.session() == Some(&*other)
        };
        events.until("the command runs", runs).await;
    });
    drop(home);
    assert!(!root.exists());
    // Who was killed may need a while to end.
    let nothing_left = || (!anything_left(&root.to_string_lossy())).then_some(());
    assert!(block_on(poll(DEADLINE, nothing_left)).is_some());
}

#[test]
fn a_run_prints_the_answer_and_ends() {
    let model = Model::start();
    let home = Home::new(&model);
    let output = block_on(home.run(&[&script(&["say the answer"])]).wait());
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.contains("the answer"), "{output:?}");
}

#[test]
fn the_terminal_shows_what_the_model_says() {
    let model = Model::start();
    let home = Home::new(&model);
    block_on(async {
        let tui = home.tui(&[]).await;
        tui.until("the prompt", |screen| screen.contains("Ask anything")).await;
        tui.text(&script(&["say shown on the screen"]));
        tui.keys(&["Enter"]);
        tui.until("the answer", |screen| screen.contains("shown on the screen")).await;
        assert!(tui.pid().is_some());
    });
}
