//! Plays a plan on the real thing: turns of parents, a person's commands, kills, and OpenCode
//! started again. It waits for nothing that it does not have to; at the end it waits until all has
//! settled, answers what is still asked and cancels what would hang for ever.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use legwork_testkit::{Call, call, script};
use rustix::process::Signal;
use serde_json::json;

use super::diary::Diary;
use super::person::{self, PATIENCE, word};
use super::plan::{Act, Ending, Later, Plan, Step, Victim};
use super::seen;
use crate::fault::Done;
use crate::legwork::DaemonFacts;
use crate::processes;
use crate::progress::until;
use crate::stage::Stage;

/// For a victim to be there. One that has just been killed may not be back yet.
const VICTIM: Duration = Duration::from_secs(8);
/// For everything to settle. A pause after many kills of a bridge is up to half a minute, a run cut
/// off with its host is waited for a minute.
const SETTLE: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(300);
/// What comes later than a launch is put off so often and so long while that is not answered.
const PUT_OFF: (usize, u64) = (10, 1_500);

/// A conversation as it came about.
#[derive(Debug, Clone, Default)]
pub struct Played {
    /// Its session.
    pub parent: Option<String>,
    /// When its first turn was begun, in milliseconds since 1970.
    pub began: Option<u64>,
}

/// A kill as it came about.
#[derive(Debug, Clone, Copy)]
pub struct Blow {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Whom.
    pub victim: Victim,
}

/// A plan that is being played.
#[derive(Debug)]
pub struct Play {
    /// The conversations, as in the plan.
    pub items: Vec<Played>,
    /// The kills that hit.
    pub blows: Vec<Blow>,
    /// What was done.
    pub diary: Diary,
    /// How often each item's later step was put off.
    put_off: Vec<usize>,
}

/// Whether a step is done or to be tried again.
enum Turned {
    Done,
    TooEarly,
}

impl Play {
    /// One of which nothing has happened yet.
    pub fn new(plan: &Plan) -> Self {
        Self {
            items: vec![Played::default(); plan.items.len()],
            blows: Vec::new(),
            diary: Diary::new(),
            put_off: vec![0; plan.items.len()],
        }
    }

    /// When OpenCode was killed.
    pub fn host_kills(&self) -> Vec<u64> {
        let of_host = self.blows.iter().filter(|blow| blow.victim == Victim::Host);
        of_host.map(|blow| blow.at).collect()
    }

    /// Plays all steps of the plan, so many times slower. The plan's time stands still while
    /// OpenCode is started, or what was meant for some seconds would come at once.
    ///
    /// # Errors
    /// When OpenCode does not answer or a command of ours does not end.
    pub async fn all(&mut self, stage: &mut Stage, plan: &Plan, slower: f64) -> Done<()> {
        let mut clock = Instant::now();
        let mut steps = plan.steps.clone();
        while !steps.is_empty() {
            let Step { at_ms, act } = steps.remove(0);
            let due = clock + Duration::from_millis(at_ms).mul_f64(slower);
            tokio::time::sleep_until(due.into()).await;
            match act {
                Act::Launch(number) => self.launch(stage, plan, number).await?,
                Act::Later(number) => {
                    let turned = self.later(stage, plan, number).await?;
                    if matches!(turned, Turned::TooEarly) {
                        let at_ms = at_ms + PUT_OFF.1;
                        let place = steps.partition_point(|step| step.at_ms <= at_ms);
                        steps.insert(place, Step { at_ms, act });
                    }
                }
                Act::Answer(number) => {
                    let name = &plan.items[number].helpers[0].name;
                    person::answer(stage, &mut self.diary, |asks| asks == name)?;
                }
                Act::Kill(victim) => {
                    let begin = Instant::now();
                    self.kill(stage, victim).await?;
                    clock += begin.elapsed();
                }
                Act::Stop(victim, ms) => self.stop(stage, victim, ms).await?,
            }
        }
        Ok(())
    }

    async fn launch(&mut self, stage: &Stage, plan: &Plan, number: usize) -> Done<()> {
        let parent = person::session(stage, &format!("item {number}")).await?;
        self.items[number] = Played { parent: Some(parent.clone()), began: Some(now()) };
        let names: Vec<&str> = plan.items[number].helpers.iter().map(|one| &*one.name).collect();
        self.tell(format!("item {number} launches {}", names.join(", ")));
        person::prompt(stage, &parent, &plan.items[number].script()).await
    }

    async fn later(&mut self, stage: &Stage, plan: &Plan, number: usize) -> Done<Turned> {
        let item = &plan.items[number];
        let (Some(parent), Some(later)) = (self.items[number].parent.clone(), item.later) else {
            return Ok(Turned::Done);
        };
        let helper = &item.helpers[0];
        let calls = Call::all(&seen::messages(&stage.client, &parent).await?);
        let of_it = calls.iter().find(|call| call.input["description"] == *helper.name);
        let Some(task) = of_it.and_then(|call| call.line("Task ID:")) else {
            self.put_off[number] += 1;
            if self.put_off[number] <= PUT_OFF.0 {
                return Ok(Turned::TooEarly);
            }
            self.tell(format!("item {number}: nothing to {later:?}, no launch was answered"));
            return Ok(Turned::Done);
        };
        self.tell(format!("item {number}: {later:?} of {task}"));
        let line = match later {
            Later::Resume(ending) => helper.resume(task, ending),
            Later::Cancel => call("background_cancel", &json!({ "task_id": task })),
            Later::CancelByPerson => {
                stage.legwork(&["cancel", task])?;
                return Ok(Turned::Done);
            }
        };
        person::prompt(stage, &parent, &script(&[&line, "say ok"])).await?;
        Ok(Turned::Done)
    }

    /// The victim's process, if it is there or comes back.
    async fn find(&mut self, stage: &Stage, victim: Victim) -> Option<u32> {
        let find = async || match victim {
            Victim::Daemon => stage.daemon().ok().flatten().map(|daemon| daemon.pid),
            Victim::Bridge => stage.bridge(),
            Victim::Host => Some(stage.serve.pid()),
        };
        let found = until("a victim", VICTIM, LOOK, find).await.ok();
        if found.is_none() {
            self.tell(format!("nobody to hit: there is no {}", victim.name()));
        }
        found
    }

    /// Stops a process for a while. Nothing else of the plan happens meanwhile.
    async fn stop(&mut self, stage: &Stage, victim: Victim, ms: u64) -> Done<()> {
        let Some(pid) = self.find(stage, victim).await else { return Ok(()) };
        let root = stage.home.root();
        if let Err(fault) = processes::signal(root, pid, Signal::STOP) {
            self.tell(format!("the {} was gone already: {fault}", victim.name()));
            return Ok(());
        }
        self.tell(format!("STOP {} (process {pid}) for {ms} ms", victim.name()));
        self.blows.push(Blow { at: now(), victim });
        tokio::time::sleep(Duration::from_millis(ms)).await;
        processes::signal(root, pid, Signal::CONT)
    }

    async fn kill(&mut self, stage: &mut Stage, victim: Victim) -> Done<()> {
        let Some(pid) = self.find(stage, victim).await else { return Ok(()) };
        let at = now();
        if let Err(fault) = processes::kill(stage.home.root(), pid) {
            self.tell(format!("the {} was gone already: {fault}", victim.name()));
            return Ok(());
        }
        self.blows.push(Blow { at, victim });
        self.tell(format!("KILL -9 {} (process {pid})", victim.name()));
        let gone = async || (!processes::is_alive(pid)).then_some(());
        until("a killed process is gone", PATIENCE, LOOK, gone).await?;
        if victim == Victim::Host {
            stage.reopen().await;
            self.tell(format!("OpenCode is back (process {})", stage.serve.pid()));
        }
        Ok(())
    }

    /// Waits until nothing is under way any more; whether it came to that.
    ///
    /// # Errors
    /// When a command of ours does not end.
    pub async fn settle(&mut self, stage: &Stage, plan: &Plan) -> Done<bool> {
        self.tell("no more kills; everything is to settle".to_owned());
        let end = Instant::now() + SETTLE;
        while Instant::now() < end {
            // Asking would start a daemon; it has to come back by itself.
            if stage.daemon()?.is_some_and(|daemon| daemon.hosts > 0) {
                person::answer(stage, &mut self.diary, |_| true)?;
                self.cancel_hanging(stage, plan)?;
                let settled = stage.daemon()?.is_some_and(|daemon| daemon.is_settled());
                if settled && person::quiet(stage).await {
                    self.tell("settled".to_owned());
                    return Ok(true);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        let daemon: Option<DaemonFacts> = stage.daemon()?;
        self.tell(format!("not settled after {SETTLE:?}: {daemon:?}"));
        Ok(false)
    }

    fn cancel_hanging(&mut self, stage: &Stage, plan: &Plan) -> Done<()> {
        let helpers = || plan.items.iter().flat_map(|item| &item.helpers);
        for task in person::tasks(stage)? {
            let hangs = helpers()
                .any(|one| one.ending == Ending::Hangs && task["description"] == *one.name);
            if hangs && task["ended"].is_null() {
                self.tell(format!("a person cancels {}", word(&task["id"])));
                stage.legwork(&["cancel", word(&task["id"])])?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, what: String) {
        self.diary.tell(what);
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}
