//! A model in the words of Gemini's API, on loopback: enough of it for one agent, none of its
//! quirks. A prompt is one thing to do: `say WORDS`, `cut WORDS` (the stream ends behind them),
//! `run COMMAND`, `recall` (says what was said before) or `hang`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// It ends with the test.
pub struct Model {
    address: SocketAddr,
    hung: Arc<Mutex<Hung>>,
}

/// Requests that hang.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hung {
    pub asked: usize,
    /// The agent has closed the connection.
    pub given_up: usize,
}

impl Model {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let hung = Arc::new(Mutex::new(Hung::default()));
        let count = hung.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = count.clone();
                // An agent that goes away in the middle is no news.
                thread::spawn(move || drop(answer(stream, &count)));
            }
        });
        Self { address, hung }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn hung(&self) -> Hung {
        *self.hung.lock().unwrap()
    }
}

fn answer(mut stream: TcpStream, hung: &Mutex<Hung>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let streams = first.contains(":streamGenerateContent");
    let Some(part) = part(&request) else {
        hung.lock().unwrap().asked += 1;
        // Ends, well or not, when the agent closes the connection.
        let _ = reader.read(&mut [0]);
        hung.lock().unwrap().given_up += 1;
        return Ok(());
    };
    let is_cut = said(&request).last().is_some_and(|last| last.starts_with("cut "));
    let mut whole = json!({
        "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }],
    });
    if !is_cut {
        whole["candidates"][0]["finishReason"] = json!("STOP");
        whole["usageMetadata"] = json!({
            "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15,
        });
    }
    let (kind, text) = if streams {
        ("text/event-stream", format!("data: {whole}\r\n\r\n"))
    } else {
        ("application/json", whole.to_string())
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n\
         {text}",
        text.len()
    )
}

/// What the model says; nothing if it hangs.
fn part(request: &Value) -> Option<Value> {
    let said = said(request);
    let (last, before) = said.split_last().map_or(("", &[][..]), |(last, rest)| (&**last, rest));
    let (verb, words) = last.split_once(' ').unwrap_or((last, ""));
    Some(match verb {
        "say" | "cut" => json!({ "text": words }),
        "run" => {
            let args = json!({ "command": words, "description": "run it" });
            json!({ "functionCall": { "name": "run_shell_command", "args": args } })
        }
        "recall" => json!({ "text": before.join(" / ") }),
        "hang" => return None,
        _ => json!({ "text": "noted" }),
    })
}

/// All texts of the conversation but the agent's own beginning, and a word for what a tool gave.
fn said(request: &Value) -> Vec<String> {
    let contents = request["contents"].as_array().into_iter().flatten();
    let parts = contents.flat_map(|content| content["parts"].as_array().into_iter().flatten());
    let texts = parts.filter_map(|part| match part["text"].as_str() {
        Some(text) if text.contains("<session_context>") => None,
        Some(text) => Some(text.trim().to_owned()),
        None => part["functionResponse"].is_object().then(|| "say it was run".to_owned()),
    });
    texts.collect()
}
