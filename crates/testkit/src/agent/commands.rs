//! The commands of a script that only tests need.

use std::process::Stdio;

use legwork_agents::rehearsal::script::number;
use legwork_agents::rehearsal::{Extra, Performing, Turn};
use legwork_agents::serve::Object;
use tokio::process::Command;

const CHUNK_BYTES: usize = 64 << 10;
const CHUNKS_OF_A_MB: u64 = 16;

/// - `stderr TEXT` writes to stderr
/// - `babble N` writes N lines to stdout that are no messages
/// - `flood N` answers with N MB of text
/// - `flood-line N` writes one line of N MB to stdout
/// - `flood-stderr N` writes N MB to stderr
/// - `spawn N` starts `sleep N`, leaves it running and says its process id
/// - `update JSON` sends this update of the session as it is
/// - `result JSON` adds this to the result of the turn
#[derive(Debug)]
pub struct Bad;

impl Extra for Bad {
    fn knows(&self, word: &str, rest: &str) -> bool {
        match word {
            "stderr" => !rest.is_empty(),
            "babble" | "flood" | "flood-line" | "flood-stderr" | "spawn" => number(rest).is_some(),
            "update" | "result" => object(rest).is_some(),
            _ => false,
        }
    }

    fn perform<'a>(&'a self, word: &'a str, rest: &'a str, turn: &'a mut Turn) -> Performing<'a> {
        Box::pin(async move {
            let count = number(rest).unwrap_or_default();
            match word {
                "stderr" => turn.client.err.line(format!("{rest}\n")).await,
                "babble" => {
                    for number in 1..=count {
                        turn.client
                            .out
                            .line(format!("line {number} of what is no message\n"))
                            .await;
                    }
                }
                "flood" => {
                    for _ in 0..count * CHUNKS_OF_A_MB {
                        turn.say_chunk(&"x".repeat(CHUNK_BYTES)).await;
                    }
                }
                "flood-line" => turn.client.out.line(long_line(count)).await,
                "flood-stderr" => turn.client.err.line(long_line(count)).await,
                "spawn" => {
                    let pid = spawn(count)?;
                    turn.say(&pid.to_string()).await;
                }
                "update" => turn.update(object(rest).unwrap_or_default().into()).await,
                "result" => turn.result.extend(object(rest).unwrap_or_default()),
                _ => return Err(format!("There is no command {word}")),
            }
            Ok(())
        })
    }
}

fn object(text: &str) -> Option<Object> {
    serde_json::from_str(text).ok()
}

/// So many MB without a break, then one.
pub(super) fn long_line(mb: u64) -> String {
    let chunks = usize::try_from(mb * CHUNKS_OF_A_MB).unwrap_or(usize::MAX);
    "x".repeat(CHUNK_BYTES).repeat(chunks) + "\n"
}

/// Starts a process that is never waited for: whoever ends the agent must end its group. It does
/// not inherit the stream of the protocol, which would stay open with it.
fn spawn(seconds: u64) -> Result<u32, String> {
    let mut sleep = Command::new("sh");
    sleep.args(["-c", "exec sleep \"$0\" 3>&-", &seconds.to_string()]);
    sleep.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = sleep.spawn().map_err(|why| format!("`sleep` cannot be started: {why}"))?;
    child.id().ok_or_else(|| "`sleep` has ended already".to_owned())
}
