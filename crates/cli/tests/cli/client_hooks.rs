//! What a hook of a client shows: what came in for its session, once, and nothing at all where
//! something is wrong.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use legwork_client::Record;
use legwork_machine::process::{INSIDE, process_mark};
use legwork_machine::{Folders, STORE_LOCK};
use legwork_protocol::api::{Answer, Ask, Request};
use legwork_protocol::ids::MessageUse;
use legwork_protocol::line::{FromDaemon, LINE_VERSION, ToDaemon, decode_to_daemon, encode};
use legwork_protocol::view::Mail;
use legwork_protocol::{MessageId, TaskId, Time};
use legwork_testkit::legwork::{Home, Ran, eventually};
use legwork_testkit::output_of;
use serde_json::{Value, json};

use crate::doctor::executable;

const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");
/// A hook that has ended has said what it showed by then, or will not.
const SOON: Duration = Duration::from_secs(1);

/// A daemon that has one message, for the session that a test names.
struct Daemon {
    _lock: File,
    shown: Receiver<usize>,
}

impl Daemon {
    fn start(home: &Home, is_for: fn(&str) -> bool) -> Self {
        home.configure("");
        let Folders { store, socket, .. } = Folders::in_home(&home.path("legwork"));
        let listener = UnixListener::bind(&socket).unwrap();
        fs::create_dir(&store).unwrap();
        let mut lock = File::create(store.join(STORE_LOCK)).unwrap();
        lock.lock().unwrap();
        let mut record = Record::of_this_process("0.0.1", 1);
        record.socket = Some(socket);
        lock.write_all(record.text().as_bytes()).unwrap();
        let (tell, shown) = mpsc::channel();
        // Ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, is_for, &tell);
            }
        });
        Self { _lock: lock, shown }
    }
}

fn serve(stream: UnixStream, is_for: fn(&str) -> bool, shown: &Sender<usize>) -> Option<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).ok().filter(|read| *read > 0)?;
        let said = match decode_to_daemon(&line).ok()? {
            ToDaemon::Hello { .. } => {
                FromDaemon::Hello { version: LINE_VERSION, build: "0.0.1".into(), tools: vec![] }
            }
            ToDaemon::Request { id, request: Request::Unread { session }, .. } => {
                let message = MessageId::make(Time(1), TaskId::from_number(7), 0, MessageUse::End);
                let text = "bg_1 is done: 42".to_owned();
                let is_its = is_for(session.as_str());
                let mail = Mail { message, session, at: Time(1), text, tasks: Vec::new() };
                FromDaemon::Data {
                    id,
                    data: Answer::Mail(is_its.then_some(mail).into_iter().collect()),
                }
            }
            ToDaemon::Request {
                id, request: Request::Ask(Ask::MailShown { messages }), ..
            } => {
                shown.send(messages.len()).ok()?;
                FromDaemon::Data { id, data: Answer::Done }
            }
            _ => continue,
        };
        lines.get_mut().write_all(&encode(&said)).ok()?;
    }
}

/// Runs a command with this on its input.
fn given(mut command: Command, input: &str) -> Ran {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), input).unwrap();
    command.stdin(File::open(file.path()).unwrap());
    output_of(command.spawn().unwrap()).into()
}

/// What a hook shows. On a busy machine its second may be over before it has asked, or before it
/// has said what it showed; then it shows that the next time.
fn shown(daemon: &Daemon, hook: impl Fn() -> Ran) -> Value {
    let said = eventually("the hook shows it and says so", || {
        let said = hook().with_code(0);
        let is_shown = !["", "{}\n"].contains(&said.out.as_str());
        let is_said = is_shown && daemon.shown.recv_timeout(SOON) == Ok(1);
        is_said.then(|| said.json())
    });
    // What was shown twice may have been said twice.
    while daemon.shown.try_recv().is_ok() {}
    said
}

fn prompt() -> Value {
    json!({ "session_id": "0a-1b", "hook_event_name": "UserPromptSubmit", "prompt": "x" })
}

#[test]
fn m7_a_hook_of_claude_code_shows_what_came_in_and_says_that_it_was_shown() {
    let home = Home::new();
    let daemon = Daemon::start(&home, |session| session == "claude_0a-1b");
    let hook = || given(home.command(["hook", "claude"]), &prompt().to_string());
    let said = shown(&daemon, hook);
    let context = &said["hookSpecificOutput"];
    assert_eq!(context["hookEventName"], "UserPromptSubmit");
    assert_eq!(context["additionalContext"], "bg_1 is done: 42");
    // Of another session, at another event, inside of a helper, and for nobody that is known.
    let mut other = prompt();
    other["session_id"] = "other".into();
    let mut begins = prompt();
    begins["hook_event_name"] = "SessionStart".into();
    for input in [other, begins, json!({}), json!([])] {
        let said = given(home.command(["hook", "claude"]), &input.to_string()).with_code(0);
        assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""), "{input}");
    }
    let mut inside = home.command(["hook", "claude"]);
    inside.env(INSIDE, "x");
    let nobody = home.command(["hook", "nobody", "--what"]);
    for command in [inside, nobody] {
        assert_eq!(given(command, &prompt().to_string()).with_code(0).out, "");
    }
    assert!(daemon.shown.try_recv().is_err(), "nothing else was shown");
}

#[test]
fn m7_a_hook_of_gemini_cli_and_of_cursor_goes_by_the_process_of_the_client() {
    let home = Home::new();
    let daemon = Daemon::start(&home, |session| {
        let mark = session.strip_prefix("mcp_");
        let pid = mark.and_then(|mark| mark.split('-').next()?.parse().ok());
        let of_process = pid.and_then(process_mark);
        of_process.and_then(|mark| legwork_mcp::session_of_process(&mark)) == session.parse().ok()
    });
    fs::create_dir(home.path("bin")).unwrap();
    for (client, event, context) in [
        (
            "gemini",
            json!({ "hook_event_name": "AfterTool" }),
            "/hookSpecificOutput/additionalContext",
        ),
        (
            "cursor",
            json!({ "hook_event_name": "stop", "status": "completed" }),
            "/followup_message",
        ),
    ] {
        // The client has a shell run the hook's command.
        let program = home.path("bin").join(client);
        executable(&program, &format!("/bin/sh -c '{LEGWORK} hook {client}; exit $?'; exit $?"));
        let said = shown(&daemon, || {
            let mut command = Command::new(&program);
            command.env_clear();
            let set = home.command([""]);
            command.envs(set.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            // With the mark that some begin with.
            given(command, &format!("\u{feff}{event}"))
        });
        assert_eq!(said.pointer(context), Some(&json!("bg_1 is done: 42")), "{said}");
    }
    let away = json!({ "hook_event_name": "stop", "status": "aborted" }).to_string();
    assert_eq!(given(home.command(["hook", "cursor"]), &away).with_code(0).out, "{}\n");
}

#[test]
fn m7_a_hook_ends_well_without_a_daemon_and_without_an_end_of_its_input() {
    let home = Home::new();
    for client in ["claude", "gemini", "cursor"] {
        let said = given(home.command(["hook", client]), &prompt().to_string()).with_code(0);
        assert!(said.out.is_empty() || said.out == "{}\n", "{said:?}");
        given(home.command(["hook", client]), "{\"session_id\": ").with_code(0);
    }
    assert!(!home.path("legwork").exists(), "no daemon was started");
    home.run(["hook"]).with_code(0);
    let mut hangs = home.command(["hook", "claude"]);
    let mut child = hangs.stdin(Stdio::piped()).spawn().unwrap();
    let held = child.stdin.take().unwrap();
    let ended = eventually("it ends by itself", || child.try_wait().unwrap());
    assert!(ended.success());
    drop(held);
}
