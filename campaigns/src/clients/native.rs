//! Helpers on the client's own program, without an adapter: it is on the PATH, and nothing else is.
//! Here the helpers ask the scripted model too.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use legwork_testkit::{call, script};
use serde_json::json;

use super::scenes::{MAIN, exactly};
use super::window::{Begin, Window};
use super::world::{PATIENCE, World};
use crate::fault::{Done, Fault};
use crate::processes;

/// How often something is killed, each time at another moment of a helper's work.
const KILLS: u64 = 10;

/// Has the client's program found by its name.
fn find_program(world: &World) -> Done<()> {
    let (home, client) = (&world.terminal.home, world.client);
    let bin = home.root().join("own-bin");
    let fault = |why| Fault::trying("putting the program on the PATH", why);
    fs::create_dir_all(&bin).map_err(fault)?;
    symlink(client.program(), bin.join(client.name())).map_err(fault)?;
    home.set_env("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    // Codex gives no keys of its environment to the servers that it starts.
    let settings = home.root().join("home/.codex/config.toml");
    if let Ok(text) = fs::read_to_string(&settings) {
        let key = "experimental_bearer_token = \"scripted\"";
        fs::write(&settings, text.replace("env_key = \"SCRIPTED_KEY\"", key)).map_err(fault)?;
    }
    Ok(())
}

/// The line that launches a helper of this name, and what only its answer has.
fn launch(world: &World, name: &str, ms: u64) -> (String, String) {
    let prompt = script(&[&format!("wait {ms}\nsay {name}-\nsay 1-end.")]);
    let agent = world.client.name();
    let arguments = json!({ "description": name, "prompt": prompt, "agent": agent });
    (call("background_task", &arguments), format!("{name}-\n1-end."))
}

/// How often the model was prompted with this helper's prompt, as it was written.
fn prompted(world: &World, name: &str) -> usize {
    let is_it = |text: &str| text.trim_start().starts_with("#script") && text.contains(name);
    world.terminal.model.look(|all| {
        let of = |one: &legwork_testkit::Request| {
            one.messages.iter().filter(|said| said.role == "user" && is_it(&said.text)).count()
        };
        all.iter().map(of).max().unwrap_or_default()
    })
}

pub async fn wake(world: &World) -> Done<()> {
    find_program(world)?;
    let window = Window::open(world, MAIN, Begin::New).await?;
    let both = ["red", "blue"].map(|name| launch(world, name, 2_000));
    let launches = both.each_ref().map(|(line, _)| line.as_str()).join("\n");
    window.say(&[&launches, "say going on"]).await?;
    for (_, mark) in &both {
        world.told(MAIN, mark, PATIENCE).await?;
    }
    exactly(&window, world, &both.each_ref().map(|(_, mark)| (mark.as_str(), 1))).await
}

/// Kills the daemon or the helper's program at another moment of each helper. What comes to an end
/// is told once, and no prompt is in a history twice.
pub async fn killed(world: &World) -> Done<()> {
    find_program(world)?;
    let window = Window::open(world, MAIN, Begin::New).await?;
    let mut completed = 0;
    for number in 0..KILLS {
        let name = format!("killed{number}");
        let (line, _) = launch(world, &name, 300);
        window.say(&[&line, "say going on"]).await?;
        tokio::time::sleep(Duration::from_millis(number * 83 % 600)).await;
        let daemon = world.daemon().ok_or_else(|| Fault::new("there is no daemon"))?;
        let helpers = processes::descendants(daemon, world.client.name());
        match helpers.first() {
            Some(helper) if number % 2 == 1 => world.kill(*helper)?,
            _ => world.kill(daemon)?,
        }
        let is_over =
            |task: &serde_json::Value| task["ended"].is_u64() || task["status"] != "running";
        let task = world.task(&name, "it is over", is_over).await?;
        completed += u64::from(task["status"] == "completed");
        let id = task["id"].as_str().unwrap_or_default().to_owned();
        world.told(MAIN, &id, PATIENCE).await?;
        match prompted(world, &name) {
            0 | 1 => {}
            times => return Err(Fault::new(format!("{name} was prompted {times} times"))),
        }
    }
    // One whose program is killed fails, and no other.
    match completed {
        few if few < KILLS / 2 => Err(Fault::new(format!("only {few} of {KILLS} were completed"))),
        _ => Ok(()),
    }
}
