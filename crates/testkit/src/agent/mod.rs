//! An agent over ACP that does what no good agent does: the one that is built in, with commands
//! that flood, babble and leave processes behind ([`Bad`]), and behind a filter that spoils the
//! protocol before the first prompt ([`Misbehaviour`]).
//!
//! A test starts itself as this agent: [`agent_of`] is the command, and the named test in the test
//! program calls [`act_as_agent`], which does nothing when cargo runs it.

mod client;
mod commands;
mod misbehaviour;

use std::env;
use std::process::exit;

use legwork_agents::Ending;
use legwork_agents::rehearsal::{Options, serve};
use tokio::io::{stderr, stdin};

pub use client::{AgentClient, Heard};
pub use commands::Bad;
pub use misbehaviour::{Misbehaviour, serve_badly};

/// How the agent is to misbehave; set only in its own process.
const VARIABLE: &str = "LEGWORK_TEST_AGENT";
/// Libtest writes to stdout, so the protocol's stream is another one.
const OUTPUT: &str = "/dev/fd/3";

/// The settings of an agent of this name: this program, of which only the test `is_agent` is run.
pub fn agent_of(name: &str, is_agent: &str, misbehaviour: Option<Misbehaviour>) -> String {
    let program = env::current_exe().expect("a program has a path");
    let how = misbehaviour.map_or("nothing", Misbehaviour::name);
    let script =
        format!("{VARIABLE}={how} exec {program:?} --exact {is_agent} --nocapture 3>&1 >/dev/null");
    format!("[agents.{name}]\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n")
}

/// Acts as the agent and ends the process, if it was started as one.
pub fn act_as_agent() {
    let Ok(how) = env::var(VARIABLE) else { return };
    let options = Options { extra: Some(&Bad), ..Options::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let ending = runtime.block_on(async {
        let output = tokio::fs::File::options().write(true).open(OUTPUT).await;
        let output = output.expect("the stream of the protocol");
        match Misbehaviour::named(&how) {
            Some(how) => serve_badly(stdin(), output, stderr(), options, how).await,
            None => serve(stdin(), output, stderr(), options).await,
        }
    });
    exit(match ending {
        Ending::InputEnded => 0,
        Ending::Crashed(code) => code.into(),
    })
}
