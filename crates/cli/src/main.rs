//! `legwork`, the one binary: commands for people, the bridge that a host's plugin starts, and the
//! daemon. One file a command in `commands/`.
//!
//! A thin client: it asks the daemon and shows what it says. It decides nothing about tasks and
//! does not open the records; only `doctor` has them checked, through the store. Output for people
//! goes to stdout, everything else to stderr; a closed pipe ends it quietly.

mod agents;
mod asking;
mod board_lines;
mod clients;
mod commands;
mod complete;
mod config;
mod demo;
#[cfg(test)]
mod docs;
mod exit;
mod fault;
mod front;
mod headless;
mod identity;
mod inside;
mod installation;
mod listing;
mod mail;
mod mistakes;
mod npm_entry;
mod plugin;
mod programs;
mod progress;
mod project;
mod purge;
mod round_trip;
mod run;
mod screen;
mod sentences;
mod signals;
mod table;
mod transcript;
mod tui_part;
mod views;
mod watching;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::commands::Commands;
use crate::exit::{Exit, after_help};
use crate::fault::Fault;
use crate::screen::Screen;

/// Background helpers for coding agents.
#[derive(Parser)]
#[command(
    name = "legwork",
    version,
    long_about = "Background helpers for coding agents. An agent hands over a piece of work, goes \
        on with its conversation, and is notified exactly once, with the full result, when the \
        work is done. With these commands a person sees and steers what the helpers do.",
    arg_required_else_help = true,
    after_help = after_help()
)]
struct Legwork {
    /// Do as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    folder: Option<PathBuf>,
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Commands,
}

fn main() -> ExitCode {
    let Legwork { folder, json, command } = match Legwork::try_parse() {
        Ok(typed) => typed,
        Err(error) => return wrong_usage(&error),
    };
    if json {
        screen::speak_json();
    }
    if let Some(folder) = folder
        && let Err(source) = std::env::set_current_dir(&folder)
    {
        let fault = Fault::Usage(format!("Could not go to {}: {source}.", folder.display()));
        screen::complain(&fault);
        return fault.exit().into();
    }
    if command.is_for_people() {
        mistakes::tell();
    }
    // What a person was told is for the person to see.
    let shows_mail = command.shows_mail() && !json && !inside::is_inside();
    let ended = match command.acts() && inside::is_inside() {
        true => Err(inside::refusal()),
        false => command.run(&Screen::new(json)),
    };
    // A closed pipe has nobody behind it, and a daemon that could not be asked has no mail.
    if shows_mail && ended.as_ref().map_or_else(Fault::exit, |_| Exit::Done) != Exit::NoDaemon {
        mail::show();
    }
    match ended {
        Ok(exit) => exit.into(),
        Err(fault) if fault.is_closed_pipe() => Exit::Done.into(),
        Err(fault) => {
            screen::complain(&fault);
            fault.exit().into()
        }
    }
}

/// Says what is wrong with the words that were typed, or shows the help that they ask for.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    let mut typed = std::env::args_os().take_while(|word| word != "--");
    if error.use_stderr() && typed.any(|word| word == "--json") {
        let says = error.to_string();
        screen::speak_json();
        screen::complain(&Fault::Usage(says.trim().to_owned()));
        return Exit::Usage.into();
    }
    error.exit()
}
