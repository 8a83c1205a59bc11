//! The campaigns that produce the project's figures, on the real OpenCode with a scripted model:
//! what it costs (`bench`, `views`), what survives (`chaos`), what grows (`soak`), what a hostile
//! world can do to it (`adversary`) and what it looks like (`picture`). `cargo xtask` starts them
//! in release mode. They know legwork only as its users do: by its binary, its plugin and what
//! OpenCode shows. They refuse to judge a figure without saying by which bound.

mod adversary;
mod bench;
mod chaos;
mod clients;
mod conformance;
mod fault;
mod files;
mod legwork;
mod machine;
mod page;
mod picture;
mod processes;
mod progress;
mod soak;
mod stage;
mod statistics;
mod svg;
mod talk;
mod terminal;
mod views;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::fault::Done;
use crate::progress::note;

/// Campaigns on the real OpenCode with a scripted model
///
/// Progress goes to stderr, results to stdout. Everything runs in a home of its own below the
/// temporary folder; Ctrl-C ends a campaign, and what it started ends with it. Linux only: figures
/// of processes are read from /proc.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Words {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Subcommand)]
enum Campaign {
    Adversary(adversary::Adversary),
    #[command(hide = true)]
    Agent(adversary::Agent),
    #[command(hide = true)]
    Knock(adversary::Knock),
    Bench(bench::Bench),
    Chaos(chaos::Chaos),
    Clients(clients::Clients),
    Conformance(conformance::Conformance),
    Picture(picture::Picture),
    Soak(soak::Soak),
    Views(views::Views),
}

/// Whether what was looked at is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Held,
    Broken,
}

fn main() -> ExitCode {
    let verdict: Done<Verdict> = match Words::parse().campaign {
        Campaign::Adversary(adversary) => adversary.run(),
        Campaign::Agent(agent) => {
            agent.run();
            Ok(Verdict::Held)
        }
        Campaign::Knock(knock) => knock.run().map(|()| Verdict::Held),
        Campaign::Bench(bench) => bench.run(),
        Campaign::Chaos(chaos) => chaos.run(),
        Campaign::Clients(clients) => clients.run(),
        Campaign::Conformance(conformance) => conformance.run(),
        Campaign::Picture(picture) => picture.run(),
        Campaign::Soak(soak) => soak.run(),
        Campaign::Views(views) => views.run(),
    };
    match verdict {
        Ok(Verdict::Held) => ExitCode::SUCCESS,
        Ok(Verdict::Broken) => ExitCode::FAILURE,
        Err(fault) => {
            note(format!("The campaign could not be done: {fault}"));
            ExitCode::from(2)
        }
    }
}
