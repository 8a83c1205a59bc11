//! The language in which a prompt tells the scripted model what to do.
//!
//! A script begins with a line `#script` and ends at an empty line, at `#end` or with the text.
//! Steps are separated by a line `--`; each is one answer of the model, done line by line.
//!
//! ```text
//! say TEXT              text; \n is a line break     fail CODE TEXT       refuse the request
//! repeat N TEXT         N bytes of it                fail-once CODE TEXT  the same, one time
//! stream N MS WORD      N words, MS apart            hang                 never go on
//! wait MS               take time                    drop                 cut the connection
//! gate NAME             wait for `Model::open`       count                say how many prompts
//! call TOOL {json}      call a tool                  echo-history         say what was said before
//! call-as ID TOOL {..}  the same, under this id      drop-once            cut it, one time
//! break-off             end the stream too early     stream-until NAME MS WORD
//! speak MS TEXT         its words, MS apart          words, MS apart, until `Model::open`
//! ```
//!
//! Each call has an id of its own, as providers should have it, but for `call-as`, whose id `-` is
//! an empty one.
//!
//! In `say` and `call`, `{{last_task}}` and `{{task:N}}` (from 1) stand for task ids that occur in
//! the conversation. A script that runs out, and a prompt that is none, are answered `noted`.
//! `Model::learn` has other words stand for a script.

use serde_json::Value;

const MARK: &str = "#script";

/// One thing that the model does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Write a text.
    Say(String),
    /// Write so many bytes of a text.
    Repeat(usize, String),
    /// Write so many words, with so many milliseconds before each.
    Stream(usize, u64, String),
    /// Write the words of a text, with so many milliseconds after each.
    Speak(u64, String),
    /// Write words, with so many milliseconds before each, until the test opens the gate.
    StreamUntil(String, u64, String),
    /// Take so many milliseconds.
    Wait(u64),
    /// Wait until the test opens the gate.
    Gate(String),
    /// Call a tool with this JSON, as written.
    Call(String, String),
    /// Call a tool under this id, with this JSON, as written.
    CallAs(String, String, String),
    /// Refuse the request.
    Fail(u16, String),
    /// Refuse the request once. Several such lines refuse it several times.
    FailOnce(u16, String),
    /// Never go on.
    Hang,
    /// Cut the connection.
    Drop,
    /// Cut the connection once.
    DropOnce,
    /// End the stream in good order, but before the answer is over.
    BreakOff,
    /// Write a digest of the conversation before this prompt.
    EchoHistory,
    /// Write the number of user messages so far.
    Count,
}

/// A script of these steps.
pub fn script(steps: &[&str]) -> String {
    format!("{MARK}\n{}", steps.join("\n--\n"))
}

/// The line that calls a tool; the arguments may hold scripts of their own.
pub fn call(tool: &str, arguments: &Value) -> String {
    format!("call {tool} {arguments}")
}

/// The steps of the last script in a text, or what is wrong with it; `None` when there is none.
pub fn parse(text: &str) -> Option<Result<Vec<Vec<Line>>, String>> {
    // `opencode run` quotes an argument that has spaces (seen in 1.18.33).
    let quoted = text.strip_prefix('"').and_then(|text| text.trim_end().strip_suffix('"'));
    let unquoted = quoted.map(|text| text.replace("\\\"", "\""));
    let text = unquoted.as_deref().unwrap_or(text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let begin = lines.iter().rposition(|line| *line == MARK)?;
    let body = lines[begin + 1..].iter().take_while(|line| !line.is_empty() && **line != "#end");
    let mut steps = vec![Vec::new()];
    for line in body {
        if *line == "--" {
            steps.push(Vec::new());
            continue;
        }
        match parse_line(line) {
            Some(line) => steps.last_mut()?.push(line),
            None => return Some(Err(format!("no line of a script: {line}"))),
        }
    }
    Some(Ok(steps))
}

/// A tool and its arguments. Any JSON will do, also what strict readers refuse.
fn tool_call(rest: &str) -> Option<(String, String)> {
    let (tool, json) = rest.split_once(' ').unwrap_or((rest, "{}"));
    serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
    Some((tool.to_owned(), json.to_owned()))
}

fn parse_line(line: &str) -> Option<Line> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    Some(match verb {
        "say" => Line::Say(rest.replace("\\n", "\n")),
        "repeat" => {
            let (bytes, text) = rest.split_once(' ').unwrap_or((rest, "x"));
            Line::Repeat(bytes.parse().ok()?, text.to_owned())
        }
        "stream" => {
            let mut words = rest.splitn(3, ' ');
            let count = words.next()?.parse().ok()?;
            let ms = words.next()?.parse().ok()?;
            Line::Stream(count, ms, words.next().unwrap_or("word").to_owned())
        }
        "speak" => {
            let (ms, text) = rest.split_once(' ')?;
            Line::Speak(ms.parse().ok()?, text.replace("\\n", "\n"))
        }
        "stream-until" => {
            let mut words = rest.splitn(3, ' ');
            let gate = words.next()?.to_owned();
            let ms = words.next()?.parse().ok()?;
            Line::StreamUntil(gate, ms, words.next().unwrap_or("word").to_owned())
        }
        "wait" => Line::Wait(rest.parse().ok()?),
        "gate" if !rest.is_empty() => Line::Gate(rest.to_owned()),
        "call" => {
            let (tool, json) = tool_call(rest)?;
            Line::Call(tool, json)
        }
        "call-as" => {
            let (id, rest) = rest.split_once(' ')?;
            let (tool, json) = tool_call(rest)?;
            Line::CallAs(if id == "-" { String::new() } else { id.to_owned() }, tool, json)
        }
        "fail" => code(rest).map(|(code, text)| Line::Fail(code, text))?,
        "fail-once" => code(rest).map(|(code, text)| Line::FailOnce(code, text))?,
        "hang" => Line::Hang,
        "drop" => Line::Drop,
        "drop-once" => Line::DropOnce,
        "break-off" => Line::BreakOff,
        "echo-history" => Line::EchoHistory,
        "count" => Line::Count,
        _ => return None,
    })
}

fn code(rest: &str) -> Option<(u16, String)> {
    let (code, text) = rest.split_once(' ').unwrap_or((rest, "scripted failure"));
    Some((code.parse().ok()?, text.to_owned()))
}

/// Puts the task ids into a text; an error when there is no such task.
pub(crate) fn fill(text: &str, tasks: &[String]) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        let task = match name.strip_prefix("task:").map(str::parse::<usize>) {
            Some(Ok(number)) => tasks.get(number.wrapping_sub(1)),
            None if name == "last_task" => tasks.last(),
            _ => return Err(format!("no placeholder: {name}")),
        };
        out.push_str(before);
        out.push_str(task.ok_or_else(|| format!("no task for {name}, only {tasks:?}"))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The task ids in a text, each once, in the order in which they first occur.
pub(crate) fn tasks_in(text: &str, tasks: &mut Vec<String>) {
    for (at, _) in text.match_indices("bg_") {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        let length = text.as_bytes()[at + 3..].iter().take_while(|byte| is_digit(byte)).count();
        let task = &text[at..at + 3 + length];
        if length == 8 && !tasks.iter().any(|known| known == task) {
            tasks.push(task.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn steps(text: &str) -> Vec<Vec<Line>> {
        parse(text).unwrap().unwrap()
    }

    #[test]
    fn a_script_is_read_step_by_step() {
        let text = "please:\n#script\nsay a\\nb\nwait 5\n--\nfail 400 no\n--\nhang\n\nAnd so on.";
        let expected = [
            vec![Line::Say("a\nb".into()), Line::Wait(5)],
            vec![Line::Fail(400, "no".into())],
            vec![Line::Hang],
        ];
        assert_eq!(steps(text), expected);
    }

    #[test]
    fn a_script_in_a_call_is_no_script_of_its_own() {
        let inner = script(&["say hi", "gate x"]);
        let outer = script(&[&call("background_task", &json!({ "prompt": inner })), "say done"]);
        let [first, _] = &steps(&outer)[..] else { panic!("two steps") };
        let Line::Call(tool, json) = &first[0] else { panic!("a call") };
        assert_eq!(tool, "background_task");
        let json: Value = serde_json::from_str(json).unwrap();
        assert_eq!(steps(json["prompt"].as_str().unwrap()).len(), 2);
    }

    #[test]
    fn of_several_scripts_the_last_counts_and_other_text_is_none() {
        assert_eq!(steps("#script\nsay a\n\n#script\nsay b"), [[Line::Say("b".into())]]);
        assert_eq!(parse("[BACKGROUND TASK COMPLETED] see #script"), None);
        let quoted = "\"#script\ncall t {\\\"a\\\":1}\"\n";
        assert_eq!(steps(quoted), [[Line::Call("t".into(), r#"{"a":1}"#.into())]]);
        assert!(parse("#script\nsing").unwrap().is_err());
        assert!(parse("#script\ncall bash {").unwrap().is_err());
    }

    #[test]
    fn every_line_has_its_form() {
        let text = "#script\nrepeat 9 ab\nstream 3 10 w\nspeak 5 a b\nstream-until g 5 w\ngate g\ncall t\n\
                    fail-once 500\ndrop\ndrop-once\nbreak-off\ncount\necho-history\n#end\nrubbish";
        let expected = vec![
            Line::Repeat(9, "ab".into()),
            Line::Stream(3, 10, "w".into()),
            Line::Speak(5, "a b".into()),
            Line::StreamUntil("g".into(), 5, "w".into()),
            Line::Gate("g".into()),
            Line::Call("t".into(), "{}".into()),
            Line::FailOnce(500, "scripted failure".into()),
            Line::Drop,
            Line::DropOnce,
            Line::BreakOff,
            Line::Count,
            Line::EchoHistory,
        ];
        assert_eq!(steps(text), [expected]);
    }

    #[test]
    fn placeholders_name_the_tasks_that_were_seen() {
        let mut tasks = Vec::new();
        tasks_in("bg_aaaaaaa1 and bg_bbbbbbb2, bg_aaaaaaa1; bg_short, bg_toolong99", &mut tasks);
        assert_eq!(tasks, ["bg_aaaaaaa1", "bg_bbbbbbb2"]);
        let filled = fill(r#"{"a":"{{task:1}}","b":["{{last_task}}"]}"#, &tasks);
        assert_eq!(filled.unwrap(), r#"{"a":"bg_aaaaaaa1","b":["bg_bbbbbbb2"]}"#);
        assert!(fill("{{task:3}}", &tasks).is_err());
        assert!(fill("{{other}}", &tasks).is_err());
        assert_eq!(fill("{{open", &tasks).unwrap(), "{{open");
    }
}
