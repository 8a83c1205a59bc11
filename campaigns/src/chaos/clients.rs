//! A real client of ours over MCP under kills: a conversation launches helpers while the daemon,
//! `legwork mcp`, the client and what the client keeps running are killed without a warning, and
//! the client comes back with the same conversation. In the end the newest request of the model
//! has every result exactly once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use legwork_sim::host::Dice;
use legwork_testkit::{McpClient, Request};
use serde_json::Value;

use super::check::{Broken, Rule};
use super::diary::Diary;
use super::sum::Sum;
use super::{Ended, LOOKS};
use crate::clients::scenes::MAIN;
use crate::clients::window::{Begin, Window};
use crate::clients::world::{Work, World};
use crate::fault::{Done, Fault};
use crate::files;
use crate::processes;
use crate::progress::{note, until};

/// For a victim to be there. One that has just been killed may not be back yet.
const VICTIM: Duration = Duration::from_secs(10);
/// For what is told by itself: an inbox is written to after ten seconds without a front.
const BY_ITSELF: Duration = Duration::from_secs(45);
/// For a helper that lost its daemon to go on and end.
const SETTLE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(200);
/// Longer than a client takes to be told a second time.
const AGAIN: Duration = Duration::from_secs(5);

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Daemon,
    Front,
    Client,
    /// What Codex keeps running without a window.
    AppServer,
}

impl Victim {
    fn of(client: McpClient) -> &'static [Self] {
        match client {
            McpClient::Codex => &[Self::Daemon, Self::Front, Self::Client, Self::AppServer],
            _ => &[Self::Daemon, Self::Front, Self::Client],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Front => "legwork mcp",
            Self::Client => "client",
            Self::AppServer => "app-server",
        }
    }
}

/// Some launches and a kill.
#[derive(Debug)]
struct Round {
    /// How long each helper works.
    work_ms: Vec<u64>,
    /// From the launch to the kill.
    pause_ms: u64,
    victim: Victim,
    /// Until the client comes back, if it was killed.
    away_ms: u64,
    /// Whether the client is opened again at once when its front is gone.
    at_once: bool,
}

fn plan(seed: u64, kills: usize, client: McpClient) -> Vec<Round> {
    let mut dice = Dice::new(seed);
    let round = |_| Round {
        work_ms: (0..dice.between(1, 3)).map(|_| dice.below(3_000)).collect(),
        pause_ms: dice.below(3_500),
        victim: *dice.pick(Victim::of(client)),
        away_ms: dice.below(3_000),
        at_once: dice.chance(500),
    };
    (0..kills).map(round).collect()
}

/// Plays the history of a seed.
///
/// # Errors
/// When the client cannot be opened or typed in.
pub async fn history(seed: u64, kills: usize, client: McpClient) -> Done<Ended> {
    let begin = Instant::now();
    note(format!("history {seed} with {kills} kills on {}", client.name()));
    let world = World::open(client)?;
    let window = Window::open(&world, MAIN, Begin::New).await?;
    let hits = Vec::new();
    let mut play =
        Play { world: &world, window: Some(window), has_front: true, hits, diary: Diary::new() };
    for (number, round) in plan(seed, kills, client).iter().enumerate() {
        let played = play.round(number, round).await;
        played.map_err(|fault| Fault::trying(play.diary.text(), fault))?;
    }
    play.settle().await?;
    let (broken, outcomes) = play.judge().await?;
    let mut sum = Sum {
        seeds: vec![(seed, broken.is_empty())],
        tasks: outcomes.values().sum(),
        outcomes,
        seconds: begin.elapsed().as_secs_f64(),
        ..Sum::default()
    };
    Victim::of(client).iter().for_each(|victim| sum.hit(victim.name(), 0));
    play.hits.iter().for_each(|victim| sum.hit(victim.name(), 1));
    sum.blame(&broken);
    let story = if broken.is_empty() { String::new() } else { play.story(seed, &broken) };
    Ok(Ended { sum, broken, story })
}

struct Play<'a> {
    world: &'a World,
    window: Option<Window<'a>>,
    has_front: bool,
    hits: Vec<Victim>,
    diary: Diary,
}

impl<'a> Play<'a> {
    fn window(&self) -> Done<&Window<'a>> {
        self.window.as_ref().ok_or_else(|| Fault::new("there is no window"))
    }

    async fn round(&mut self, number: usize, round: &Round) -> Done<()> {
        if !self.has_front {
            if !round.at_once {
                let _ = self.until_told(BY_ITSELF).await;
            }
            self.reopen(true).await?;
        }
        let named = |(place, ms): (usize, &u64)| {
            Work::new(format!("h{number}x{place}"), format!("wait {ms}ms; "))
        };
        let works: Vec<Work> = round.work_ms.iter().enumerate().map(named).collect();
        let launches: Vec<String> = works.iter().map(Work::launch).collect();
        self.diary.tell(format!("round {number} launches {:?} ms", round.work_ms));
        self.window()?.say(&[&launches.join("\n"), "say going on"]).await?;
        tokio::time::sleep(Duration::from_millis(round.pause_ms)).await;
        self.kill(round).await
    }

    async fn kill(&mut self, round: &Round) -> Done<()> {
        let victim = round.victim;
        let look = async || {
            let found = self.find(victim);
            (!found.is_empty()).then_some(found)
        };
        let Ok(found) = until("a victim", VICTIM, LOOK, look).await else {
            self.diary.tell(format!("no {} to kill", victim.name()));
            return Ok(());
        };
        self.diary.tell(format!("kills {} {found:?}", victim.name()));
        for pid in found {
            // It may end by itself in this moment.
            let _ = self.world.kill(pid);
        }
        self.hits.push(victim);
        match victim {
            Victim::Daemon => {}
            Victim::Front => self.has_front = false,
            Victim::Client | Victim::AppServer => {
                tokio::time::sleep(Duration::from_millis(round.away_ms)).await;
                self.reopen(false).await?;
            }
        }
        Ok(())
    }

    fn find(&self, victim: Victim) -> Vec<u32> {
        match victim {
            Victim::Daemon => self.world.daemon().into_iter().collect(),
            Victim::Front => self.world.fronts(),
            Victim::Client => self.window.iter().filter_map(|window| window.pid().ok()).collect(),
            Victim::AppServer => self.app_server(),
        }
    }

    fn app_server(&self) -> Vec<u32> {
        let serves = |one: &processes::Process| {
            one.words.get(1).is_some_and(|word| word == "app-server")
                && one.words.iter().any(|word| word == "--listen")
        };
        let ours = processes::in_home(self.world.terminal.home.root());
        ours.iter().filter(|one| serves(one)).map(|one| one.pid).collect()
    }

    /// The client again, with the same conversation. Codex keeps a thread and its dead server
    /// without a window; a new server needs a new app-server.
    async fn reopen(&mut self, all: bool) -> Done<()> {
        self.window = None;
        if all {
            for pid in self.app_server() {
                let _ = self.world.kill(pid);
            }
        }
        let window = Window::open(self.world, MAIN, Begin::GoOn).await?;
        window.has_tools().await?;
        self.diary.tell("the client is back".to_owned());
        self.window = Some(window);
        self.has_front = true;
        Ok(())
    }

    async fn until_told(&self, within: Duration) -> Done<()> {
        let look = async || {
            let newest = self.world.newest(MAIN)?;
            let tasks = self.world.tasks();
            let all = !tasks.is_empty() && tasks.iter().all(|task| times(&newest, task) > 0);
            all.then_some(())
        };
        until("every end is told", within, LOOK, look).await
    }

    /// Everything ends, and is told: by itself, or with what the person types next.
    async fn settle(&mut self) -> Done<()> {
        let ended = async || {
            let tasks = self.world.terminal.tasks().ok()?;
            tasks.iter().all(|task| !task["ended"].is_null()).then_some(())
        };
        let ended = until("every helper has ended", SETTLE, LOOK, ended).await;
        if let Err(fault) = ended {
            self.diary.tell(fault.to_string());
        }
        if self.until_told(BY_ITSELF).await.is_err() {
            self.diary.tell("not all is told by itself; the person types".to_owned());
            if !self.has_front {
                self.reopen(true).await?;
            }
            self.window()?.say(&["say what is new"]).await?;
            let _ = self.until_told(BY_ITSELF).await;
        }
        Ok(())
    }

    async fn judge(&mut self) -> Done<(Vec<Broken>, BTreeMap<String, usize>)> {
        let mut outcomes = BTreeMap::new();
        let mut broken = Vec::new();
        for look in 0..LOOKS.min(3) {
            tokio::time::sleep(AGAIN).await;
            let request = self.window()?.say(&[&format!("say look {look}")]).await?;
            broken = Vec::new();
            outcomes = BTreeMap::new();
            for task in self.world.terminal.tasks()? {
                let status = task["status"].as_str().unwrap_or_default().to_owned();
                broken.extend(check(&request, &task));
                *outcomes.entry(status).or_default() += 1;
            }
            if broken.is_empty() {
                break;
            }
        }
        Ok((broken, outcomes))
    }

    fn story(&self, seed: u64, broken: &[Broken]) -> String {
        let mut lines = vec![format!("\nseed {seed}, what happened:"), self.diary.text()];
        for task in broken.iter().filter_map(|one| one.task.as_deref()) {
            let log = self.world.terminal.run(&["log", task, "--verbose"]);
            let log = log.map_or_else(|fault| fault.to_string(), |ran| ran.out + &ran.err);
            lines.push(format!("\nlegwork log {task}\n{log}"));
        }
        match self.keep(seed) {
            Ok(folder) => lines.push(format!("records and logs: {}", folder.display())),
            Err(fault) => note(format!("records and logs are not kept: {fault}")),
        }
        lines.join("\n")
    }

    /// Copies legwork's files, the client's, and what the model read last, beside this program.
    fn keep(&self, seed: u64) -> Done<PathBuf> {
        let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
        let name = format!("{}-{seed}", self.world.client.name());
        let folder = own.with_file_name("chaos").join(name);
        let home = self.world.terminal.home.root().join("home");
        files::copy(&home.join(".local"), &folder.join("local"))?;
        let client = match self.world.client {
            McpClient::Codex => ".codex/sessions",
            _ => ".claude/projects",
        };
        files::copy(&home.join(client), &folder.join("client"))?;
        let read = self.world.newest(MAIN).map(|request| format!("{:#}", request.raw));
        std::fs::write(folder.join("model.json"), read.unwrap_or_default())
            .map_err(|why| Fault::trying("writing model.json", why))?;
        Ok(folder)
    }
}

/// How often the end of a task stands in a request. A result has its mark; the end of a helper
/// that has none is told with the task's id.
fn times(request: &Request, task: &Value) -> usize {
    let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
    if text("status") == "completed" {
        return request.times(&Work::new(text("description"), "").mark());
    }
    let id = text("id");
    request.times(&format!("] {id} ")) + request.times(&format!("MCP task {id}"))
}

fn check(request: &Request, task: &Value) -> Option<Broken> {
    let id = task["id"].as_str().unwrap_or_default().to_owned();
    let known = request.times(&id) > 0;
    let what =
        |what: String| format!("{id} ({}) {what}; the model knows it: {known}", task["status"]);
    let (rule, what) = match times(request, task) {
        _ if task["ended"].is_null() => (Rule::Stuck, what("has not ended".to_owned())),
        1 => return None,
        0 => (Rule::Lost, what("was never told".to_owned())),
        times => (Rule::Doubled, what(format!("was told {times} times"))),
    };
    Some(Broken { rule, item: None, task: Some(id), what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use legwork_testkit::Said;
    use serde_json::json;

    fn request(texts: &[(&str, &str)]) -> Request {
        let said = |(role, text): &(&str, &str)| Said {
            role: (*role).to_owned(),
            text: (*text).to_owned(),
            calls: Vec::new(),
        };
        Request {
            number: 0,
            at: Duration::ZERO,
            session: None,
            model: String::new(),
            messages: texts.iter().map(said).collect(),
            tools: Vec::new(),
            raw: Value::Null,
            end: None,
        }
    }

    fn rule(status: &str, texts: &[(&str, &str)]) -> Option<Rule> {
        let task = json!({ "id": "bg_1", "description": "h1x2", "status": status, "ended": 5 });
        check(&request(texts), &task).map(|broken| broken.rule)
    }

    #[test]
    fn an_end_is_told_once_and_a_script_or_an_answer_of_the_model_tells_nothing() {
        let script = ("user", "repeat 1: say end-{i}-h1x2.");
        let own = ("assistant", "end-1-h1x2.");
        let told = ("user", "<result>end-1-h1x2.</result>");
        assert_eq!(rule("completed", &[script, own, told]), None);
        assert_eq!(rule("completed", &[script, own]), Some(Rule::Lost));
        assert_eq!(rule("completed", &[told, ("tool", told.1)]), Some(Rule::Doubled));
        let longer = ("user", "end-1-h1x20.");
        assert_eq!(rule("completed", &[longer]), Some(Rule::Lost));
        let failed = ("user", "[BACKGROUND TASK FAILED] bg_1 h1x2 (2s)");
        assert_eq!(rule("error", &[failed]), None);
        assert_eq!(rule("error", &[("tool", "started task bg_1")]), Some(Rule::Lost));
    }

    #[test]
    fn a_seed_is_a_plan_and_every_victim_has_its_turn() {
        let shown = |seed| format!("{:?}", plan(seed, 10, McpClient::Codex));
        assert_eq!(shown(7), shown(7));
        assert_ne!(shown(7), shown(8));
        let rounds = plan(7, 50, McpClient::Codex);
        for victim in Victim::of(McpClient::Codex) {
            assert!(rounds.iter().any(|round| round.victim == *victim), "{victim:?}");
        }
    }
}
