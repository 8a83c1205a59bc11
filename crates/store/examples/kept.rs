//! What many kept tasks cost: a home is filled with finished ones, and a legwork program starts a
//! daemon there, lists them and clears them.
//!
//! ```sh
//! cargo build --release -p legwork
//! cargo run --release -p legwork-store --example kept -- target/release/legwork 100000
//! ```

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it measures, for people")]

#[path = "../tests/store/common.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod common;

use std::env;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{NOW, done, end_of, finish, made, open, pending, task};
use legwork_engine::record::Journal;
use legwork_engine::task::{Outcome, Stage};

/// An ordinary answer of a model.
const RESULT_BYTES: usize = 2_000;
/// Tasks of one session.
const FAMILY: u64 = 20;
/// One in so many has failed.
const FAILED: u64 = 10;
/// Tasks that are saved at once.
const LOT: u64 = 1_000;

fn fill(dir: &Path, tasks: u64) {
    let mut store = open(dir);
    let result = "x".repeat(RESULT_BYTES);
    for first in (1..=tasks).step_by(LOT as usize) {
        let mut changes = Vec::new();
        for number in first..(first + LOT).min(tasks + 1) {
            // Ids are in no order.
            let mut task = task(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            (task.seq, task.run.order) = (number, number);
            task.run.key = format!("call_{:024x}", number).parse().unwrap();
            task.parent = format!("ses_{:026}", number / FAMILY).parse().unwrap();
            (task.root, task.run.asker) = (task.parent.clone(), task.parent.clone());
            changes.extend(finish(&mut task, &result));
            if number % FAILED == 0
                && let Some(legwork_engine::Change::Ended { task, .. }) = changes.last_mut()
            {
                task.stage = Stage::Finished(Outcome::Failed);
            }
            let delivery = format!("msg_{number}");
            let told = [pending(end_of(&task)), made(&delivery, &[end_of(&task)]), done(&delivery)];
            changes.extend(told);
        }
        store.save(NOW, &changes).unwrap();
    }
    store.compact().unwrap();
}

struct Home {
    folder: tempfile::TempDir,
    legwork: PathBuf,
}

impl Home {
    fn run(&self, args: &[&str]) -> (Output, Duration) {
        let begun = Instant::now();
        let mut command = Command::new(&self.legwork);
        command.args(args).env("LEGWORK_HOME", self.folder.path().join("legwork"));
        command.env("LEGWORK_LINGER_MS", "600000").stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        (output, begun.elapsed())
    }

    /// The daemon's memory now and at its most, in MB.
    fn memory(&self) -> (f64, f64) {
        let lock = self.folder.path().join("legwork/store/legwork.lock");
        let record = fs::read_to_string(lock).unwrap();
        let pid = record.split("\"pid\":").nth(1).unwrap().split([',', '}']).next().unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
        };
        (of("VmRSS:"), of("VmHWM:"))
    }
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let [_, legwork, tasks] = &args[..] else { panic!("give a legwork and a number of tasks") };
    let legwork = fs::canonicalize(legwork).unwrap();
    let home = Home { folder: tempfile::tempdir().unwrap(), legwork };
    let own = home.folder.path().join("legwork");
    fs::DirBuilder::new().mode(0o700).create(&own).unwrap();
    fill(&own.join("store"), tasks.parse().unwrap());
    let say = |what: &str, took: Duration| {
        let (now, most) = home.memory();
        println!(
            "{what:<24} {:>6.2} s   daemon {now:>4.0} MB, at most {most:.0} MB",
            took.as_secs_f64()
        );
    };
    say("start", home.run(&["daemon", "start"]).1);
    say("list", home.run(&["list"]).1);
    let (listed, took) = home.run(&["list", "--json"]);
    say("list --json", took);
    println!("{:<24} {:>6.1} MB", "", listed.stdout.len() as f64 / 1e6);
    say("show", home.run(&["list", "--limit", "1"]).1);
    say("clear", home.run(&["clear", "--yes"]).1);
    home.run(&["daemon", "stop", "--yes"]);
}
