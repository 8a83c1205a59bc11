//! Everything is killed without a warning, in the middle of everything: afterwards nothing is lost,
//! nothing doubled and nothing stuck. The moments are events of the real OpenCode, not times.

use legwork_testkit::{Event, Request, block_on, call};
use serde_json::{Value, json};

use crate::processes::{bridge, daemon_of, is_alive, signal, until_ended};
use crate::stage::{FAIL, Notice, Stage, Task, launch, printed, until};

/// When somebody is killed, in the life of a task.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// The parent's tool call begins.
    Called,
    /// The helper's session appears.
    Opened,
    /// The helper's prompt appears.
    Prompted,
    /// The model is asked for the helper's answer.
    Working,
    /// The model's answer is over.
    Answered,
    /// The notice appears in the parent.
    Told,
}

impl Moment {
    const ALL: [Self; 6] =
        [Self::Called, Self::Opened, Self::Prompted, Self::Working, Self::Answered, Self::Told];

    /// Waits for it, in the life of the only helper of this parent.
    async fn come(self, stage: &Stage, mark: usize, parent: &str, gate: &str) {
        let event = async |what: &str, kind: &str, wanted: &dyn Fn(&Value) -> bool| {
            let is_it = |event: &&Event| event.kind == kind && wanted(&event.properties);
            let look = |all: &[Event]| all[mark..].iter().find(is_it).cloned();
            stage.events.until_all(what, look).await.properties
        };
        let helper = async || {
            let opened = |told: &Value| told["info"]["parentID"] == parent;
            let created = event("the helper's session", "session.created", &opened).await;
            created["info"]["id"].as_str().unwrap().to_owned()
        };
        match self {
            Self::Called => {
                let runs = |told: &Value| {
                    let part = &told["part"];
                    part["sessionID"] == parent && part["state"]["status"] == "running"
                };
                event("the call", "message.part.updated", &runs).await;
            }
            Self::Opened => drop(helper().await),
            Self::Prompted => {
                let helper = helper().await;
                let prompt = |told: &Value| told["info"]["sessionID"] == *helper;
                event("the prompt", "message.updated", &prompt).await;
            }
            Self::Working | Self::Answered => {
                if matches!(self, Self::Answered) {
                    stage.model.open(gate);
                }
                let over = |asked: &Request| matches!(self, Self::Working) || asked.end.is_some();
                let helper = helper().await;
                let asked = |one: &Request| one.session.as_ref() == Some(&helper) && over(one);
                stage.model.wait_for("the helper's work", asked).await;
            }
            Self::Told => {
                stage.model.open(gate);
                let notice = |told: &Value| {
                    let text = told["part"]["text"].as_str().unwrap_or_default();
                    told["part"]["sessionID"] == parent && text.starts_with("[BACKGROUND")
                };
                event("the notice", "message.part.updated", &notice).await;
            }
        }
    }
}

/// Who is killed.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Daemon,
    Bridge,
}

/// The tasks of a parent.
fn tasks_of(stage: &Stage, parent: &str) -> Vec<Value> {
    let listed = stage.legwork(&["list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let all = listed["tasks"].as_array().unwrap().iter();
    all.filter(|task| task["parent"] == parent).cloned().collect()
}

/// A task, launched in a new session, with a kill at a moment of its life.
struct Survivor {
    parent: String,
    /// Also what the model waits for, and part of the result.
    name: String,
}

impl Survivor {
    async fn launch(stage: &Stage, victim: Victim, moment: Moment) -> Self {
        let name = format!("{victim:?} {moment:?}");
        let daemon = daemon_of(&stage.home, 1).await;
        let front = bridge(stage.serve.pid()).await;
        let parent = stage.parent().await;
        let mark = stage.events.len();
        let steps = [&*format!("gate {name}\nsay survived {name}")];
        stage.say(&parent, &[&call("background_task", &launch(&name, &steps)), "say ok"]).await;
        moment.come(stage, mark, &parent, &name).await;
        signal(if matches!(victim, Victim::Daemon) { daemon } else { front }, "KILL");

        // A link has two ends: whichever is killed, the plugin starts another bridge.
        until_ended(front).await;
        let again = daemon_of(&stage.home, 1).await;
        assert_eq!(again == daemon, matches!(victim, Victim::Bridge), "{name}");
        assert_ne!(bridge(stage.serve.pid()).await, front, "{name}");
        stage.model.open(&name);
        Self { parent, name }
    }

    async fn is_well(&self, stage: &Stage) {
        let Self { parent, name } = self;
        let notices = stage.until_notices(parent, 1).await;
        let calls = stage.calls(parent).await;
        assert_eq!(calls.len(), 1, "{name}: {calls:?}");
        let task = stage.task(&calls[0].text).await;
        stage.until_status(&task, "completed").await;
        stage.until_settled(&task).await;
        assert_eq!(tasks_of(stage, parent).len(), 1, "{name}");
        assert!(notices[0].headline.starts_with("[BACKGROUND TASK COMPLETED]"), "{notices:?}");
        assert!(notices[0].hidden.contains(&format!("survived {name}")), "{notices:?}");

        assert_eq!(stage.client.children(parent).await.len(), 1, "{name}");
        let asked = stage.model.requests();
        let asked = asked.iter().filter(|one| one.session.as_deref() == Some(&task.session));
        assert_eq!(asked.count(), 1, "{name}: the helper worked once");
        assert_eq!(stage.notices(parent).await.len(), 1, "{name}");
    }
}

/// Also K2: after a crash of the daemon what still works is followed.
#[test]
fn n1_a_killed_daemon_or_bridge_loses_and_doubles_nothing_at_any_moment() {
    block_on(async {
        let stage = Stage::new().await;
        let mut survivors = Vec::new();
        for moment in Moment::ALL {
            survivors.push(Survivor::launch(&stage, Victim::Daemon, moment).await);
        }
        for moment in [Moment::Called, Moment::Opened, Moment::Told] {
            survivors.push(Survivor::launch(&stage, Victim::Bridge, moment).await);
        }
        for survivor in survivors {
            survivor.is_well(&stage).await;
        }
        wait_through_a_kill(&stage).await;
    });
}

/// A parent that is blocked on a task is still blocked on it afterwards, and is answered.
async fn wait_through_a_kill(stage: &Stage) {
    let parent = stage.parent().await;
    let task = stage.launch(&parent, "awaited", &["gate awaited\nsay awaited"]).await;
    let mark = stage.events.len();
    let wait = call("background_block", &json!({ "task_ids": [task.id] }));
    stage.say(&parent, &[&wait, "say ok"]).await;
    until("the parent waits", async || {
        let waits = stage.calls(&parent).await.pop().is_some_and(|call| call.status == "running");
        waits.then_some(())
    })
    .await;
    let daemon = daemon_of(&stage.home, 1).await;
    signal(daemon, "KILL");
    until_ended(daemon).await;
    daemon_of(&stage.home, 1).await;
    stage.model.open("awaited");
    stage.events.until_event(mark, "session.idle", &parent).await;
    let waited = stage.calls(&parent).await.pop().unwrap();
    assert!(!waited.refused() && waited.text.contains("completed"), "{waited:?}");
    stage.until_notices(&parent, 1).await;
    stage.until_settled(&task).await;
    assert!(!is_alive(daemon));
}

/// The model was asked nothing for this session since then, except for these many turns.
fn turns_since(stage: &Stage, mark: usize, session: &str) -> usize {
    let asked = stage.model.requests().split_off(mark);
    asked.iter().filter(|one| one.session.as_deref() == Some(session)).count()
}

/// The one notice of a parent that nobody has used since OpenCode came back: it waits there, and is
/// read with the next turn, which a person begins.
async fn told_without_a_turn(stage: &Stage, mark: usize, parent: &str, task: &Task) -> Notice {
    let mut notices = stage.until_notices(parent, 1).await;
    stage.until_settled(task).await;
    assert_eq!(turns_since(stage, mark, parent), 0, "{}", stage.model.told());
    let before = stage.model.requests().len();
    stage.turn(parent, &["say back again"]).await;
    assert_eq!(turns_since(stage, mark, parent), 1, "{}", stage.model.told());
    let asked = stage.model.requests().split_off(before);
    assert!(asked.iter().any(|one| one.said("user", "[BACKGROUND TASK")), "{asked:?}");
    assert_eq!(stage.notices(parent).await.len(), 1);
    notices.remove(0)
}

/// Also N1 and N4: told once, and no turn where nobody is. What was answered while nobody looked is
/// completed.
#[test]
fn k2_a_killed_opencode_interrupts_what_ran_and_completes_what_was_answered() {
    block_on(async {
        let mut stage = Stage::with(json!({}), FAIL).await;
        let (running, answered) = (stage.parent().await, stage.parent().await);
        let cut_off = stage.launch(&running, "cut off", &["gate never\nsay never"]).await;
        let done = stage.launch(&answered, "done", &["gate done\nsay the whole answer"]).await;
        stage.model.wait_for("its work", |one| one.session.as_ref() == Some(&done.session)).await;
        let daemon = daemon_of(&stage.home, 1).await;
        // So that nobody sees the answer before OpenCode is killed.
        signal(daemon, "STOP");
        let mark = stage.events.len();
        stage.model.open("done");
        stage.events.until_event(mark, "session.idle", &done.session).await;
        stage.serve.kill9();
        signal(daemon, "CONT");

        let mark = stage.model.requests().len();
        stage.reopen().await;
        let view = stage.until_status(&cut_off, "error").await;
        let told = told_without_a_turn(&stage, mark, &running, &cut_off).await;
        assert!(told.headline.starts_with("[BACKGROUND TASK FAILED]"), "{told:?}");
        let reason = printed(&stage.legwork(&["output", &cut_off.id]));
        assert!(reason.contains("interrupted"), "{reason} {view}");
        stage.until_status(&done, "completed").await;
        let told = told_without_a_turn(&stage, mark, &answered, &done).await;
        assert!(told.hidden.contains("the whole answer"), "{told:?}");
        assert_eq!(daemon_of(&stage.home, 1).await, daemon, "it went on");
    });
}

/// OpenCode is killed while it opens a helper's session, while it writes down what the model
/// answered, and while it gets the notice. Also K2.
#[test]
fn n1_a_killed_opencode_leaves_one_task_and_one_notice_or_neither() {
    block_on(async {
        let mut stage = Stage::with(json!({}), FAIL).await;
        for moment in [Moment::Opened, Moment::Answered, Moment::Told] {
            let name = format!("OpenCode {moment:?}");
            let parent = stage.parent().await;
            let mark = stage.events.len();
            let steps = [&*format!("gate {name}\nsay survived {name}")];
            stage.say(&parent, &[&call("background_task", &launch(&name, &steps)), "say ok"]).await;
            moment.come(&stage, mark, &parent, &name).await;
            stage.serve.kill9();
            stage.reopen().await;
            match settled_or_undone(&stage, &parent).await {
                Some(task) => is_right(&stage, moment, &parent, &task).await,
                None => is_undone(&stage, moment, &parent).await,
            }
        }
    });
}

/// The only task of a parent when nothing is to be done about it any more; nothing if there is
/// none.
async fn settled_or_undone(stage: &Stage, parent: &str) -> Option<Value> {
    until("the task is settled", async || match &tasks_of(stage, parent)[..] {
        [] => Some(None),
        [task] if task["ended"].is_u64() && task["notice_pending"] == false => {
            Some(Some(task.clone()))
        }
        [_] => None,
        doubled => panic!("{doubled:?}"),
    })
    .await
}

async fn is_right(stage: &Stage, moment: Moment, parent: &str, task: &Value) {
    let wanted: &[&str] = match moment {
        Moment::Told => &["completed"],
        // It may have been written down a moment before; then that is not lost.
        Moment::Answered => &["completed", "error"],
        _ => &["error"],
    };
    assert!(wanted.contains(&task["status"].as_str().unwrap()), "{moment:?}: {task}");
    let notices = stage.notices(parent).await;
    assert_eq!(notices.len(), 1, "{moment:?}: {notices:?}");
    assert!(stage.client.children(parent).await.len() <= 1, "{moment:?}");
}

/// A launch that nobody was told of did not happen: the call that asked for it died with OpenCode.
async fn is_undone(stage: &Stage, moment: Moment, parent: &str) {
    assert!(matches!(moment, Moment::Opened), "{moment:?}");
    until("what was opened for it is deleted", async || {
        stage.client.children(parent).await.is_empty().then_some(())
    })
    .await;
    assert!(stage.notices(parent).await.is_empty());
}

/// Also K6: a window that is there is as good as a host without one.
#[test]
fn k2_an_interrupted_helper_is_asked_to_go_on() {
    block_on(async {
        let mut stage = Stage::new().await;
        let parent = stage.parent().await;
        let task = stage.launch(&parent, "long work", &["gate work\nsay done after all"]).await;
        stage.model.wait_for("its work", |one| one.session.as_ref() == Some(&task.session)).await;
        stage.serve.kill9();
        stage.model.open("work");
        let mark = stage.model.requests().len();
        stage.reopen().await;
        stage.until_status(&task, "completed").await;
        let told = told_without_a_turn(&stage, mark, &parent, &task).await;
        assert!(told.headline.starts_with("[BACKGROUND TASK COMPLETED]"), "{told:?}");
        assert!(told.hidden.contains("done after all"), "{told:?}");
        assert_eq!(turns_since(&stage, mark, &task.session), 1);
        assert_eq!(stage.client.children(&parent).await.len(), 1);
    });
}
