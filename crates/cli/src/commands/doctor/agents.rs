//! The agents of `legwork run`: there is one, and each says who it is when it is started.

use std::env;
use std::path::Path;
use std::time::Duration;

use legwork_acp::agents::{Agent, REHEARSAL, Source};
use legwork_acp::orphans::ProcessTree;
use legwork_acp::{Introduction, Login, Program};
use legwork_machine::Folders;
use legwork_protocol::refusal::plain;
use tokio::runtime::Builder;

use super::check::DoctorContext;
use super::clients;
use super::codes;
use super::finding::Finding;
use crate::agents::{Agents, how_to_get_one, start_all};
use crate::plugin::word;
use crate::words::counted;

/// An agent may be given longer by the settings; here a person waits.
const START_MAX: Duration = Duration::from_secs(15);
const SHOWN_MAX_CHARS: usize = 1_000;

pub fn agents(context: &DoctorContext) -> Vec<Finding> {
    let agents = Agents::find(&context.folders);
    let known = counted(agents.known.len(), "agent");
    let mut found = vec![match agents.default() {
        Some(name) if !agents.known.iter().any(|agent| agent.name == name) => {
            codes::agents_no_default(known, name, context.folders.config.display())
        }
        Some(name) => {
            Finding::good("agents", format!("{known} for `legwork run`; the default is {name}"))
        }
        None => none(),
    }];
    let default = agents.default().map(str::to_owned);
    let config = &context.folders.config;
    for (agent, said) in started(agents.known, &context.folders) {
        match said {
            Ok(introduction) => found.extend(drives(&agent.name, introduction)),
            Err(wrong) => found.push(cannot_start(&agent, default.as_deref(), config, &wrong)),
        }
    }
    found
}

/// Whoever uses another client than OpenCode has nothing else that helpers could run on.
fn none() -> Finding {
    let says = format!("none but {REHEARSAL}, to try it");
    if clients::names().is_empty() {
        return Finding::good("agents", format!("{says}; `legwork agents`"));
    }
    codes::agents_none(says, how_to_get_one())
}

/// The program of the person that an agent drives, if it does.
fn drives(agent: &str, introduction: Introduction) -> Option<Finding> {
    let Introduction { program, logins, .. } = introduction;
    let Program { path, version, login } = program?;
    let about = format!("{agent} is {path} {version}");
    Some(match login {
        Login::As(whom) => Finding::good("agents", format!("{about}; logged in: {whom}")),
        Login::Unknown => Finding::good("agents", about),
        Login::Nobody => codes::agents_nobody(about, logins.join(" or ")).mild(),
    })
}

/// One that nobody has chosen may well be half installed.
fn cannot_start(agent: &Agent, default: Option<&str>, config: &Path, wrong: &str) -> Finding {
    let name = &agent.name;
    let wrong = plain(wrong, SHOWN_MAX_CHARS);
    match &agent.source {
        Source::Config => codes::agents_set_cannot_start(name, wrong, config.display()),
        Source::BuiltIn => codes::agents_own_cannot_start(name, wrong),
        Source::Path(program) | Source::Native(program) => {
            let config = config.display();
            let found = codes::agents_found_cannot_start(name, wrong, word(program), config);
            if default == Some(name) { found } else { found.mild() }
        }
    }
}

/// Starts all at once, and gives back what each says of itself or why it does not start.
fn started(
    mut agents: Vec<Agent>,
    folders: &Folders,
) -> Vec<(Agent, Result<Introduction, String>)> {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let directory = env::current_dir().unwrap_or_else(|_| "/".into());
    agents.iter_mut().for_each(|agent| agent.start_max = agent.start_max.min(START_MAX));
    let processes = ProcessTree::of_command(&folders.store);
    let mut all =
        runtime.block_on(async { start_all(agents, &directory, &processes).join_all().await });
    all.sort_by_key(|(number, ..)| *number);
    all.into_iter().map(|(_, agent, said)| (agent, said)).collect()
}
