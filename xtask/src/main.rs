//! `cargo xtask`: reads the first word and hands the rest to the chore of that name.
#![expect(clippy::print_stderr, reason = "a chore tells its faults on the terminal")]

use std::process::ExitCode;
use xtask::packing::{archive, formula, man, notices, npm};
use xtask::{campaigns, mutants, release, say, sim, tidy, upgrade};

const USAGE: &str = "\
The chores of this workspace.

Usage: cargo xtask <chore> [options]

Chores:
  tidy             check sizes, words, headers, documents and requirement coverage
  sim              run simulated histories: one seed, or many
  sim --mutants    plant each known defect and check that the simulation catches it
  bench opencode   measure legwork on the real OpenCode, beside OpenCode's own tasks
  chaos            kill every process at random moments, and check every run
  clients          play helpers on the real Claude Code, Codex, Gemini CLI and Goose
  conformance      run the official suite of the Model Context Protocol against `legwork mcp`
  adversary        attack it: kills, rubbish, clocks, disks, other users; a table at the end
  soak             run many tasks through one daemon, and look whether anything grows
  upgrade          build the next version too, and play upgrades and downgrades with both
  views            measure what it costs that somebody looks
  campaigns        check that these programs are formatted, compile and pass their tests
  picture          record the README's picture: the real OpenCode with helpers
  npm              make the npm packages around programs that are built
  archive          make the archives of a release around them
  man              write the manual pages
  formula          make the Homebrew formula from the sums of the archives
  notices          write THIRD-PARTY.md: the licences of what is built in
  release V        set the version everywhere, date the changelog, commit, tag
  help             print this

`cargo xtask <chore> --help` prints the options of one chore.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((chore, rest)) = words.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match chore.as_str() {
        "tidy" => tidy::run(rest),
        "sim" if rest.iter().any(|word| word == "--mutants") => {
            let rest: Vec<String> =
                rest.iter().filter(|word| *word != "--mutants").cloned().collect();
            mutants::run(&rest)
        }
        "mutants" => mutants::run(rest),
        "sim" => sim::run(rest),
        "adversary" | "bench" | "chaos" | "clients" | "conformance" | "picture" | "soak"
        | "views" => campaigns::run(chore, rest),
        "campaigns" => campaigns::check(rest),
        "npm" => npm::run(rest),
        "archive" => archive::run(rest),
        "man" => man::run(rest),
        "formula" => formula::run(rest),
        "notices" => notices::run(rest),
        "release" => release::run(rest),
        "upgrade" => upgrade::run(rest),
        "help" | "--help" | "-h" => {
            say(USAGE);
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("There is no chore `{other}`.\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
