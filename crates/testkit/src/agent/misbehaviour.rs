//! What a bad agent does that no script can say, because it happens before the first prompt: a
//! filter between a client and a good agent, which drops, changes and answers lines.

use legwork_acp::wire::{LOGIN_NEEDED, Message, NO_SUCH_METHOD, read, refusal};
use legwork_agents::Ending;
use legwork_agents::rehearsal::{Options, serve};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines, duplex, split,
};

use super::commands::long_line;

/// The code with which a misbehaving agent ends.
const CODE: u8 = 3;
const FLOOD_MB: u64 = 100;
const PIPE_BYTES: usize = 64 << 10;
const RUBBISH: &str = "<html>This is no message.</html>\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Writes to stderr and ends at once with code 3.
    Exit,
    /// Answers with lines that are no messages.
    Rubbish,
    /// Claims to speak version 99 of the protocol.
    Version,
    /// Reads everything and answers nothing.
    Silent,
    /// Answers everything but `session/new`.
    NeverNew,
    /// Demands a login before the first session.
    NeedLogin,
    /// Keeps conversations but offers no way to load them.
    NoLoad,
    /// Begins with one line of 100 MB on stdout.
    FloodStart,
    /// Begins with 100 MB on stderr.
    FloodStderr,
    /// Ends with code 3 when a session is to be loaded.
    DieOnLoad,
}

impl Misbehaviour {
    pub const ALL: [(Self, &str); 10] = [
        (Self::Exit, "exit"),
        (Self::Rubbish, "rubbish"),
        (Self::Version, "version"),
        (Self::Silent, "silent"),
        (Self::NeverNew, "never-new"),
        (Self::NeedLogin, "need-login"),
        (Self::NoLoad, "no-load"),
        (Self::FloodStart, "flood-start"),
        (Self::FloodStderr, "flood-stderr"),
        (Self::DieOnLoad, "die-on-load"),
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(one, _)| one)
    }

    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(one, _)| *one == self).map_or("", |(_, name)| name)
    }
}

/// What becomes of a line from the client.
enum Fate {
    Pass,
    Drop,
    Answer(String),
    Die,
}

/// Serves a client as `serve` does, but for this.
pub async fn serve_badly<I, O, E>(
    input: I,
    mut output: O,
    mut errors: E,
    options: Options,
    how: Misbehaviour,
) -> Ending
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
    E: AsyncWrite + Send + Unpin + 'static,
{
    match how {
        Misbehaviour::Exit => {
            write(&mut errors, "rehearsal: ending at once as told\n").await;
            return Ending::Crashed(CODE);
        }
        Misbehaviour::FloodStart => write(&mut output, &long_line(FLOOD_MB)).await,
        Misbehaviour::FloodStderr => write(&mut errors, &long_line(FLOOD_MB)).await,
        _ => {}
    }
    let (ours, theirs) = duplex(PIPE_BYTES);
    let (agents_errors, errors_for_agent) = duplex(PIPE_BYTES);
    let (agents_input, agents_output) = split(theirs);
    let mut agent = tokio::spawn(serve(agents_input, agents_output, errors_for_agent, options));
    let (from_agent, mut to_agent) = split(ours);
    let mut from_client = BufReader::new(input).lines();
    let mut from_agent = BufReader::new(from_agent).lines();
    let mut agents_errors = BufReader::new(agents_errors).lines();
    loop {
        tokio::select! {
            line = next(&mut from_client) => {
                // The agent ends with its input.
                let Some(line) = line else { break };
                match fate(how, &line) {
                    Fate::Pass => write(&mut to_agent, &line).await,
                    Fate::Answer(answer) => write(&mut output, &answer).await,
                    Fate::Drop => {}
                    Fate::Die => {
                        let why = "rehearsal: ending in the middle of loading as told\n";
                        write(&mut errors, why).await;
                        return Ending::Crashed(CODE);
                    }
                }
            }
            Some(line) = next(&mut from_agent) => write(&mut output, &spoiled(how, line)).await,
            Some(line) = next(&mut agents_errors) => write(&mut errors, &line).await,
            ending = &mut agent => return ending.expect("the agent does not panic"),
        }
    }
    // A closed stream is the end of the agent's input.
    let _ = to_agent.shutdown().await;
    while let Some(line) = next(&mut from_agent).await {
        write(&mut output, &spoiled(how, line)).await;
    }
    agent.await.expect("the agent does not panic")
}

fn fate(how: Misbehaviour, line: &str) -> Fate {
    let request = match read(line.as_bytes()) {
        Ok(Message::Request { id, method, .. }) => Some((id, method)),
        _ => None,
    };
    let method = request.as_ref().map(|(_, method)| method.as_str());
    let loads = matches!(method, Some("session/load" | "session/resume"));
    let refused = |code, why: &str| match &request {
        Some((id, _)) => Fate::Answer(refusal(id, code, why)),
        None => Fate::Pass,
    };
    match how {
        Misbehaviour::Silent => Fate::Drop,
        Misbehaviour::Rubbish => Fate::Answer(RUBBISH.to_owned()),
        Misbehaviour::NeverNew if method == Some("session/new") => Fate::Drop,
        Misbehaviour::NeedLogin if method == Some("session/new") => {
            refused(LOGIN_NEEDED, "Log in first")
        }
        Misbehaviour::NoLoad if loads => refused(NO_SUCH_METHOD, "There is no way to load here"),
        Misbehaviour::DieOnLoad if loads => Fate::Die,
        _ => Fate::Pass,
    }
}

/// The agent's line, as the client sees it.
fn spoiled(how: Misbehaviour, line: String) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(&line) else { return line };
    let Some(greeting) = message.get_mut("result").filter(|one| one["protocolVersion"].is_u64())
    else {
        return line;
    };
    match how {
        Misbehaviour::Version => greeting["protocolVersion"] = json!(99),
        Misbehaviour::NeedLogin => {
            greeting["authMethods"] =
                json!([{ "id": "login", "name": "Log in", "description": "There is no way" }]);
        }
        Misbehaviour::NoLoad => {
            greeting["agentCapabilities"] =
                json!({ "loadSession": false, "sessionCapabilities": {} });
        }
        _ => return line,
    }
    format!("{message}\n")
}

/// The next line with its end.
async fn next<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>) -> Option<String> {
    let line = lines.next_line().await.ok()??;
    Some(line + "\n")
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), text: &str) {
    // Nobody reads it if the client has left; then the input ends too.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.flush().await;
}
