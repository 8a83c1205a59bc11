//! `background_task` in launch mode: L1 to L9.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use legwork_testkit::{Model, Request, block_on, call, script};
use serde_json::{Value, json};

use crate::processes::{daemon_of, signal, until_ended};
use crate::stage::{LEGWORK, Stage, Task, cast, furnish, launch, until};

const SIX: [&str; 6] = [
    "background_task",
    "background_output",
    "background_block",
    "background_list",
    "background_cancel",
    "background_clear",
];

pub const TOLD_LATER: &str = "A notification with the whole result will follow in this \
     conversation when it is done: go on with other work, do not wait or poll.";

/// One place, three tasks, two levels; a second model, and an agent that has it for its own. Its
/// tests take turns, because they all want the one place.
pub fn narrow() -> MutexGuard<'static, Stage> {
    static STAGE: OnceLock<Mutex<Stage>> = OnceLock::new();
    let limits = "[limits]\nmax_running = 1\nmax_tasks_per_root = 3\nmax_depth = 2\n";
    let other = json!({
        "name": "Other", "tool_call": true, "limit": { "context": 200_000, "output": 8_000 },
    });
    let expert = json!({ "mode": "subagent", "description": "Knows", "model": "fake/other" });
    let settings = json!({
        "provider": { "fake": { "models": { "other": other } } },
        "agent": { "expert": expert },
    });
    let stage = STAGE.get_or_init(|| Mutex::new(block_on(Stage::with(settings, limits))));
    // One that failed leaves no half-done state behind: sessions are each test's own.
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first request that the model got in a session.
pub async fn first_request(stage: &Stage, session: &str) -> Request {
    let of_session = |request: &Request| request.session.as_deref() == Some(session);
    stage.model.wait_for("the session's first", of_session).await
}

async fn listing(stage: &Stage, session: &str) -> String {
    stage.call(session, "background_list", json!({})).await.text
}

/// Also that of all arguments only the prompt is required of a model.
#[test]
fn l1_every_missing_argument_is_named_and_nothing_comes_into_being() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let cases = [
            (json!({}), "description, prompt, agent"),
            (json!({ "prompt": "Look", "resume": null }), "description, agent"),
            (json!({ "prompt": "Look", "resume": "", "agent": " " }), "description, agent"),
            (json!({ "prompt": "\n", "resume": false, "agent": "general" }), "description, prompt"),
            (json!({ "prompt": "Look", "description": "Look" }), "agent"),
        ];
        let given = cases.clone().map(|(arguments, _)| ("background_task", arguments));
        let answers = stage.call_all(&parent, &given).await;
        for ((_, missing), answer) in cases.iter().zip(answers) {
            assert!(answer.refused(), "{answer:?}");
            let text = format!(
                "Launching a background task needs description, prompt and agent. Missing: \
                 {missing}. Call background_task again with description, prompt and agent."
            );
            assert_eq!(answer.text, text);
        }
        assert_eq!(stage.client.children(&parent).await, Vec::<Value>::new());
        assert_eq!(listing(stage, &parent).await, "No background tasks found.");

        let request = first_request(stage, &parent).await;
        let required = |name: &str| {
            let tool = request.tools.iter().find(|tool| tool.name == name);
            tool.unwrap_or_else(|| panic!("{name} is offered")).schema["required"].clone()
        };
        let expected = [json!(["prompt"]), json!(["task_id"]), json!(["task_ids"])];
        assert_eq!(SIX[..3].iter().map(|name| required(name)).collect::<Vec<_>>(), expected);
        assert_eq!(required("background_cancel"), json!(["task_id"]));
        for name in ["background_list", "background_clear"] {
            assert!(required(name).as_array().is_none_or(Vec::is_empty), "{name}");
        }
        let offered: Vec<&str> = request.tool_names();
        let ours = offered.iter().filter(|name| name.starts_with("background_"));
        assert_eq!(ours.count(), 6, "{offered:?}");
    });
}

/// Also L2, as far as a person sees it.
#[test]
fn l2_l3_a_launch_is_answered_while_the_helper_still_works() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let arguments = launch("Explore  the\ncode", &["gate l3\nsay found"]);
        let answer = stage.call(&parent, "background_task", arguments).await;
        let task = stage.task(&answer.text).await;
        let (id, session) = (&task.id, &task.session);
        assert_eq!(answer.text, format!("Task ID: {id}\n{TOLD_LATER}"));
        assert_eq!(answer.title, "Explore  the\ncode");
        let digits = id.strip_prefix("bg_").unwrap();
        assert!(
            digits.len() == 8
                && digits.bytes().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
        );

        let view = stage.view(id);
        assert_eq!(view["status"], "running");
        assert_eq!((&view["resumes"], &view["agent"]), (&json!(0), &json!("general")));
        assert_eq!((&view["parent"], &view["session"]), (&json!(parent), &json!(session)));
        assert_eq!(view["description"], "Explore the code");
        stage.model.open("l3");
        stage.until_notices(&parent, 1).await;
        assert_eq!(stage.view(id)["status"], "completed");
    });
}

#[test]
fn l4_an_unknown_agent_is_refused_with_those_there_are_and_leaves_no_session() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        // One that writes titles is hidden, and nobody's helper.
        let agents = ["nope", "title", "General"];
        let given = agents.map(|agent| {
            let arguments = json!({ "description": "Look", "prompt": "Look", "agent": agent });
            ("background_task", arguments)
        });
        for (agent, answer) in agents.iter().zip(stage.call_all(&parent, &given).await) {
            assert!(answer.refused(), "{answer:?}");
            // Its own first, then those that legwork itself can start.
            let text = format!(
                "There is no agent named {agent}. Agents here: build, broken, careful, explore, \
                 general, plan"
            );
            assert!(answer.text.starts_with(&text), "{}", answer.text);
            assert!(!answer.text.contains("rehearsal"), "it is no help: {}", answer.text);
        }
        assert_eq!(stage.client.children(&parent).await, Vec::<Value>::new());
        assert_eq!(listing(stage, &parent).await, "No background tasks found.");
    });
}

#[test]
fn l5_a_helper_is_a_child_with_a_title_without_the_six_tools_and_with_its_parents_denials() {
    let stage = Stage::shared();
    block_on(async {
        let denials = [("webfetch", "*"), ("bash", "git push *"), ("edit", "*")];
        let denials = denials.map(
            |(what, pattern)| json!({ "permission": what, "pattern": pattern, "action": "deny" }),
        );
        let body = json!({ "title": "parent", "permission": denials });
        let parent = stage.client.create(body).await;
        // Of OpenCode's own agents this one may ask the person and has all tools.
        let mut arguments = launch("Explore the code", &["say found"]);
        arguments["agent"] = json!("build");
        let task = stage.task(&stage.call(&parent, "background_task", arguments).await.text).await;
        let offered = first_request(stage, &parent).await;
        assert!(offered.tool_names().contains(&"question"), "{:?}", offered.tool_names());

        let children = stage.client.children(&parent).await;
        assert_eq!(children.len(), 1);
        let child = &children[0];
        assert_eq!((&child["id"], &child["parentID"]), (&json!(task.session), &json!(parent)));
        assert_eq!(child["title"], "Explore the code");
        assert_eq!(child["metadata"]["legwork"]["task"], json!(task.id));
        let rules = child["permission"].as_array().unwrap();
        for rule in &denials {
            assert!(rules.contains(rule), "{rule} is not in {rules:?}");
        }

        let asked = first_request(stage, &task.session).await;
        let offered = asked.tool_names();
        for tool in SIX.iter().chain(&["question", "webfetch", "edit", "task"]) {
            assert!(!offered.contains(tool), "a helper is offered {tool}: {offered:?}");
        }
        for tool in ["bash", "read", "grep"] {
            assert!(offered.contains(&tool), "a helper is not offered {tool}: {offered:?}");
        }
        stage.until_notices(&parent, 1).await;
    });
}

/// At the limit the six are not offered at all. A call that comes all the same, here because a
/// person allowed it in the helper's session, is refused.
#[test]
fn l5_a_helper_has_the_six_where_the_depth_allows_it_and_is_refused_at_the_limit() {
    let stage = narrow();
    block_on(async {
        let parent = stage.parent().await;
        let line = call("background_task", &launch("Second", &["say second"]));
        let first = stage.launch(&parent, "First", &[&line, "say first"]).await;
        stage.until_settled(&first).await;
        let offered = first_request(&stage, &first.session).await;
        for tool in SIX {
            assert!(offered.tool_names().contains(&tool), "{tool}");
        }
        assert!(!offered.tool_names().contains(&"question"));
        let calls = stage.calls(&first.session).await;
        assert!(!calls[0].refused(), "{calls:?}");
        let second = Task::of(&calls[0].text);
        assert!(calls[0].text.contains("It is queued, next in line. "), "{calls:?}");
        stage.until_status(&second, "completed").await;

        let session = stage.view(&second.id)["session"].as_str().unwrap().to_owned();
        let children = stage.client.children(&first.session).await;
        assert_eq!(children.iter().map(|child| &child["id"]).collect::<Vec<_>>(), [&session]);
        let offered = first_request(&stage, &session).await;
        assert!(!offered.tool_names().iter().any(|tool| SIX.contains(tool)));
        let allowed = json!({ "permission": "background_task", "pattern": "*", "action": "allow" });
        let path = format!("/session/{session}");
        stage.client.call("PATCH", &path, Some(json!({ "permission": [allowed] }))).await.ok();
        let answer = stage.call(&session, "background_task", launch("Third", &["say no"])).await;
        assert!(answer.refused(), "{answer:?}");
        assert_eq!(
            answer.text,
            "Helpers may launch helpers only 2 level(s) deep (limits.max_depth = 2), and this \
             session is at the limit. Do the work here, or ask the person to raise \
             limits.max_depth in legwork's config.toml."
        );
        assert_eq!(stage.client.children(&session).await, Vec::<Value>::new());
    });
}

/// A bridge that is the real one, but for this: it writes down its process, and the first answer
/// to a call is lost with it.
fn breaking_bridge(folder: &Path) -> String {
    let (folder, pid) = (folder.display(), folder.join("bridge.pid"));
    let pid = pid.display();
    format!(
        r#"#!/bin/sh
if [ -e '{folder}/broken' ]; then
  echo $$ > '{pid}'
  exec '{LEGWORK}' "$@"
fi
sh -c 'echo $$ > "$0"; exec "$@"' '{pid}' '{LEGWORK}' "$@" | while IFS= read -r line; do
  case $line in *'"type":"answer"'*)
    : > '{folder}/broken'
    kill -9 "$(cat '{pid}')"
    exit;;
  esac
  printf '%s\n' "$line"
done
"#
    )
}

#[test]
fn l6_a_launch_whose_answer_is_lost_with_the_bridge_is_sent_again_and_makes_one_task() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, json!({}), "");
        let folder = home.root().join("bridge");
        std::fs::create_dir(&folder).unwrap();
        let bridge = folder.join("bridge.sh");
        std::fs::write(&bridge, breaking_bridge(&folder)).unwrap();
        std::fs::set_permissions(&bridge, PermissionsExt::from_mode(0o700)).unwrap();
        home.set_env("LEGWORK_BIN", &bridge.to_string_lossy());
        let stage = Stage::open(model, home).await;

        let parent = stage.parent().await;
        let task = stage.launch(&parent, "Lost answer", &["say once"]).await;
        assert!(folder.join("broken").exists(), "the first answer got through");
        assert_one_task(&stage, &parent, &task).await;

        // And killed while OpenCode is at the call, wherever the call is at that moment.
        for round in 0..3 {
            let parent = stage.parent().await;
            let pid = std::fs::read_to_string(folder.join("bridge.pid")).unwrap();
            let mark = stage.events.len();
            let line = call("background_task", &launch("Killed", &[&format!("say {round}")]));
            stage.say(&parent, &[&line, "say ok"]).await;
            let begun = |event: &legwork_testkit::Event| {
                event.is("message.part.updated", &parent)
                    && event.properties["part"]["state"]["status"] == "running"
            };
            let seen = |all: &[legwork_testkit::Event]| all.iter().skip(mark).any(begun);
            stage.events.until_all("the call", |all| seen(all).then_some(())).await;
            assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
            let answer = until("the launch is answered", async || {
                let call = stage.calls(&parent).await.into_iter().next()?;
                (call.status != "running" && call.status != "pending").then_some(call)
            })
            .await;
            assert!(!answer.refused(), "{answer:?}");
            let task = stage.task(&answer.text).await;
            assert_one_task(&stage, &parent, &task).await;
        }
    });
}

async fn assert_one_task(stage: &Stage, parent: &str, task: &Task) {
    stage.until_notices(parent, 1).await;
    stage.until_settled(task).await;
    let children = stage.client.children(parent).await;
    assert_eq!(children.iter().map(|child| &child["id"]).collect::<Vec<_>>(), [&task.session]);
    let listed = listing(stage, parent).await;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.starts_with(&format!("{}    completed", task.id)), "{listed}");
    let prompts = stage.client.texts(&task.session).await;
    assert_eq!(prompts.iter().filter(|(role, _)| role == "user").count(), 1, "{prompts:?}");
    assert_eq!(stage.notices(parent).await.len(), 1);
}

/// Also the queue place in the output (O2).
#[test]
fn l7_over_the_places_tasks_wait_in_order_and_over_the_tasks_of_a_root_they_are_refused() {
    let stage = narrow();
    block_on(async {
        let parent = stage.parent().await;
        let first = stage.launch(&parent, "First", &["gate l7\nsay one"]).await;
        let given = [("Second", "say two"), ("Third", "say three")];
        let given = given.map(|(name, says)| ("background_task", launch(name, &[says])));
        let queued = stage.call_all(&parent, &given).await;
        let [second, third] = [Task::of(&queued[0].text), Task::of(&queued[1].text)];
        assert!(queued[0].text.contains("It is queued, next in line. "), "{queued:?}");
        assert!(queued[1].text.contains("It is queued, 1 task before it. "), "{queued:?}");
        assert_eq!(stage.client.children(&parent).await.len(), 1);

        let more = ("background_task", launch("Fourth", &["say no"]));
        let reading = ("background_output", json!({ "task_id": third.id }));
        let given = [("background_list", json!({})), reading, more.clone()];
        let answers = stage.call_all(&parent, &given).await;
        let listed = &answers[0].text;
        let ends = ["waits: queued, 1 task before it", "waits: queued, next in line"];
        for (line, end) in listed.lines().zip(ends) {
            assert!(line.contains("running") && line.ends_with(end), "{listed}");
        }
        assert_eq!(listed.lines().count(), 3, "{listed}");
        let waiting = answers[1].text.lines().find(|line| line.starts_with("Waiting"));
        assert_eq!(waiting, Some("Waiting: queued, 1 task before it"));
        assert!(answers[2].refused());
        assert_eq!(answers[2].text, over_the_limit("0 finished and 3 unfinished of its own"));

        stage.model.open("l7");
        for task in [&first, &second, &third] {
            stage.until_settled(task).await;
        }
        let sessions: Vec<String> = [&first, &second, &third]
            .map(|task| stage.view(&task.id)["session"].as_str().unwrap().to_owned())
            .into();
        let begun: Vec<usize> = sessions
            .iter()
            .filter_map(|session| {
                let requests = stage.model.requests();
                requests.iter().position(|request| request.session.as_ref() == Some(session))
            })
            .collect();
        assert_eq!(begun.len(), 3);
        assert!(begun.is_sorted(), "{begun:?}");

        let kept = stage.call(&parent, more.0, more.1).await;
        assert_eq!(kept.text, over_the_limit("3 finished and 0 unfinished of its own"));
        assert_eq!(stage.client.children(&parent).await.len(), 3);
        stage.call(&parent, "background_clear", json!({})).await;
        let task = stage.launch(&parent, "Fourth", &["say yes"]).await;
        stage.until_settled(&task).await;
    });
}

fn over_the_limit(holders: &str) -> String {
    format!(
        "This session and its helpers have 3 of 3 tasks (limits.max_tasks_per_root): {holders}. \
         Free some with background_clear (forgets your tasks) or wait for running ones and clear \
         then."
    )
}

/// The prompt of a person who chose a model.
pub fn with_model(steps: &[&str], model: &str) -> Value {
    json!({
        "parts": [{ "type": "text", "text": script(steps) }],
        "model": { "providerID": "fake", "modelID": model },
    })
}

/// What the model is told of `background_task` in a request.
fn description(request: &Request) -> String {
    let tools = request.raw["tools"].as_array().unwrap();
    let task = tools.iter().find(|tool| tool["function"]["name"] == "background_task").unwrap();
    task["function"]["description"].as_str().unwrap().to_owned()
}

#[test]
fn l8_the_first_request_of_a_window_names_the_agents_and_a_later_one_those_that_came() {
    block_on(async {
        let model = Model::start();
        let home = furnish(&model, cast(), "");
        // The first request comes as early as it can, and on a busy machine the daemon is late.
        home.set_env("LEGWORK_OFFER_MS", "120000");
        let mut run = home.run(&["--agent", "build", &script(&["say hello"])]);
        assert!(run.wait().await.status.success());
        let requests = model.requests();
        let first = requests.iter().find(|one| !one.tools.is_empty()).unwrap();
        let first = description(first);
        let (_, agents) = first.split_once("\n\nAgents:\n").unwrap();
        assert!(agents.starts_with("- "), "{agents}");
        for agent in ["careful", "explore: Fast agent", "general: ", "build", "plan"] {
            assert!(agents.contains(&format!("- {agent}")), "{agent}: {agents}");
        }
        assert!(!agents.contains("- title") && !agents.contains("- rehearsal"), "{agents}");
        let primary = agents.find("- build").unwrap();
        assert!(agents.find("- explore").unwrap() < primary, "helpers first: {agents}");

        let folder = home.project().join(".opencode/agent");
        fs::create_dir_all(&folder).unwrap();
        let reviewer = "---\ndescription: Reads changes\nmode: subagent\n---\nRead.";
        fs::write(folder.join("reviewer.md"), reviewer).unwrap();
        let stage = Stage::open(model, home).await;
        let parent = stage.parent().await;
        stage.turn(&parent, &["say hello again"]).await;
        let told = description(&stage.asked(&parent)[0]);
        assert!(told.contains("\n- reviewer: Reads changes"), "{told}");

        let daemon = daemon_of(&stage.home, 1).await;
        signal(daemon, "KILL");
        until_ended(daemon).await;
        daemon_of(&stage.home, 1).await;
        stage.turn(&parent, &["say and again"]).await;
        assert_eq!(description(stage.asked(&parent).last().unwrap()), told);
    });
}

/// Also L5: it has none of the six tools.
#[test]
fn l9_a_fork_knows_the_conversation_and_is_told_once() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        stage.turn(&parent, &["say the word is xyzzy"]).await;
        let mut arguments = launch("Recall", &["gate l9\nsay it was xyzzy"]);
        arguments["fork"] = json!(true);
        let answer = stage.call(&parent, "background_task", arguments).await;
        let task = stage.task(&answer.text).await;
        let asked = stage.until_asked(&task.session, "gate l9").await;
        assert!(asked.said("assistant", "the word is xyzzy"), "{asked:?}");
        let calls = asked.messages.iter().flat_map(|said| said.calls.iter());
        assert_eq!(calls.count(), 0, "nothing of the call that launched it: {asked:?}");
        assert!(!asked.tools.iter().any(|tool| SIX.contains(&&*tool.name)), "{asked:?}");
        let session = stage.client.get(&task.session).await.ok();
        assert_eq!(session["title"], "Recall");
        stage.model.open("l9");
        let notices = stage.until_notices(&parent, 1).await;
        stage.until_settled(&task).await;
        assert!(notices[0].hidden.ends_with("it was xyzzy"), "{notices:?}");
        let more = json!({ "resume": task.id, "prompt": script(&["say xyzzy again"]) });
        stage.call(&parent, "background_task", more).await;
        let notices = stage.until_notices(&parent, 2).await;
        assert!(notices[1].hidden.ends_with("xyzzy again"), "{notices:?}");
    });
}

#[test]
fn l9_an_agent_of_another_program_cannot_have_a_copy() {
    let stage = Stage::shared();
    block_on(async {
        let parent = stage.parent().await;
        let mut arguments = launch("Recall", &["say no"]);
        (arguments["agent"], arguments["fork"]) = (json!("rehearsal"), json!(true));
        let answer = stage.call(&parent, "background_task", arguments).await;
        assert!(answer.refused(), "{answer:?}");
        assert!(answer.text.starts_with("rehearsal cannot start with a copy"), "{answer:?}");
        assert_eq!(listing(stage, &parent).await, "No background tasks found.");
    });
}
