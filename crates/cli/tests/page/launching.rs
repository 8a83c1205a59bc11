//! New tasks from the page, and failed ones again.

use std::fs;

use legwork_testkit::legwork::eventually;
use serde_json::json;

use crate::http::{Asked, token};
use crate::look::{choose, press, reads, row, seen, tells, unseen};
use crate::stage::Stage;

/// Launches what the form has.
fn set(page: &legwork_testkit::Page, field: &str, value: &str) {
    let (field, value) = (json!(format!("#launch-{field}")), json!(value));
    page.wait_for(&format!(
        "(() => {{ const it = document.querySelector({field}); it.value = {value}; \
         return it.value === {value} }})()"
    ));
}

#[test]
fn v2_a_task_is_launched_from_the_page_in_a_folder_of_a_known_project() {
    let stage = Stage::new();
    let page = stage.open();
    // Also where there is no task yet; then in the folder in which the page was started.
    page.wait_for(&reads("main", "Nobody is out on an errand"));
    page.key("n");
    page.wait_for(&seen("#launch"));
    assert_eq!(page.eval("document.activeElement.id"), "launch-prompt");
    page.wait_for("document.querySelector('#launch-folder').options.length === 1");
    page.key("Escape");
    page.wait_for(&unseen("#launch"));

    let known = stage.launch("say I was here");
    stage.until(&known, "it is over", |task| !task["ended"].is_null());
    let work = stage.home.path("work").canonicalize().unwrap();
    page.wait_for(&seen(&row(&known)));
    press(&page, ".top button", "New task");
    page.wait_for("document.querySelector('#launch-folder').options.length === 2");
    page.click("#launch-prompt");
    page.type_text("say written on the page\nsay and done");
    set(&page, "agent", "rehearsal");
    set(&page, "folder", work.to_str().unwrap());
    press(&page, "#launch button", "Launch");
    page.wait_for(&unseen("#launch"));
    page.wait_for(&tells("Launched “say written on the page”."));
    page.wait_for(&reads("#title", "say written on the page"));
    page.wait_for(&reads("#state", "Completed"));
    let id = page.text("#task-id");
    let task = stage.task(&id);
    assert_eq!((&task["agent"], task["directory"].as_str()), (&json!("rehearsal"), work.to_str()));
    assert!(stage.run(&["output", &id]).with_code(0).out.contains("and done"));
    // The next one begins with an empty form, and with the same choices.
    page.key("n");
    page.wait_for("document.querySelector('#launch-folder').value !== ''");
    assert_eq!(page.eval("document.querySelector('#launch-prompt').value"), "");
    set(&page, "description", "A name of its own");
    page.click("#launch-prompt");
    page.type_text("say more");
    page.key_with("Enter", 2);
    page.wait_for(&reads("#title", "A name of its own"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn v9_the_form_for_a_new_task_is_for_everybody() {
    let stage = Stage::new();
    let page = stage.open();
    for (width, dark) in [(1280, false), (390, true)] {
        page.resize(width, 844);
        page.dark(dark);
        page.key("n");
        page.wait_for("document.querySelector('#launch-folder').options.length === 1");
        assert_eq!(page.violations(), Vec::<String>::new());
        page.wait_for(&format!("document.documentElement.scrollWidth <= {width}"));
        // By keyboard alone, and back to where one was.
        for id in ["launch-agent", "launch-folder", "launch-description", "launch-back"] {
            page.key("Tab");
            assert_eq!(page.eval("document.activeElement.id"), id);
        }
        page.key("Enter");
        page.wait_for(&unseen("#launch"));
    }
}

#[test]
fn v2_a_launch_that_cannot_be_is_refused_in_words_and_nothing_written_is_lost() {
    let stage = Stage::with_daemon();
    let (front, token) = (stage.front(), token(stage.front()));
    let launch = |folder: &str, agent: &str, prompt: &str| {
        let body = json!({ "prompt": prompt, "agent": agent, "folder": folder }).to_string();
        Asked::post(front, "/api/launch", &body).bearing(&token).send()
    };
    let error = |reply: crate::http::Reply| reply.json()["error"].as_str().unwrap().to_owned();
    // A folder that nobody has worked in is none of ours to run agents in.
    let strange = stage.home.path("strange");
    fs::create_dir(&strange).unwrap();
    let refused = launch(strange.to_str().unwrap(), "rehearsal", "say hello").with_status(409);
    assert!(error(refused).contains("legwork run"));
    stage.launch("say I was here");
    let work = stage.home.path("work").canonicalize().unwrap();
    let work = work.to_str().unwrap();
    let refused = launch(work, "nobody", "say hello").with_status(409);
    assert!(error(refused).contains("no agent named nobody"));
    assert!(error(launch(work, "rehearsal", " ").with_status(409)).contains("missing"));
    Asked::post(front, "/api/launch", "{}").bearing(&token).send().with_status(400);
    Asked::post(front, "/api/launch", "{}").send().with_status(401);
    let elsewhere = Asked::post(front, "/api/launch", "{}").bearing(&token);
    elsewhere.with("origin", "http://evil.test").send().with_status(403);
    // By a GET nothing is launched.
    let asked = format!("/api/launch?prompt=x&agent=rehearsal&folder={work}");
    let choices = Asked::get(front, &asked).bearing(&token).send().with_status(200).json();
    assert_eq!(choices["folders"].as_array().map(Vec::len), Some(2));
    let listed = stage.run(&["list", "--json"]).with_code(0).json();
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(1));

    let page = stage.open();
    page.key("n");
    page.wait_for("document.querySelector('#launch-folder').options.length === 2");
    page.eval(
        "document.querySelector('#launch-agent').append(new Option('nobody', 'nobody')); null",
    );
    set(&page, "agent", "nobody");
    page.click("#launch-prompt");
    page.type_text("say a long text");
    press(&page, "#launch button", "Launch");
    page.wait_for(&reads("#launch-said", "no agent named nobody"));
    assert_eq!(page.eval("document.querySelector('#launch-prompt').value"), "say a long text");
}

#[test]
fn v2_a_failed_task_is_tried_again_with_its_own_prompt() {
    let stage = Stage::new();
    let task = stage.launch("fail the provider is away");
    let fine = stage.launch("say fine");
    // Rows move when their tasks end.
    for task in [&task, &fine] {
        stage.until(task, "it is over", |task| !task["ended"].is_null());
    }
    let page = stage.open();
    choose(&page, &fine);
    assert_eq!(page.eval("document.querySelector('#acts').innerText.includes('Retry')"), false);
    choose(&page, &task);
    press(&page, "#acts button", "Retry");
    page.wait_for(&tells("is tried again"));
    let again = stage.until(&task, "it has failed again", |task| {
        task["resumes"] == 1 && !task["ended"].is_null()
    });
    assert_eq!(again["status"], "error");
    let runs = stage.run(&["show", &task, "--json"]).with_code(0).json().to_string();
    assert!(runs.contains("the provider is away"), "{runs}");
    page.wait_for(&reads("#state", "Failed"));
    eventually("the key counts", || {
        page.key("t");
        (stage.task(&task)["resumes"].as_u64() >= Some(2)).then_some(())
    });
}
