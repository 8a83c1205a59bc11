//! Passwords, toasts, and an event stream that is cut and opened again.

use legwork_engine::text::toast::{Toast, ToastKind};
use legwork_engine::{Action, Finding, Hint, HostError};
use legwork_opencode::{DEFAULT_USER, Event, Events, Heard, Remote, hints, perform, toast, wanted};
use legwork_testkit::{DEADLINE, Home, Model, block_on, script};
use serde_json::json;
use tokio::time::timeout;

use crate::world::{World, world};

#[test]
fn a_right_password_is_taken_and_a_wrong_one_is_told() {
    let model = Model::start();
    let home = Home::build(&model).without_catalogue().make();
    block_on(async {
        let serve = home.serve_with_password("secret").await;
        let open = Remote::at(serve.url()).unwrap().within(DEADLINE);
        let check_agent = Action::CheckAgent { agent: "build".to_owned() };
        let right = open.clone().signed_in(DEFAULT_USER, "secret");
        assert_eq!(perform(&right, &check_agent).await, Ok(Finding::AgentKnown));
        for remote in [open.clone().signed_in(DEFAULT_USER, "wrong"), open] {
            let found = perform(&remote, &check_agent).await;
            let Err(HostError::Rejected { why }) = found else { panic!("{found:?}") };
            assert!(why.contains("password"), "{why}");
            let heard = Events::new(remote, wanted()).next().await;
            assert!(matches!(heard, Heard::Closed { .. }), "{heard:?}");
        }
        let heard = Events::new(right, wanted()).next().await;
        assert_eq!(heard, Heard::Opened);
    });
}

async fn until_heard(events: &mut Events, wanted: impl Fn(&Heard) -> bool) -> Vec<Heard> {
    let mut all = Vec::new();
    let hear = async {
        loop {
            let heard = events.next().await;
            let found = wanted(&heard);
            all.push(heard);
            if found {
                return;
            }
        }
    };
    let found = timeout(DEADLINE, hear).await;
    assert!(found.is_ok(), "{all:?}");
    all
}

fn all_hints(heard: &[Heard]) -> Vec<Hint> {
    let host = "opencode-1".parse().unwrap();
    let of = |heard: &Heard| match heard {
        Heard::Event { name, properties } => hints(&host, &Event::read(name, properties)),
        Heard::Opened | Heard::Closed { .. } => Vec::new(),
    };
    heard.iter().flat_map(of).collect()
}

#[test]
fn d6_a_stream_that_was_cut_is_opened_again() {
    let world = World::start();
    block_on(async {
        let session = world.client.create(json!({})).await;
        let mut events = Events::new(world.remote.clone(), wanted());
        for _ in 0..2 {
            until_heard(&mut events, |heard| *heard == Heard::Opened).await;
            world.client.say(&session, &script(&["say hello"])).await;
            let idle = |heard: &Heard| match heard {
                Heard::Event { name, .. } => name == "session.idle",
                Heard::Opened | Heard::Closed { .. } => false,
            };
            let heard = all_hints(&until_heard(&mut events, idle).await);
            let session = session.parse().unwrap();
            let used =
                |hint: &Hint| matches!(hint, Hint::Used { session: at, .. } if *at == session);
            assert!(heard.iter().any(used), "{heard:?}");
            assert_eq!(heard.last(), Some(&Hint::Changed { session }));
            world.client.call("POST", "/instance/dispose", Some(json!({}))).await.ok();
            until_heard(&mut events, |heard| matches!(heard, Heard::Closed { .. })).await;
        }
    });
}

#[test]
fn n8_a_toast_is_taken() {
    let world = world();
    let shown = Toast {
        title: "Completed".to_owned(),
        message: "It is done.".to_owned(),
        kind: ToastKind::Success,
        duration_ms: 1_000,
    };
    block_on(async {
        let events = world.client.events().await;
        toast(&world.remote, &shown).await;
        let event = events.until("the toast", |event| event.kind == "tui.toast.show").await;
        assert_eq!(event.properties["variant"], "success");
    });
}
