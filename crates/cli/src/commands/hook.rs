//! `legwork hook`: what a client's hook starts. It shows the model what came in for its session.
//!
//! A client waits for its hooks, and some take a bad end of one for a reason to hold the person's
//! words back. So this ends with 0 whatever happens, within a second, and starts no daemon. What
//! could not be shown now is shown later.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use legwork_client::{Client as Daemon, Start};
use legwork_machine::Folders;
use legwork_protocol::api::{Answer, Ask, Request};
use legwork_protocol::line::Role;
use legwork_protocol::view::Mail;
use legwork_protocol::{MessageId, SessionId};
use serde_json::Value;

use super::{Exit, Fault, Screen};
use crate::clients::hooks::{HookClient, ancestors, joined, sessions_of};
use crate::clients::{self, CLIENTS, Client};
use crate::inside;

const INPUT_MAX_BYTES: u64 = 1 << 20;
const TIME_MAX: Duration = Duration::from_secs(1);

/// Show the model of a client what came in, as a hook of that client
///
/// Reads the hook's JSON on stdin and prints what the client expects. Ends with 0 within a second,
/// whatever happens, and starts no daemon.
#[derive(Args)]
pub struct Hook {
    #[arg(help = help(), value_name = "CLIENT", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

fn help() -> String {
    let hooked = CLIENTS.iter().filter(|client| client.hooks.is_some());
    let words = clients::one_of(hooked.map(|client| client.word));
    format!("{words}; another one is answered with nothing")
}

impl super::Command for Hook {
    const IS_FOR_PEOPLE: bool = false;

    fn run(self, _: &Screen) -> Result<Exit, Fault> {
        let client = self.words.first().and_then(|word| clients::named(word.to_str()?));
        // A helper is told nothing: what came in is for whoever launched it.
        if let Some((client, hooks)) =
            client.and_then(|client| Some((client, client.hooks.as_ref()?)))
            && !inside::is_inside()
        {
            show(client, hooks);
        }
        Ok(Exit::Done)
    }
}

/// What is shown, and a way to say that it was.
struct Shown {
    text: String,
    messages: Vec<MessageId>,
}

fn show(client: Client, hooks: &'static HookClient) {
    let deadline = Instant::now() + TIME_MAX;
    let left = || deadline.saturating_duration_since(Instant::now());
    let (found, finds) = mpsc::channel();
    let (written, writes) = mpsc::channel();
    let (marked, marks) = mpsc::channel();
    // Reading and asking may take for ever. This thread ends with the process.
    thread::spawn(move || {
        let Some((mut daemon, shown)) = look(client, hooks) else { return drop(found) };
        let messages = shown.messages.clone();
        let is_written = found.send(shown).is_ok() && writes.recv().is_ok();
        if is_written {
            // What is not marked is shown again, which is better than never.
            let _ = daemon.request::<Answer>(Ask::MailShown { messages });
        }
        drop(marked);
    });
    let output = finds.recv_timeout(left()).map(|shown| shown.text);
    let output = output.unwrap_or_else(|_| hooks.nothing.to_owned());
    let mut out = io::stdout();
    if out.write_all(output.as_bytes()).and_then(|()| out.flush()).is_ok() {
        // Nobody hears it if there was nothing.
        let _ = written.send(());
        let _: Result<(), _> = marks.recv_timeout(left());
    }
}

fn look(client: Client, hooks: &HookClient) -> Option<(Daemon, Shown)> {
    let mut input = Vec::new();
    io::stdin().take(INPUT_MAX_BYTES).read_to_end(&mut input).ok()?;
    let text = String::from_utf8_lossy(&input);
    // Some clients begin with a byte order mark.
    let input: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    if !hooks.is_wanted(&input) {
        return None;
    }
    let sessions = sessions_of(client, &input, &ancestors());
    let mut daemon =
        Daemon::connect(&Folders::from_env().ok()?, Role::Client, Start::Never).ok()?;
    let mail: Vec<Mail> =
        sessions.into_iter().flat_map(|session| unread(&mut daemon, session)).collect();
    let (text, count) = joined(&mail)?;
    let messages = mail.into_iter().take(count).map(|mail| mail.message).collect();
    let text = format!("{}\n", (hooks.output)(&input, &text));
    Some((daemon, Shown { text, messages }))
}

fn unread(daemon: &mut Daemon, session: SessionId) -> Vec<Mail> {
    let asked = daemon.request(Request::Unread { session });
    asked.ok().and_then(Result::ok).unwrap_or_default()
}
