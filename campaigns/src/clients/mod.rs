//! `cargo xtask clients`: legwork over MCP on the real clients, with a scripted model. Each scene
//! has a home and a client of its own. What is looked at is what the model was sent.

mod headless;
mod latency;
mod native;
pub mod scenes;
pub mod window;
pub mod world;

use std::time::Instant;

use clap::{Args, ValueEnum};
use legwork_testkit::{McpClient, block_on};
use serde_json::{Value, json};

use crate::Verdict;
use crate::fault::Done;
use crate::page::Table;
use crate::progress::{note, say};
use world::World;

/// A client, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Named {
    Claude,
    Codex,
    Gemini,
    Goose,
}

impl Named {
    pub fn client(self) -> McpClient {
        match self {
            Self::Claude => McpClient::Claude,
            Self::Codex => McpClient::Codex,
            Self::Gemini => McpClient::Gemini,
            Self::Goose => McpClient::Goose,
        }
    }
}

/// Play helpers on the real Claude Code, Codex, Gemini CLI and Goose
///
/// Each client is installed once into the target folder, in the version that is pinned. A scripted
/// model on loopback makes the calls; the helpers are the built-in agent `rehearsal`, or in the
/// scenes `native` the client's own program. What counts
/// is what the model was sent: each result, whole and exactly once. Exit code 0: all held; 1:
/// something did not; 2: could not be done.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask clients                           everything, about ten minutes
  cargo xtask clients --client codex            one client
  cargo xtask clients --client claude --only wake,two
  cargo xtask clients --client claude --latency 20")]
pub struct Clients {
    /// Only this client
    #[arg(long, value_name = "NAME")]
    client: Option<Named>,
    /// Only the scenes of these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Instead: how long from a helper's end until the model is asked, so many times
    #[arg(long, value_name = "N")]
    latency: Option<usize>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// A scene: the requirement that it shows, its name, what it shows.
type Scene = (&'static str, &'static str, &'static str);

const AWAKE: [Scene; 11] = [
    ("M2", "wake", "told by itself, with the whole result"),
    ("M2", "two", "two at once, each told once"),
    ("M2", "fail", "a failure is told as one"),
    ("M2", "permission", "a helper's question is answered in the client"),
    ("M2", "cancel", "called off by the model"),
    ("M2", "resume", "a second run is told too"),
    ("M2", "long", "a result of 90,000 characters"),
    ("M6", "two-windows", "two conversations in one folder"),
    ("M3", "front-killed", "kill -9 of legwork mcp"),
    ("M2", "client-killed", "kill -9 of the client, then its conversation again"),
    ("M2", "daemon-killed", "kill -9 of the daemon"),
];
const CLAUDE: [Scene; 4] = [
    ("M2", "stop", "called off by Claude Code's own TaskStop"),
    ("M3", "mail", "claude -p: the result comes with the next call"),
    ("M3", "block", "claude -p: waits until it is done"),
    ("M3", "stream", "stream-json, as editors have it: woken by the inbox"),
];
const CODEX: [Scene; 4] = [
    ("H1", "native", "helpers on the codex that is there, without an adapter"),
    ("H2", "native-killed", "the same, with kills of the daemon and of helpers"),
    ("M4", "mail", "codex exec: the result comes with the next call"),
    ("M4", "block", "codex exec: waits until it is done"),
];
const MAIL: [Scene; 2] = [
    ("M5", "mail", "the result comes with the next call"),
    ("M5", "block", "waits in slices until it is done"),
];

const INSIDE: Scene = ("M9", "inside", "a client that legwork started is offered nothing");

fn scenes(client: McpClient) -> Vec<Scene> {
    match client {
        McpClient::Claude => [&AWAKE[..], &CLAUDE, &[INSIDE]].concat(),
        McpClient::Codex => [&AWAKE[..], &CODEX, &[INSIDE]].concat(),
        McpClient::Gemini | McpClient::Goose => [&MAIL[..], &[INSIDE]].concat(),
    }
}

async fn play(name: &str, world: &World) -> Done<()> {
    match name {
        "wake" => scenes::wake(world).await,
        "two" => scenes::two(world).await,
        "fail" => scenes::fail(world).await,
        "permission" => scenes::permission(world).await,
        "cancel" => scenes::cancel(world).await,
        "resume" => scenes::resume(world).await,
        "long" => scenes::long(world).await,
        "two-windows" => scenes::two_windows(world).await,
        "front-killed" => scenes::front_killed(world).await,
        "client-killed" => scenes::client_killed(world).await,
        "daemon-killed" => scenes::daemon_killed(world).await,
        "stop" => scenes::stop(world).await,
        "native" => native::wake(world).await,
        "native-killed" => native::killed(world).await,
        "inside" => headless::inside(world).await,
        "stream" => headless::stream(world).await,
        "mail" => headless::mail(world).await,
        _ => headless::block(world).await,
    }
}

/// What came of a scene.
struct Shown {
    client: McpClient,
    scene: Scene,
    seconds: f64,
    fault: Option<String>,
}

impl Shown {
    fn json(&self) -> Value {
        let (requirement, name, shows) = self.scene;
        json!({
            "client": self.client.name(), "version": self.client.version(), "scene": name,
            "requirement": requirement, "shows": shows, "held": self.fault.is_none(),
            "seconds": self.seconds, "fault": self.fault,
        })
    }
}

impl Clients {
    /// Plays.
    pub fn run(self) -> Done<Verdict> {
        let named = self.client.map(Named::client);
        if let Some(times) = self.latency {
            return self.measure(named.unwrap_or(McpClient::Claude), times);
        }
        let mut shown = Vec::new();
        for client in McpClient::ALL.into_iter().filter(|one| named.is_none_or(|it| it == *one)) {
            for scene in scenes(client) {
                let wanted = self.only.is_empty() || self.only.iter().any(|name| name == scene.1);
                if wanted {
                    shown.push(self.scene(client, scene)?);
                }
            }
        }
        if self.json {
            let all: Vec<Value> = shown.iter().map(Shown::json).collect();
            say(format!("{:#}", json!({ "scenes": all })));
        } else {
            say(table(&shown).text());
        }
        let held = !shown.is_empty() && shown.iter().all(|one| one.fault.is_none());
        Ok(if held { Verdict::Held } else { Verdict::Broken })
    }

    fn measure(&self, client: McpClient, times: usize) -> Done<Verdict> {
        let found = block_on(latency::measure(client, times))?;
        if self.json {
            say(format!("{:#}", found.json(client)));
        } else {
            say(found.table(client).text());
        }
        Ok(Verdict::Held)
    }

    fn scene(&self, client: McpClient, scene: Scene) -> Done<Shown> {
        let begun = Instant::now();
        let world = World::open(client)?;
        let fault = block_on(play(scene.1, &world)).err().map(|fault| fault.to_string());
        let seconds = begun.elapsed().as_secs_f64();
        let word = if fault.is_none() { "held" } else { "BROKEN" };
        note(format!("{} {}: {word} ({seconds:.0} s)", client.name(), scene.1));
        if let Some(fault) = &fault {
            note(fault);
            note(world.story());
        }
        Ok(Shown { client, scene, seconds, fault })
    }
}

fn table(shown: &[Shown]) -> Table {
    let mut table = Table::new(&["client", "shows", "what", "seconds", "held"]);
    for one in shown {
        let (requirement, name, shows) = one.scene;
        let held = if one.fault.is_none() { "yes" } else { "NO" };
        table.push(vec![
            format!("{} {name}", one.client.name()),
            requirement.to_owned(),
            shows.to_owned(),
            format!("{:.0}", one.seconds),
            held.to_owned(),
        ]);
    }
    table
}
