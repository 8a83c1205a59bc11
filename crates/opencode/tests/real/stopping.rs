//! Stops.

use legwork_engine::record::Target;
use legwork_engine::{Action, Finding};
use legwork_testkit::{Client, block_on};
use serde_json::json;

use crate::world::{new_task, until, world};

#[test]
fn x1_a_helper_at_work_is_stopped_and_its_session_stays() {
    let world = world();
    block_on(async {
        let (session, _) = world.helper(&["say half\nhang"]).await;
        let begun =
            |one: &legwork_testkit::Request| one.session.as_deref() == Some(session.as_str());
        let request = world.model.wait_for("the model is asked", begun).await;
        let stop = Action::Stop { task: new_task(), target: Target::Opened(session.clone()) };
        until("quiet", async || (world.perform(&stop).await == Ok(Finding::Quiet)).then_some(()))
            .await;
        let ended = |all: &[legwork_testkit::Request]| {
            all.iter().find(|one| one.number == request.number)?.closed().then_some(())
        };
        world.model.wait_until("the model's line is cut", ended).await;
        assert_eq!(world.session(&session).await["id"], json!(session));
    });
}

#[test]
fn x1_a_session_that_never_got_its_prompt_is_deleted_by_its_mark() {
    let world = world();
    block_on(async {
        let parent = world.conversation("build", "fake", None).await;
        let task = new_task();
        let session = world.open(task, &parent, "general").await;
        let stop = Action::Stop { task, target: Target::Marked };
        assert_eq!(world.perform(&stop).await, Ok(Finding::Done));
        assert_eq!(world.client.get(session.as_str()).await.status, 404);
        assert_eq!(world.perform(&stop).await, Ok(Finding::Quiet));
        let stop = Action::Stop { task, target: Target::Opened(session) };
        assert_eq!(world.perform(&stop).await, Ok(Finding::Quiet));
    });
}

#[test]
fn a_mark_is_found_from_another_folder_of_the_project() {
    let world = world();
    block_on(async {
        let folder = world.home.project().join("folder");
        std::fs::create_dir_all(&folder).unwrap();
        let inside: Client = world.client.clone().in_directory(&folder);
        let task = new_task();
        let marked = json!({ "metadata": { "legwork": { "task": task } } });
        let session = inside.create(marked).await;
        let stop = Action::Stop { task, target: Target::Marked };
        assert_eq!(world.perform(&stop).await, Ok(Finding::Done));
        assert_eq!(world.client.get(&session).await.status, 404);
    });
}

#[test]
fn x1_what_runs_in_a_deleted_session_is_stopped() {
    let world = world();
    block_on(async {
        let (session, _) = world.helper(&["say half\nhang"]).await;
        let begun =
            |one: &legwork_testkit::Request| one.session.as_deref() == Some(session.as_str());
        let request = world.model.wait_for("the model is asked", begun).await;
        // What ran goes on, or ends with an error, as it happens (1.18.33).
        world.client.delete(session.as_str()).await.ok();
        let stop = Action::Stop { task: new_task(), target: Target::Session(session.clone()) };
        until("quiet", async || (world.perform(&stop).await == Ok(Finding::Quiet)).then_some(()))
            .await;
        let ended = |all: &[legwork_testkit::Request]| {
            all.iter().find(|one| one.number == request.number)?.closed().then_some(())
        };
        world.model.wait_until("the model's line is cut", ended).await;
    });
}
