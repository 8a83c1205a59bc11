//! Plays seeds: many, until one is broken, or one, as a story. `cargo xtask sim` runs it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

use std::process::ExitCode;

use legwork_sim::audit::Broken;
use legwork_sim::campaign::{self, Books};

const USAGE: &str = "\
Usage: sim --seeds N [--from S] [--sqlite]    play N seeds, from seed S on (default 0)
       sim --seed S [--sqlite]                play one seed and tell its story
--sqlite keeps the records of each history in a file, as the daemon does; slower";

/// How often a long campaign says how far it is.
const TELL_EVERY: u64 = 50_000;

struct Options {
    seed: Option<u64>,
    seeds: u64,
    from: u64,
    books: Books,
}

fn options() -> Option<Options> {
    let mut options = Options { seed: None, seeds: 0, from: 0, books: Books::Memory };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next()?.replace([',', '_'], "").parse::<u64>().ok();
        match word.as_str() {
            "--seed" => options.seed = Some(number()?),
            "--seeds" => options.seeds = number()?,
            "--from" => options.from = number()?,
            "--sqlite" => options.books = Books::Sqlite,
            _ => return None,
        }
    }
    (options.seed.is_some() || options.seeds > 0).then_some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match options.seed {
        Some(seed) => tell(seed, options.books),
        None => search(&options),
    }
}

fn tell(seed: u64, books: Books) -> ExitCode {
    let (story, broken) = campaign::story(seed, books);
    println!("{story}");
    verdict(seed, &broken)
}

fn verdict(seed: u64, broken: &[Broken]) -> ExitCode {
    if broken.is_empty() {
        return ExitCode::SUCCESS;
    }
    for Broken { check, what } in broken {
        println!("broken: {check}: {what}");
    }
    println!("replay: cargo xtask sim --seed {seed}");
    ExitCode::FAILURE
}

fn search(options: &Options) -> ExitCode {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let progress = |done: u64| {
        if done / TELL_EVERY != done.saturating_sub(campaign::BATCH) / TELL_EVERY {
            eprintln!("{done} of {} seeds", options.seeds);
        }
    };
    let report = campaign::run(options.from, options.seeds, threads, options.books, &progress);
    println!("seeds: {}", report.seeds);
    println!("tasks: {}", report.tasks);
    println!("requests: {}", report.requests);
    match &report.broken {
        None => ExitCode::SUCCESS,
        Some((seed, broken)) => {
            println!("{}\n", campaign::story(*seed, options.books).0);
            verdict(*seed, broken)
        }
    }
}
