//! Plays such a history on the real thing: a turn that launches the helpers, blows while they work,
//! and then a window that is open, answers to what is asked, and helpers that may end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::super::diary::Diary;
use super::super::person::{self, PATIENCE, list, word};
use super::super::play::{Played, now};
use super::plan::{Aim, Blow, Kind, Plan, Round, Step};
use crate::fault::{Done, Fault};
use crate::processes;
use crate::progress::until;
use crate::stage::Stage;

const LOOK: Duration = Duration::from_millis(100);
/// For the helpers to be at work, and for a headless OpenCode to come. One that is hit while it
/// starts is followed by another after ten seconds; on a busy machine a start takes ten too.
const COMES: Duration = Duration::from_secs(120);
/// For the helpers to end, once they may.
const ENDS: Duration = Duration::from_secs(180);

/// A helper whose host was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    session: String,
    at: Instant,
}

/// How long a helper stood still after its host had ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Until its model was asked again.
    pub seconds: f64,
    /// Whether something else was killed or opened meanwhile.
    pub disturbed: bool,
}

/// A history that is being played.
#[derive(Debug)]
pub struct Play {
    /// What was done.
    pub diary: Diary,
    /// The conversations, one for each round.
    pub played: Vec<Played>,
    /// The blows that hit.
    pub hits: Vec<(Instant, Blow)>,
    cuts: Vec<Cut>,
    /// The process that each helper's session was last seen to run in.
    hosts: BTreeMap<String, u32>,
    /// Whether there is a window.
    open: bool,
}

impl Play {
    /// One in which nothing has happened yet.
    pub fn new() -> Self {
        let (played, hits, cuts) = (Vec::new(), Vec::new(), Vec::new());
        Self { diary: Diary::new(), played, hits, cuts, hosts: BTreeMap::new(), open: true }
    }

    /// Plays all rounds.
    ///
    /// # Errors
    /// When something does not happen in time.
    pub async fn all(&mut self, stage: &mut Stage, plan: &Plan, slower: f64) -> Done<()> {
        for round in &plan.rounds {
            let played = self.round(stage, round, slower).await;
            if let Err(fault) = played {
                self.diary.tell(format!("round {}: {fault}", round.number));
                // Whoever looks at what is left needs a window, and nothing is to wait for ever.
                free(stage, round)?;
                self.open(stage).await?;
                return Err(Fault::trying(format!("round {}", round.number), fault));
            }
        }
        Ok(())
    }

    /// When the daemon was killed.
    pub fn restarts(&self) -> Vec<Instant> {
        let of_daemon = self.hits.iter().filter(|(_, blow)| *blow == Blow::KillDaemon);
        of_daemon.map(|(at, _)| *at).collect()
    }

    /// How long helpers stood still.
    pub fn gaps(&self, stage: &Stage) -> Vec<Gap> {
        let gap = |cut: &Cut| {
            let again = asked_since(stage, &cut.session, cut.at)?;
            let meanwhile = |at: &Instant| *at > cut.at && *at < again;
            Some(Gap {
                seconds: (again - cut.at).as_secs_f64(),
                disturbed: self.hits.iter().any(|(at, _)| meanwhile(at)),
            })
        };
        self.cuts.iter().filter_map(gap).collect()
    }

    async fn round(&mut self, stage: &mut Stage, round: &Round, slower: f64) -> Done<()> {
        let number = round.number;
        let parent = person::session(stage, &format!("round {number}")).await?;
        self.played.push(Played { parent: Some(parent.clone()), began: Some(now()) });
        self.diary.tell(format!("round {number} launches its helpers"));
        person::prompt(stage, &parent, &round.script()).await?;
        let at_work = async || are_at_work(stage, round).ok().filter(|yes| *yes);
        until("three helpers at work", COMES, LOOK, at_work).await?;
        self.diary.tell("all are at work".to_owned());
        for (place, step) in round.steps.iter().enumerate() {
            self.strike(stage, round, *step, slower).await?;
            if place == round.answered_after {
                self.answer(stage, round)?;
            }
        }
        self.finish(stage, round).await
    }

    async fn strike(
        &mut self,
        stage: &mut Stage,
        round: &Round,
        step: Step,
        slower: f64,
    ) -> Done<()> {
        let after = Duration::from_millis(step.after_ms).mul_f64(slower);
        let there = match step.blow {
            Blow::KillHeadless(aim) => {
                let look = async || self.headless(stage, round, aim).ok().flatten();
                Some(until("a headless OpenCode, with the helpers", COMES, LOOK, look).await?)
            }
            _ => None,
        };
        tokio::time::sleep(after).await;
        let (victim, signal) = match step.blow {
            Blow::Open => {
                self.hits.push((Instant::now(), step.blow));
                return self.open(stage).await;
            }
            Blow::Close => (stage.serve.pid(), Signal::TERM),
            Blow::KillWindow => (stage.serve.pid(), Signal::KILL),
            Blow::KillDaemon => (daemon(stage)?, Signal::KILL),
            // Another one may have taken its place.
            Blow::KillHeadless(_) => {
                let now = processes::headless(stage.home.root());
                let still = there.filter(|pid| now.contains(pid)).or(now.first().copied());
                let Some(pid) = still else { return self.missed("headless OpenCode") };
                (pid, Signal::KILL)
            }
        };
        if step.blow.ends_a_host() {
            self.see_hosts(stage, round)?;
        }
        self.hit(stage, step.blow, victim, signal).await
    }

    async fn hit(&mut self, stage: &Stage, blow: Blow, victim: u32, signal: Signal) -> Done<()> {
        let at = Instant::now();
        if processes::signal(stage.home.root(), victim, signal).is_err() {
            return self.missed("process");
        }
        self.hits.push((at, blow));
        let cut: Vec<String> = self
            .hosts
            .iter()
            .filter(|(_, host)| **host == victim)
            .map(|(of, _)| of.clone())
            .collect();
        let helpers = cut.len();
        for session in cut {
            self.hosts.remove(&session);
            self.cuts.push(Cut { session, at });
        }
        self.open &= victim != stage.serve.pid();
        self.diary.tell(format!("{blow:?}: process {victim}, with {helpers} helpers in it"));
        let gone = async || (!processes::is_alive(victim)).then_some(());
        until("what was hit is gone", PATIENCE, LOOK, gone).await
    }

    fn missed(&mut self, what: &str) -> Done<()> {
        self.diary.tell(format!("nobody to hit: the {what} has ended by itself"));
        Ok(())
    }

    /// Which process each helper runs in, as far as a daemon that is there knows.
    fn see_hosts(&mut self, stage: &Stage, round: &Round) -> Done<()> {
        if stage.daemon()?.is_some() {
            for task in tasks(stage, round)? {
                if let Some((session, host)) = session_and_host(&task) {
                    self.hosts.insert(session, host);
                }
            }
        }
        Ok(())
    }

    /// The headless OpenCode to hit, if it is time to. A person looks at the helpers meanwhile,
    /// which starts a daemon if nobody is left who would.
    fn headless(&self, stage: &Stage, round: &Round, aim: Aim) -> Done<Option<u32>> {
        let tasks = tasks(stage, round)?;
        let there = processes::headless(stage.home.root());
        if aim == Aim::Starting {
            return Ok(there.first().copied());
        }
        let went_on = |session: &str| {
            let cut = self.cuts.iter().rev().find(|cut| cut.session == session);
            cut.is_none_or(|cut| asked_since(stage, session, cut.at).is_some())
        };
        let hosts: Option<Vec<(String, u32)>> = tasks.iter().map(session_and_host).collect();
        let hosts = hosts.unwrap_or_default();
        let all = hosts.len() == Kind::ALL.len()
            && hosts.iter().all(|(session, host)| went_on(session) && there.contains(host));
        Ok(hosts.first().map(|(_, host)| *host).filter(|_| all))
    }

    fn answer(&mut self, stage: &Stage, round: &Round) -> Done<()> {
        let asks = round.name(Kind::Ask);
        person::answer(stage, &mut self.diary, |name| name == asks)
    }

    async fn open(&mut self, stage: &mut Stage) -> Done<()> {
        if !self.open {
            stage.reopen().await;
            self.open = true;
            self.diary.tell(format!("a window is open again (process {})", stage.serve.pid()));
        }
        Ok(())
    }

    /// Lets the helpers end, and waits until all is told.
    async fn finish(&mut self, stage: &mut Stage, round: &Round) -> Done<()> {
        if !round.ends_alone {
            self.open(stage).await?;
        }
        self.diary.tell("the helpers may end".to_owned());
        free(stage, round)?;
        let ended = async || {
            self.answer(stage, round).ok()?;
            let tasks = tasks(stage, round).ok()?;
            let all = tasks.iter().all(|task| task["ended"].is_u64());
            (tasks.len() == Kind::ALL.len() && all).then_some(())
        };
        until("the helpers end", ENDS, LOOK, ended).await?;
        self.open(stage).await?;
        let settled = async || {
            let settled = stage.daemon().ok()?.is_some_and(|daemon| daemon.is_settled());
            (settled && person::quiet(stage).await).then_some(())
        };
        until("everything is settled", ENDS, LOOK, settled).await?;
        self.diary.tell("all is told".to_owned());
        Ok(())
    }
}

/// Whether the tool call is under way, the text streams and the permission is waited for.
fn are_at_work(stage: &Stage, round: &Round) -> Done<bool> {
    let tasks = tasks(stage, round)?;
    let of = |kind: Kind| tasks.iter().find(|task| task["description"] == *round.name(kind));
    let asks = of(Kind::Ask).is_some_and(|task| !list(&task["questions"]).is_empty());
    let streams =
        of(Kind::Stream).and_then(|task| task["session"].as_str()).is_some_and(|session| {
            let of_it = |one: &legwork_testkit::Request| one.session.as_deref() == Some(session);
            stage.model.look(|requests| requests.iter().any(of_it))
        });
    Ok(asks && streams && stage.home.project().join(round.begun()).exists())
}

/// The round's tasks.
fn tasks(stage: &Stage, round: &Round) -> Done<Vec<Value>> {
    let names = Kind::ALL.map(|kind| round.name(kind));
    let mut tasks = person::tasks(stage)?;
    tasks.retain(|task| names.iter().any(|name| task["description"] == **name));
    Ok(tasks)
}

/// A task's session, and the process of its host, which is the second word of the host's name.
fn session_and_host(task: &Value) -> Option<(String, u32)> {
    let host = word(&task["host"]).split('-').nth(1)?.parse().ok()?;
    Some((task["session"].as_str()?.to_owned(), host))
}

/// When the model was first asked for this session after a moment.
fn asked_since(stage: &Stage, session: &str, since: Instant) -> Option<Instant> {
    let started = stage.model.started();
    stage.model.look(|requests| {
        let of_it = requests.iter().filter(|one| one.session.as_deref() == Some(session));
        of_it.map(|one| started + one.at).find(|at| *at > since)
    })
}

/// The daemon, which is started if there is none.
fn daemon(stage: &Stage) -> Done<u32> {
    if stage.daemon()?.is_none() {
        person::tasks(stage)?;
    }
    let daemon = stage.daemon()?.ok_or_else(|| Fault::new("there is no daemon"))?;
    Ok(daemon.pid)
}

/// Lets the helpers of a round go on to their end.
fn free(stage: &Stage, round: &Round) -> Done<()> {
    stage.model.open(&round.gate());
    let file = stage.home.project().join(round.gate());
    std::fs::write(file, "").map_err(|why| Fault::trying("writing into the project", why))
}
