//! What could stand where the cursor is, for shells. The words come from the definition of the
//! commands; tasks from a daemon that runs, agents from the settings. Quick and silent: no daemon
//! is started, and what cannot be known is left out.

use clap::{Arg, ArgAction, Command};
use legwork_client::{Client, Start};
use legwork_machine::Folders;
use legwork_protocol::api::List;
use legwork_protocol::line::Role;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::TaskView;
use legwork_views::model::State;

use crate::agents::Agents;
use crate::asking;
use crate::commands::kinds;

/// Tasks that are offered: a shell that lists more helps nobody.
const TASKS_MAX: usize = 100;
const MEANS_MAX_CHARS: usize = 60;

/// Something that could stand there, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub word: String,
    pub means: String,
}

impl Candidate {
    fn new(word: impl Into<String>, means: impl AsRef<str>) -> Self {
        let means = plain(means.as_ref(), MEANS_MAX_CHARS);
        Self { word: word.into(), means }
    }
}

/// What can be asked for that is not in the definition of the commands.
pub trait Known {
    fn tasks(&self) -> Vec<Candidate>;
    fn agents(&self) -> Vec<Candidate>;
}

/// What fits the last of these words, after the others.
pub fn candidates(root: &Command, words: &[String], known: &dyn Known) -> Vec<Candidate> {
    let Some((last, before)) = words.split_last() else { return Vec::new() };
    let (mut command, mut open, mut positional, mut is_bare) = (root, None, 0, false);
    for word in before {
        if open.take().is_some() {
            continue;
        }
        if is_bare || !word.starts_with('-') || word == "-" {
            match command.find_subcommand(word) {
                Some(sub) if !is_bare && positional == 0 => command = sub,
                _ => positional += 1,
            }
        } else if word == "--" {
            is_bare = true;
        } else if !word.contains('=') {
            open = option(root, command, word).filter(|arg| takes_value(arg));
        }
    }
    let all = match open {
        Some(arg) => values(arg, known),
        None if last.starts_with('-') && !is_bare => options(root, command),
        None if command.has_subcommands() && positional == 0 => commands(command),
        None => {
            let args: Vec<&Arg> = command.get_positionals().collect();
            let arg = args.get(positional).or(args.last());
            arg.map(|arg| values(arg, known)).unwrap_or_default()
        }
    };
    all.into_iter().filter(|candidate| candidate.word.starts_with(last.as_str())).collect()
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn all_options<'a>(root: &'a Command, command: &'a Command) -> impl Iterator<Item = &'a Arg> {
    let global = root.get_opts().filter(|arg| arg.is_global_set());
    command.get_arguments().filter(|arg| !arg.is_positional()).chain(global)
}

fn option<'a>(root: &'a Command, command: &'a Command, word: &str) -> Option<&'a Arg> {
    all_options(root, command).find(|arg| {
        let long = arg.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
        long || arg.get_short().is_some_and(|short| word == format!("-{short}"))
    })
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

fn options(root: &Command, command: &Command) -> Vec<Candidate> {
    let shown = all_options(root, command).filter(|arg| !arg.is_hide_set());
    let long = shown.filter_map(|arg| Some((arg.get_long()?, help(arg))));
    let own = [("help", "Show what there is".to_owned()), ("json", "Print JSON".to_owned())];
    let mut all: Vec<Candidate> = Vec::new();
    for (name, means) in long.chain(own) {
        let candidate = Candidate::new(format!("--{name}"), means);
        if !all.iter().any(|known| known.word == candidate.word) {
            all.push(candidate);
        }
    }
    all
}

fn commands(command: &Command) -> Vec<Candidate> {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let all = shown.map(|sub| {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        Candidate::new(sub.get_name(), about)
    });
    all.collect()
}

/// What an argument may be. Its name in the help says what kind of thing it is.
fn values(arg: &Arg, known: &dyn Known) -> Vec<Candidate> {
    let name = arg.get_value_names().and_then(|names| names.first());
    match (name.map(clap::builder::Str::as_str), arg.get_id().as_str()) {
        (Some("TASK"), _) => known.tasks(),
        (_, "status") => kinds().map(|kind| Candidate::new(kind, "")).collect(),
        (_, "agent") => known.agents(),
        _ => {
            let possible = arg.get_possible_values();
            let means = |value: &clap::builder::PossibleValue| {
                value.get_help().map(ToString::to_string).unwrap_or_default()
            };
            possible.iter().map(|value| Candidate::new(value.get_name(), means(value))).collect()
        }
    }
}

/// What this machine knows.
pub struct Machine;

impl Known for Machine {
    fn tasks(&self) -> Vec<Candidate> {
        let client = Folders::from_env()
            .ok()
            .and_then(|folders| Client::connect(&folders, Role::Client, Start::Never).ok());
        let listed = client
            .and_then(|mut client| asking::list(&mut client, List::default(), TASKS_MAX).ok());
        let tasks = listed.into_iter().flat_map(|listed| listed.tasks);
        let means = |task: &TaskView| format!("{}: {}", State::of(task).word(), task.description);
        tasks.map(|task| Candidate::new(task.id.to_string(), means(&task))).collect()
    }

    fn agents(&self) -> Vec<Candidate> {
        let Ok(folders) = Folders::from_env() else { return Vec::new() };
        let agents = Agents::find(&folders).known.into_iter();
        agents.map(|agent| Candidate::new(agent.name, "")).collect()
    }
}

#[cfg(test)]
mod tests;
