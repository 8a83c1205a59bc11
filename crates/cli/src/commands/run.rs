//! `legwork run`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use legwork_machine::Folders;
use legwork_protocol::api::Ask;
use legwork_protocol::limits::WORD_MAX_BYTES;
use serde::Serialize;

use super::{Exit, Fault, Screen};
use crate::agents::Agents;
use crate::asking::connect;
use crate::run::prompts::{self, Words, description};
use crate::run::{Attendant, LaunchSpec, Launched, Resume, attend, detach, resume, terminal};
use crate::screen::{BAD, DIM, harmless, paint, remark};
use crate::sentences;
use crate::words::parse_duration;

/// Have helpers do something, from this terminal
///
/// Launches a helper for each PROMPT, all at once, and waits for them. Each result is printed to
/// stdout as soon as it is there; how the helpers are doing is shown on stderr. The helpers work in
/// the current folder, and belong to the daemon: they go on if this terminal is closed, and the
/// next legwork command shows what they found.
///
/// Ctrl-C asks whether to cancel the helpers or to leave them running. The exit code is that of
/// `legwork wait`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork run \"find the flaky test and say why it is flaky\"
  legwork run \"review src/a.rs\" \"review src/b.rs\" > reviews.md
  legwork run --agent gemini --file prompt.md    the prompt from a file
  legwork run --agent opencode --model p/large \"review src\"
  id=$(legwork run --detach \"write the tests\")   go on, come back later:
  legwork wait $id && legwork output $id
  legwork resume $id \"now fix what they found\"
  legwork run --agent rehearsal \"say hello\"       to try it without any agent")]
pub struct Run {
    /// What is to be done; each is a task of its own. `-` reads one from stdin
    #[arg(value_name = "PROMPT", required_unless_present = "file")]
    prompts: Vec<String>,
    /// Read a prompt from this file, or from stdin if it is `-`; may be given several times
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Who does it; `legwork agents` shows who can
    #[arg(long, short, value_name = "NAME")]
    agent: Option<String>,
    /// The model that it uses, as the agent calls it; the run fails if the agent offers no choice
    #[arg(long, value_name = "MODEL", value_parser = model)]
    model: Option<String>,
    /// What the task is called in lists, instead of the beginning of its prompt
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// As `legwork resume TASK`
    #[arg(long, value_name = "TASK", hide = true, conflicts_with_all = ["agent", "description", "model"])]
    resume: Option<String>,
    /// The longest time to wait, like 90s or 10m; helpers that are at work then go on
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "detach")]
    timeout: Option<Duration>,
    /// Print the tasks' ids and do not wait
    #[arg(long)]
    detach: bool,
    /// Single words are prompts, and not one prompt without its quotes
    #[arg(long)]
    each: bool,
}

/// A name of a model as it can be passed on.
fn model(typed: &str) -> Result<String, String> {
    match typed.trim() {
        "" => Err("name a model".to_owned()),
        long if long.len() > WORD_MAX_BYTES => Err("no model has so long a name".to_owned()),
        name => Ok(name.to_owned()),
    }
}

#[derive(Serialize)]
struct Detached {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl super::Command for Run {
    const ACTS: bool = true;
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let words = if self.each { Words::Each } else { Words::Suspicious };
        let dash = Path::new("-");
        let (dashes, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.file.iter().partition(|file| *file == dash);
        let mut typed = self.prompts.clone();
        typed.extend(dashes.iter().map(|_| "-".to_owned()));
        if typed.iter().any(|prompt| prompt == "-") && io::stdin().is_terminal() {
            remark(paint(DIM, "Write the prompt; Ctrl-D on a line of its own ends it."));
        }
        let mut prompts = prompts::read(&typed, words, &mut io::stdin())?;
        for file in files {
            prompts.push(prompts::of_file(file)?);
        }
        if let Some(typed) = &self.resume {
            return go_on(resume(typed, &prompts)?, self.timeout, self.detach, screen);
        }
        let specs = self.specs(prompts)?;
        let session = terminal(self.model.as_deref())?;
        // Before the launches, so that they do not all start a daemon.
        drop(connect()?);
        if self.detach {
            return show(&detach(&session, &specs)?, &specs, screen);
        }
        attend(Attendant::of(session, self.timeout), &specs, screen)
    }
}

impl Run {
    fn specs(&self, prompts: Vec<String>) -> Result<Vec<LaunchSpec>, Fault> {
        if self.description.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(Fault::Usage("The description is empty.".to_owned()));
        }
        let agents = Agents::find(&Folders::from_env()?);
        let agent = agents.choose(self.agent.as_deref())?;
        let of = prompts.len();
        let spec = |(number, prompt): (usize, String)| {
            let description = description(self.description.as_deref(), &prompt, number, of);
            let agent = agent.clone();
            let ask = Ask::launch(prompt, description.clone(), agent);
            LaunchSpec { description, ask }
        };
        Ok(prompts.into_iter().enumerate().map(spec).collect())
    }
}

/// Has a task go on, and waits for it unless that is not wanted.
pub fn go_on(
    resume: Resume,
    timeout: Option<Duration>,
    is_detached: bool,
    screen: &Screen,
) -> Result<Exit, Fault> {
    let Resume { mut attendant, spec } = resume;
    let specs = [spec];
    if is_detached {
        return show(&detach(&attendant.launches_as, &specs)?, &specs, screen);
    }
    attendant.until = timeout.map(|timeout| Instant::now() + timeout);
    attend(attendant, &specs, screen)
}

/// The ids, for whoever comes back.
fn show(launched: &[Launched], specs: &[LaunchSpec], screen: &Screen) -> Result<Exit, Fault> {
    let refused = launched.iter().zip(specs).filter_map(|(launched, spec)| {
        let why = harmless(&sentences::refusal(launched.as_ref().err()?));
        Some(format!("{} {}: {why}", paint(BAD, "✗"), spec.description))
    });
    if !screen.is_json() {
        refused.for_each(remark);
    }
    let detached = |launched: &Launched| {
        let task = launched.as_ref().ok();
        Detached {
            id: task.map(|task| task.id.to_string()),
            session: task.and_then(|task| task.session.as_ref()).map(ToString::to_string),
            refused: launched.as_ref().err().map(sentences::refusal),
        }
    };
    let all: Vec<Detached> = launched.iter().map(detached).collect();
    screen.report(|| &all, || all.iter().filter_map(|one| one.id.as_ref()).collect())?;
    Ok(if launched.iter().any(Result::is_err) { Exit::Refused } else { Exit::Done })
}
