//! `cargo xtask bench opencode`: what legwork costs on the real OpenCode, beside OpenCode's own
//! background tasks and beside what nobody can go below, all in one run on one machine.

mod arm;
mod beside;
mod goals;
mod latency;
mod load;
mod memory;
mod mixed;
mod model;
mod report;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use legwork_testkit::block_on;

use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::machine;
use crate::page;
use crate::progress::{note, say};
use crate::stage::Stage;
use arm::Arm;
use report::{Memory, Report};

/// Measure legwork, OpenCode's own background tasks, and the floor, in one run
///
/// Latencies are taken one after the other while nothing else happens; then many helpers run at
/// once, in turns of each kind; then memory, a mixed lot in which every outcome is counted, and
/// what the model is asked. The tables come as they are ready. Use a machine that does nothing
/// else: 20 to 40 minutes. The exit code is 1 if legwork told a wrong, missing or doubled outcome.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench opencode --quick               does it work? (its figures are worth nothing)
  cargo xtask bench opencode --json all.json       every sample, for your own statistics
  cargo xtask bench opencode --out docs            fill in docs/performance.md and its plots")]
pub struct Bench {
    /// On which host
    host: HostKind,
    /// A few of everything, to see that it works
    #[arg(long)]
    quick: bool,
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// How often each latency is taken
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// How often each number of helpers is run
    #[arg(long, value_name = "N")]
    load_repeats: Option<usize>,
    /// How many helpers at once, one after the other
    #[arg(long, value_delimiter = ',', value_name = "N")]
    helpers: Vec<usize>,
    /// Write every sample to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fill in performance.md in this folder and write the plots beside it
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HostKind {
    Opencode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Latency,
    Load,
    Memory,
    Mixed,
    /// Model requests, prompts and tool definitions: counts, so the machine may be busy
    Model,
    /// A window with many helpers in it or beside it; only if it is asked for
    Beside,
}

/// How much of everything.
struct Extent {
    repeats: usize,
    load_repeats: usize,
    helpers: Vec<usize>,
    seconds: usize,
    kept: usize,
    lot: usize,
    model_repeats: usize,
}

impl Extent {
    fn whole() -> Self {
        let helpers = vec![1, 10, 50, 100];
        let (kept, lot, model_repeats) = (1_000, 50, 5);
        Self { repeats: 25, load_repeats: 3, helpers, seconds: 15, kept, lot, model_repeats }
    }

    fn quick() -> Self {
        let (helpers, kept, lot, model_repeats) = (vec![1, 4], 20, 10, 1);
        Self { repeats: 3, load_repeats: 1, helpers, seconds: 3, kept, lot, model_repeats }
    }
}

/// One OpenCode for each arm, all up at the same time.
struct Stages {
    direct: Stage,
    native: Stage,
    legwork: Stage,
}

impl Stages {
    fn of(&self, arm: Arm) -> &Stage {
        match arm {
            Arm::Direct => &self.direct,
            Arm::Native => &self.native,
            Arm::Legwork => &self.legwork,
        }
    }
}

impl Bench {
    /// Measures.
    pub fn run(self) -> Done<Verdict> {
        let HostKind::Opencode = self.host;
        if self.out.is_some() && !self.only.is_empty() {
            return Err(Fault::new("--out wants everything; leave out --only"));
        }
        let mut extent = if self.quick { Extent::quick() } else { Extent::whole() };
        extent.repeats = self.repeats.unwrap_or(extent.repeats);
        extent.load_repeats = self.load_repeats.unwrap_or(extent.load_repeats);
        if !self.helpers.is_empty() {
            extent.helpers.clone_from(&self.helpers);
        }
        let report = block_on(self.measure(&extent))?;
        say(format!("{}\n", goals::table(&report).text()));
        self.publish(&report)?;
        let told = |mixed: &report::Mixed| mixed.right == mixed.helpers;
        let ours = report.mixed.iter().filter(|mixed| mixed.arm == Arm::Legwork);
        let lost = report.loads.iter().filter(|load| load.arm == Arm::Legwork);
        let held = ours.into_iter().all(told) && lost.into_iter().all(|l| l.told == l.helpers);
        if !held {
            say("legwork told a wrong, missing or doubled outcome.");
        }
        Ok(if held { Verdict::Held } else { Verdict::Broken })
    }

    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    async fn measure(&self, extent: &Extent) -> Done<Report> {
        let mut report = Report { facts: machine::facts(), ..Report::default() };
        say(report.facts());
        if self.only.contains(&Part::Beside) {
            say(format!("{}\n", beside::measure(&extent.helpers).await?.text()));
        }
        let apart = [Part::Model, Part::Beside];
        if self.only.is_empty() || self.only.iter().any(|part| !apart.contains(part)) {
            self.side_by_side(extent, &mut report).await?;
        }
        if self.wants(Part::Model) {
            report.model = model::measure(extent.model_repeats).await?;
            say(format!("{}\n", report.model.table().text()));
            say(format!("{}\n", report.model.offers().text()));
        }
        Ok(report)
    }

    async fn side_by_side(&self, extent: &Extent, report: &mut Report) -> Done<()> {
        note("opening three OpenCodes");
        let stages = Stages {
            direct: Arm::Direct.open().await?,
            native: Arm::Native.open().await?,
            legwork: Arm::Legwork.open().await?,
        };
        stages.legwork.until_connected().await?;
        if self.wants(Part::Memory) {
            report.memory.push(memory::look(&stages.legwork, "nothing done yet").await?);
        }
        if self.wants(Part::Latency) {
            let others = [Arm::Native, Arm::Legwork].map(|arm| (stages.of(arm), arm));
            report.figures = latency::measure(&stages.direct, &others, extent.repeats).await?;
            say(format!("{}\n", report.latency().text()));
        }
        if self.wants(Part::Load) {
            self.loads(extent, &stages, report).await?;
        }
        if self.wants(Part::Mixed) {
            for arm in [Arm::Native, Arm::Legwork] {
                report.mixed.push(mixed::run(stages.of(arm), arm, extent.lot).await?);
            }
            say(format!("{}\n", report.mixed().text()));
        }
        if self.wants(Part::Memory) {
            memory::keep(&stages.legwork, extent.kept).await?;
            let kept = format!("{} more tasks kept", extent.kept);
            report.memory.push(memory::look(&stages.legwork, &kept).await?);
            if let Some(most) = extent.helpers.iter().max() {
                let load = load::run(&stages.legwork, Arm::Legwork, *most, extent.seconds).await?;
                report.memory.push(Memory {
                    when: format!("the most with {most} helpers at work and those kept"),
                    daemon_kb: load.daemon_kb,
                    bridge_kb: load.bridge_kb,
                });
            }
            say(format!("{}\n", report.memory().text()));
            let of = format!("legwork, {kept}");
            let launches = latency::launches(&stages.legwork, Arm::Legwork, extent.repeats, &of);
            report.figures.extend(launches.await?);
            say(format!("{}\n", report.latency().text()));
        }
        Ok(())
    }

    /// Each number of helpers in each way, before the next repeat: what changes with time on the
    /// machine then touches all of them alike. Another way is the first in each repeat.
    async fn loads(&self, extent: &Extent, stages: &Stages, report: &mut Report) -> Done<()> {
        for arm in Arm::ALL {
            // OpenCode compiles what it runs often; that is not to be measured.
            load::run(stages.of(arm), arm, 5, 3).await?;
        }
        for repeat in 0..extent.load_repeats {
            let mut arms = Arm::ALL;
            arms.rotate_left(repeat % Arm::ALL.len());
            for helpers in &extent.helpers {
                for arm in arms {
                    let load = load::run(stages.of(arm), arm, *helpers, extent.seconds).await?;
                    report.loads.push(load);
                }
                say(format!("{}\n", report.load().text()));
            }
        }
        Ok(())
    }

    fn publish(&self, report: &Report) -> Done<()> {
        if let Some(file) = &self.json {
            let text = format!("{:#}\n", report.json());
            std::fs::write(file, text)
                .map_err(|why| Fault::trying(format!("writing {}", file.display()), why))?;
        }
        let Some(folder) = &self.out else { return Ok(()) };
        let plot = |name: &str, of: &str| format!("\n![{of}](performance/{name})\n");
        let latency = report.latency().markdown() + &plot("latency.svg", "Latencies");
        let load = report.load().markdown() + &plot("load.svg", "Processor time and helpers' time");
        let places = [
            ("machine", report.facts()),
            ("goals", goals::table(report).markdown()),
            ("latency", latency),
            ("load", load),
            ("memory", report.memory().markdown()),
            ("mixed", report.mixed().markdown()),
            ("model", report.model.table().markdown() + "\n" + &report.model.offers().markdown()),
        ];
        let plots = [("latency.svg", report.latency_plot()), ("load.svg", report.load_plot())];
        page::publish(folder, "performance", &places, &plots)?;
        note(format!("{} is filled in", folder.join("performance.md").display()));
        Ok(())
    }
}
