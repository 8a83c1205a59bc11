//! Memory of the daemon and the bridge with nothing done, and with many finished tasks kept.

use std::time::Duration;

use legwork_testkit::script;

use super::arm::Arm;
use super::report::Memory;
use crate::fault::{Done, Fault};
use crate::processes::memory_kb;
use crate::progress::note;
use crate::stage::Stage;

const TURN: usize = 10;
/// A parent with so many tasks is left alone; its history would be what is measured.
const PER_PARENT: usize = 50;
const SETTLE: Duration = Duration::from_secs(120);

/// What they hold now.
///
/// # Errors
/// When one of them is not there.
pub async fn look(stage: &Stage, when: &str) -> Done<Memory> {
    let daemon = stage.until_connected().await?.pid;
    let bridge = stage.bridge().ok_or_else(|| Fault::new("there is not one bridge"))?;
    let both = memory_kb(daemon).zip(memory_kb(bridge));
    let (daemon_kb, bridge_kb) = both.ok_or_else(|| Fault::new("a process has ended"))?;
    Ok(Memory { when: when.to_owned(), daemon_kb, bridge_kb })
}

/// Has so many more tasks done, which are then kept.
///
/// # Errors
/// When they do not come to an end.
pub async fn keep(stage: &Stage, tasks: usize) -> Done<()> {
    let mut parent = String::new();
    for first in (0..tasks).step_by(TURN) {
        if first % PER_PARENT == 0 {
            note(format!("keeping tasks: {first} of {tasks}"));
            parent = stage.parent().await;
        }
        let one = |number: usize| {
            let name = format!("Kept {number}");
            Arm::Legwork.launch(&name, "general", &[&format!("repeat 2000 result {number} ")])
        };
        let turn: Vec<String> = (first..tasks.min(first + TURN)).map(one).collect();
        // Waits for the end of the turn, so that the launches are all there.
        stage.client.ask(&parent, &script(&[&turn.join("\n"), "say ok"])).await;
        stage.until_settled(SETTLE).await?;
        stage.model.forget();
    }
    Ok(())
}
