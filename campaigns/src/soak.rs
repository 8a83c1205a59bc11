//! `cargo xtask soak`: many tasks, one after the other in small lots, through one daemon and one
//! OpenCode, and whether anything grows that should not. Growth is a fitted slope with a bound that
//! is stated with its reason; the first quarter, in which everything warms up, does not count.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use legwork_testkit::{block_on, call, script};
use serde_json::{Value, json};

use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::page::{self, Table};
use crate::processes::{handles, memory_kb};
use crate::progress::{note, say};
use crate::stage::{Furniture, Stage};
use crate::statistics::{fit, warm};
use crate::svg::{self, Panel, Series, number};

/// Tasks that are launched in one turn, and then waited for.
const LOT: usize = 10;
/// A parent with so many tasks is left alone: its history is OpenCode's, and grows.
const PER_PARENT: usize = 50;
/// Fewer samples than this have no slope worth a verdict.
const SAMPLES: usize = 20;
const SETTLE: Duration = Duration::from_secs(180);
const CONFIG: &str = "[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n";

/// Run many tasks through one daemon and look whether anything grows
///
/// Tasks of all kinds (answers, provider errors, tool calls) are launched ten at a time and waited
/// for; after each lot the memory and file handles of daemon and bridge, the size of the store and
/// the requests to OpenCode are taken. Kept tasks may grow by what their records need and no more;
/// with --clear they are forgotten after each lot, and nothing may grow at all. The exit code is 1
/// if a bound is exceeded.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask soak --tasks 1000                 about ten minutes
  cargo xtask soak --tasks 5000 --clear         looking for a leak
  cargo xtask soak --tasks 1000 --out docs      fill in docs/performance.md and its plot")]
pub struct Soak {
    /// How many tasks
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    tasks: usize,
    /// Forget the tasks after each lot
    #[arg(long)]
    clear: bool,
    /// Write every sample to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fill in performance.md in this folder and write the plot beside it
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// How things stood after so many tasks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sample {
    tasks: usize,
    daemon_kb: f64,
    bridge_kb: f64,
    daemon_handles: f64,
    bridge_handles: f64,
    store_kb: f64,
    requests_per_task: f64,
}

/// Something that may grow only so fast.
struct Watched {
    name: &'static str,
    unit: &'static str,
    of: fn(&Sample) -> f64,
    /// For each task that is kept.
    kept: f64,
    /// For each task that was forgotten.
    cleared: f64,
    why: &'static str,
}

const WATCHED: [Watched; 6] = [
    Watched {
        name: "daemon's memory",
        unit: "KB",
        of: |sample| sample.daemon_kb,
        kept: 3.0,
        cleared: 0.5,
        why: "a record of about one KB for a kept task; the 2 MB of page cache fill up first",
    },
    Watched {
        name: "bridge's memory",
        unit: "KB",
        of: |sample| sample.bridge_kb,
        kept: 0.2,
        cleared: 0.2,
        why: "it is a pipe and remembers nothing",
    },
    Watched {
        name: "daemon's file handles",
        unit: "handles",
        of: |sample| sample.daemon_handles,
        kept: 0.002,
        cleared: 0.002,
        why: "one for each connection, whatever was done",
    },
    Watched {
        name: "bridge's file handles",
        unit: "handles",
        of: |sample| sample.bridge_handles,
        kept: 0.002,
        cleared: 0.002,
        why: "two pipes and a socket",
    },
    Watched {
        name: "store",
        unit: "KB",
        of: |sample| sample.store_kb,
        kept: 8.0,
        cleared: 0.5,
        why: "prompt, result of 2 KB, timeline and indices; what was forgotten makes room",
    },
    Watched {
        name: "requests per task",
        unit: "requests",
        of: |sample| sample.requests_per_task,
        kept: 0.001,
        cleared: 0.001,
        why: "the cost of a task does not depend on how many were before",
    },
];

/// What became of one of them.
struct Growth {
    watched: &'static Watched,
    first: f64,
    last: f64,
    slope: f64,
    bound: f64,
}

impl Growth {
    fn held(&self) -> bool {
        self.slope <= self.bound
    }
}

impl Soak {
    /// Runs them.
    pub fn run(self) -> Done<Verdict> {
        if self.tasks / LOT < SAMPLES {
            let least = SAMPLES * LOT;
            note(format!("fewer than {least} tasks have no slope worth a verdict"));
        }
        let samples = block_on(self.sample())?;
        let growths = growths(&samples, self.clear);
        let table = table(&growths);
        say(format!("{}\n\n{}", samples_table(&samples).text(), table.text()));
        if let Some(file) = &self.json {
            let text = format!("{:#}\n", json(&samples));
            std::fs::write(file, text)
                .map_err(|why| Fault::trying(format!("writing {}", file.display()), why))?;
        }
        if let Some(folder) = &self.out {
            publish(folder, &samples, &table)?;
        }
        let too_few = samples.len() < SAMPLES;
        let held = growths.iter().all(Growth::held);
        say(match (held, too_few) {
            (_, true) => "too few samples for a verdict",
            (true, _) => "flat: every slope is within its bound",
            (false, _) => "not flat: a slope exceeds its bound",
        });
        Ok(if held || too_few { Verdict::Held } else { Verdict::Broken })
    }

    async fn sample(&self) -> Done<Vec<Sample>> {
        let stage =
            Stage::open(&Furniture { config: Some(CONFIG), ..Furniture::default() }).await?;
        stage.until_connected().await?;
        let mut samples = Vec::new();
        let mut parent = String::new();
        let mut requests = 0;
        let begun = Instant::now();
        for first in (0..self.tasks).step_by(LOT) {
            if first % PER_PARENT == 0 {
                let each = begun.elapsed().as_secs_f64() / first.max(1) as f64;
                note(format!("{first} of {} tasks, {each:.2} s each", self.tasks));
                parent = stage.parent().await;
            }
            let last = self.tasks.min(first + LOT);
            let lot: Vec<String> = (first..last).map(|number| launch(&stage, number)).collect();
            stage.client.ask(&parent, &script(&[&lot.join("\n"), "say ok"])).await;
            let daemon = stage.until_settled(SETTLE).await?;
            let new = (daemon.requests.saturating_sub(requests)) as f64 / (last - first) as f64;
            requests = daemon.requests;
            samples.push(look(&stage, daemon.pid, last, new)?);
            if self.clear {
                let clear = call("background_clear", &json!({}));
                stage.client.ask(&parent, &script(&[&clear, "say ok"])).await;
            }
            stage.model.forget();
        }
        Ok(samples)
    }
}

/// Three of five answer at length, one reads first, one is refused by its provider.
fn launch(stage: &Stage, task: usize) -> String {
    let answer = format!("repeat 2000 result of {task}, ");
    let file = stage.home.project().join("notes.txt");
    let read = call("read", &json!({ "filePath": file, "offset": task % 300 + 1, "limit": 3 }));
    // No number in it: OpenCode takes 429 or 524 in the words of an error for its status, and tries
    // again for a minute (1.18.33).
    let refusal = "fail 400 not today";
    let steps: &[&str] = match task % 5 {
        3 => &[&read, &answer],
        4 => &[refusal],
        _ => &[&answer],
    };
    let given = json!({
        "description": format!("Task {task}"), "prompt": script(steps), "agent": "general",
    });
    call("background_task", &given)
}

fn look(stage: &Stage, daemon: u32, tasks: usize, requests_per_task: f64) -> Done<Sample> {
    let gone = || Fault::new("the daemon or the bridge has ended");
    let bridge = stage.bridge().ok_or_else(gone)?;
    Ok(Sample {
        tasks,
        daemon_kb: memory_kb(daemon).ok_or_else(gone)? as f64,
        bridge_kb: memory_kb(bridge).ok_or_else(gone)? as f64,
        daemon_handles: handles(daemon).ok_or_else(gone)? as f64,
        bridge_handles: handles(bridge).ok_or_else(gone)? as f64,
        store_kb: size(&stage.own_folder().join("store")) as f64 / 1024.0,
        requests_per_task,
    })
}

/// Of all files below a folder.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let of = |path: PathBuf| {
        if path.is_dir() { size(&path) } else { path.metadata().map_or(0, |found| found.len()) }
    };
    entries.map(|entry| of(entry.path())).sum()
}

fn points(samples: &[Sample], of: fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    samples.iter().map(|sample| (sample.tasks as f64, of(sample))).collect()
}

fn growths(samples: &[Sample], cleared: bool) -> Vec<Growth> {
    let growth = |watched: &'static Watched| {
        let points = points(samples, watched.of);
        Growth {
            watched,
            first: points.first().map_or(0.0, |point| point.1),
            last: points.last().map_or(0.0, |point| point.1),
            slope: fit(warm(&points)).map_or(0.0, |fit| fit.slope),
            bound: if cleared { watched.cleared } else { watched.kept },
        }
    };
    WATCHED.iter().map(growth).collect()
}

fn table(growths: &[Growth]) -> Table {
    let mut table = Table::new(&[
        "what",
        "first",
        "last",
        "growth per 1,000 tasks",
        "bound",
        "",
        "why so much",
    ]);
    for growth in growths {
        let with_unit = |value: f64| format!("{} {}", number(value), growth.watched.unit);
        table.push(vec![
            growth.watched.name.to_owned(),
            with_unit(growth.first),
            with_unit(growth.last),
            with_unit(growth.slope * 1_000.0),
            with_unit(growth.bound * 1_000.0),
            if growth.held() { "held" } else { "exceeded" }.to_owned(),
            growth.watched.why.to_owned(),
        ]);
    }
    table
}

/// At most twenty rows of them.
fn samples_table(samples: &[Sample]) -> Table {
    let mut head = vec!["tasks"];
    head.extend(WATCHED.iter().map(|watched| watched.name));
    let mut table = Table::new(&head);
    let every = samples.len().div_ceil(20).max(1);
    for sample in samples.iter().skip((samples.len().max(1) - 1) % every).step_by(every) {
        let values = WATCHED.iter().map(|watched| number((watched.of)(sample)));
        table.push(std::iter::once(sample.tasks.to_string()).chain(values).collect());
    }
    table
}

fn json(samples: &[Sample]) -> Value {
    let one = |sample: &Sample| {
        let values = WATCHED.iter().map(|watched| {
            (format!("{} ({})", watched.name, watched.unit), json!((watched.of)(sample)))
        });
        let mut all: serde_json::Map<String, Value> = values.collect();
        all.insert("tasks".to_owned(), json!(sample.tasks));
        Value::Object(all)
    };
    json!({ "samples": samples.iter().map(one).collect::<Vec<_>>() })
}

/// What has the same unit is shown together, if it is of the same kind.
fn panels(samples: &[Sample]) -> Vec<Panel> {
    let [daemon, bridge, daemon_handles, bridge_handles, store, requests] = &WATCHED;
    let shown = [
        ("Memory", &[daemon, bridge][..]),
        ("File handles", &[daemon_handles, bridge_handles]),
        ("Store with its log", &[store]),
        ("Requests to OpenCode for each task", &[requests]),
    ];
    let series = |watched: &&Watched| Series {
        name: watched.name.to_owned(),
        points: points(samples, watched.of),
    };
    let panel = |(title, watched): (&str, &[&Watched])| Panel {
        title: title.to_owned(),
        x: "tasks".to_owned(),
        y: watched[0].unit.to_owned(),
        series: watched.iter().map(series).collect(),
    };
    shown.into_iter().map(panel).collect()
}

fn publish(folder: &Path, samples: &[Sample], table: &Table) -> Done<()> {
    let panels = panels(samples);
    let count = samples.last().map_or(0, |sample| sample.tasks);
    let text = format!(
        "{count} tasks.\n\n{}\n![Memory, handles, store and requests](performance/soak.svg)\n",
        table.markdown()
    );
    page::publish(folder, "performance", &[("soak", text)], &[("soak.svg", svg::lines(&panels))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(daemon_kb_per_task: f64) -> Vec<Sample> {
        let sample = |number: usize| Sample {
            tasks: number * LOT,
            daemon_kb: 9_000.0 + daemon_kb_per_task * (number * LOT) as f64,
            requests_per_task: 8.0,
            ..Sample::default()
        };
        (1..=40).map(sample).collect()
    }

    #[test]
    fn what_grows_too_fast_is_named_and_the_rest_is_held() {
        let held = |per_task: f64, cleared: bool| {
            growths(&samples(per_task), cleared).iter().all(Growth::held)
        };
        assert!(held(0.0, true) && held(2.9, false));
        assert!(!held(3.1, false) && !held(0.6, true));
        let broken = growths(&samples(7.0), false);
        let exceeded: Vec<&str> =
            broken.iter().filter(|one| !one.held()).map(|one| one.watched.name).collect();
        assert_eq!(exceeded, ["daemon's memory"]);
        assert_eq!(table(&broken).rows[0][5], "exceeded");
    }

    #[test]
    fn a_long_run_is_shown_in_few_rows_with_its_last() {
        let table = samples_table(&samples(0.0));
        assert_eq!(table.rows.len(), 20);
        assert_eq!(table.rows[19][0], "400");
        assert!(samples_table(&[]).rows.is_empty());
    }
}
