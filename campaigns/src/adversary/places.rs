//! Strangers that claim to be the same project: a second OpenCode of it with another database, and
//! a server that knows nothing of what it is asked. What the first one has must stay.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use legwork_testkit::{block_on, call, script};
use serde_json::{Value, json};

use super::report::{Attack, Kind, Report};
use crate::fault::{Done, Fault};
use crate::legwork::Legwork;
use crate::progress::{note, until};
use crate::stage::{Furniture, Stage};
use crate::talk::notices;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "places",
    does: "a second OpenCode of the project with another database, and a server that answers 404",
    holds: "nothing of the first OpenCode is forgotten or aborted; all of it is told once",
    run: |_, report| block_on(attack(report)),
};

/// Longer than a poll and than it takes to ask which parents are gone.
const WHILE: Duration = Duration::from_secs(9);
const SETTLE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);
const SLOW: &str = "slow";

async fn attack(report: &mut Report) -> Done<()> {
    for stranger in [Stranger::Database, Stranger::Server] {
        note(format!("{stranger:?}"));
        beside(stranger, report).await?;
    }
    Ok(())
}

/// Who comes.
#[derive(Debug, Clone, Copy)]
enum Stranger {
    /// OpenCode with another database.
    Database,
    /// A server that answers 404.
    Server,
}

async fn beside(stranger: Stranger, report: &mut Report) -> Done<()> {
    report.rounds += 1;
    report.tasks += 2;
    let furniture = Furniture { config: Some(""), ..Furniture::default() };
    let stage = Stage::open(&furniture).await?;
    stage.until_connected().await?;
    let parent = stage.parent().await;
    launch(&stage, &parent).await?;
    match stranger {
        Stranger::Database => other_database(&stage).await?,
        Stranger::Server => other_server(&stage).await?,
    }
    let before = report.flaws.len();
    let seen = seen(&stage);
    for expected in ["quick completed", "slow running"] {
        report.expect(seen.contains(expected), Kind::Lost, || {
            format!("{stranger:?}: expected {expected}, there is: \"{seen}\"")
        });
    }
    if report.flaws.len() == before {
        finish(&stage, &parent, report).await?;
    }
    Ok(())
}

/// One helper that is done soon, and one that works until it may end.
async fn launch(stage: &Stage, parent: &str) -> Done<()> {
    let line = |name: &str, work: &[&str]| {
        let arguments = json!({ "description": name, "agent": "general", "prompt": script(work) });
        call("background_task", &arguments)
    };
    let quick = line("quick", &["say result of quick"]);
    let gate = format!("gate {SLOW}");
    let slow = line("slow", &[&format!("{gate}\nsay result of slow")]);
    stage.client.ask(parent, &script(&[&format!("{quick}\n{slow}"), "say ok"])).await;
    let begun = async || {
        let seen = seen(stage);
        (seen.contains("quick completed") && seen.contains("slow running")).then_some(())
    };
    until("one helper is done and one at work", SETTLE, LOOK, begun).await
}

async fn other_database(stage: &Stage) -> Done<()> {
    let other = stage.home.root().join("other.db");
    stage.home.set_env("OPENCODE_DB", &other.to_string_lossy());
    let second = stage.home.serve().await;
    let both = async || stage.daemon().ok()?.filter(|daemon| daemon.hosts > 1).map(drop);
    until("both are connected", SETTLE, LOOK, both).await?;
    let client = second.client();
    let session = client.create(json!({ "title": "other" })).await;
    client.ask(&session, &script(&["call background_list {}", "say ok"])).await;
    tokio::time::sleep(WHILE).await;
    Ok(())
}

async fn other_server(stage: &Stage) -> Done<()> {
    let project = stage.client.call("GET", "/project/current", None).await.ok();
    let directory = stage.home.project().display().to_string();
    let port = serve_nothing(project["id"].clone(), directory)?;
    let url = format!("http://127.0.0.1:{port}");
    let mut bridge = stage.home.command(Legwork::find()?.path());
    bridge.args(["bridge", "opencode", "--url", &url]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut bridge = bridge.spawn().map_err(|why| Fault::trying("starting a bridge", why))?;
    tokio::time::sleep(WHILE).await;
    let _ = bridge.kill();
    let _ = bridge.wait();
    Ok(())
}

/// The helper that was at work may end, and both were told, each once and whole.
async fn finish(stage: &Stage, parent: &str, report: &mut Report) -> Done<()> {
    stage.model.open(SLOW);
    let over = async || seen(stage).contains("slow completed").then_some(());
    if until("the slow one is done", SETTLE, LOOK, over).await.is_err() {
        report.flaw(Kind::Lost, format!("it never came to its end: {}", seen(stage)));
    }
    let told = async || (notices(&stage.messages(parent).await).len() >= 2).then_some(());
    let _ = until("both are told", SETTLE / 3, LOOK, told).await;
    let found = notices(&stage.messages(parent).await);
    for name in ["quick", "slow"] {
        let words = format!("result of {name}");
        let of_it: Vec<_> = found.iter().filter(|notice| notice.line.contains(name)).collect();
        match of_it[..] {
            [one] if one.result.contains(&words) => {}
            [one] => report.flaw(Kind::Wrong, format!("{name} was told as {}", one.line)),
            [] => report.flaw(Kind::Lost, format!("{name} was never told")),
            _ => report.flaw(Kind::Doubled, format!("{name} was told {} times", of_it.len())),
        }
    }
    Ok(())
}

/// Names and statuses, on one line.
fn seen(stage: &Stage) -> String {
    let list = stage.legwork_json(&["list"]).unwrap_or_default();
    let tasks = list["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |task: &Value| format!("{} {}", word(&task["description"]), word(&task["status"]));
    tasks.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A server that says which project it is and knows nothing else. Its thread ends with the program.
fn serve_nothing(project: Value, directory: String) -> Done<u16> {
    let fault = |why: std::io::Error| Fault::trying("starting a server", why);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(fault)?;
    let port = listener.local_addr().map_err(fault)?.port();
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let (project, directory) = (project.clone(), directory.clone());
            thread::spawn(move || answer(stream, &project, &directory));
        }
    });
    Ok(port)
}

fn answer(mut stream: TcpStream, project: &Value, directory: &str) {
    let mut request = [0; 8_192];
    let _ = stream.set_read_timeout(Some(WHILE));
    let read = stream.read(&mut request).unwrap_or_default();
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = if path.starts_with("/project/current") {
        ("200 OK", json!({ "id": project, "worktree": directory }))
    } else if path.starts_with("/path") {
        ("200 OK", json!({ "directory": directory }))
    } else {
        ("404 Not Found", json!({ "name": "NotFoundError", "data": {} }))
    };
    let body = body.to_string();
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    );
}
