//! What many helpers do to the window that they work in, and whether it helps when they work in an
//! OpenCode beside it (`limits.max_in_window`): how long the window takes to answer a request, and
//! how long the helpers take.

use std::time::{Duration, Instant};

use legwork_testkit::Call;

use super::arm::{Arm, CONFIG, Child};
use super::load;
use crate::fault::{Done, Fault};
use crate::page::Table;
use crate::progress::{note, until};
use crate::stage::{Furniture, Stage};
use crate::statistics::spread;

/// Fifty words a second, for ten seconds.
const WORDS: usize = 500;
const WORD_MS: usize = 20;
/// Between two requests to the window.
const PAUSE: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(240);

/// Where helpers work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Window,
    Beside,
}

impl Where {
    fn name(self) -> &'static str {
        match self {
            Self::Window => "in the window",
            Self::Beside => "beside it",
        }
    }
}

/// Each number of helpers in both places, in an OpenCode of its own.
///
/// # Errors
/// When something does not happen at all.
pub async fn measure(helpers: &[usize]) -> Done<Table> {
    let head = ["helpers", "median ms", "p95 ms", "max ms", "helper's s", "slowest s"];
    let mut table = Table::new(&head);
    for place in [Where::Window, Where::Beside] {
        let most = if place == Where::Beside { "max_in_window = 1\n" } else { "" };
        let config = format!("{CONFIG}{most}");
        let furniture = Furniture { config: Some(&config), ..Furniture::default() };
        let stage = Stage::open(&furniture).await?;
        stage.until_connected().await?;
        for count in helpers {
            note(format!("{count} helpers {}", place.name()));
            let row = run(&stage, place, *count).await?;
            table.push([vec![format!("{count} {}", place.name())], row].concat());
        }
    }
    Ok(table)
}

async fn run(stage: &Stage, place: Where, count: usize) -> Done<Vec<String>> {
    let parent = stage.parent().await;
    if place == Where::Beside {
        // The first fills the window, the second has the other OpenCode started.
        launch(stage, &parent, "gate beside\nsay done", 2).await?;
        until("an OpenCode beside it", PATIENCE, LOOK, async || {
            let status = stage.legwork_json(&["daemon", "status"]).ok()?;
            let hosts = status["daemon"]["hosts"].as_array()?;
            hosts.iter().any(|host| host["lifetime"] == "headless").then_some(())
        })
        .await?;
    }
    let streams = format!("stream {WORDS} {WORD_MS} word");
    let children = launch(stage, &parent, &streams, count).await?;
    let mut waits = Vec::new();
    let end = Instant::now() + PATIENCE;
    let mut looked = Instant::now();
    while Instant::now() < end {
        let asked = Instant::now();
        let _ = stage.client.status().await;
        waits.push(asked.elapsed().as_secs_f64() * 1e3);
        if looked.elapsed() > LOOK {
            looked = Instant::now();
            if load::answered(stage, &children) == count {
                break;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    stage.model.open("beside");
    stage.until_settled(PATIENCE).await?;
    let walls = load::walls_s(stage, &children).await;
    stage.model.forget();
    let none = || Fault::new("nothing was measured");
    let (waits, walls) = (spread(&waits).ok_or_else(none)?, spread(&walls).ok_or_else(none)?);
    let ms = [waits.median, waits.p95, waits.max].map(|ms| format!("{ms:.0}"));
    let s = [walls.median, walls.max].map(|s| format!("{s:.1}"));
    Ok([&ms[..], &s[..]].concat())
}

async fn launch(stage: &Stage, parent: &str, step: &str, count: usize) -> Done<Vec<Child>> {
    let before = Call::all(&stage.messages(parent).await).len();
    let one = |number| Arm::Legwork.launch(&format!("Number {number}"), "general", &[step]);
    let launches: Vec<String> = (0..count).map(one).collect();
    for turn in launches.chunks(load::TURN) {
        load::launch(stage, parent, turn).await?;
    }
    let calls = Call::all(&stage.messages(parent).await).split_off(before);
    let ids = calls.iter().map(|call| Arm::Legwork.child(call)).collect::<Done<Vec<_>>>()?;
    load::opened(stage, Arm::Legwork, parent, &ids).await
}
