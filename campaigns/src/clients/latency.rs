//! How long it takes from a helper's end until the model is asked about it, in a client that is
//! idle; beside it, in the same window, Claude Code's own background agents.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use legwork_testkit::{McpClient, Request, call};
use serde_json::{Value, json};

use super::scenes::{MAIN, idle};
use super::window::{Begin, Window};
use super::world::{LOOK, PATIENCE, Work, World};
use crate::fault::{Done, Fault};
use crate::page::Table;
use crate::progress::{note, until};
use crate::statistics::spread;

/// Between a turn and the next one, so that the client is idle and has drawn its screen.
const REST: Duration = Duration::from_millis(700);

/// What was measured, in milliseconds.
#[derive(Debug, Default)]
pub struct Latency {
    legwork: Vec<f64>,
    own: Vec<f64>,
}

/// So many of each.
///
/// # Errors
/// When a helper is not told.
pub async fn measure(client: McpClient, times: usize) -> Done<Latency> {
    let world = World::open(client)?;
    let window = Window::open(&world, MAIN, Begin::New).await?;
    let mut found = Latency::default();
    for number in 0..times {
        found.legwork.push(legwork(&world, &window, number).await?);
        if client == McpClient::Claude {
            found.own.push(own(&world, &window, number).await?);
        }
        note(format!("{} {number}: {found:.0?}", client.name()));
    }
    Ok(found)
}

async fn legwork(world: &World, window: &Window<'_>, number: usize) -> Done<f64> {
    let work = Work::new(format!("l{number}"), "wait 2s; ");
    window.say(&[&work.launch(), "say going on"]).await?;
    let told = world.told(MAIN, &work.mark(), PATIENCE).await?;
    let ended = world.task(&work.name, "it has ended", |task| !task["ended"].is_null()).await?;
    let ended = ended["ended"].as_f64().ok_or_else(|| Fault::new("no time of its end"))?;
    let asked = since_1970(world.terminal.model.started() + told.at);
    idle(world).await?;
    tokio::time::sleep(REST).await;
    Ok(asked - ended)
}

/// Claude Code's own: from the last word of the agent's model to the request that tells of it.
async fn own(world: &World, window: &Window<'_>, number: usize) -> Done<f64> {
    let (ours, result) = (format!("agent {number} of its own:"), "zq".repeat(10 + number));
    let prompt = format!("{ours}\n#script\nwait 2000\nrepeat {} zq\n#end", result.len());
    let agent = json!({
        "description": "an agent", "prompt": prompt, "subagent_type": "general-purpose",
        "run_in_background": true,
    });
    window.say(&[&call("Agent", &agent), "say going on"]).await?;
    let whole = format!("{result}\n");
    let reads = |one: &Request| one.times(&whole) + one.times(&format!("{result}<"));
    let told = async || {
        let newest = world.newest(MAIN)?;
        (reads(&newest) > 0).then_some(newest.at)
    };
    let told = until("the agent of its own is told", PATIENCE, LOOK / 5, told).await?;
    let of_agent = |one: &&Request| one.prompt().contains(&ours) && !one.said("user", MAIN);
    let end = world.terminal.model.look(|all| all.iter().rfind(of_agent)?.end);
    let (_, end) = end.ok_or_else(|| Fault::new("the agent's model was not asked"))?;
    idle(world).await?;
    tokio::time::sleep(REST).await;
    Ok((told.as_secs_f64() - end.as_secs_f64()) * 1e3)
}

fn since_1970(moment: Instant) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(moment.elapsed()).as_secs_f64() * 1e3
}

impl Latency {
    fn rows(&self) -> [(&'static str, &[f64]); 2] {
        [("legwork", &self.legwork), ("its own agents", &self.own)]
    }

    pub fn table(&self, client: McpClient) -> Table {
        let mut table = Table::new(&["end to model asked, ms", "n", "median", "p95", "max"]);
        for (name, samples) in self.rows() {
            let Some(found) = spread(samples) else { continue };
            let values = [found.median, found.p95, found.max].map(|value| format!("{value:.0}"));
            let head = [format!("{} {name}", client.name()), found.count.to_string()];
            table.push(head.into_iter().chain(values).collect());
        }
        table
    }

    pub fn json(&self, client: McpClient) -> Value {
        json!({ "client": client.name(), "legwork_ms": self.legwork, "own_ms": self.own })
    }
}
