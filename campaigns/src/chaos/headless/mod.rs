//! Windows that come and go while helpers work: histories in which the window is closed or killed,
//! and with it, or after it, the headless OpenCode that goes on and the daemon that started it.

mod check;
mod plan;
mod play;
mod watch;

use std::time::{Duration, Instant};

use legwork_testkit::{Installed, script};

use super::check::{Broken, Rule};
use super::sum::Sum;
use super::{Ended, end, judged, seen, tally, tell};
use crate::fault::{Done, Fault};
use crate::progress::note;
use crate::stage::{Furniture, Stage};
use plan::{Blow, Plan};
use play::Play;
use watch::{Overlap, Watch};

/// The longest that there may be two headless OpenCodes: one has a minute to start, and is looked
/// at twice, ten seconds apart, before it is ended as idle. The rest is for its end.
const TWO_MAX: Duration = Duration::from_secs(60 + 2 * 10 + 10);

/// Plays the history of a seed.
///
/// # Errors
/// When it cannot be begun.
pub async fn history(seed: u64, kills: usize, slower: f64) -> Done<Ended> {
    let begin = Instant::now();
    let plan = Plan::new(seed, kills);
    note(format!("history {seed} with {kills} kills in {} rounds", plan.rounds.len()));
    let mut stage = open().await?;
    let watch = Watch::begin(stage.home.root().to_owned());
    let mut play = Play::new();
    let played = play.all(&mut stage, &plan, slower).await;
    let look = async || {
        let seen = seen::look(&stage, &play.played, Vec::new()).await?;
        let broken = check::check(&plan.rounds, &seen);
        Ok((seen, broken))
    };
    let (seen, mut broken) = judged(played.is_ok(), look).await?;
    broken.extend(played.err().map(|fault| about_all(Rule::Stuck, fault.to_string())));
    let gaps = play.gaps(&stage);
    let told = (!broken.is_empty()).then(|| tell(&stage, seed, &play.diary, &broken));
    broken.extend(end(&mut stage).await?);
    let overlaps = watch.end();
    broken.extend(too_long(&overlaps, &play.restarts()));
    let mut sum = Sum {
        seeds: vec![(seed, broken.is_empty())],
        outcomes: tally(&seen),
        tasks: seen.items.iter().map(|item| item.tasks.len()).sum(),
        seconds: begin.elapsed().as_secs_f64(),
        overlaps_s: overlaps.iter().map(|one| one.since(&[]).as_secs_f64()).collect(),
        ..Sum::default()
    };
    for gap in gaps {
        let of = if gap.disturbed { &mut sum.gaps_disturbed_s } else { &mut sum.gaps_s };
        of.push(gap.seconds);
    }
    Blow::ALL.iter().filter_map(|blow| blow.kill()).for_each(|kind| sum.hit(kind, 0));
    let hits = play.hits.iter().filter_map(|(_, blow)| blow.kill());
    hits.for_each(|kind| sum.hit(kind, 1));
    sum.blame(&broken);
    Ok(Ended { sum, broken, story: told.unwrap_or_default() })
}

/// A home with a window in it. `opencode` is on the path, as it is for a person: a daemon that was
/// started after the window's end knows nothing else of it.
async fn open() -> Done<Stage> {
    let program = Installed::get().binary().parent().map(std::path::Path::to_path_buf);
    let program = program.ok_or_else(|| Fault::new("OpenCode is in no folder"))?;
    let others = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{others}", program.display());
    let furniture = Furniture {
        config: Some(super::CONFIG),
        settings: super::plan::settings(),
        env: &[("PATH", &path)],
        ..Furniture::default()
    };
    let stage = Stage::open(&furniture).await?;
    stage.until_connected().await?;
    // The first turn takes seconds.
    stage.client.ask(&stage.parent().await, &script(&["say warm"])).await;
    Ok(stage)
}

fn too_long(overlaps: &[Overlap], restarts: &[Instant]) -> Vec<Broken> {
    let longer = overlaps.iter().map(|one| one.since(restarts)).filter(|took| *took > TWO_MAX);
    let what = |took: Duration| format!("two headless OpenCodes at once for {took:?}");
    longer.map(|took| about_all(Rule::OrphanProcess, what(took))).collect()
}

fn about_all(rule: Rule, what: String) -> Broken {
    Broken { rule, item: None, task: None, what }
}
