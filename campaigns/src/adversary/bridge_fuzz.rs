//! Calls that nobody expects, through the bridge, as the plugin in OpenCode would send them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use legwork_sim::host::Dice;
use serde_json::{Value, json};

use super::lines::{HALF, call, mutated, odd_arguments, rubbish};
use super::report::{Attack, Kind, Report, Trial};
use crate::fault::{Done, Fault};
use crate::progress::note;
use crate::terminal::Terminal;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "bridge-fuzz",
    does: "calls with half characters, deep, wide and huge arguments through the bridge",
    holds: "every call with a readable id is answered or refused within 15 s; no panic",
    run: attack,
};

/// Bridges with random calls; each is given so many.
const ROUNDS: usize = 12;
const CALLS: u64 = 40;
/// Each unanswered call costs its whole time; so many say enough.
const ENOUGH: usize = 10;
/// Links that are made again before unanswered calls are given up.
const LINKS: usize = 3;
/// A call may need the host, which is given ten seconds.
const ANSWER: Duration = Duration::from_secs(15);
const MOST_MB: u64 = 700;

const TOOLS: [&str; 5] =
    ["background_task", "background_output", "background_block", "background_list", "no_such_tool"];

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    let terminal = Terminal::open("")?;
    let daemon = terminal.start()?;
    known(&terminal, report)?;
    let mut dice = trial.dice(1);
    for _ in 0..ROUNDS {
        if !trial.has_time() || report.flaws.len() > ENOUGH {
            break;
        }
        random(&terminal, &mut dice, report)?;
    }
    report.memory(daemon, MOST_MB);
    let now = terminal.daemon()?.map(|facts| facts.pid);
    report.expect(now == Some(daemon), Kind::Panic, || {
        format!("the daemon was process {daemon}, now it is {now:?}")
    });
    report.daemons(&terminal);
    Ok(())
}

/// Each on a bridge of its own, so that one that breaks the link does not hide the others.
fn known(terminal: &Terminal, report: &mut Report) -> Done<()> {
    let nested =
        |depth: usize| format!(r#"{{"task_id":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let cases = [
        ("a lone surrogate", format!(r#"{{"prompt":"{HALF}","description":"d","agent":"a"}}"#)),
        ("129 levels", nested(129)),
        ("100,000 levels", nested(100_000)),
        ("600,000 values", format!(r#"{{"task_ids":[{}0]}}"#, "0,".repeat(600_000))),
        ("17 MB", format!(r#"{{"task_id":"{}"}}"#, "x".repeat(17 << 20))),
    ];
    for (what, arguments) in cases {
        note(format!("a call with {what}"));
        let mut plugin = Plugin::start(terminal)?;
        plugin.send(call(1, "known", "background_output", &arguments).as_bytes());
        plugin.send(call(2, "after", "background_list", "{}").as_bytes());
        report.rounds += 1;
        for id in plugin.unanswered(&[1, 2]) {
            let which = if id == 1 { "the call" } else { "the call after it" };
            report.flaw(Kind::Stuck, format!("{what}: {which} was not answered in {ANSWER:?}"));
        }
    }
    Ok(())
}

/// Odd calls and rubbish in between. What is rubbish needs no answer; the calls do.
fn random(terminal: &Terminal, dice: &mut Dice, report: &mut Report) -> Done<()> {
    let mut plugin = Plugin::start(terminal)?;
    let mut sent = BTreeMap::new();
    for id in 1..=CALLS {
        if dice.chance(150) {
            plugin.send(&rubbish(dice));
        }
        let arguments = odd_arguments(dice);
        let tool = *dice.pick(&TOOLS);
        let line = call(id, &format!("k{id}"), tool, &arguments);
        if dice.chance(250) {
            plugin.send(&mutated(dice, &line));
            continue;
        }
        plugin.send(line.as_bytes());
        sent.insert(id, line);
    }
    report.rounds += CALLS as usize;
    for _ in 0..LINKS {
        let ids: Vec<u64> = sent.keys().copied().collect();
        let left = plugin.unanswered(&ids);
        sent.retain(|id, _| left.contains(id));
        if sent.is_empty() || !plugin.said_goodbye {
            break;
        }
        // A link that has ended is made again by the plugin, which sends its calls again.
        plugin = Plugin::start(terminal)?;
        sent.values().for_each(|line| plugin.send(line.as_bytes()));
    }
    for line in sent.values() {
        let begin: String = line.chars().take(160).collect();
        report.flaw(Kind::Stuck, format!("never answered: {begin}"));
    }
    Ok(())
}

/// The plugin's part: a host that has nothing, and answers everything that it is asked.
struct Plugin {
    bridge: Child,
    stdin: Arc<Mutex<ChildStdin>>,
    lines: Receiver<Value>,
    said_goodbye: bool,
}

impl Plugin {
    fn start(terminal: &Terminal) -> Done<Self> {
        let mut command = terminal.command(&["bridge", "opencode"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut bridge = command.spawn().map_err(|why| Fault::trying("starting a bridge", why))?;
        let (Some(stdin), Some(stdout)) = (bridge.stdin.take(), bridge.stdout.take()) else {
            return Err(Fault::new("a bridge without pipes"));
        };
        let stdin = Arc::new(Mutex::new(stdin));
        let (tell, lines) = mpsc::channel();
        let answers = stdin.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
                if line["type"] == "host-call" {
                    let result =
                        json!({ "type": "result", "id": line["id"], "status": 200, "body": [] });
                    write(&answers, result.to_string().as_bytes());
                } else if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let plugin = Self { bridge, stdin, lines, said_goodbye: false };
        let pid = std::process::id();
        let init = json!({ "type": "init", "pid": pid, "directory": "/d", "project": "p" });
        plugin.send(init.to_string().as_bytes());
        match plugin.lines.recv_timeout(ANSWER) {
            Ok(line) if line["type"] == "hello" => Ok(plugin),
            other => Err(Fault::trying("greeting through a bridge", format!("{other:?}"))),
        }
    }

    fn send(&self, line: &[u8]) {
        write(&self.stdin, line);
    }

    /// Waits for the answers to these calls; gives back those without.
    fn unanswered(&mut self, ids: &[u64]) -> Vec<u64> {
        let mut left = ids.to_vec();
        let end = Instant::now() + ANSWER;
        while !left.is_empty() {
            let rest = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(rest) {
                Ok(line) if line["type"] == "answer" || line["type"] == "refused" => {
                    left.retain(|id| line["id"].as_u64() != Some(*id));
                }
                Ok(line) if line["type"] == "bye" => self.said_goodbye = true,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        left
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        let _ = self.bridge.kill();
        let _ = self.bridge.wait();
    }
}

fn write(stdin: &Mutex<ChildStdin>, line: &[u8]) {
    let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
    // A bridge that has ended shows so by its silence.
    let _ =
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).and_then(|()| stdin.flush());
}
