//! `cargo xtask chaos`: the real thing under a mixed load while its processes are killed without a
//! warning. Histories of ten kills each, one seed a history, each in a home of its own, so that one
//! that fails can be played again alone.

mod check;
mod plan;
mod play;
mod seen;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use legwork_testkit::{block_on, script};

use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::processes;
use crate::progress::{note, say, until};
use crate::stage::{Furniture, Stage};
use check::{Broken, Rule, check, tally};
use plan::{Plan, Victim};
use play::Play;
use seen::Seen;

/// Kills in one history. More would fill the listing, which shows 200 tasks.
const KILLS: usize = 10;
/// What looks broken is looked at again so often: a stop, or the deletion of what was opened for
/// nobody, takes its time.
const LOOKS: usize = 8;
/// Longer than a survey, so that what is told twice is told by then.
const AGAIN: Duration = Duration::from_secs(6);
const END: Duration = Duration::from_secs(20);
/// Few places, so that there is a queue too.
const CONFIG: &str = "[limits]\nmax_running = 8\n";

/// Kill the daemon, the bridge and OpenCode at random moments, and check every run
///
/// Conversations launch helpers that answer, fail, stream slowly, hang or ask for a permission;
/// some are resumed, cancelled or waited for. Meanwhile the daemon, the bridge and OpenCode are
/// killed with -9 and OpenCode is started again. When the last kill is done everything has to
/// settle; then every run is checked: lost, doubled, stuck, wrong outcome, orphan session, orphan
/// process.
///
/// What happens follows from the seed; when exactly, from the machine. A history that breaks a rule
/// prints its kills, the timeline of each task concerned and the command that plays it again, and
/// keeps the records and logs beside the program. Exit code 0: all held; 1: broken; 2: could not be
/// done.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask chaos --kills 10 --seed 7     one history, about two minutes
  cargo xtask chaos --kills 1000            a hundred histories with seeds from now on")]
pub struct Chaos {
    /// How many kills altogether; ten are one history
    #[arg(long, value_name = "N", default_value_t = 10)]
    kills: usize,
    /// The seed of the first history; the next ones count on from it. Without it: the time
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// So many times slower than planned, for a machine that is busy
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    slower: f64,
    /// Go on after a history that breaks a rule
    #[arg(long)]
    keep_going: bool,
}

/// What came of one history.
struct Ended {
    broken: Vec<Broken>,
    blows: [usize; 3],
    tasks: usize,
}

impl Chaos {
    /// Plays.
    pub fn run(self) -> Done<Verdict> {
        let begin = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut seed = self.seed.unwrap_or(begin);
        let (mut left, mut all) = (self.kills, [0; 3]);
        let (mut tasks, mut failed) = (0, Vec::new());
        while left > 0 {
            let kills = left.min(KILLS);
            let ended = block_on(history(seed, kills, self.slower))?;
            tasks += ended.tasks;
            for (sum, more) in all.iter_mut().zip(ended.blows) {
                *sum += more;
            }
            if !ended.broken.is_empty() {
                failed.push(seed);
                if !self.keep_going {
                    break;
                }
            }
            left -= kills;
            seed += 1;
        }
        let [daemon, bridge, host] = all;
        say(format!(
            "{} kills (daemon {daemon}, bridge {bridge}, OpenCode {host}), {tasks} tasks: {}",
            daemon + bridge + host,
            if failed.is_empty() { "held".to_owned() } else { format!("broken: {failed:?}") }
        ));
        Ok(if failed.is_empty() { Verdict::Held } else { Verdict::Broken })
    }
}

async fn history(seed: u64, kills: usize, slower: f64) -> Done<Ended> {
    note(format!("history {seed} with {kills} kills"));
    let plan = Plan::new(seed, kills);
    let settings = plan::settings();
    let furniture = Furniture { config: Some(CONFIG), settings, ..Furniture::default() };
    let mut stage = Stage::open(&furniture).await?;
    stage.until_connected().await?;
    // The first turn takes seconds, in which nothing would be there to be killed.
    stage.client.ask(&stage.parent().await, &script(&["say warm"])).await;
    let mut play = Play::new(&plan);
    play.all(&mut stage, &plan, slower).await?;
    let settled = play.settle(&stage, &plan).await?;
    let (seen, mut broken) = judged(&stage, &plan, &play, settled).await?;
    if !broken.is_empty() {
        tell(&stage, seed, kills, &play, &broken);
    }
    broken.extend(end(&mut stage).await?);
    let count = |victim| play.blows.iter().filter(|blow| blow.victim == victim).count();
    let tasks = seen.items.iter().map(|item| item.tasks.len()).sum();
    let counts: Vec<String> =
        tally(&seen).iter().map(|(name, count)| format!("{count} {name}")).collect();
    say(format!(
        "seed {seed}: {} kills, {tasks} tasks ({}): {}",
        play.blows.len(),
        counts.join(", "),
        if broken.is_empty() { "held" } else { "broken" }
    ));
    for one in &broken {
        say(format!("broken: {one}"));
    }
    if !broken.is_empty() {
        let pace = if slower > 1.0 { format!(" --slower {slower}") } else { String::new() };
        say(format!("replay: cargo xtask chaos --seed {seed} --kills {kills}{pace}"));
    }
    let blows = [Victim::Daemon, Victim::Bridge, Victim::Host].map(count);
    Ok(Ended { broken, blows, tasks })
}

/// What is so twice, some seconds apart, is so. What is not settled is looked at once.
async fn judged(
    stage: &Stage,
    plan: &Plan,
    play: &Play,
    settled: bool,
) -> Done<(Seen, Vec<Broken>)> {
    let mut held_before = false;
    for number in 1.. {
        let seen = seen::look(stage, play).await?;
        let broken = check(plan, &seen);
        if broken.is_empty() && held_before {
            return Ok((seen, broken));
        }
        held_before = broken.is_empty();
        if !held_before && (number >= LOOKS || !settled) {
            return Ok((seen, broken));
        }
        tokio::time::sleep(AGAIN).await;
    }
    Err(Fault::new("nobody counts that far"))
}

/// Without OpenCode its bridge ends, and a daemon that is asked to end does.
async fn end(stage: &mut Stage) -> Done<Vec<Broken>> {
    let root = stage.home.root().to_owned();
    processes::kill(&root, stage.serve.pid())?;
    let bridges = async || {
        let left = processes::in_home(&root).iter().any(|one| one.is_bridge());
        (!left).then_some(())
    };
    let look = Duration::from_millis(100);
    let ended = until("the bridge ends with OpenCode", END, look, bridges).await;
    stage.legwork(&["daemon", "stop"])?;
    let empty = async || processes::in_home(&root).is_empty().then_some(());
    let ended = ended.and(until("nothing is left in the home", END, look, empty).await);
    let left = processes::in_home(&root);
    let broken = |fault: Fault| Broken {
        rule: Rule::OrphanProcess,
        item: None,
        task: None,
        what: format!("{fault}: {left:?}"),
    };
    Ok(ended.err().map(broken).into_iter().collect())
}

/// All that somebody needs who wants to know what happened.
fn tell(stage: &Stage, seed: u64, kills: usize, play: &Play, broken: &[Broken]) {
    say(format!("\nseed {seed} with {kills} kills, what happened:"));
    for (at, what) in &play.timeline {
        say(format!("{:>8.2} s  {what}", at.as_secs_f64()));
    }
    let mut tasks: Vec<&str> = broken.iter().filter_map(|one| one.task.as_deref()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    for task in tasks {
        say(format!("\nlegwork log {task}\n{}", stage.printed(&["log", task])));
    }
    match keep(stage, seed) {
        Ok(folder) => say(format!("records and logs: {}", folder.display())),
        Err(fault) => note(format!("records and logs are not kept: {fault}")),
    }
}

/// Copies legwork's folder and the output of OpenCode beside this program.
fn keep(stage: &Stage, seed: u64) -> Done<PathBuf> {
    let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
    let folder = own.with_file_name("chaos").join(format!("seed-{seed}"));
    copy(&stage.own_folder(), &folder.join("legwork"))?;
    copy(&stage.home.root().join("logs"), &folder.join("opencode"))?;
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Done<()> {
    let fault = |why| Fault::trying(format!("copying {}", from.display()), why);
    fs::create_dir_all(to).map_err(fault)?;
    for entry in fs::read_dir(from).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.is_file() {
            fs::copy(&path, to.join(name)).map_err(fault)?;
        }
    }
    Ok(())
}
