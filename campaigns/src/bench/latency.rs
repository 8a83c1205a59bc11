//! How long one thing takes while nothing else happens. Moments are those that OpenCode writes into
//! its own messages, where it writes them; else they are taken in this process, both ends on one
//! clock. A gate in the model's script makes sure that what is measured begins when all is quiet.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use legwork_testkit::{Call, Event, Events, Request, call, script};
use serde_json::json;

use super::arm::{Arm, Child};
use super::report::{Figures, Way};
use crate::fault::{Done, Fault};
use crate::progress::{note, until};
use crate::stage::Stage;
use crate::talk;

/// How long a notice to a busy parent may take before the parent is let go on.
const HELD: Duration = Duration::from_secs(10);
const SETTLE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
/// Launches in one step.
const TEN: usize = 10;

/// A stage with its events.
struct Scene<'a> {
    stage: &'a Stage,
    events: Events,
    arm: Arm,
}

/// One of everything in each OpenCode before the next repeat: what changes with time on the machine
/// then touches all alike. The first of each is for warming up.
///
/// # Errors
/// When something does not happen at all.
pub async fn measure(direct: &Stage, others: &[(&Stage, Arm)], repeats: usize) -> Done<Figures> {
    let floor = Scene::of(direct, Arm::Direct).await;
    let mut scenes = Vec::new();
    for (stage, arm) in others {
        scenes.push(Scene::of(stage, *arm).await);
    }
    let mut figures = Figures::default();
    for number in 0..=repeats {
        note(format!("latency {number} of {repeats}"));
        let mut taken = floor.bare(number).await?;
        for scene in &scenes {
            taken.extend(scene.helpers(number).await?);
        }
        if number > 0 {
            taken.into_iter().for_each(|(way, of, sample)| figures.add(way, &of, sample));
        }
    }
    Ok(figures)
}

/// Only launches, for when there is much that could slow them down.
///
/// # Errors
/// When something does not happen at all.
pub async fn launches(stage: &Stage, arm: Arm, repeats: usize, of: &str) -> Done<Figures> {
    let scene = Scene::of(stage, arm).await;
    let mut figures = Figures::default();
    for number in 0..repeats {
        let told = scene.told_idle(&format!("{of}-{number}")).await?;
        figures.add(Way::Launch, of, told.launch);
        scene.quiet().await?;
    }
    Ok(figures)
}

/// From what to what, whose, and how many milliseconds it took.
type Sample = (Way, String, f64);

/// The life of a helper whose parent is idle, in milliseconds.
struct ToldIdle {
    launch: f64,
    stored: f64,
    asked: f64,
    /// From the launch to the helper's first model request.
    begun: f64,
    /// What the first two are made of, where we know.
    parts: Vec<(Way, f64)>,
}

impl<'a> Scene<'a> {
    async fn of(stage: &'a Stage, arm: Arm) -> Self {
        Self { stage, events: stage.client.events().await, arm }
    }

    /// What nobody can go below: tools that do next to nothing, and bare requests.
    async fn bare(&self, number: usize) -> Done<Vec<Sample>> {
        let parent = self.stage.parent().await;
        let tool = |name: &str| call(name, &json!({ "n": number }));
        let steps =
            [&*tool("floor_nothing"), &tool("floor_request"), &tool("floor_open"), "say ok"];
        self.turn(&parent, &steps).await;
        let calls = Call::all(&self.stage.messages(&parent).await);
        let of = |name: &str| calls.iter().find(|call| call.tool == name);
        let took = |name: &str| {
            let took = of(name).and_then(Call::took);
            took.ok_or_else(|| Fault::new(format!("{name} was not called")))
        };
        let inside = of("floor_request").and_then(|call| call.text.parse().ok());
        let inside = inside.ok_or_else(|| Fault::new("the plugin made no request"))?;
        let begin = Instant::now();
        self.stage.client.status().await;
        let outside = begin.elapsed().as_secs_f64() * 1e3;
        Ok(vec![
            (Way::Launch, "a tool that does nothing".to_owned(), took("floor_nothing")?),
            (Way::Launch, "a tool that opens a session".to_owned(), took("floor_open")?),
            (Way::Request, "made by a plugin".to_owned(), inside),
            (Way::Request, "over HTTP".to_owned(), outside),
        ])
    }

    /// Launches, notices and waits, one after the other.
    async fn helpers(&self, number: usize) -> Done<Vec<Sample>> {
        let told = self.told_idle(&format!("idle-{number}")).await?;
        self.quiet().await?;
        let busy = self.told_busy(&format!("busy-{number}")).await?;
        self.quiet().await?;
        let woken = self.woken(&format!("wake-{number}")).await?;
        self.quiet().await?;
        let ten = self.ten(&format!("ten-{number}")).await?;
        self.quiet().await?;
        let mut taken = told.parts;
        taken.extend([
            (Way::Launch, told.launch),
            (Way::LaunchTen, ten),
            (Way::Begun, told.begun),
            (Way::ToldIdle, told.stored),
            (Way::Asked, told.asked),
            (Way::ToldBusy, busy),
            (Way::Woken, woken),
        ]);
        let of = self.arm.name();
        Ok(taken.into_iter().map(|(way, sample)| (way, of.to_owned(), sample)).collect())
    }

    async fn turn(&self, session: &str, steps: &[&str]) {
        let mark = self.events.len();
        self.stage.client.say(session, &script(steps)).await;
        self.events.until_event(mark, "session.idle", session).await;
    }

    /// Until nothing of the last measurement is still being done.
    async fn quiet(&self) -> Done<()> {
        if self.arm == Arm::Legwork {
            self.stage.until_settled(SETTLE).await?;
        }
        self.stage.model.forget();
        Ok(())
    }

    async fn told_idle(&self, gate: &str) -> Done<ToldIdle> {
        let Self { stage, events, arm } = self;
        let parent = stage.parent().await;
        let launch = arm.launch("One", "general", &[&format!("gate {gate}\nsay ok")]);
        self.turn(&parent, &[&launch, "say launched"]).await;
        let (call, child) = self.launched(&parent).await?;
        let first = self.at_work(&child).await;
        let mark = events.len();
        stage.model.open(gate);
        let idle = events.until_event(mark, "session.idle", &child.session).await;
        let told = |one: &Request| one.session.as_deref() == Some(&*parent) && arm.tells(one);
        let asked = stage.model.wait_for("the turn that a notice starts", told).await;
        events.until_event(mark, "session.idle", &parent).await;
        let stored = self.stored(&parent, &child).await?;
        let asked = stage.model.started() + asked.at;
        let no_times = || Fault::new("a launch has no times");
        let launch = call.took().ok_or_else(no_times)?;
        let began = call.began.ok_or_else(no_times)?;
        let begun = since_1970(stage.model.started() + first.at) - began as f64;
        let parts = match arm {
            Arm::Legwork => self.parts(&call, &child, stored).await?,
            Arm::Direct | Arm::Native => Vec::new(),
        };
        Ok(ToldIdle { launch, stored, asked: ms_between(idle.at, asked), begun, parts })
    }

    /// What a launch and a notice are made of, by the daemon's own records, on the same clock.
    async fn parts(&self, call: &Call, child: &Child, stored: f64) -> Done<Vec<(Way, f64)>> {
        let log = self.stage.legwork_json(&["log", &child.id])?;
        let at = |begin: &str| {
            let timeline = log["timeline"].as_array()?.iter();
            let mut begins = timeline
                .filter(|one| one["line"].as_str().is_some_and(|line| line.starts_with(begin)));
            begins.next()?["at"].as_f64()
        };
        let told = [call.began, call.ended, self.done(child).await];
        let [Some(began), Some(answered), Some(done)] = told.map(|at| at.map(|at| at as f64))
        else {
            return Err(Fault::new(format!("{} has no times", child.session)));
        };
        let kept = [at("launched"), at("sending the prompt"), at("completed")];
        let [Some(kept), Some(opened), Some(ended)] = kept else {
            return Err(Fault::new(format!("the log of {} is not whole", child.id)));
        };
        Ok(vec![
            (Way::LaunchKept, kept - began),
            (Way::LaunchAnswered, answered - kept),
            (Way::Opened, opened - kept),
            (Way::EndKept, ended - done),
            (Way::EndTold, stored - (ended - done)),
        ])
    }

    async fn told_busy(&self, gate: &str) -> Done<f64> {
        let Self { stage, events, arm } = self;
        let parent = stage.parent().await;
        let mark = events.len();
        let held = format!("{gate}-parent");
        let launch = arm.launch("One", "general", &[&format!("gate {gate}\nsay ok")]);
        let steps = script(&[&launch, &format!("gate {held}\nsay done")]);
        stage.client.say(&parent, &steps).await;
        let goes_on = |one: &Request| {
            let turn = one.session.as_deref() == Some(&*parent) && !one.tools.is_empty();
            turn && one.messages.iter().any(|said| said.role == "tool")
        };
        stage.model.wait_for("the parent goes on", goes_on).await;
        let (_, child) = self.launched(&parent).await?;
        self.at_work(&child).await;
        stage.model.open(gate);
        events.until_event(mark, "session.idle", &child.session).await;
        let notice = |event: &Event| {
            let part = &event.properties["part"];
            let text = part["text"].as_str().unwrap_or_default();
            part["sessionID"] == *parent && text.starts_with(arm.notice_begin())
        };
        let look = async || events.look(|all| all[mark..].iter().any(notice)).then_some(());
        let seen = until("a notice to a busy parent", HELD, LOOK, look).await;
        if seen.is_err() {
            note(format!("{}: a busy parent was not told within {HELD:?}", arm.name()));
        }
        let mark = events.len();
        stage.model.open(&held);
        events.until_event(mark, "session.idle", &parent).await;
        let told = async || self.stored(&parent, &child).await.ok();
        until("the notice is stored", HELD, LOOK, told).await
    }

    async fn woken(&self, gate: &str) -> Done<f64> {
        let Self { stage, events, arm } = self;
        let parent = stage.parent().await;
        let mark = events.len();
        let steps = arm.wait_for("One", &[&format!("gate {gate}\nsay ok")]);
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        stage.client.say(&parent, &script(&steps)).await;
        let waits = |event: &Event| {
            let part = &event.properties["part"];
            let ours = part["sessionID"] == *parent && part["tool"] == arm.waiting_tool();
            ours && part["state"]["status"] == "running"
        };
        let look = |all: &[Event]| all[mark..].iter().any(waits).then_some(());
        events.until_all("the parent waits", look).await;
        // The helper's model is asked before or after that; both have to be there.
        let child = self.helper(&parent).await?;
        self.at_work(&child).await;
        stage.model.open(gate);
        events.until_event(mark, "session.idle", &parent).await;
        let waited = |call: &Call| call.tool == arm.waiting_tool() && call.ended.is_some();
        let calls = Call::all(&stage.messages(&parent).await);
        let call = calls.into_iter().find(waited);
        let ended = call.and_then(|call| call.ended);
        let done = self.done(&child).await;
        let both = ended.zip(done).map(|(ended, done)| ended as f64 - done as f64);
        both.ok_or_else(|| Fault::new("a waiting call was not answered"))
    }

    /// The only helper of a parent, before its launch is answered too.
    async fn helper(&self, parent: &str) -> Done<Child> {
        let look = async || {
            let children = self.stage.client.children(parent).await;
            let session = children.first()?["id"].as_str()?.to_owned();
            Some(Child { id: session.clone(), session })
        };
        until("the helper's session", SETTLE, LOOK, look).await
    }

    async fn launched(&self, parent: &str) -> Done<(Call, Child)> {
        let calls = Call::all(&self.stage.messages(parent).await);
        let launch = calls.into_iter().find(|call| call.tool == self.arm.tool());
        let launch = launch.ok_or_else(|| Fault::new("a parent has launched nothing"))?;
        let id = self.arm.child(&launch)?;
        let look = async || self.arm.session_of(&id, &self.stage.client.children(parent).await);
        let child = until("the helper's session", SETTLE, LOOK, look).await?;
        Ok((launch, child))
    }

    async fn at_work(&self, child: &Child) -> Request {
        let wanted = |one: &Request| one.session.as_deref() == Some(&*child.session);
        self.stage.model.wait_for("the helper is at work", wanted).await
    }

    /// Launches of one step, from the first call to the last answer. The helpers wait until all is
    /// answered, and end before the next is measured.
    async fn ten(&self, gate: &str) -> Done<f64> {
        let Self { stage, arm, .. } = self;
        let parent = stage.parent().await;
        let launch = |number: usize| {
            arm.launch(&format!("Ten {number}"), "general", &[&format!("gate {gate}\nsay ok")])
        };
        let launches: Vec<String> = (0..TEN).map(launch).collect();
        self.turn(&parent, &[&launches.join("\n"), "say launched"]).await;
        let calls = Call::all(&stage.messages(&parent).await);
        let launches = || calls.iter().filter(|call| call.tool == arm.tool() && !call.refused());
        let (began, ended) = (launches().filter_map(|call| call.began).min(), ended(launches()));
        stage.model.open(gate);
        let told = async || {
            let told = arm.notices(&stage.messages(&parent).await).len();
            (told == launches().count()).then_some(())
        };
        until("all ten are told", SETTLE, LOOK, told).await?;
        let took = began.zip(ended).filter(|_| launches().count() == TEN);
        let took = took.map(|(began, ended)| ended as f64 - began as f64);
        took.ok_or_else(|| Fault::new(format!("not all ten were launched: {calls:?}")))
    }

    /// When the helper's last answer was complete.
    async fn done(&self, child: &Child) -> Option<u64> {
        talk::completed(&self.stage.messages(&child.session).await)
    }

    /// From the helper's last answer to the notice of it.
    async fn stored(&self, parent: &str, child: &Child) -> Done<f64> {
        let notices = self.arm.notices(&self.stage.messages(parent).await);
        let notice = notices.iter().find(|notice| notice.task == child.id);
        let done = self.done(child).await;
        let both = notice.zip(done).map(|(notice, done)| notice.stored as f64 - done as f64);
        both.ok_or_else(|| Fault::new(format!("{} was not told of {}", parent, child.id)))
    }
}

fn ended<'a>(mut calls: impl Iterator<Item = &'a Call>) -> Option<u64> {
    calls.try_fold(0, |last, call| Some(call.ended?.max(last)))
}

/// In milliseconds, as OpenCode dates its messages.
fn since_1970(moment: Instant) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(moment.elapsed()).as_secs_f64() * 1e3
}

fn ms_between(from: Instant, to: Instant) -> f64 {
    let ahead = to.saturating_duration_since(from).as_secs_f64();
    let behind = from.saturating_duration_since(to).as_secs_f64();
    (ahead - behind) * 1e3
}
