//! Notices to terminals that nobody read: what a helper found after the command that launched it
//! had ended. The next command shows them, after what it has to say itself, each once.
//!
//! Never starts a daemon and never makes a command fail: mail that cannot be shown now waits.

use std::io::{self, Write};

use legwork_client::{Client, Start};
use legwork_machine::Folders;
use legwork_protocol::api::{Answer, Request};
use legwork_protocol::line::Role;
use legwork_protocol::view::Mail;
use legwork_protocol::{MessageId, SessionId};

use crate::screen::{DIM, harmless, paint};

/// Shows what is there, if there is a daemon.
pub fn show() {
    if let Some(mut client) = connect() {
        show_through(&mut client);
    }
}

pub fn connect() -> Option<Client> {
    Client::connect(&Folders::from_env().ok()?, Role::Client, Start::Never).ok()
}

pub fn show_through(client: &mut Client) {
    let mail = unread(client);
    // Only what could be written was shown.
    if !mail.is_empty() && write(&mail, &mut anstream::stderr()).is_ok() {
        seen(client, mail.into_iter().map(|mail| mail.message).collect());
    }
}

/// The mail of this session has been seen otherwise.
pub fn discard(client: &mut Client, session: &SessionId) {
    let own = unread(client).into_iter().filter(|mail| mail.session == *session);
    let messages: Vec<MessageId> = own.map(|mail| mail.message).collect();
    if !messages.is_empty() {
        seen(client, messages);
    }
}

fn unread(client: &mut Client) -> Vec<Mail> {
    client.request(Request::Mail).ok().and_then(Result::ok).unwrap_or_default()
}

fn seen(client: &mut Client, messages: Vec<MessageId>) {
    // What is not marked is shown again, which is better than never.
    let _ = client.request::<Answer>(Request::MailShown { messages });
}

fn write(mail: &[Mail], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", paint(DIM, "── while you were away ──"))?;
    for Mail { text, .. } in mail {
        writeln!(out, "{}", harmless(text).trim_end())?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use legwork_protocol::Time;

    use super::*;

    #[test]
    fn headlines_are_set_apart_and_cannot_steer_the_terminal() {
        let delivery = |text: &str| Mail {
            message: "msg_1".parse().unwrap(),
            session: "term_1".parse().unwrap(),
            at: Time(1),
            text: text.to_owned(),
        };
        let mut out = Vec::new();
        let first = delivery("[DONE] one\n[DONE]\u{1b} two\n2 finished.");
        write(&[first, delivery("[DONE] three\n1 finished.")], &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let plain = anstream::adapter::strip_str(&out).to_string();
        let apart = "── while you were away ──\n";
        let lines = "[DONE] one\n[DONE] two\n2 finished.\n[DONE] three\n1 finished.\n";
        assert_eq!(plain, format!("{apart}{lines}"));
    }
}
