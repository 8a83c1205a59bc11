//! Deliveries to a parent that is idle, busy, being undone, or was given another agent and model.

use legwork_engine::work::{Part, Shown, Tried, Wake};
use legwork_engine::{Action, Finding};
use legwork_protocol::ids::MessageUse;
use legwork_protocol::{MessageId, SessionId};
use legwork_testkit::{Request, block_on, script};
use serde_json::{Value, json};

use crate::world::{World, never_tried, new_task, now, until, world};

fn delivery(session: &SessionId, result: &str, wake: Wake) -> Action {
    let message = MessageId::make(now(), new_task(), 0, MessageUse::End);
    let part = |number, shown, text: &str| Part {
        id: message.part(number),
        shown,
        text: text.into(),
        result: None,
    };
    let parts =
        vec![part(0, Shown::ToAll, "[BACKGROUND TASK COMPLETED]"), part(1, Shown::ToModel, result)];
    let (tried, session, notices) = (Tried::Perhaps, session.clone(), Vec::new());
    Action::Deliver { tried, session, message, notices, parts, wake }
}

async fn until_told(world: &World, action: &Action) {
    until("the delivery is there", async || {
        (world.perform(action).await == Ok(Finding::Delivered)).then_some(())
    })
    .await;
}

async fn the_delivery(world: &World, session: &SessionId) -> Value {
    let messages = world.messages(session).await;
    let ours = |told: &&Value| told["parts"][0]["metadata"]["legwork"] == true;
    let deliveries: Vec<&Value> = messages.iter().filter(ours).collect();
    assert_eq!(deliveries.len(), 1, "{deliveries:#?}");
    deliveries[0].clone()
}

fn read(session: &SessionId, result: &str) -> impl Fn(&Request) -> bool {
    move |one| one.session.as_deref() == Some(session.as_str()) && one.said("user", result)
}

#[test]
fn n4_a_delivery_starts_a_turn_in_an_idle_parent_as_the_person_last_spoke() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        world.speak(parent.as_str(), "plan", "other", Some("high")).await;
        let action = delivery(&parent, "result one", Wake::StartTurn);
        assert_eq!(world.perform(&never_tried(action.clone())).await, Ok(Finding::Done));
        let seen = world.model.wait_for("the turn", read(&parent, "result one")).await;
        assert_eq!(seen.model, "other");
        until_told(world, &action).await;
        let delivery = the_delivery(world, &parent).await;
        let model = json!({ "providerID": "fake", "modelID": "other", "variant": "high" });
        assert_eq!(
            (&delivery["info"]["agent"], &delivery["info"]["model"]),
            (&json!("plan"), &model)
        );
        assert_eq!(delivery["parts"][1]["synthetic"], true);
        // Its own turn does not make it the person's last word.
        let second = self::delivery(&parent, "result two", Wake::StartTurn);
        assert_eq!(world.perform(&second).await, Ok(Finding::Done));
        let seen = world.model.wait_for("the turn", read(&parent, "result two")).await;
        assert_eq!(seen.model, "other");
    });
}

#[test]
fn n4_a_delivery_that_is_to_wait_waits() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let action = delivery(&parent, "result three", Wake::StayIdle);
        assert_eq!(world.perform(&action).await, Ok(Finding::Done));
        until_told(world, &action).await;
        assert!(world.is_quiet(parent.as_str()).await);
        world.speak(parent.as_str(), "build", "fake", None).await;
        let asked = world.model.requests();
        let with = asked.iter().filter(|one| read(&parent, "result three")(one)).count();
        assert_eq!(with, 1, "read with the person's next turn, and with no other");
    });
}

#[test]
fn n4_a_delivery_joins_the_turn_of_a_busy_parent() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let text = script(&["say busy\ngate delivery"]);
        world.client.say(parent.as_str(), &text).await;
        world.until_busy(&parent).await;
        let action = delivery(&parent, "result four", Wake::StartTurn);
        assert_eq!(world.perform(&action).await, Ok(Finding::Done));
        until_told(world, &action).await;
        world.model.open("delivery");
        world.model.wait_for("the delivery is read", read(&parent, "result four")).await;
        the_delivery(world, &parent).await;
    });
}

#[test]
fn n6_a_delivery_does_not_make_an_undo_permanent() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let first = world.messages(&parent).await[0]["info"]["id"].as_str().unwrap().to_owned();
        world.client.revert(parent.as_str(), &first).await.ok();
        let action = delivery(&parent, "result five", Wake::StartTurn);
        assert_eq!(world.perform(&action).await, Ok(Finding::UndoPending));
        world.client.unrevert(parent.as_str()).await.ok();
        assert_eq!(world.perform(&action).await, Ok(Finding::Done));
        until_told(world, &action).await;
        assert!(world.messages(&parent).await.len() >= 3, "nothing was undone");
    });
}

#[test]
fn a_helper_that_is_told_stays_itself() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let task = new_task();
        let session = world.open(task, &parent, "own").await;
        let message = MessageId::make(now(), task, 0, MessageUse::Prompt(0));
        let prompt = Action::Prompt {
            tried: Tried::Perhaps,
            session: session.clone(),
            part: message.part(0),
            message: message.clone(),
            agent: "own".to_owned(),
            text: script(&["say mine"]),
        };
        assert_eq!(world.perform(&prompt).await, Ok(Finding::Done));
        world.until_end(&session, &message).await;
        let action = delivery(&session, "result six", Wake::StayIdle);
        assert_eq!(world.perform(&action).await, Ok(Finding::Done));
        until_told(world, &action).await;
        let there = world.session(&session).await;
        assert_eq!((&there["agent"], &there["model"]["id"]), (&json!("own"), &json!("other")));
    });
}
