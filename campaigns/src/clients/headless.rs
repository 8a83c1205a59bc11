//! What is played on clients without a screen, or that nothing can wake: the result comes with the
//! next call of a tool, with a block, or, where editors hold Claude Code open, by its inbox.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use legwork_testkit::{McpClient, call};
use serde_json::json;

use super::scenes::MAIN;
use super::world::{LOOK, PATIENCE, Work, World, prompt};
use crate::fault::{Done, Fault};
use crate::progress::until;

/// The command line of one turn.
fn words(client: McpClient) -> &'static [&'static str] {
    const ALLOWED: &str = "mcp__plugin_legwork_legwork,mcp__legwork";
    match client {
        McpClient::Claude => &["--permission-mode", "acceptEdits", "--allowedTools", ALLOWED, "-p"],
        McpClient::Codex => &["exec", "--skip-git-repo-check"],
        McpClient::Gemini => &["--approval-mode", "yolo", "-p"],
        McpClient::Goose => &["run", "--no-session", "-t"],
    }
}

/// One turn of the client with this script, to its end.
async fn turn(world: &World, steps: &[&str]) -> Done<()> {
    let prompt = prompt(MAIN, "one turn:", steps);
    let mut run = world.run(&[words(world.client), &[&*prompt]].concat());
    let ended = run.wait().await;
    if ended.status.success() {
        return Ok(());
    }
    let (out, err) = (ended.stdout, ended.stderr);
    Err(Fault::new(format!("{} ended with {}: {out}{err}", world.client.name(), ended.status)))
}

fn once(world: &World, mark: &str) -> Done<()> {
    match world.times(MAIN, mark) {
        1 => Ok(()),
        found => Err(Fault::new(format!("{mark:?} was told {found} times"))),
    }
}

/// The result comes before the answer of the next call, whatever is called.
pub async fn mail(world: &World) -> Done<()> {
    let work = Work::new("post", "");
    let list = call("background_list", &json!({}));
    // A text alone would end the turn; the pause stands before the call.
    let later = format!("wait 4000\n{list}");
    turn(world, &[&work.launch(), &later, &list, "say over"]).await?;
    once(world, &work.mark())
}

/// Waits in the call. The helper takes longer than one slice of a client that nobody knows.
pub async fn block(world: &World) -> Done<()> {
    let work = Work::new("slow", "wait 8s; ");
    let block = call("background_block", &json!({ "task_ids": ["{{last_task}}"] }));
    turn(world, &[&work.launch(), &block, "say over"]).await?;
    once(world, &work.mark())
}

/// A client that an agent of legwork has started is offered nothing of ours: helpers have no
/// helpers, whatever of the environment the client passes on.
pub async fn inside(world: &World) -> Done<()> {
    let root = world.terminal.home.root();
    let fault = |why| Fault::trying("furnishing an agent", why);
    let asked = root.join("prompt");
    fs::write(&asked, prompt(MAIN, "a helper:", &["say nothing to call"])).map_err(fault)?;
    let client = world.client.command(&world.terminal.home, words(world.client));
    let mut words: Vec<String> = vec![format!("{:?}", client.get_program())];
    words.extend(client.get_args().map(|word| format!("{word:?}")));
    let legwork = world.terminal.legwork.path();
    // It is an ordinary agent otherwise, so that the daemon takes it for one.
    let line = format!(
        "{} \"$(cat {})\" < /dev/null > {} 2>&1 & exec {} rehearsal",
        words.join(" "),
        asked.display(),
        root.join("logs/inside").display(),
        legwork.display()
    );
    let config = format!("[agents.nest]\ncommand = [\"sh\", \"-c\", {line:?}]\n");
    fs::write(root.join("home/.config/legwork/config.toml"), config).map_err(fault)?;
    world.terminal.launch("nest", "wait 60s; say over")?;
    let look = async || world.newest(MAIN);
    let request = until("its model is asked", PATIENCE, LOOK, look).await.map_err(|fault| {
        let log = fs::read_to_string(root.join("logs/inside")).unwrap_or_default();
        Fault::trying(fault, log)
    })?;
    match request.tool_names().iter().find(|name| name.contains("background_task")) {
        None => Ok(()),
        Some(name) => Err(Fault::new(format!("the model is offered {name}"))),
    }
}

/// Claude Code as the SDK and editors hold it open: it has no tasks, but an inbox.
pub async fn stream(world: &World) -> Done<()> {
    let args = [
        &words(McpClient::Claude)[..4],
        &["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    ]
    .concat();
    let mut command = world.client.command(&world.terminal.home, &args);
    let log = world.terminal.home.root().join("logs/stream.out");
    let fault = |why: std::io::Error| Fault::trying("claude -p", why);
    let out = fs::File::create(&log).map_err(fault)?;
    command.stdin(Stdio::piped()).stdout(out).stderr(Stdio::null());
    let mut child = command.spawn().map_err(fault)?;
    let mut input = child.stdin.take().ok_or_else(|| Fault::new("it has no input"))?;
    let mut say = |steps: &[&str]| {
        let text = prompt(MAIN, "a turn:", steps);
        let line = json!({ "type": "user", "message": { "role": "user", "content": text } });
        writeln!(input, "{line}").map_err(fault)
    };
    let work = Work::new("inbox", "wait 3s; ");
    say(&[&work.launch(), "say going on"])?;
    let told = world.told(MAIN, &work.mark(), PATIENCE).await.map(drop);
    let again = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        say(&["say and on"])?;
        let look = async || world.newest(MAIN).filter(|one| one.said("user", "say and on"));
        until("another turn", PATIENCE, Duration::from_millis(100), look).await.map(drop)
    };
    let done = match told {
        Ok(()) => again.await,
        Err(fault) => Err(fault),
    };
    let _ = child.kill();
    let _ = child.wait();
    done.map_err(|fault| {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Fault::trying(fault, said.lines().last().unwrap_or_default())
    })?;
    once(world, &work.mark())
}
