//! What is played on clients that can be woken, Claude Code and Codex in a terminal: a helper is
//! launched, the conversation goes on, and the model is told by itself, once.

use std::time::Duration;

use serde_json::json;

use super::window::{Begin, Window};
use super::world::{PATIENCE, Work, World, launch};
use crate::fault::{Done, Fault};
use crate::progress::until;
use legwork_testkit::{McpClient, call};

/// The one conversation of most scenes.
pub const MAIN: &str = "main";
/// Longer than a second telling would take: clients poll every few seconds at the most.
const AFTERWARDS: Duration = Duration::from_secs(4);
/// Lines of the long result; each has 90 characters, with the empty line between them.
const LINES: usize = 1_000;
const LINE: usize = 88;

/// Asks for one turn more, and looks how often each of these was told by then.
///
/// # Errors
/// When one of them was not told exactly so often.
pub async fn exactly(window: &Window<'_>, world: &World, wanted: &[(&str, usize)]) -> Done<()> {
    tokio::time::sleep(AFTERWARDS).await;
    let request = window.say(&["say and on"]).await?;
    for (mark, times) in wanted {
        let found = request.times(mark);
        if found != *times {
            let tasks = world.tasks();
            let why = format!("{mark:?} was told {found} times, not {times}; tasks: {tasks:?}");
            return Err(Fault::new(why));
        }
    }
    Ok(())
}

/// Waits until the model has answered the last thing that it was asked in the conversation.
///
/// # Errors
/// When that does not happen in time.
pub async fn idle(world: &World) -> Done<()> {
    let answered = async || world.newest(MAIN)?.end.map(drop);
    until("the turn is over", PATIENCE, Duration::from_millis(50), answered).await
}

pub async fn wake(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("one", "wait 3s; ");
    let asked = window.say(&[&work.launch(), "say going on"]).await?;
    let before = asked.times(&work.mark());
    let woken = world.told(MAIN, &work.mark(), PATIENCE).await?;
    if before > 0 || woken.number <= asked.number {
        return Err(Fault::new("it was told before it was asked for"));
    }
    exactly(&window, world, &[(&work.mark(), 1)]).await
}

pub async fn two(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let both = ["red", "blue"].map(|name| Work::new(name, "wait 2s; "));
    let launches = both.each_ref().map(Work::launch).join("\n");
    window.say(&[&launches, "say going on"]).await?;
    for work in &both {
        world.told(MAIN, &work.mark(), PATIENCE).await?;
    }
    exactly(&window, world, &both.each_ref().map(Work::mark).each_ref().map(|m| (&**m, 1))).await
}

pub async fn fail(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let start = launch("bad", "wait 2s; repeat 1: fail luck-{i}-left.");
    window.say(&[&start, "say going on"]).await?;
    let told = world.told(MAIN, "luck-1-left.", PATIENCE).await?;
    let says_so = |text: &str| text.to_lowercase().contains("failed");
    if !told.messages.iter().any(|said| said.role == "user" && says_so(&said.text)) {
        return Err(Fault::new("the model is not told that the helper failed"));
    }
    world.task("bad", "it has failed", |task| task["status"] == "error").await?;
    exactly(&window, world, &[("luck-1-left.", 1)]).await
}

/// A person answers a helper's question where they are.
pub async fn permission(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("asks", "wait 1s; ask may I paint it; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    window.shows("the helper's question", |screen| screen.contains("May it do this")).await?;
    answer_once(world, &window).await?;
    let told = world.told(MAIN, &work.mark(), PATIENCE).await;
    told.map_err(|fault| Fault::trying(fault, format!("\n{}", window.screen())))?;
    if world.times(MAIN, "Allowed: may I paint it") == 0 {
        return Err(Fault::new("the helper was not allowed what the person allowed"));
    }
    exactly(&window, world, &[(&work.mark(), 1)]).await
}

/// Chooses the first reply of the form. A key that comes while a form is being drawn is lost, so
/// each is pressed until the screen shows what it does.
async fn answer_once(world: &World, window: &Window<'_>) -> Done<()> {
    let asks = |screen: &str| screen.contains("May it do this");
    if world.client == McpClient::Claude {
        window.press("Right", |screen| screen.contains("◯ once")).await?;
        window.press("Enter", |screen| screen.contains("✔ Reply: once")).await?;
    }
    window.press("Enter", |screen| !asks(screen)).await
}

pub async fn cancel(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("off", "wait 60s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    world.task("off", "it works", |task| task["status"] == "running").await?;
    let cancel = call("background_cancel", &json!({ "task_id": "{{last_task}}" }));
    let asked = window.say(&[&cancel, "say it is off"]).await?;
    world.task("off", "it is called off", |task| task["status"] == "cancelled").await?;
    exactly(&window, world, &[(&work.mark(), 0)]).await?;
    // One for the answer to the call, and one for what was said last.
    match world.requests_after(MAIN, &asked) {
        2 => Ok(()),
        found => Err(Fault::new(format!("{found} requests to the model, not 2, after the call"))),
    }
}

/// Claude Code's own tool ends a task of a server, by the name that Claude Code has given it.
pub async fn stop(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("stopped", "wait 60s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    let launched = world.told(MAIN, "moved to the background as task ", PATIENCE).await?;
    let named =
        |text: &str| Some(text.split_once("as task ")?.1.split([';', ' ', '.']).next()?.to_owned());
    let name = launched.messages.iter().rev().find_map(|said| named(&said.text));
    let name = name.ok_or_else(|| Fault::new("the task has no name"))?;
    window.say(&[&call("TaskStop", &json!({ "task_id": name })), "say it is off"]).await?;
    world.task("stopped", "it is called off", |task| task["status"] == "cancelled").await?;
    exactly(&window, world, &[(&work.mark(), 0)]).await
}

pub async fn resume(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("first", "wait 1s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    world.told(MAIN, &work.mark(), PATIENCE).await?;
    idle(world).await?;
    let prompt = "wait 1s; count; repeat 1: say again-{i}-done.";
    let resume = json!({ "resume": "{{last_task}}", "prompt": prompt });
    window.say(&[&call("background_task", &resume), "say going on"]).await?;
    world.told(MAIN, "again-1-done.", PATIENCE).await?;
    exactly(&window, world, &[(&work.mark(), 1), ("again-1-done.", 1)]).await
}

/// A result of 90,000 characters is told whole, or with the call that reads on.
pub async fn long(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let filler = "x".repeat(LINE - "line-1000-".len());
    let prompt = format!("wait 1s; repeat {LINES}: say line-{{i}}-{filler}");
    window.say(&[&launch("long", &prompt), "say going on"]).await?;
    let first = world.told(MAIN, "line-7-x", PATIENCE).await?;
    let last = format!("line-{LINES}-x");
    if first.times(&last) == 0 {
        let reads_on = |said: &str| said.contains("background_output") && said.contains("offset");
        if world.client == McpClient::Claude
            || !first.messages.iter().any(|said| reads_on(&said.text))
        {
            let length: usize = first.messages.iter().map(|said| said.text.len()).sum();
            return Err(Fault::new(format!("it was cut; the conversation has {length} bytes")));
        }
    }
    exactly(&window, world, &[("line-7-x", 1)]).await
}

/// Two conversations in one folder: each is told of its own helpers only.
pub async fn two_windows(world: &World) -> Done<()> {
    let one = Window::open(world, MAIN, Begin::New).await?;
    let other = Window::open(world, "other", Begin::New).await?;
    let (mine, yours) = (Work::new("mine", "wait 2s; "), Work::new("yours", "wait 2s; "));
    one.say(&[&mine.launch(), "say going on"]).await?;
    other.say(&[&yours.launch(), "say going on"]).await?;
    world.told(MAIN, &mine.mark(), PATIENCE).await?;
    world.told("other", &yours.mark(), PATIENCE).await?;
    exactly(&one, world, &[(&mine.mark(), 1), (&yours.mark(), 0)]).await?;
    exactly(&other, world, &[(&mine.mark(), 0), (&yours.mark(), 1)]).await
}

/// The front dies while the helper works; the client does not start it again.
pub async fn front_killed(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("late", "wait 3s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    world.task("late", "it works", |task| task["status"] == "running").await?;
    for front in world.fronts() {
        world.kill(front)?;
    }
    world.told(MAIN, &work.mark(), PATIENCE).await?;
    exactly(&window, world, &[(&work.mark(), 1)]).await
}

/// The client dies while the helper works, and comes back with the same conversation.
pub async fn client_killed(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("kept", "wait 3s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    world.task("kept", "it works", |task| task["status"] == "running").await?;
    idle(world).await?;
    window.kill().await?;
    world.task("kept", "it has ended", |task| !task["ended"].is_null()).await?;
    let window = Window::open(world, MAIN, Begin::GoOn).await?;
    world.told(MAIN, &work.mark(), PATIENCE).await?;
    exactly(&window, world, &[(&work.mark(), 1)]).await
}

/// The daemon dies while the helper works: the helper's end is told as what it is, once.
pub async fn daemon_killed(world: &World) -> Done<()> {
    let window = Window::open(world, MAIN, Begin::New).await?;
    let work = Work::new("cut", "wait 3s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    world.task("cut", "it works", |task| task["status"] == "running").await?;
    let daemon = world.daemon().ok_or_else(|| Fault::new("there is no daemon"))?;
    world.kill(daemon)?;
    let ended = world.task("cut", "it has ended", |task| !task["ended"].is_null()).await?;
    let id = ended["id"].as_str().unwrap_or_default();
    let told = async || {
        let request = world.newest(MAIN)?;
        let of_it = |said: &str| said.contains(id) && said.contains("cut");
        let notice = request.messages.iter().rfind(|said| said.role == "user")?;
        (of_it(&notice.text) || request.times(&work.mark()) > 0).then_some(())
    };
    until("the end is told", PATIENCE, Duration::from_millis(100), told).await?;
    exactly(&window, world, &[]).await
}
