//! `cargo xtask views`: what it costs that somebody looks. Many helpers are at work and many
//! finished tasks are kept; the processor time of everybody who takes part is read for a while with
//! nobody there, with a board, with the terminal view, and with the page in a real browser.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use legwork_testkit::Browser;
use serde_json::Value;

use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::machine;
use crate::page::Table;
use crate::processes::{cpu_seconds, descendants, memory_kb};
use crate::progress::{note, say, wait};
use crate::terminal::{LOOK, SOON, Terminal};

const CONFIG: &str = "[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n";
/// Launches of one command.
const LOT: usize = 50;
/// For a lot of short tasks, on a busy machine.
const SETTLE: Duration = Duration::from_secs(120);
/// A helper that does as real ones do: some words, a tool, a pause; for an hour.
const AT_WORK: &str = "repeat 3600: think step {i}; tool read for 400ms; wait 600ms";
/// One core of a daemon that somebody looks at, in percent.
const DAEMON_MAX: f64 = 1.0;
/// True when the page shows what is so now, and rows.
const SHOWN: &str = "document.querySelector('[role=status]')?.innerText.includes('live') && \
                     document.querySelector('a[href^=\"#bg_\"]') !== null";

/// Measure what the views cost, with many helpers at work and many tasks kept
///
/// Scripted agents do the work; daemon, page, browser and terminal view are real. The exit code is
/// 1 if an open board costs the daemon more than a hundredth of a core. Use a machine that does
/// nothing else.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask views                                five minutes
  cargo xtask views --helpers 5 --kept 20 --seconds 3     does it work?")]
pub struct Views {
    /// Helpers at work
    #[arg(long, value_name = "N", default_value_t = 50)]
    helpers: usize,
    /// Finished tasks that are kept
    #[arg(long, value_name = "N", default_value_t = 1_200)]
    kept: usize,
    /// How long each is looked at
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    seconds: u64,
}

/// Who takes part, and what each used up of a core, in percent.
struct Used {
    daemon: f64,
    front: Option<f64>,
    browser: Option<f64>,
    front_kb: Option<u64>,
}

impl Views {
    /// Measures.
    pub fn run(self) -> Done<Verdict> {
        let terminal = Terminal::open(CONFIG)?;
        let daemon = terminal.start()?;
        self.keep(&terminal)?;
        self.put_to_work(&terminal)?;
        let mut table =
            Table::new(&["somebody looks", "daemon %", "front %", "browser %", "front MB"]);
        let nobody = self.measure("nobody", daemon, None, &[], &mut table);

        let board = Viewer::start(&terminal, &["bridge", "board"], Stdio::null())?;
        let looked_at = self.measure("one board", daemon, Some(board.pid()), &[], &mut table);
        drop(board);
        let paint = self.page(&terminal, daemon, &mut table)?;

        say(machine::list(&machine::facts()));
        say(format!("{} helpers at work, {} tasks kept\n", self.helpers, self.kept));
        say(table.text());
        say(format!("\n{paint}"));
        let added = looked_at.daemon - nobody.daemon;
        say(format!("\nAn open board adds {added:.2} % of a core, of at most {DAEMON_MAX} %."));
        Ok(if added <= DAEMON_MAX { Verdict::Held } else { Verdict::Broken })
    }

    /// Has tasks done, which are then kept.
    fn keep(&self, terminal: &Terminal) -> Done<()> {
        for first in (0..self.kept).step_by(LOT) {
            note(format!("keeping tasks: {first} of {}", self.kept));
            let one = |number: usize| format!("say result {number}");
            launch(terminal, (first..self.kept.min(first + LOT)).map(one))?;
            wait("the lot is done", SETTLE, LOOK * 4, || {
                let daemon = terminal.daemon().ok().flatten()?;
                (daemon.unfinished == 0).then_some(())
            })?;
        }
        Ok(())
    }

    fn put_to_work(&self, terminal: &Terminal) -> Done<()> {
        note(format!("{} helpers begin", self.helpers));
        launch(terminal, (0..self.helpers).map(|_| AT_WORK.to_owned()))?;
        wait("all are at work", SETTLE, LOOK * 4, || {
            let tasks = terminal.tasks().ok()?;
            let working = tasks.iter().filter(|task| task["stage"] == "working").count();
            (working == self.helpers).then_some(())
        })
    }

    fn page(&self, terminal: &Terminal, daemon: u32, table: &mut Table) -> Done<String> {
        let args = ["ui", "--no-open", "--json", "--port", "0"];
        let mut front = Viewer::start(terminal, &args, Stdio::piped())?;
        let address = front.first_line()?["address"].as_str().unwrap_or_default().to_owned();
        let browser = Browser::start();
        let context = browser.context();
        let begun = Instant::now();
        let page = context.open(&address);
        page.wait_for(SHOWN);
        let rows = begun.elapsed();
        let paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
        let paint = page.eval(paint).as_f64().unwrap_or_default();
        let processes = descendants(std::process::id(), "chrom");
        self.measure("the page, on the board", daemon, Some(front.pid()), &processes, table);
        page.eval("document.querySelector('a[href^=\"#bg_\"]').click()");
        page.wait_for("location.hash.startsWith('#bg_')");
        self.measure("the page, on one helper", daemon, Some(front.pid()), &processes, table);
        Ok(format!("first paint {paint:.0} ms; rows there after {} ms", rows.as_millis()))
    }

    /// What everybody used up while nothing else was done.
    fn measure(
        &self,
        what: &str,
        daemon: u32,
        front: Option<u32>,
        browser: &[u32],
        table: &mut Table,
    ) -> Used {
        note(format!("{what}: {} s", self.seconds));
        let of = |pids: &[u32]| pids.iter().filter_map(|pid| cpu_seconds(*pid)).sum::<f64>();
        let fronts: Vec<u32> = front.into_iter().collect();
        let take = || [of(&[daemon]), of(&fronts), of(browser)];
        let (begun, before) = (Instant::now(), take());
        std::thread::sleep(Duration::from_secs(self.seconds));
        let (took, after) = (begun.elapsed().as_secs_f64(), take());
        let share = |place: usize| (after[place] - before[place]) / took * 100.0;
        let used = Used {
            daemon: share(0),
            front: front.map(|_| share(1)),
            browser: (!browser.is_empty()).then(|| share(2)),
            front_kb: front.and_then(memory_kb),
        };
        let percent =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.2}"));
        table.push(vec![
            what.to_owned(),
            percent(Some(used.daemon)),
            percent(used.front),
            percent(used.browser),
            used.front_kb.map_or("-".to_owned(), |kb| format!("{:.1}", kb as f64 / 1024.0)),
        ]);
        used
    }
}

/// Launches helpers with these scripts, in commands of a bearable length.
fn launch(terminal: &Terminal, scripts: impl Iterator<Item = String>) -> Done<()> {
    let scripts: Vec<String> = scripts.collect();
    for lot in scripts.chunks(LOT) {
        let mut args = vec!["run", "--detach", "--agent", "rehearsal"];
        args.extend(lot.iter().map(String::as_str));
        let ran = terminal.run(&args)?;
        if !ran.is_done() {
            return Err(Fault::trying("launching helpers", ran.said()));
        }
    }
    Ok(())
}

/// A program that looks. Ended when it is dropped.
struct Viewer(Child);

impl Viewer {
    fn start(terminal: &Terminal, args: &[&str], out: Stdio) -> Done<Self> {
        let mut command: Command = terminal.command(args);
        command.stdin(Stdio::piped()).stdout(out).stderr(Stdio::null());
        let child = command.spawn().map_err(|why| Fault::trying(args.join(" "), why))?;
        let viewer = Self(child);
        wait("the viewer is there", SOON, LOOK, || cpu_seconds(viewer.pid()))?;
        Ok(viewer)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn first_line(&mut self) -> Done<Value> {
        let out = self.0.stdout.as_mut().ok_or_else(|| Fault::new("it has no stdout"))?;
        let fault = |why: &dyn std::fmt::Display| Fault::trying("reading its first line", why);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(|why| fault(&why))?;
        serde_json::from_str(&line).map_err(|why| fault(&why))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
