//! An agent that means no good. It speaks just enough ACP to be handed a prompt, and then does one
//! thing that no agent should. The campaign names its own program as the agent in the settings.

use std::io::{self, BufRead, StdoutLock, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use legwork_sim::host::Dice;
use serde_json::{Value, json};

use super::lines::{HALF, mutated, rubbish};

/// What its answer ends with when it says anything.
pub const LAST_WORDS: &str = "these are the last words";
/// What stands before and after the half character.
pub const AROUND_HALF: [&str; 2] = ["first-half", "second-half"];

/// Ways to be bad: the name, and what it does.
pub const WAYS: [(&str, &str); 10] = [
    ("mutated", "sends damaged lines among good ones"),
    ("rubbish", "sends nothing but rubbish"),
    ("long-ids", "begins 400 tool calls with ids of 1 MB"),
    ("many-ids", "begins 200,000 tool calls"),
    ("permissions", "asks for 40 permissions of 15 MB and waits for none"),
    ("deaf", "asks 50,000 things with ids of 8 KB and never reads an answer"),
    ("half-emoji", "sends half a character"),
    ("long-line", "sends a line of 17 MB"),
    ("open-line", "sends 15 MB of a line and ends"),
    ("exit", "ends in the middle of its answer"),
];

/// Runs the prompt as a shell script and says what that printed.
pub const SHELL: &str = "shell";
/// The same, with a permission asked for meanwhile.
pub const ASKING_SHELL: &str = "asking-shell";

/// Be an agent that means no good (for `adversary`)
#[derive(Args)]
pub struct Agent {
    way: String,
    seed: u64,
}

impl Agent {
    /// Is it, until its stdin ends.
    pub fn run(self) {
        let mut out = io::stdout().lock();
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
            let result = match request["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": 1,
                    // Or it would be kept for the next prompt.
                    "agentCapabilities": { "sessionCapabilities": { "resume": {} } },
                    "authMethods": [],
                }),
                Some("session/new") => json!({ "sessionId": "hostile" }),
                Some("session/prompt") => {
                    let text = request["params"]["prompt"][0]["text"].as_str();
                    if self.turn(&mut out, text.unwrap_or_default()).is_err() {
                        return;
                    }
                    json!({ "stopReason": "end_turn" })
                }
                _ => continue,
            };
            let reply = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
            if send(&mut out, reply.to_string().as_bytes()).is_err() {
                return;
            }
        }
    }

    fn turn(&self, out: &mut StdoutLock<'_>, prompt: &str) -> io::Result<()> {
        let mut dice = Dice::new(self.seed);
        match &*self.way {
            "mutated" => damaged(out, &mut dice)?,
            "rubbish" => (0..5_000).try_for_each(|_| send(out, &rubbish(&mut dice)))?,
            "long-ids" => (0..400).try_for_each(|n| tool(out, &long_id(n, 1 << 20)))?,
            "many-ids" => (0..200_000).try_for_each(|n| tool(out, &format!("call-{n}")))?,
            "permissions" => (0..40).try_for_each(|n| permission(out, n, &"p".repeat(15 << 20)))?,
            "deaf" => {
                (0..50_000).try_for_each(|n| question(out, &long_id(n, 8 << 10)))?;
                std::thread::sleep(Duration::from_secs(2));
            }
            "half-emoji" => {
                let [first, second] = AROUND_HALF;
                say(out, &format!("\"{first} {HALF} {second} \""))?;
                say(out, &format!("\" {HALF}\""))?;
                say(out, "\"\\ude00 \"")?;
            }
            SHELL => shell(out, prompt)?,
            ASKING_SHELL => {
                permission(out, 0, "may I?")?;
                shell(out, prompt)?;
            }
            "long-line" => say(out, &format!("\"{}\"", "x".repeat(17 << 20)))?,
            "open-line" => {
                out.write_all(&b"[".repeat(15 << 20))?;
                out.flush()?;
                std::process::exit(0);
            }
            _ => {
                say(out, "\"half of \"")?;
                std::process::exit(9);
            }
        }
        say(out, &Value::from(LAST_WORDS).to_string())
    }
}

fn damaged(out: &mut StdoutLock<'_>, dice: &mut Dice) -> io::Result<()> {
    for number in 0..40 {
        let content = json!({ "type": "text", "text": number.to_string() });
        let thought = json!({ "sessionUpdate": "agent_thought_chunk", "content": content });
        let line = update(&thought.to_string());
        send(out, &mutated(dice, &line))?;
        send(out, line.as_bytes())?;
    }
    Ok(())
}

fn long_id(number: usize, bytes: usize) -> String {
    format!("{number}-{}", "i".repeat(bytes))
}

fn tool(out: &mut StdoutLock<'_>, id: &str) -> io::Result<()> {
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "look", "kind": "read",
        "status": "in_progress",
    });
    send(out, update(&call.to_string()).as_bytes())
}

fn shell(out: &mut StdoutLock<'_>, prompt: &str) -> io::Result<()> {
    let ran = Command::new("sh").args(["-c", prompt]).stdin(Stdio::null()).output()?;
    let text = [ran.stdout, ran.stderr].concat();
    say(out, &Value::from(String::from_utf8_lossy(&text).into_owned()).to_string())
}

fn permission(out: &mut StdoutLock<'_>, number: usize, title: &str) -> io::Result<()> {
    let call = json!({ "toolCallId": format!("ask-{number}"), "title": title });
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    let params = json!({ "sessionId": "hostile", "toolCall": call, "options": options });
    let request = json!({
        "jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": params,
    });
    send(out, request.to_string().as_bytes())
}

fn question(out: &mut StdoutLock<'_>, id: &str) -> io::Result<()> {
    let request =
        json!({ "jsonrpc": "2.0", "id": id, "method": "fs/read_text_file", "params": {} });
    send(out, request.to_string().as_bytes())
}

/// A piece of the answer, as a JSON text that may be one only to the eye.
fn say(out: &mut StdoutLock<'_>, text: &str) -> io::Result<()> {
    let chunk = format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text}}}}}"#
    );
    send(out, update(&chunk).as_bytes())
}

fn update(update: &str) -> String {
    let params = format!(r#"{{"sessionId":"hostile","update":{update}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#)
}

fn send(out: &mut StdoutLock<'_>, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    out.write_all(b"\n")?;
    out.flush()
}
