//! `cargo xtask chaos`: the real thing under a mixed load while its processes are killed without a
//! warning. Histories of ten kills each, one seed a history, each in a home of its own, so that one
//! that fails can be played again alone.

mod check;
mod clients;
mod diary;
mod headless;
mod person;
mod plan;
mod play;
mod seen;
mod sum;

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use legwork_testkit::{block_on, script};

use crate::Verdict;
use crate::clients::Named;
use crate::fault::{Done, Fault};
use crate::files;
use crate::machine;
use crate::page;
use crate::processes;
use crate::progress::{note, say, until};
use crate::stage::{Furniture, Stage};
pub use check::{Broken, Rule};
use check::{check, tally};
use diary::Diary;
use plan::{Plan, Victim};
use play::Play;
use seen::Seen;
use sum::Sum;

/// Kills in one history. More would fill the listing, which shows 200 tasks.
const KILLS: usize = 10;
/// What looks broken is looked at again so often: a stop, or the deletion of what was opened for
/// nobody, takes its time.
const LOOKS: usize = 8;
/// Longer than a poll, so that what is told twice is told by then.
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
///
/// With `--headless` windows come and go: again and again three helpers work (one in a tool call,
/// one streaming, one waiting for a permission) while the window is closed or killed, or the
/// headless OpenCode that goes on with them, or the daemon; and windows are opened again. Each
/// helper has to end with its own words and to be told once, and nothing may be left. No helper
/// loses more hosts than it goes on after (three).
///
/// With `--client` a real Claude Code or Codex in a terminal has the conversation, over `legwork
/// mcp`. The daemon, `legwork mcp` and the client are killed, and the client goes on with the same
/// conversation. In the end the model has read every result exactly once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask chaos --kills 10 --seed 7     one history, about two minutes
  cargo xtask chaos --kills 1000            a hundred histories with seeds from now on
  cargo xtask chaos --kills 200 --out docs  fill in docs/performance.md
  cargo xtask chaos --headless --kills 20   windows that come and go, about five minutes
  cargo xtask chaos --client codex --kills 50   the real Codex, told over MCP")]
pub struct Chaos {
    /// How many kills altogether; ten are one history
    #[arg(long, value_name = "N", default_value_t = 10)]
    kills: usize,
    /// The seed of the first history; the next ones count on from it. Without it: the time
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Close and kill windows, and what goes on without them
    #[arg(long)]
    headless: bool,
    /// Kill what belongs to a client over MCP instead: Claude Code or Codex
    #[arg(long, value_name = "NAME", conflicts_with = "headless")]
    client: Option<Named>,
    /// So many times slower than planned, for a machine that is busy
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    slower: f64,
    /// Go on after a history that breaks a rule
    #[arg(long)]
    keep_going: bool,
    /// Fill in performance.md in this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Chaos {
    /// Plays.
    pub fn run(self) -> Done<Verdict> {
        let begin = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let first = self.seed.unwrap_or(begin);
        let (mut sum, mut facts) = (Sum::default(), machine::facts());
        for (number, done) in (0..self.kills).step_by(KILLS).enumerate() {
            let kills = (self.kills - done).min(KILLS);
            let seed = first + number as u64;
            let ended = if let Some(client) = self.client {
                block_on(clients::history(seed, kills, client.client()))?
            } else if self.headless {
                block_on(headless::history(seed, kills, self.slower))?
            } else {
                block_on(history(&Plan::new(seed, kills), seed, self.slower))?
            };
            self.print(&ended, seed, kills);
            sum.add(&ended.sum);
            if !sum.held() && !self.keep_going {
                break;
            }
        }
        say(sum.line());
        if self.headless {
            say(sum.figures().text());
        }
        if let Some(folder) = &self.out {
            let words = format!("{} --kills {} --seed {first}", self.chore(), self.kills);
            facts.push(("command".to_owned(), format!("`{words}`")));
            let mut text = format!("{}\n{}", machine::list(&facts), sum.table().markdown());
            if self.headless {
                text = format!("{text}\n{}", sum.figures().markdown());
            }
            let place = match self.client {
                Some(client) => format!("chaos {}", client.client().name()),
                None if self.headless => "chaos headless".to_owned(),
                None => "chaos".to_owned(),
            };
            page::publish(folder, "performance", &[(&place, text)], &[])?;
        }
        Ok(if sum.held() { Verdict::Held } else { Verdict::Broken })
    }

    fn chore(&self) -> String {
        let client = self.client.map(|client| format!(" --client {}", client.client().name()));
        let headless = if self.headless { " --headless" } else { "" };
        format!("cargo xtask chaos{}{headless}", client.unwrap_or_default())
    }

    fn print(&self, ended: &Ended, seed: u64, kills: usize) {
        if !ended.story.is_empty() {
            say(&ended.story);
        }
        say(format!("seed {seed}: {}", ended.sum.line()));
        for one in &ended.broken {
            say(format!("broken: {one}"));
        }
        if !ended.broken.is_empty() {
            let slower = self.slower;
            let pace = if slower > 1.0 { format!(" --slower {slower}") } else { String::new() };
            let chore = self.chore();
            say(format!("replay: {chore} --seed {seed} --kills {kills}{pace}"));
        }
    }
}

/// What came of a history.
pub struct Ended {
    sum: Sum,
    /// What is wrong.
    pub broken: Vec<Broken>,
    /// For whoever wants to know what happened, if something is wrong.
    story: String,
}

impl Ended {
    /// How many tasks were checked.
    pub fn tasks(&self) -> usize {
        self.sum.tasks
    }
}

/// A short history for another campaign, in which some of the victims are only stopped for a while.
///
/// # Errors
/// When it could not be played.
pub fn short(seed: u64, blows: usize) -> Done<Ended> {
    let ended = block_on(history(&Plan::new(seed, blows).with_stops(seed), seed, 1.0))?;
    if !ended.broken.is_empty() {
        note(&ended.story);
    }
    Ok(ended)
}

async fn history(plan: &Plan, seed: u64, slower: f64) -> Done<Ended> {
    let begin = Instant::now();
    note(format!("history {seed} with {} blows", plan.blows()));
    let settings = plan::settings();
    let furniture = Furniture { config: Some(CONFIG), settings, ..Furniture::default() };
    let mut stage = Stage::open(&furniture).await?;
    stage.until_connected().await?;
    // The first turn takes seconds, in which nothing would be there to be killed.
    stage.client.ask(&stage.parent().await, &script(&["say warm"])).await;
    let mut play = Play::new(plan);
    play.all(&mut stage, plan, slower).await?;
    let settled = play.settle(&stage, plan).await?;
    let look = async || {
        let seen = seen::look(&stage, &play.items, play.host_kills()).await?;
        let broken = check(plan, &seen);
        Ok((seen, broken))
    };
    let (seen, mut broken) = judged(settled, look).await?;
    let told = (!broken.is_empty()).then(|| tell(&stage, seed, &play.diary, &broken));
    broken.extend(end(&mut stage).await?);
    let mut sum = Sum {
        seeds: vec![(seed, broken.is_empty())],
        outcomes: tally(&seen),
        tasks: seen.items.iter().map(|item| item.tasks.len()).sum(),
        seconds: begin.elapsed().as_secs_f64(),
        ..Sum::default()
    };
    Victim::ALL.iter().for_each(|victim| sum.hit(victim.name(), 0));
    play.blows.iter().for_each(|blow| sum.hit(blow.victim.name(), 1));
    sum.blame(&broken);
    Ok(Ended { sum, broken, story: told.unwrap_or_default() })
}

/// What is so twice, some seconds apart, is so. What is not settled is looked at once.
async fn judged(
    settled: bool,
    mut look: impl AsyncFnMut() -> Done<(Seen, Vec<Broken>)>,
) -> Done<(Seen, Vec<Broken>)> {
    let mut held_before = false;
    for number in 1.. {
        let (seen, broken) = look().await?;
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
fn tell(stage: &Stage, seed: u64, diary: &Diary, broken: &[Broken]) -> String {
    let mut lines = vec![format!("\nseed {seed}, what happened:"), diary.text()];
    let mut tasks: Vec<&str> = broken.iter().filter_map(|one| one.task.as_deref()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    for task in tasks {
        lines.push(format!("\nlegwork log {task}\n{}", stage.printed(&["log", task, "--verbose"])));
    }
    match keep(stage, seed) {
        Ok(folder) => lines.push(format!("records and logs: {}", folder.display())),
        Err(fault) => note(format!("records and logs are not kept: {fault}")),
    }
    lines.join("\n")
}

/// Copies legwork's folder and the output of OpenCode beside this program.
fn keep(stage: &Stage, seed: u64) -> Done<PathBuf> {
    let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
    let folder = own.with_file_name("chaos").join(format!("seed-{seed}"));
    files::copy(&stage.own_folder(), &folder.join("legwork"))?;
    files::copy(&stage.home.root().join("logs"), &folder.join("opencode"))?;
    Ok(folder)
}
