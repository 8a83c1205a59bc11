//! `legwork agents`.

use clap::Args;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::Screen;

#[derive(Args)]
pub struct Agents {}

impl Agents {
    pub fn run(self, _screen: &Screen) -> Result<Exit, Fault> {
        Ok(Exit::Done)
    }
}
