//! Mail that older builds delivered into files beside the sessions, one of terminals and one of
//! clients. The records take it over before anybody can ask for it, and then the files go.

use std::path::Path;
use std::{fs, io};

use legwork_host::{draft_of, read_lines};
use legwork_machine::if_there;
use legwork_protocol::{MessageId, SessionId};
use legwork_store::{OldMail, Store};
use serde::Deserialize;

use crate::Fault;

const FILES: [&str; 2] = ["mail", "clients/mail"];

#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
enum Line {
    Came { message: MessageId, session: SessionId, text: String },
    Shown { message: MessageId },
}

pub fn take_over(sessions: &Path, store: &mut Store) -> Result<(), Fault> {
    for path in FILES.map(|file| sessions.join(file)) {
        let lines = read_lines(&path).map_err(Fault::system("read the mail of an older build"))?;
        if let Some(lines) = lines {
            store.take_over(&what_is_in(lines))?;
        }
        // One that is left would be taken over again, with what was read meanwhile.
        let removed: io::Result<()> = [draft_of(&path), path]
            .iter()
            .try_for_each(|file| if_there(fs::remove_file(file)).map(|_| ()));
        removed.map_err(Fault::system("remove the mail of an older build"))?;
    }
    Ok(())
}

fn what_is_in(lines: Vec<Line>) -> OldMail {
    let mut mail = OldMail::default();
    for line in lines {
        match line {
            // What helpers wrote stands behind an empty line.
            Line::Came { message, session, text } => {
                let head = text.lines().take_while(|line| !line.is_empty()).map(str::to_owned);
                mail.unread.push((message, session, head.collect()));
            }
            Line::Shown { message } => mail.shown.push(message),
        }
    }
    mail.unread.retain(|(message, ..)| !mail.shown.contains(message));
    mail
}
