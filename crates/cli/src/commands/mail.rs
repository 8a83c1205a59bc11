//! `legwork mail`.

use clap::Args;

use super::{Exit, Fault, Screen};
use crate::asking::connect;
use crate::mail;
use legwork_protocol::api::Request;
use legwork_protocol::view::Mail as Message;

/// Show what helpers found since you last looked
///
/// Shows all that helpers of your terminals found, asked or failed at since you last looked. Other
/// commands show the first ten lines of it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork mail
  legwork mail --json               the same for programs; it counts as unseen after that")]
pub struct Mail {}

impl super::Command for Mail {
    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        if screen.is_json() {
            let all: Vec<Message> = crate::asking::get(&mut client, Request::Mail)?;
            return screen.value(&all).map(|()| Exit::Done);
        }
        if mail::show_through(&mut client, usize::MAX) == 0 {
            screen.line("Nothing new.")?;
        }
        Ok(Exit::Done)
    }
}
