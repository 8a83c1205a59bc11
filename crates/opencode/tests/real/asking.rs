//! Permissions and questions, seen by a poll and answered.

use legwork_engine::work::{Question, RunState, Scope};
use legwork_engine::{Action, Finding, HostError};
use legwork_protocol::SessionId;
use legwork_protocol::api::Reply;
use legwork_testkit::{block_on, call, script};
use serde_json::json;

use crate::world::{World, until, world};

async fn until_asked(world: &World, session: &SessionId) -> Question {
    until("a question", async || {
        let Ok(Finding::Polled { questions, .. }) =
            world.perform(&Action::Poll { scope: Scope::Questions }).await
        else {
            return None;
        };
        Some(questions.into_iter().find(|(at, _)| at == session)?.1)
    })
    .await
}

fn answer(session: &SessionId, question: &Question, reply: Reply) -> Action {
    let (session, kind) = (session.clone(), question.kind);
    Action::Answer { session, question: question.id.clone(), kind, reply }
}

#[test]
fn d5_a_permission_is_shown_and_given() {
    let world = world();
    block_on(async {
        let bash = call("bash", &json!({ "command": "echo permitted", "description": "d" }));
        let (session, message) = world.helper(&[&bash, "say done"]).await;
        let question = until_asked(world, &session).await;
        assert_eq!(question.subject, "bash: echo permitted");
        let words = answer(&session, &question, Reply::Words("yes".to_owned()));
        assert!(matches!(world.perform(&words).await, Err(HostError::Rejected { .. })));
        let once = answer(&session, &question, Reply::Once);
        assert_eq!(world.perform(&once).await, Ok(Finding::Done));
        assert_eq!(world.perform(&once).await, Err(HostError::Gone));
        let observation = world.until_end(&session, &message).await;
        assert_eq!(observation.state, RunState::Answered { text: "done".to_owned() });
    });
}

#[test]
fn d5_a_permission_refused_with_words_lets_the_helper_go_on() {
    let world = world();
    block_on(async {
        let bash = call("bash", &json!({ "command": "echo permitted too", "description": "d" }));
        let (session, message) = world.helper(&[&bash, "say otherwise"]).await;
        let question = until_asked(world, &session).await;
        let no = answer(&session, &question, Reply::Reject(Some("use less".to_owned())));
        assert_eq!(world.perform(&no).await, Ok(Finding::Done));
        let observation = world.until_end(&session, &message).await;
        assert_eq!(observation.state, RunState::Answered { text: "otherwise".to_owned() });
    });
}

#[test]
fn d5_a_question_is_shown_with_its_options_and_answered() {
    let world = world();
    block_on(async {
        let session: SessionId = world.client.create(json!({})).await.parse().unwrap();
        let option = |label: &str| json!({ "label": label, "description": "d" });
        let asked = json!({ "questions": [{
            "question": "Which colour?", "header": "Colour",
            "options": [option("Red"), option("Blue")],
        }] });
        let text = script(&[&call("question", &asked), "say coloured"]);
        world.client.say(session.as_str(), &text).await;
        let question = until_asked(world, &session).await;
        assert_eq!(question.subject, "Which colour?");
        let options = question.options.iter().map(|one| (one.id.as_str(), one.label.as_str()));
        assert_eq!(options.collect::<Vec<_>>(), [("1", "Red"), ("2", "Blue")]);
        let blue = answer(&session, &question, Reply::Words("blue".to_owned()));
        assert_eq!(world.perform(&blue).await, Ok(Finding::Done));
        let chosen = |one: &legwork_testkit::Request| {
            one.session.as_deref() == Some(session.as_str()) && one.said("tool", "Blue")
        };
        world.model.wait_for("the chosen colour", chosen).await;
        assert_eq!(world.perform(&blue).await, Err(HostError::Gone));
    });
}
