//! Asking a server of the model context protocol who it is, as a client would: started as it is
//! named, spoken with over its pipes, ended afterwards. All within a bounded time.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use legwork_protocol::refusal::plain;
use serde_json::{Value, json};

use crate::programs::ended;

/// An answer is a few hundred bytes.
const SAID_MAX_BYTES: u64 = 1 << 20;
const SHOWN_MAX_CHARS: usize = 400;
const SHOWN_MAX_LINES: usize = 4;
/// For a server that is told to end, before it is ended.
const END_MAX: Duration = Duration::from_millis(500);
const NEW: &str = "2026-07-28";
const OLD: &str = "2025-06-18";

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub version: String,
}

/// Starts a server and asks it; else says in words what it did instead.
pub fn ask(program: &Path, args: &[String], at_most: Duration) -> Result<Server, String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be started ({error})"))?;
    let answered = talk(&mut child, at_most);
    // Its input is closed by now, which tells it to end. It has answered, however it ends.
    let _ = ended(&mut child, END_MAX);
    answered
}

fn talk(child: &mut Child, at_most: Duration) -> Result<Server, String> {
    let deadline = Instant::now() + at_most;
    let lines = lines_of(child.stdout.take());
    let words = lines_of(child.stderr.take());
    let mut to = child.stdin.take().ok_or("it has no input")?;
    let mut answer = |id: u64, method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        // One that has ended already is known by its silence.
        let _ = writeln!(to, "{request}").and_then(|()| to.flush());
        next(&lines, id, deadline)
    };
    let who = json!({ "name": "legwork-doctor", "version": env!("CARGO_PKG_VERSION") });
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": who,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut said = answer(1, "server/discover", json!({ "_meta": meta }));
    if said.as_ref().is_some_and(|said| said["result"].is_null()) {
        let hello = json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": who });
        said = answer(2, "initialize", hello);
    }
    match said {
        Some(said) => server_in(&said["result"])
            .ok_or_else(|| format!("it answered {}", plain(&said.to_string(), SHOWN_MAX_CHARS))),
        None if Instant::now() >= deadline => {
            Err(format!("it did not answer within {} s", at_most.as_secs()))
        }
        None => {
            let next = || words.recv_timeout(END_MAX).ok();
            let words: Vec<String> = std::iter::from_fn(next).take(SHOWN_MAX_LINES).collect();
            let words = plain(words.join("; ").trim(), SHOWN_MAX_CHARS);
            Err(format!("it ended without an answer, and said: {words}"))
        }
    }
}

fn server_in(result: &Value) -> Option<Server> {
    let old = &result["serverInfo"];
    let new = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let info = if old.is_null() { new } else { old };
    let text = |name: &str| info[name].as_str().map(|text| plain(text, SHOWN_MAX_CHARS));
    Some(Server { name: text("name")?, version: text("version").unwrap_or_default() })
}

/// The answer under this id. What else is said meanwhile is passed over.
fn next(lines: &Receiver<String>, id: u64, deadline: Instant) -> Option<Value> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).ok()?;
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        if said["id"] == id {
            return Some(said);
        }
    }
}

fn lines_of(from: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let Some(from) = from else { return };
        for line in BufReader::new(from.take(SAID_MAX_BYTES)).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, at_most: Duration) -> Result<Server, String> {
        ask(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], at_most)
    }

    #[test]
    fn m7_a_server_is_asked_in_the_new_way_and_then_in_the_old_one() {
        let long = Duration::from_secs(60);
        let legwork = Server { name: "legwork".to_owned(), version: "1.2.3".to_owned() };
        let info = r#"{"name":"legwork","version":"1.2.3"}"#;
        let new =
            format!(r#"read a; echo noise; echo '{{"id":1,"result":{{"serverInfo":{info}}}}}'"#);
        assert_eq!(sh(&new, long), Ok(legwork.clone()));
        let meta = format!(r#"{{"_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}}}"#);
        assert_eq!(
            sh(&format!(r#"read a; echo '{{"id":1,"result":{meta}}}'"#), long),
            Ok(legwork.clone())
        );
        let old = format!(
            r#"read a; echo '{{"id":1,"error":{{}}}}'; read a; case $a in *initialize*) echo '{{"id":2,"result":{{"serverInfo":{info}}}}}';; esac"#
        );
        assert_eq!(sh(&old, long), Ok(legwork));
    }

    #[test]
    fn m7_a_server_that_ends_hangs_or_says_something_else_is_a_reason_in_words() {
        let long = Duration::from_secs(60);
        let ended = sh("echo no such command >&2; exit 2", long).unwrap_err();
        assert!(ended.contains("ended without an answer") && ended.contains("no such command"));
        let silent = sh("exec sleep 600", Duration::ZERO).unwrap_err();
        assert!(silent.contains("did not answer within 0 s"), "{silent}");
        let other = sh(r#"read a; echo '{"id":1,"result":{"x":1}}'"#, long).unwrap_err();
        assert!(other.contains("it answered"), "{other}");
        let missing = ask(Path::new("/no/such"), &[], long).unwrap_err();
        assert!(missing.contains("cannot be started"), "{missing}");
    }
}
