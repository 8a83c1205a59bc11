//! S1 to S6: the listing, as the model of the real OpenCode reads it.

use std::path::PathBuf;

use legwork_testkit::{block_on, call, script};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::stage::{Stage, Task, launch, legwork, until};

async fn list(stage: &Stage, session: &str, arguments: Value) -> String {
    stage.call(session, "background_list", arguments).await.text
}

/// The cells of a line: two or more spaces apart.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Where on the screen a word begins.
fn column(line: &str, word: &str) -> usize {
    line.split_once(word).unwrap_or_else(|| panic!("no {word} in {line}")).0.width()
}

async fn resume(stage: &Stage, parent: &str, task: &Task) {
    let again = json!({ "resume": task.id, "prompt": script(&["say again"]) });
    stage.call(parent, "background_task", again).await;
    until("the resume is over", async || {
        let view = stage.view(&task.id);
        (view["resumes"] == 1 && view["status"] == "completed").then_some(())
    })
    .await;
}

#[test]
fn s1_s2_s3_s5_s6_one_line_a_task_newest_first_in_columns_whatever_is_in_a_description() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        assert_eq!(list(stage, &parent, json!({})).await, "No background tasks found.");
        let wide = "日本語の\r\n説明\u{2028}\u{202e}🦀\u{1b}[2J\tend";
        let helpers: [(&str, &[&str]); 3] = [
            ("Explore codebase", &["say one"]),
            (wide, &["gate s1\nsay two"]),
            ("Fails", &["fail 400 no"]),
        ];
        let [first, second, third] = stage.launch_all(&parent, helpers).await;
        stage.until_status(&first, "completed").await;
        stage.until_status(&third, "error").await;
        stage.until_asked(&second.session, "gate s1").await;
        resume(stage, &parent, &first).await;

        let listing = list(stage, &parent, json!({})).await;
        let lines: Vec<&str> = listing.split('\n').collect();
        let [third_line, second_line, first_line] = lines[..] else { panic!("{listing}") };
        let example = format!("{} (resumed)    completed    Explore codebase  ", first.id);
        assert!(first_line.starts_with(&example), "{listing}");
        assert_eq!(cells(third_line)[..4], [&third.id, "error", "Fails", "general"], "{listing}");
        let shown = "日本語の 説明 🦀 [2J end";
        let row = cells(second_line);
        assert_eq!(row[..4], [&second.id, "running", shown, "general"], "{listing}");
        assert_eq!(row.len(), 6, "a time and an activity: {listing}");
        for (word, line) in [("error", third_line), ("running", second_line)] {
            assert_eq!(column(line, word), column(first_line, "completed"), "{listing}");
            assert_eq!(column(line, "general"), column(first_line, "general"), "{listing}");
        }
        assert!(!listing.contains(|c: char| c != '\n' && c.is_control()), "{listing:?}");

        let running = list(stage, &parent, json!({ "status": "running" })).await;
        assert_eq!(cells(&running)[..3], row[..3]);
        let none = list(stage, &parent, json!({ "status": "cancelled" })).await;
        assert_eq!(none, "No background tasks found.");
        let wrong = stage.call(&parent, "background_list", json!({ "status": "done" })).await;
        assert!(wrong.refused(), "{wrong:?}");
        assert_eq!(
            wrong.text,
            "There is no status done. Use one of running, completed, error, cancelled, resumed, or \
             leave status out."
        );
        stage.model.open("s1");
    });
}

/// A second project next to the first, with the plugin in it.
fn another_project(stage: &Stage) -> PathBuf {
    let (from, to) = (stage.home.project(), stage.home.root().join("elsewhere"));
    std::fs::create_dir_all(to.join(".opencode/node_modules")).unwrap();
    for file in ["opencode.json", ".opencode/package.json", ".opencode/package-lock.json"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let folder = to.to_string_lossy();
    let done = legwork(&stage.home, &["install", "opencode", "--project", &folder]);
    assert!(done.status.success(), "{done:?}");
    to
}

#[test]
fn s4_all_adds_the_tasks_of_other_sessions_of_the_project_and_of_no_other_project() {
    let stage = Stage::shared();
    block_on(async {
        let (one, two) = (stage.parent().await, stage.parent().await);
        let mine = stage.launch(&one, "Mine", &["say mine"]).await;
        let theirs = stage.launch(&two, "Theirs", &["say theirs"]).await;
        let elsewhere = stage.client.clone().in_directory(&another_project(stage));
        let stranger = elsewhere.create(json!({ "title": "stranger" })).await;
        let begin = call("background_task", &launch("Foreign", &["say foreign"]));
        let own = call("background_list", &json!({ "all": true }));
        let reach = call("background_output", &json!({ "task_id": mine.id }));
        elsewhere.ask(&stranger, &script(&[&begin, &format!("{own}\n{reach}"), "say ok"])).await;
        let calls = stage.calls(&stranger).await;
        let foreign = stage.task(&calls[0].text).await;
        assert_eq!(calls[1].text.lines().count(), 1, "{}", calls[1].text);
        assert_eq!(cells(&calls[1].text)[0], foreign.id);
        let unknown =
            format!("Task not found: {}. Use background_list to see available tasks.", mine.id);
        assert_eq!((calls[2].refused(), &calls[2].text), (true, &unknown));

        let own = list(stage, &one, json!({})).await;
        assert_eq!((own.lines().count(), cells(&own)[0]), (1, &*mine.id), "{own}");
        let all = list(stage, &one, json!({ "all": true })).await;
        let shows = |task: &Task| all.lines().any(|line| cells(line)[0] == task.id);
        assert!(shows(&mine) && shows(&theirs) && !shows(&foreign), "{all}");
    });
}
