//! `legwork run`.

use std::io::{self, IsTerminal};

use clap::Args;
use legwork_machine::Folders;
use legwork_protocol::api::Ask;
use serde::Serialize;

use crate::agents::Agents;
use crate::asking::{connect, find_task};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::run::prompts::{self, Words, description};
use crate::run::{LaunchSpec, Launched, attend, detach, terminal};
use crate::screen::{BAD, DIM, Screen, harmless, paint, remark};
use crate::sentences;

/// Have helpers do something, from this terminal
///
/// Launches a helper for each PROMPT, all at once, and waits for them. Each result is printed to
/// stdout as soon as it is there; how the helpers are doing is shown on stderr. The helpers work in
/// the current folder, and belong to the daemon: they go on if this terminal is closed, and the
/// next legwork command shows what they found.
///
/// Ctrl-C asks whether to call the helpers off or to leave them running. The exit code is that of
/// `legwork wait`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork run \"find the flaky test and say why it is flaky\"
  legwork run \"review src/a.rs\" \"review src/b.rs\" > reviews.md
  legwork run --agent gemini - < prompt.md       the prompt from a file
  id=$(legwork run --detach \"write the tests\")   go on, come back later:
  legwork wait $id && legwork output $id
  legwork run --resume $id \"now fix what they found\"
  legwork run --agent rehearsal \"say hello\"       to try it without any agent")]
pub struct Run {
    /// What is to be done; each is a task of its own. `-` reads one from stdin
    #[arg(value_name = "PROMPT", required = true)]
    prompts: Vec<String>,
    /// Who does it; `legwork agents` shows who can
    #[arg(long, short, value_name = "NAME")]
    agent: Option<String>,
    /// What the task is called in lists, instead of the beginning of its prompt
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Go on with this completed task: the helper knows all that was said before
    #[arg(long, value_name = "TASK", conflicts_with_all = ["agent", "description"])]
    resume: Option<String>,
    /// Print the tasks' ids and do not wait
    #[arg(long)]
    detach: bool,
    /// Single words are prompts, and not one prompt without its quotes
    #[arg(long)]
    each: bool,
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

impl Run {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let words = if self.each { Words::Each } else { Words::Suspicious };
        if self.prompts.iter().any(|prompt| prompt == "-") && io::stdin().is_terminal() {
            remark(paint(DIM, "Write the prompt; Ctrl-D on a line of its own ends it."));
        }
        let prompts = prompts::read(&self.prompts, words, &mut io::stdin())?;
        let specs = match &self.resume {
            Some(typed) => vec![resume(typed, &prompts)?],
            None => self.specs(prompts)?,
        };
        let session = terminal()?;
        // Before the launches, so that they do not all start a daemon.
        drop(connect()?);
        if self.detach {
            return show(&detach(&session, &specs)?, &specs, screen);
        }
        attend(session, &specs, screen)
    }

    fn specs(&self, prompts: Vec<String>) -> Result<Vec<LaunchSpec>, Fault> {
        if self.description.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(Fault::Usage("The description is empty.".to_owned()));
        }
        let agents = Agents::find(&Folders::from_env()?);
        agents.warn();
        let agent = agents.choose(self.agent.as_deref())?;
        let of = prompts.len();
        let spec = |(number, prompt): (usize, String)| {
            let description = description(self.description.as_deref(), &prompt, number, of);
            let agent = agent.clone();
            let ask = Ask::Launch { prompt, description: description.clone(), agent };
            LaunchSpec { description, ask }
        };
        Ok(prompts.into_iter().enumerate().map(spec).collect())
    }
}

fn resume(typed: &str, prompts: &[String]) -> Result<LaunchSpec, Fault> {
    let [prompt] = prompts else {
        return Err(Fault::Usage("A task is resumed with one prompt.".to_owned()));
    };
    let mut client = connect()?;
    let task = find_task(&mut client, typed)?;
    let ask = Ask::Resume { task: task.id.to_string(), prompt: prompt.clone() };
    Ok(LaunchSpec { description: task.description, ask })
}

/// The ids, for whoever comes back.
fn show(launched: &[Launched], specs: &[LaunchSpec], screen: &Screen) -> Result<Exit, Fault> {
    let mut all = Vec::new();
    for (launched, LaunchSpec { description, .. }) in launched.iter().zip(specs) {
        match launched {
            Ok(task) if !screen.is_json() => screen.line(task.id)?,
            Err(why) if !screen.is_json() => {
                remark(format!(
                    "{} {description}: {}",
                    paint(BAD, "✗"),
                    harmless(&sentences::refusal(why))
                ));
            }
            _ => {}
        }
        let task = launched.as_ref().ok();
        all.push(Detached {
            id: task.map(|task| task.id.to_string()),
            session: task.and_then(|task| task.session.as_ref()).map(ToString::to_string),
            refused: launched.as_ref().err().map(sentences::refusal),
        });
    }
    if screen.is_json() {
        screen.value(&all)?;
    }
    Ok(if launched.iter().any(Result::is_err) { Exit::Refused } else { Exit::Done })
}
