//! A client in a terminal, as a person has it: its screen, what they type, its end without a
//! warning, and its return with the same conversation.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use legwork_testkit::{McpClient, Request, Tui};

use super::world::{LOOK, PATIENCE, World, prompt};
use crate::fault::{Done, Fault};
use crate::processes;
use crate::progress::until;

/// A paste is taken in before Enter is: a key that comes in the same moment is part of it.
const AFTER_PASTE: Duration = Duration::from_millis(400);
/// When Enter was lost, it is pressed again.
const ENTER_AGAIN: Duration = Duration::from_secs(3);

const KEY_AGAIN: Duration = Duration::from_secs(1);
const TRIES: usize = 8;

/// Whether a conversation begins or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    New,
    GoOn,
}

/// A client on a screen.
#[derive(Debug)]
pub struct Window<'a> {
    world: &'a World,
    conversation: String,
    tui: Tui<'a>,
}

static TURNS: AtomicUsize = AtomicUsize::new(0);

impl<'a> Window<'a> {
    /// Opens one and waits until it can be typed in.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn open(world: &'a World, conversation: &str, begin: Begin) -> Done<Self> {
        let program = world.client.program().to_string_lossy().into_owned();
        let words = [&[&*program], words(world.client, begin)].concat();
        let tui = world.terminal.home.screen(&words).await;
        let window = Self { world, conversation: conversation.to_owned(), tui };
        let client = world.client;
        window.shows("a prompt", |screen| is_ready(client, screen)).await?;
        if begin == Begin::New {
            window.has_tools().await?;
        }
        Ok(window)
    }

    /// A client can be typed in before it has asked its MCP servers for their tools.
    ///
    /// # Errors
    /// When the model is not offered them in time.
    pub async fn has_tools(&self) -> Done<()> {
        for _ in 0..TRIES {
            let request = self.say(&["say good morning"]).await?;
            if request.tools.iter().any(|tool| tool.name.ends_with("background_task")) {
                return Ok(());
            }
            tokio::time::sleep(ENTER_AGAIN).await;
        }
        Err(Fault::new(format!("the model is not offered our tools:\n{}", self.screen())))
    }

    /// Waits until the screen is so.
    ///
    /// # Errors
    /// When that does not happen in time.
    pub async fn shows(&self, what: &str, wanted: impl Fn(&str) -> bool) -> Done<String> {
        let look = async || Some(self.tui.screen()).filter(|screen| wanted(screen));
        let found = until(what, PATIENCE, LOOK, look).await;
        found.map_err(|fault| Fault::trying(fault, format!("\n{}", self.screen())))
    }

    /// Types a script for the model, and waits until the model has got it.
    ///
    /// # Errors
    /// When the model does not get it.
    pub async fn say(&self, steps: &[&str]) -> Done<Request> {
        let turn = TURNS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("turn {turn}:");
        self.tui.text(&prompt(&self.conversation, &mark, steps));
        tokio::time::sleep(AFTER_PASTE).await;
        self.tui.keys(&["Enter"]);
        let mut pressed = Instant::now();
        let got = |one: &&Request| !one.tools.is_empty() && one.said("user", &mark);
        let look = async || {
            let found = self.world.terminal.model.look(|all| all.iter().find(got).cloned());
            if found.is_none() && pressed.elapsed() > ENTER_AGAIN {
                self.tui.keys(&["Enter"]);
                pressed = Instant::now();
            }
            found
        };
        let found = until("the model gets what was typed", PATIENCE, LOOK, look).await;
        found.map_err(|fault| Fault::trying(fault, format!("\n{}", self.screen())))
    }

    /// Presses a key, by its name, until the screen is so.
    ///
    /// # Errors
    /// When that does not happen in time.
    pub async fn press(&self, key: &str, wanted: impl Fn(&str) -> bool) -> Done<()> {
        let mut pressed = None::<Instant>;
        let look = async || {
            if wanted(&self.tui.screen()) {
                return Some(());
            }
            if pressed.is_none_or(|at| at.elapsed() > KEY_AGAIN) {
                self.tui.keys(&[key]);
                pressed = Some(Instant::now());
            }
            None
        };
        let done = until(&format!("{key} does something"), PATIENCE, LOOK, look).await;
        done.map_err(|fault| Fault::trying(fault, format!("\n{}", self.screen())))
    }

    /// What is on the screen, without empty lines.
    pub fn screen(&self) -> String {
        let screen = self.tui.screen();
        let lines = screen.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The client's own process.
    ///
    /// # Errors
    /// When it has ended.
    pub fn pid(&self) -> Done<u32> {
        self.tui.pid().ok_or_else(|| Fault::new(format!("it has ended:\n{}", self.screen())))
    }

    /// Kills the client without a warning, and waits for its end.
    ///
    /// # Errors
    /// When it is not there.
    pub async fn kill(self) -> Done<()> {
        let pid = self.pid()?;
        self.world.kill(pid)?;
        let gone = async || (!processes::is_alive(pid)).then_some(());
        until("a killed client is gone", PATIENCE, LOOK, gone).await
    }
}

/// The command line behind the program.
fn words(client: McpClient, begin: Begin) -> &'static [&'static str] {
    // A person has said once that these may be called; whether that is asked is not our matter.
    const ALLOWED: &str = "mcp__plugin_legwork_legwork,mcp__legwork,Agent,TaskStop";
    const CLAUDE: [&str; 5] =
        ["--permission-mode", "acceptEdits", "--allowedTools", ALLOWED, "--continue"];
    match (client, begin) {
        (McpClient::Claude, Begin::New) => &CLAUDE[..4],
        (McpClient::Claude, Begin::GoOn) => &CLAUDE,
        (McpClient::Codex, Begin::GoOn) => &["resume", "--last"],
        _ => &[],
    }
}

fn is_ready(client: McpClient, screen: &str) -> bool {
    match client {
        McpClient::Claude => screen.contains("accept edits on"),
        McpClient::Codex => screen.contains('›'),
        McpClient::Gemini | McpClient::Goose => true,
    }
}
