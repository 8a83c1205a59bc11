//! `legwork mcp`: started by a client over MCP, one for each of its sessions.

use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;
use legwork_client::{Newest, is_newer, own_environment};
use legwork_machine::{Folders, var};

use super::{Exit, Fault, Screen};
use crate::inside;

/// Set for the newer program that takes our place, so that two cannot pass it back and forth.
const PASSED_ON: &str = "LEGWORK_MCP_PASSED_ON";

/// Serve the six tools to a client over MCP (started by the client)
///
/// Speaks the Model Context Protocol on stdin and stdout. `legwork install CLIENT` writes the entry
/// that starts it. Inside of a helper it offers nothing: helpers have no helpers.
#[derive(Args)]
pub struct Mcp {}

impl super::Command for Mcp {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, _: &Screen) -> Result<Exit, Fault> {
        let folders = Folders::from_env()?;
        pass_on(&folders);
        let environment =
            own_environment().map_err(|bad| Fault::Refused(format!("Your environment: {bad}.")))?;
        let inside = inside::is_inside();
        let served = legwork_mcp::run(legwork_mcp::Options { folders, environment, inside });
        served.map_err(Fault::Output)?;
        Ok(Exit::Done)
    }
}

/// An entry of a client names one program for good. If a newer one has been the daemon, it takes
/// our place, in this very process: the client's tasks are bound to its pipes.
fn pass_on(folders: &Folders) {
    let own = env!("CARGO_PKG_VERSION");
    let newest = Newest::of(&folders.store).filter(|newest| is_newer(&newest.version, own));
    if let Some(newest) =
        newest.filter(|_| var(PASSED_ON).is_none() && var("LEGWORK_BIN").is_none())
    {
        // It returns only if it fails; then we serve.
        let _ = Command::new(newest.program).arg("mcp").env(PASSED_ON, own).exec();
    }
}
