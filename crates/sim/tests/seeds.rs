//! Random histories, some thousands of them; `cargo xtask sim --seeds N` plays more.

use legwork_sim::audit::Broken;
use legwork_sim::campaign::{self, Books, Report};
use legwork_sim::edges;

/// Histories of the ordinary run.
const SEEDS: u64 = 2_000;
/// Those that are kept in a file: a commit to disk takes longer than a whole history in memory.
const SEEDS_ON_DISK: u64 = 60;

fn play(seeds: u64, books: Books) -> Report {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let report = campaign::run(0, seeds, threads, books, &|_| {});
    if let Some((seed, broken)) = &report.broken {
        let (story, _) = campaign::story(*seed, books);
        panic!("{story}\n\n{broken:#?}\nreplay: cargo xtask sim --seed {seed}");
    }
    assert_eq!(report.seeds, seeds);
    assert!(report.tasks > seeds, "histories in which hardly anything happens prove nothing");
    report
}

#[test]
fn two_thousand_histories_hold_and_take_the_transitions_that_are_listed() {
    let report = play(SEEDS, Books::Memory);
    insta::assert_snapshot!(edges::table(&report.edges));
}

#[test]
fn histories_kept_in_a_file_hold() {
    play(SEEDS_ON_DISK, Books::Sqlite);
}

#[test]
fn a_seed_is_the_same_story_every_time() {
    for seed in [1, 7, 42] {
        let (first, _): (String, Vec<Broken>) = campaign::story(seed, Books::Memory);
        assert!(first.lines().count() > 10);
        assert_eq!(first, campaign::story(seed, Books::Memory).0);
        assert_eq!(first, campaign::story(seed, Books::Sqlite).0, "in a file");
    }
}
