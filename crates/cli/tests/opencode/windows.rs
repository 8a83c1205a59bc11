//! Two OpenCode processes on one project: what one begins the other sees, a session that is used
//! through both is told once, and a window that is closed takes nothing along but what ran in it.

use legwork_testkit::{Client, Events, Request, Serve, block_on, call, script};
use serde_json::json;

use crate::processes::{bridge, daemon_of, signal, until_ended};
use crate::stage::{Stage, launch, until};

/// A second window on the project of a stage.
struct Window {
    _serve: Serve,
    client: Client,
    events: Events,
}

impl Window {
    async fn open(stage: &Stage) -> Self {
        let serve = stage.home.serve().await;
        let client = serve.client();
        let events = client.events().await;
        daemon_of(&stage.home, 2).await;
        Self { _serve: serve, client, events }
    }

    /// A turn of the session in this window.
    async fn turn(&self, session: &str, steps: &[&str]) {
        let mark = self.events.len();
        self.client.say(session, &script(steps)).await;
        self.events.until_event(mark, "session.idle", session).await;
    }
}

fn of(session: &str) -> impl Fn(&Request) -> bool {
    move |request| request.session.as_deref() == Some(session)
}

/// Also N1, N4, X1: the notice goes to the window in which the session was last used, once.
#[test]
fn k5_a_session_used_through_two_windows_is_told_once_and_where_it_is_used() {
    block_on(async {
        let mut stage = Stage::new().await;
        let other = Window::open(&stage).await;
        told_where_it_is_used(&stage, &other).await;
        cancelled_from_the_other_window(&stage, &other).await;
        launched_in_both_at_once(&stage, &other).await;
        one_window_ends(&mut stage, &other).await;
    });
}

async fn told_where_it_is_used(stage: &Stage, other: &Window) {
    let parent = stage.parent().await;
    let task = stage.launch(&parent, "one truth", &["gate truth\nsay one truth"]).await;
    other.turn(&parent, &[&call("background_list", &json!({})), "say ok"]).await;
    let listed = stage.calls(&parent).await.pop().unwrap();
    assert!(listed.text.contains(&task.id) && listed.text.contains("running"), "{listed:?}");

    let (here, there) = (stage.events.len(), other.events.len());
    stage.model.open("truth");
    stage.until_notices(&parent, 1).await;
    other.events.until_event(there, "session.idle", &parent).await;
    stage.until_settled(&task).await;
    let woken = stage.events.since(here).into_iter();
    let mut woken = woken.filter(|event| event.is("session.status", &parent));
    assert!(woken.next().is_none(), "a turn in the window that is not in use");
    let requests = stage.model.requests();
    let turns = requests.iter().filter(|one| of(&parent)(one) && one.said("user", "[BACKGROUND"));
    assert_eq!(turns.count(), 1);
    assert_eq!(stage.notices(&parent).await.len(), 1);
}

/// What runs in one window is stopped there, whoever asks.
async fn cancelled_from_the_other_window(stage: &Stage, other: &Window) {
    let parent = stage.parent().await;
    let task = stage.launch(&parent, "not needed", &["gate never\nsay never"]).await;
    stage.model.wait_for("its work", of(&task.session)).await;
    let cancel = call("background_cancel", &json!({ "task_id": task.id }));
    other.turn(&parent, &[&cancel, "say ok"]).await;
    stage.until_status(&task, "cancelled").await;
    let stopped = |one: &Request| of(&task.session)(one) && one.closed();
    stage.model.wait_for("the end of its work", stopped).await;
}

async fn launched_in_both_at_once(stage: &Stage, other: &Window) {
    let (left, right) = (stage.parent().await, stage.parent().await);
    let begin = call("background_task", &launch("at once", &["say done"]));
    let steps = [&*begin, "say ok"];
    tokio::join!(stage.turn(&left, &steps), other.turn(&right, &steps));
    for parent in [&left, &right] {
        let task = stage.task(&stage.calls(parent).await[0].text).await;
        stage.until_notices(parent, 1).await;
        stage.until_settled(&task).await;
        assert_eq!(stage.client.children(parent).await.len(), 1);
    }
}

/// What ran in one goes on in the other, and whoever has that is told there.
async fn one_window_ends(stage: &mut Stage, other: &Window) {
    let parent = stage.parent().await;
    let lost = stage.launch(&parent, "lost", &["gate lost\nsay found again"]).await;
    let resumed = stage.launch(&parent, "kept", &["say first"]).await;
    stage.until_settled(&resumed).await;
    stage.model.wait_for("its work", of(&lost.session)).await;
    other.turn(&parent, &["say here now"]).await;
    let front = bridge(stage.serve.pid()).await;
    // Only OpenCode itself: its bridge ends because nobody speaks to it any more.
    signal(stage.serve.pid(), "KILL");
    until_ended(front).await;
    stage.serve.kill9();
    stage.client = other.client.clone();
    stage.model.open("lost");
    stage.until_status(&lost, "completed").await;
    stage.until_settled(&lost).await;
    let told = |one: &Request| of(&parent)(one) && one.said("user", "found again");
    stage.model.wait_for("its turn", told).await;

    let again = json!({ "resume": resumed.id, "prompt": script(&["say second"]) });
    other.turn(&parent, &[&call("background_task", &again), "say ok"]).await;
    let notices = until("the notice of the resume", async || {
        let notices = stage.notices(&parent).await;
        (notices.len() == 3).then_some(notices)
    });
    let last = notices.await.pop().unwrap();
    assert!(last.headline.starts_with("[BACKGROUND RESUME COMPLETED]"), "{last:?}");
    assert!(last.hidden.contains("second"), "{last:?}");
    stage.until_settled(&resumed).await;
    daemon_of(&stage.home, 1).await;
}
