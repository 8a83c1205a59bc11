//! Starting an OpenCode without a window. `legwork bridge opencode --headless` does it in a process
//! of its own, with the environment of the window, and ends as soon as the plugin inside of the new
//! one has connected.

use std::process::Stdio;
use std::time::Duration;

use legwork_host::{HowToStart, Starting};
use legwork_machine::{inherited, program};
use legwork_protocol::Place;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::KIND;

/// Longer than the starter itself waits, so that it says why.
const START_MAX: Duration = Duration::from_secs(55);
const WHY_MAX_BYTES: u64 = 4 << 10;

pub fn start(place: &Place, how: &HowToStart) -> Option<Starting> {
    // Of a server that is known by its address nobody knows how it was started.
    if !place.as_str().strip_prefix(KIND)?.starts_with('/') {
        return None;
    }
    let (tell, process) = oneshot::channel();
    let child = starter(how);
    let done = Box::pin(async move {
        let mut child = child.map_err(|error| format!("legwork: {error}"))?;
        // One that takes too long is killed when it is dropped.
        let done = timeout(START_MAX, follow(&mut child, tell)).await;
        done.unwrap_or_else(|_| Err("it did not start in time".to_owned()))
    });
    Some(Starting { process, done })
}

fn starter(how: &HowToStart) -> std::io::Result<Child> {
    let mut command = Command::new(program()?);
    command.args(["bridge", KIND, "--headless"]);
    let mut mask = None;
    if let Some(startup) = &how.like {
        command.env_clear().envs(startup.environment.variables());
        for word in &startup.command {
            command.args(["--program", word]);
        }
        mask = startup.environment.umask();
    }
    command.args(["--directory", &how.directory]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.kill_on_drop(true);
    inherited::spawning(mask, || command.spawn())
}

/// The starter says the process, and why if it fails.
async fn follow(child: &mut Child, tell: oneshot::Sender<u32>) -> Result<(), String> {
    let said = child.stdout.take().ok_or("nothing can be read of it")?;
    let mut said = BufReader::new(said.take(WHY_MAX_BYTES));
    let mut line = String::new();
    let read = said.read_line(&mut line).await.map_err(|error| error.to_string())?;
    let mut why = String::new();
    match line.trim().parse() {
        // Nobody listens if the daemon is ending.
        Ok(pid) => drop(tell.send(pid)),
        Err(_) if read > 0 => why = line,
        Err(_) => {}
    }
    said.read_to_string(&mut why).await.map_err(|error| error.to_string())?;
    // Its exit code may have been collected by somebody else; what it said has not.
    let _ = child.wait().await;
    match why.trim() {
        STARTED => Ok(()),
        "" => Err("its starter ended without a word".to_owned()),
        why => Err(why.to_owned()),
    }
}

/// What the starter says last if all is well.
pub const STARTED: &str = "started";
