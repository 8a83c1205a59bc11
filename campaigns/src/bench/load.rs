//! Many helpers at once, each at work for some seconds with streamed text and tool calls, and what
//! that costs: processor time of each process, the helpers' own time, and requests to OpenCode.

use std::collections::BTreeSet;
use std::time::Duration;

use legwork_testkit::{Call, End, call, script};
use serde_json::json;

use super::arm::{Arm, Child};
use super::report::Load;
use crate::fault::{Done, Fault};
use crate::processes::{cpu_seconds, memory_kb};
use crate::progress::{note, until};
use crate::stage::Stage;
use crate::talk;

/// Model calls of one helper.
const STEPS: usize = 6;
/// Between two words.
const WORD_MS: usize = 200;
/// Launches in one turn of the parent.
pub const TURN: usize = 10;
/// How often what was refused is tried again.
const ROUNDS: usize = 5;
const LOOK: Duration = Duration::from_millis(250);
const SETTLE: Duration = Duration::from_secs(120);

/// Processor time so far, by process.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    opencode: f64,
    bridge: f64,
    daemon: f64,
    requests: u64,
}

/// The processes of a stage.
#[derive(Debug, Clone, Copy)]
struct Pids {
    opencode: u32,
    bridge: Option<u32>,
    daemon: Option<u32>,
}

/// So many helpers, each at work for so many seconds.
///
/// # Errors
/// When they do not come to an end.
pub async fn run(stage: &Stage, arm: Arm, helpers: usize, seconds: usize) -> Done<Load> {
    note(format!("{}: {helpers} helpers for {seconds} s", arm.name()));
    let pids = pids(stage, arm).await?;
    let before = used(stage, arm, pids)?;
    let parent = stage.parent().await;
    let (children, refused) = match arm {
        Arm::Direct => (prompt_all(stage, &parent, helpers, seconds).await, 0),
        Arm::Native | Arm::Legwork => launch_all(stage, arm, &parent, helpers, seconds).await?,
    };
    let mut load = Load { helpers, arm, refused, ..Load::default() };
    let patience = Duration::from_secs(120 + 8 * seconds as u64);
    let look = async || {
        load.daemon_kb = load.daemon_kb.max(pids.daemon.and_then(memory_kb).unwrap_or_default());
        load.bridge_kb = load.bridge_kb.max(pids.bridge.and_then(memory_kb).unwrap_or_default());
        (answered(stage, &children) == helpers * STEPS).then_some(())
    };
    until("every helper's last answer", patience, LOOK, look).await?;
    settle(stage, arm, &parent, helpers).await?;
    let after = used(stage, arm, pids)?;
    load.opencode_s = after.opencode - before.opencode;
    load.bridge_s = after.bridge - before.bridge;
    load.daemon_s = after.daemon - before.daemon;
    load.requests = after.requests - before.requests;
    load.walls_s = walls_s(stage, &children).await;
    load.told = arm.notices(&stage.messages(&parent).await).len();
    stage.model.forget();
    Ok(load)
}

/// What a helper does. No two calls are alike: OpenCode takes three such for a loop.
fn steps(stage: &Stage, seconds: usize) -> Vec<String> {
    let words = (seconds * 1000 / WORD_MS / STEPS).max(1);
    let file = stage.home.project().join("notes.txt");
    let step = |number: usize| {
        let text = format!("stream {words} {WORD_MS} word");
        if number + 1 == STEPS {
            return text;
        }
        let read = json!({ "filePath": file, "offset": number * 9 + 1, "limit": 5 });
        format!("{text}\n{}", call("read", &read))
    };
    (0..STEPS).map(step).collect()
}

async fn prompt_all(stage: &Stage, parent: &str, helpers: usize, seconds: usize) -> Vec<Child> {
    let steps = steps(stage, seconds);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let mut children = Vec::new();
    for number in 0..helpers {
        let title = format!("Number {number}");
        let session = stage.client.create(json!({ "parentID": parent, "title": title })).await;
        let text = json!({ "type": "text", "text": script(&steps) });
        let prompt = json!({ "agent": "general", "parts": [text] });
        stage.client.prompt(&session, prompt).await.ok();
        children.push(Child { id: session.clone(), session });
    }
    children
}

/// Launches in turns, and once more what was refused, as a model would: a host that has too much to
/// do may refuse. Gives the helpers, and how many launches were refused.
async fn launch_all(
    stage: &Stage,
    arm: Arm,
    parent: &str,
    helpers: usize,
    seconds: usize,
) -> Done<(Vec<Child>, usize)> {
    let steps = steps(stage, seconds);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let mut missing = helpers;
    for round in 0..ROUNDS {
        for first in (0..missing).step_by(TURN) {
            let one = |number| {
                let name = format!("Number {round}-{number}");
                arm.launch(&name, "general", &steps)
            };
            let turn: Vec<String> = (first..missing.min(first + TURN)).map(one).collect();
            launch(stage, parent, &turn).await?;
        }
        let calls = Call::all(&stage.messages(parent).await);
        let launches: Vec<_> = calls.iter().filter(|call| call.tool == arm.tool()).collect();
        let ids: Vec<String> = launches.iter().filter_map(|call| arm.child(call).ok()).collect();
        missing = helpers - ids.len();
        if missing == 0 {
            let children = opened(stage, arm, parent, &ids).await?;
            return Ok((children, launches.len() - helpers));
        }
        let refusal = launches.iter().find(|call| call.status == "error");
        let why = refusal.map_or("not answered", |call| &call.text);
        note(format!("{}: {missing} launches were refused: {why}", arm.name()));
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    Err(Fault::new(format!("{missing} of {helpers} helpers could not be launched")))
}

/// A turn of the parent with these launches. One request that returns at the turn's end: looking
/// again and again would be measured. What it says is read afterwards.
///
/// # Errors
/// When the turn does not end.
pub async fn launch(stage: &Stage, parent: &str, launches: &[String]) -> Done<()> {
    let text = json!({ "type": "text", "text": script(&[&launches.join("\n"), "say ok"]) });
    let path = format!("/session/{parent}/message");
    let body = json!({ "parts": [text] });
    let ended = stage.client.try_call("POST", &path, Some(body), SETTLE).await;
    ended.map(drop).map_err(|why| Fault::trying("launching helpers", why))
}

/// The helpers with these ids, once their sessions are open.
///
/// # Errors
/// When one is never opened.
pub async fn opened(stage: &Stage, arm: Arm, parent: &str, ids: &[String]) -> Done<Vec<Child>> {
    let look = async || {
        let open = stage.client.children(parent).await;
        ids.iter().map(|id| arm.session_of(id, &open)).collect()
    };
    until("the helpers' sessions", SETTLE, LOOK, look).await
}

/// The seconds from each helper's prompt to its last answer.
pub async fn walls_s(stage: &Stage, children: &[Child]) -> Vec<f64> {
    let mut walls = Vec::new();
    for child in children {
        let messages = stage.messages(&child.session).await;
        let wall = talk::completed(&messages).zip(talk::began(&messages));
        walls.extend(wall.map(|(end, begin)| (end - begin) as f64 / 1e3));
    }
    walls
}

/// How many answers the model has given to these.
pub fn answered(stage: &Stage, children: &[Child]) -> usize {
    let sessions: BTreeSet<&str> = children.iter().map(|child| &*child.session).collect();
    stage.model.look(|requests| {
        let ours = requests.iter().filter(|request| {
            request.session.as_deref().is_some_and(|session| sessions.contains(session))
        });
        ours.filter(|request| matches!(request.end, Some((End::Finished, _)))).count()
    })
}

async fn settle(stage: &Stage, arm: Arm, parent: &str, helpers: usize) -> Done<()> {
    if arm == Arm::Legwork {
        stage.until_settled(SETTLE).await?;
    }
    let quiet = async || {
        let status = stage.client.status().await;
        status.as_object().is_some_and(serde_json::Map::is_empty).then_some(())
    };
    until("no session is busy", SETTLE, LOOK, quiet).await?;
    if arm == Arm::Native {
        let told = async || {
            let told = arm.notices(&stage.messages(parent).await).len();
            (told >= helpers).then_some(())
        };
        // What is missing then is counted, not waited for.
        let _ = until("every helper is told of", Duration::from_secs(15), LOOK, told).await;
        until("no session is busy", SETTLE, LOOK, quiet).await?;
    }
    Ok(())
}

async fn pids(stage: &Stage, arm: Arm) -> Done<Pids> {
    let opencode = stage.serve.pid();
    if arm != Arm::Legwork {
        return Ok(Pids { opencode, bridge: None, daemon: None });
    }
    let daemon = stage.until_connected().await?;
    Ok(Pids { opencode, bridge: stage.bridge(), daemon: Some(daemon.pid) })
}

fn used(stage: &Stage, arm: Arm, pids: Pids) -> Done<Used> {
    let gone = || Fault::new("a process has ended that should be there");
    let of = |pid: Option<u32>| match pid {
        Some(pid) => cpu_seconds(pid).ok_or_else(gone),
        None => Ok(0.0),
    };
    let requests = match arm {
        Arm::Legwork => stage.daemon()?.map_or(0, |daemon| daemon.requests),
        Arm::Direct | Arm::Native => 0,
    };
    Ok(Used {
        opencode: of(Some(pids.opencode))?,
        bridge: of(pids.bridge)?,
        daemon: of(pids.daemon)?,
        requests,
    })
}
