//! Opening sessions and prompting in them.

use legwork_engine::work::Tried;
use legwork_engine::{Action, Finding, HostError};
use legwork_protocol::MessageId;
use legwork_protocol::ids::MessageUse;
use legwork_testkit::{block_on, script};
use serde_json::json;

use crate::world::{never_tried, new_task, now, prompt, world};

#[test]
fn l5_opening_twice_with_one_mark_gives_one_child_with_a_title() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let task = new_task();
        let session = world.open(task, &parent, "explore").await;
        assert_eq!(world.open(task, &parent, "explore").await, session);
        assert_ne!(world.open(new_task(), &parent, "explore").await, session);
        let there = world.session(&session).await;
        assert_eq!((&there["parentID"], &there["title"]), (&json!(parent), &json!("Look around")));
        assert_eq!(there["metadata"]["legwork"]["task"], json!(task));
    });
}

#[test]
fn l5_a_helper_of_plan_has_no_tool_to_edit_ask_or_launch() {
    let world = world();
    block_on(async {
        let parent = world.conversation("plan", "fake", None).await;
        let task = new_task();
        let session = world.open(task, &parent, "general").await;
        let message = world.prompt(task, &session, &["say of plan"]).await;
        world.until_end(&session, &message).await;
        let ours =
            |one: &legwork_testkit::Request| one.session.as_deref() == Some(session.as_str());
        let seen = world.model.wait_for("the helper", ours).await;
        let tools = seen.tool_names();
        assert!(tools.contains(&"bash") && tools.contains(&"read"), "{tools:?}");
        for tool in ["edit", "write", "question", "task"] {
            assert!(!tools.contains(&tool), "{tool}");
        }
    });
}

#[test]
fn a_helper_of_build_may_edit() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let task = new_task();
        let session = world.open(task, &parent, "general").await;
        world.prompt(task, &session, &["say of build"]).await;
        let ours =
            |one: &legwork_testkit::Request| one.session.as_deref() == Some(session.as_str());
        let seen = world.model.wait_for("the helper", ours).await;
        assert!(seen.tool_names().contains(&"edit"), "{:?}", seen.tool_names());
    });
}

#[test]
fn every_prompt_goes_to_the_model_of_the_opening() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "other", Some("high")).await;
        let task = new_task();
        let session = world.open(task, &parent, "general").await;
        world.speak(parent.as_str(), "build", "fake", None).await;
        let first = world.prompt(task, &session, &["say one"]).await;
        world.until_end(&session, &first).await;
        let second = MessageId::make(now(), task, 1, MessageUse::Prompt(0));
        let again = prompt(&session, &second, &script(&["say two"]));
        assert_eq!(world.perform(&again).await, Ok(Finding::Done));
        world.until_end(&session, &second).await;
        let expected = json!({ "providerID": "fake", "modelID": "other", "variant": "high" });
        for message in world.messages(&session).await {
            if message["info"]["role"] == "user" {
                assert_eq!(message["info"]["model"], expected);
            }
        }
        let own = world.open(new_task(), &parent, "own").await;
        let own = world.session(&own).await;
        assert_eq!(own["metadata"]["legwork"]["model"]["modelID"], "other");
    });
}

#[test]
fn a_prompt_given_twice_is_there_once() {
    let world = world();
    block_on(async {
        let (session, message) = world.helper(&["say once"]).await;
        let again = prompt(&session, &message, &script(&["say once"]));
        assert_eq!(world.perform(&again).await, Ok(Finding::Done));
        world.until_end(&session, &message).await;
        assert_eq!(world.perform(&again).await, Ok(Finding::Done));
        let texts = world.client.texts(session.as_str()).await;
        assert_eq!(texts.len(), 2, "{texts:?}");
    });
}

#[test]
fn what_is_gone_is_gone() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let gone = world.client.create(json!({})).await;
        world.client.delete(&gone).await.ok();
        let gone: legwork_protocol::SessionId = gone.parse().unwrap();
        let message = MessageId::make(now(), new_task(), 0, MessageUse::Prompt(0));
        let look = Action::Observe { session: gone.clone(), message: message.clone() };
        let open = Action::Open {
            tried: Tried::Perhaps,
            task: new_task(),
            parent: gone.clone(),
            directory: "/project".to_owned(),
            title: "t".to_owned(),
            agent: "general".to_owned(),
            nested: false,
            fork_before: None,
        };
        let prompt = prompt(&gone, &message, "x");
        let firsts = [never_tried(prompt.clone()), never_tried(open.clone())];
        let others = [Action::Probe { session: gone.clone() }, prompt, look, open];
        for action in firsts.into_iter().chain(others) {
            assert_eq!(world.perform(&action).await, Err(HostError::Gone), "{action:?}");
        }
        let strange = "strange".parse().unwrap();
        let find_missing = Action::FindMissing { sessions: vec![parent, gone.clone(), strange] };
        assert_eq!(
            world.perform(&find_missing).await,
            Ok(Finding::Missing { sessions: vec![gone] })
        );
    });
}

#[test]
fn l4_agents_are_vetted() {
    let world = world();
    block_on(async {
        let check_agent = async |agent: &str| {
            world.perform(&Action::CheckAgent { agent: agent.to_owned() }).await
        };
        assert_eq!(check_agent("explore").await, Ok(Finding::AgentKnown));
        let known = ["build", "explore", "general", "own", "plan"].map(str::to_owned).into();
        assert_eq!(check_agent("nope").await, Ok(Finding::NoSuchAgent { known }));
    });
}
