//! Plays seeds and says in one line which check broke; what the search for planted defects runs.

#![expect(clippy::print_stdout, reason = "its output is read by the search for planted defects")]

use std::process::ExitCode;

use legwork_sim::campaign;

fn main() -> ExitCode {
    let seeds = std::env::args().skip_while(|arg| arg != "--seeds").nth(1);
    let seeds = seeds.and_then(|count| count.parse().ok()).unwrap_or(1000);
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let report = campaign::run(0, seeds, threads, &|_| {});
    println!("seeds: {}", report.seeds);
    match report.broken.as_ref().and_then(|(seed, broken)| Some((seed, broken.first()?))) {
        Some((seed, first)) => {
            println!("broken: {}: seed {seed}: {}", first.check, first.what);
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}
