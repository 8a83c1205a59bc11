//! Lines as a program of ours would send them, and what becomes of them in bad hands. Only text and
//! dice: who sends them and what must come back is for the attacks.

use legwork_sim::host::Dice;
use serde_json::{Value, json};

/// Half of a character beyond the first 65,536, as JSON can write it and UTF-8 cannot.
pub const HALF: &str = "\\ud83d";

/// A line that could be meant seriously. None of them ends the daemon or changes what others have.
pub fn valid(dice: &mut Dice, id: u64) -> String {
    let context = json!({
        "session": "ses_fuzz", "message": "msg_fuzz", "agent": "build", "directory": "/",
    });
    let tools = ["background_task", "background_output", "background_block", "background_list"];
    let arguments = [
        json!({ "prompt": "x", "description": "d", "agent": "nobody" }),
        json!({ "task_id": "bg_00000000" }),
        json!({ "task_ids": ["bg_00000000"], "timeout": 1 }),
        json!({}),
    ];
    let which = dice.below(4) as usize;
    let requests = [
        json!({ "what": "list" }),
        json!({ "what": "show", "task": "bg_00000000" }),
        json!({ "what": "output", "task": "bg_00000000" }),
        json!({ "what": "log", "task": "bg_00000000" }),
        json!({ "what": "status" }),
        json!({ "what": "follow" }),
    ];
    let line = match dice.below(6) {
        0 => json!({ "type": "request", "id": id, "key": "k", "request": dice.pick(&requests) }),
        1 => json!({ "type": "cancel", "id": id }),
        2 => json!({ "type": "result", "id": id, "status": 200, "body": [] }),
        3 => json!({ "type": "event", "name": "session.idle", "properties": { "sessionID": "s" } }),
        _ => json!({
            "type": "call", "id": id, "key": format!("fuzz-{id}"), "tool": tools[which],
            "arguments": arguments[which], "context": context,
        }),
    };
    line.to_string()
}

/// A line after an accident.
pub fn mutated(dice: &mut Dice, line: &str) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len().max(1) as u64) as usize;
        let to = (at + dice.below(40) as usize).min(bytes.len());
        match dice.below(9) {
            0 => bytes.truncate(at),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.below(8)),
            2 => drop(bytes.drain(at..to)),
            3 => bytes.extend_from_within(at..to),
            4 => insert(&mut bytes, at, HALF.as_bytes()),
            5 => insert(&mut bytes, at, &[0, 0xff, 0xfe, 0xed, 0xa0, 0x80]),
            6 => insert(&mut bytes, at, b"99999999999999999999999e999"),
            7 => insert(&mut bytes, at, "[".repeat(dice.between(1, 3_000) as usize).as_bytes()),
            _ => insert(&mut bytes, at, "\u{2028}\u{0}\u{1b}[2J\u{202e}".as_bytes()),
        }
    }
    bytes.retain(|byte| *byte != b'\n');
    bytes
}

/// Something that was never a line.
pub fn rubbish(dice: &mut Dice) -> Vec<u8> {
    let size = 1 << dice.between(2, 20);
    match dice.below(8) {
        0 => (0..size.min(4_096)).map(|_| dice.roll() as u8).filter(|byte| *byte != 10).collect(),
        1 => b"[".repeat(size),
        2 => br#"{"a":"#.repeat(size / 5),
        3 => [&b"["[..], &b"0,".repeat(size / 2), b"0]"].concat(),
        4 => [&br#"{"type":"call","id":1,"key":""#[..], &b"x".repeat(size), b"\"}"].concat(),
        5 => b"\0".repeat(size),
        6 => "{\"type\":\"hello\",\"version\":4294967296}".as_bytes().to_vec(),
        _ => "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".as_bytes().to_vec(),
    }
}

/// Arguments that are JSON and that nobody expects; as text, because no library writes them.
pub fn odd_arguments(dice: &mut Dice) -> String {
    let deep = dice.between(100, 2_000) as usize;
    let wide = dice.between(1_000, 60_000) as usize;
    match dice.below(9) {
        0 => format!(r#"{{"prompt":"{HALF}","description":"a{HALF}b","agent":"x"}}"#),
        1 => format!(r#"{{"task_id":"\udc00\ud800{HALF}"}}"#),
        2 => format!(r#"{{"task_id":{}1{}}}"#, "[".repeat(deep), "]".repeat(deep)),
        3 => format!("{}1{}", r#"{"a":"#.repeat(deep), "}".repeat(deep)),
        4 => format!(r#"{{"task_ids":[{}0]}}"#, "0,".repeat(wide)),
        5 => format!(r#"{{"task_id":"{}"}}"#, "é".repeat(wide)),
        6 => r#"{"task_id":1e400,"timeout":-1e400,"prompt":null}"#.to_owned(),
        7 => (*dice.pick(&["null", "[]", "7", "\"text\"", "true", "-0.0"])).to_owned(),
        _ => r#"{"task_id":"a","task_id":"b","__proto__":{},"\u0000":"\u001b[2J"}"#.to_owned(),
    }
}

/// The line of a call as the plugin writes it, with these arguments.
pub fn call(id: u64, key: &str, tool: &str, arguments: &str) -> String {
    let (key, tool) = (Value::from(key), Value::from(tool));
    let context =
        json!({ "session": "ses_p", "message": "msg_1", "agent": "build", "directory": "/d" });
    let begin = format!(r#"{{"type":"call","id":{id},"key":{key},"tool":{tool}"#);
    format!(r#"{begin},"arguments":{arguments},"context":{context}}}"#)
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_lines_and_each_is_one_line() {
        let all = |seed| {
            let mut dice = Dice::new(seed);
            let mut lines = Vec::new();
            for id in 0..300 {
                let line = valid(&mut dice, id);
                assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
                lines.push(mutated(&mut dice, &line));
                lines.push(odd_arguments(&mut dice).into_bytes());
            }
            lines
        };
        assert_eq!(all(7), all(7));
        assert!(all(7).iter().flatten().all(|byte| *byte != b'\n'));
    }

    #[test]
    fn a_call_with_plain_arguments_is_json() {
        let line = call(3, "k", "background_list", "{}");
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["id"], &line["context"]["directory"]), (&json!(3), &json!("/d")));
    }
}
