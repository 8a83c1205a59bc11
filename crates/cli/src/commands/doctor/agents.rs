//! The agents of `legwork run`: there is one, and each says who it is when it is started.

use std::env;
use std::path::Path;
use std::time::Duration;

use legwork_acp::agents::{Agent, REHEARSAL, Source};
use legwork_acp::check;
use legwork_acp::orphans::Family;
use legwork_machine::Folders;
use legwork_protocol::Installable;
use legwork_protocol::refusal::plain;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::check::{Check, Ground, Look};
use super::clients;
use super::finding::{Finding, Remedy, word};
use crate::agents::{Agents, how_to_get_one};
use crate::words::counted;

pub const AGENTS: Check = Check {
    name: "agents",
    doing: "starting every agent",
    at_most: Duration::from_secs(30),
    look: Look::In(agents),
};

/// An agent may be given longer by the settings; here a person waits.
const START_MAX: Duration = Duration::from_secs(15);
const SHOWN_MAX_CHARS: usize = 1_000;

fn agents(ground: &Ground) -> Vec<Finding> {
    let agents = Agents::find(&ground.folders);
    let known = counted(agents.known.len(), "agent");
    let mut found = vec![match agents.default() {
        Some(name) if !agents.known.iter().any(|agent| agent.name == name) => Finding::problem(
            "agents",
            "agents.no-default",
            format!("{known} for `legwork run`, and none is called {name}, the default"),
            Remedy::words(format!(
                "Name another one as run.agent in {}; `legwork agents` shows them.",
                ground.folders.config.display()
            )),
        ),
        Some(name) => {
            Finding::good("agents", format!("{known} for `legwork run`; the default is {name}"))
        }
        None => none(&agents),
    }];
    if agents.default().is_some() {
        let more = |one: &Installable| agents.advice(Some(&one.agent));
        let more = agents.installable.iter().flat_map(more);
        found.extend(more.map(|says| Finding::good("agents", says)));
    }
    let default = agents.default().map(str::to_owned);
    let config = &ground.folders.config;
    for (agent, wrong) in start_all(agents.known, &ground.folders) {
        found.push(cannot_start(&agent, default.as_deref(), config, &wrong));
    }
    found
}

/// Whoever uses another client than OpenCode has nothing else that helpers could run on.
fn none(agents: &Agents) -> Finding {
    let says = format!("none but {REHEARSAL}, to try it");
    if clients::names().is_empty() {
        return Finding::good("agents", format!("{says}; `legwork agents`"));
    }
    let remedy = match agents.installable.first() {
        Some(one) if one.has_npm => {
            Remedy::run(one.command(), format!("then helpers can run on {}", one.agent))
        }
        Some(one) => {
            Remedy::words(format!("Run {}; then helpers can run on {}.", one.how(), one.agent))
        }
        None => Remedy::words(how_to_get_one()),
    };
    let says = format!("{says}: helpers have nothing to run on");
    Finding::problem("agents", "agents.none", says, remedy)
}

/// One that nobody has chosen may well be half installed.
fn cannot_start(agent: &Agent, default: Option<&str>, config: &Path, wrong: &str) -> Finding {
    let name = &agent.name;
    let says = format!("{name} cannot be started: {}", plain(wrong, SHOWN_MAX_CHARS));
    let (is_ours, remedy) = match &agent.source {
        Source::Config => (
            true,
            Remedy::words(format!(
                "Correct agents.{name} in {}, or take it out; `legwork agents {name}` tries it.",
                config.display()
            )),
        ),
        Source::Path(program) => (
            default == Some(name),
            Remedy::words(format!(
                "Put {} right or remove it, or name another one as run.agent in {}; `legwork \
                 agents {name}` tries it.",
                word(program),
                config.display()
            )),
        ),
        Source::BuiltIn => (true, Remedy::words("Install legwork again.")),
    };
    if is_ours {
        return Finding::problem("agents", "agents.cannot-start", says, remedy);
    }
    Finding::mind("agents", "agents.cannot-start", says, remedy)
}

/// Starts all at once; gives back those that do not start, and why.
fn start_all(agents: Vec<Agent>, folders: &Folders) -> Vec<(Agent, String)> {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let directory = env::current_dir().unwrap_or_else(|_| "/".into());
    let family = Family::of_command(&folders.store);
    runtime.block_on(async move {
        let mut starting = JoinSet::new();
        for (number, mut agent) in agents.into_iter().enumerate() {
            agent.start_max = agent.start_max.min(START_MAX);
            let (directory, family) = (directory.clone(), family.clone());
            starting.spawn(async move {
                let wrong = check(&agent, &directory, &family).await.err();
                wrong.map(|wrong| (number, agent, wrong.to_string()))
            });
        }
        let mut wrong: Vec<_> = starting.join_all().await.into_iter().flatten().collect();
        wrong.sort_by_key(|(number, ..)| *number);
        wrong.into_iter().map(|(_, agent, why)| (agent, why)).collect()
    })
}
