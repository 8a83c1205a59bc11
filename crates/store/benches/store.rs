//! How many reactions are saved in a second, and how long a start takes with many finished tasks.

#![expect(clippy::unwrap_used, reason = "as in tests")]

#[path = "../tests/store/common.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod common;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{NOW, done, end_of, ended, finish, launched, made, moved, msg, open, pending, task};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use legwork_engine::record::{Change, Journal};
use legwork_engine::task::{Outcome, Stage, Task};
use legwork_store::Store;
use tempfile::TempDir;

const FINISHED: u64 = 100_000;
/// An ordinary answer of a model.
const RESULT_BYTES: usize = 2_000;

fn save(store: &mut Store, changes: &[Change]) {
    store.save(NOW, changes).unwrap();
}

/// A task whose host has its prompt.
fn working(store: &mut Store, number: u64) -> Task {
    let mut task = task(number);
    let launch = launched(&task);
    let prompting = moved(&mut task, Stage::Prompting(msg("msg_prompt")));
    save(store, &[launch, prompting, moved(&mut task, Stage::Working(msg("msg_prompt")))]);
    task
}

fn reactions(bench: &mut Criterion) {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut group = bench.benchmark_group("reactions");
    group.throughput(Throughput::Elements(1));

    let mut task = working(&mut store, 0);
    group.bench_function("moved", |bench| {
        bench.iter(|| {
            task.run.tool_calls += 1;
            let stage = task.stage.clone();
            save(&mut store, &[moved(&mut task, stage)]);
        });
    });

    let result = "x".repeat(RESULT_BYTES);
    let mut number = 0;
    group.bench_function("ended, pending, delivery made", |bench| {
        bench.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for _ in 0..times {
                number += 1;
                let mut task = working(&mut store, number);
                let end = ended(&mut task, Outcome::Completed, &result);
                let delivery = format!("msg_{number}");
                let tell = made(&delivery, &[end_of(&task)]);
                let changes = [end, pending(end_of(&task)), tell];
                let begun = Instant::now();
                save(&mut store, &changes);
                spent += begun.elapsed();
                save(&mut store, &[done(&delivery)]);
            }
            spent
        });
    });
    group.finish();
}

fn fill(dir: &Path) {
    let mut store = open(dir);
    let result = "x".repeat(RESULT_BYTES);
    for thousand in 0..FINISHED / 1_000 {
        let mut changes = Vec::new();
        for number in thousand * 1_000..(thousand + 1) * 1_000 {
            let mut task = task(number * 7_919);
            task.seq = number;
            task.parent = format!("ses_{}", number / 20).parse().unwrap();
            changes.extend(finish(&mut task, &result));
            let delivery = format!("msg_{number}");
            changes.extend([
                pending(end_of(&task)),
                made(&delivery, &[end_of(&task)]),
                done(&delivery),
            ]);
        }
        save(&mut store, &changes);
    }
}

fn start(bench: &mut Criterion) {
    let home = TempDir::new().unwrap();
    fill(home.path());
    let mut group = bench.benchmark_group("start");
    group.sample_size(10);
    group.bench_function("100,000 finished tasks", |bench| {
        bench.iter(|| {
            let saved = open(home.path()).load().unwrap();
            assert_eq!(saved.tasks.len() as u64, FINISHED);
            black_box(saved)
        });
    });
    group.finish();
}

criterion_group!(benches, reactions, start);
criterion_main!(benches);
