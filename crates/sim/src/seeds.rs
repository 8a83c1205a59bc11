//! Random histories. A seed decides the settings, what people and models do, and what goes wrong
//! meanwhile. Then the faults stop, and everything has to settle.

mod clients;
mod settle;

use std::collections::BTreeSet;

use legwork_protocol::api::{Ask, List, Note, Reply, ToolCall};
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{Interrupted, SessionId, Status, TaskId};

use crate::audit::Broken;
use crate::books::Keeper;
use crate::conditions::{LONGEST_RUN_MS, Twist, faults, script, settings};
use crate::edges::Edge;
use crate::host::{Dice, Nasty, SHARED, SPECIALIST};
use crate::trace::Trace;
use crate::world::{Keys, World, name, other_place, place, shared_place};

/// What came of a history.
#[derive(Debug)]
pub struct History {
    /// What is wrong with it.
    pub broken: Vec<Broken>,
    /// Its story, if it was to be told.
    pub story: String,
    /// How many tasks were launched.
    pub tasks: usize,
    /// How many requests the hosts have had.
    pub requests: u64,
    /// The transitions that it took.
    pub edges: BTreeSet<Edge>,
}

pub fn play(seed: u64, keeper: Keeper, trace: Trace) -> History {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let calm = dice.chance(100);
    let nasty = if dice.chance(100) { Nasty::calm() } else { Nasty::default() };
    let twist = Twist::pick(&mut dice);
    let mut settings = settings(&mut dice);
    if twist == Twist::HiddenDatabase {
        // What goes on in the wrong database is opened there a second time, and no harm is done.
        settings.interrupted = Interrupted::Fail;
    }
    let mut world = World::new(dice.roll(), nasty, settings, keeper, trace.clone());
    world.hidden_database = twist == Twist::HiddenDatabase;
    if !calm {
        world.faults = faults(&mut dice);
    }
    if twist == Twist::RepeatedIds {
        world.keys = Keys::Providers;
    }
    let (sessions, tasks) = (Vec::new(), Vec::new());
    let mut play = Play { dice, calm, twist, sessions, tasks, said: 0, world };
    play.begin();
    for _ in 0..play.dice.between(4, 22) {
        play.wait();
        play.act();
    }
    play.settle();
    let tasks = play.world.audit().runs.keys().filter(|(_, run)| *run == 0).count();
    let requests = play.world.requests;
    if calm {
        play.check_calm();
    }
    let edges = std::mem::take(&mut play.world.audit().edges);
    let broken = play.world.verdict();
    History { broken, story: trace.text(), tasks, requests, edges }
}

/// A history in progress.
struct Play {
    dice: Dice,
    calm: bool,
    twist: Twist,
    world: World,
    sessions: Vec<SessionId>,
    /// Tasks that somebody heard of.
    tasks: Vec<TaskId>,
    said: u32,
}

impl Play {
    fn begin(&mut self) {
        for _ in 0..self.dice.between(1, 2) {
            self.boot(0);
        }
        if self.twist.has_shared() {
            self.boot(SHARED);
        }
        if self.twist == Twist::Clients {
            self.start_clients();
        }
        for _ in 0..self.dice.between(1, 3) {
            let window = self.some_window();
            let session = self.world.conversation(window);
            self.sessions.push(session);
        }
        self.world.run_for(50);
    }

    /// Opens a window with this database, or with one that the world makes likely.
    fn boot(&mut self, database: u8) -> usize {
        let place = match (self.twist, database) {
            (_, SHARED) => shared_place(),
            (Twist::OtherDatabase, 1..) => other_place(),
            _ => place(),
        };
        let window = self.world.boot_on(database, place);
        if self.twist == Twist::Shared && self.dice.chance(300) {
            self.world.windows[window].lifetime = HostLifetime::OneShot;
        }
        self.world.windows[window].unseen = self.twist == Twist::Unseen && self.dice.chance(500);
        window
    }

    /// Opens a window with whatever database this world has.
    fn boot_any(&mut self) -> usize {
        let other = self.dice.chance(500);
        let database = match self.twist {
            Twist::OtherDatabase | Twist::HiddenDatabase => u8::from(other),
            Twist::Shared | Twist::Clients if other => SHARED,
            _ => 0,
        };
        self.boot(database)
    }

    /// Often nothing, sometimes a moment, sometimes long, and sometimes nothing runs at all.
    fn wait(&mut self) {
        if self.dice.chance(15) {
            let ms = *self.dice.pick(&[20_000, 31 * 60_000, 8 * 60 * 60_000]);
            self.world.sleep(ms);
        }
        let ms = match self.dice.below(100) {
            0..=39 => 0,
            40..=69 => self.dice.between(1, 200),
            70..=89 => self.dice.between(200, 4_000),
            90..=98 => self.dice.between(4_000, 20_000),
            _ => self.dice.between(LONGEST_RUN_MS, 2 * LONGEST_RUN_MS),
        };
        self.world.run_for(ms);
        self.learn();
    }

    fn learn(&mut self) {
        for call in &self.world.calls {
            if let Some(task) = call.task()
                && !self.tasks.contains(&task)
            {
                self.tasks.push(task);
            }
        }
    }

    fn some_window(&mut self) -> usize {
        match self.world.on_screen() {
            seen if seen.is_empty() => self.boot_any(),
            seen => *self.dice.pick(&seen),
        }
    }

    /// A window, or a host that nobody sees.
    fn some_host(&mut self) -> usize {
        match self.world.alive() {
            alive if alive.is_empty() => self.boot_any(),
            alive => *self.dice.pick(&alive),
        }
    }

    /// A window that has the session in its database.
    fn window_of(&mut self, session: &SessionId) -> usize {
        let database = self.world.oc.once(session).map_or(0, |session| session.database);
        let mut seen = self.world.on_screen();
        seen.retain(|window| {
            self.world.oc.database(self.world.windows[*window].process) == database
        });
        if seen.is_empty() { self.boot(database) } else { *self.dice.pick(&seen) }
    }

    /// A conversation, and a window that it can be seen in.
    fn session(&mut self) -> (usize, SessionId) {
        let session = self.dice.pick(&self.sessions).clone();
        (self.window_of(&session), session)
    }

    fn some_task(&mut self) -> String {
        if self.tasks.is_empty() || self.dice.chance(20) {
            return "bg_nobody00".to_owned();
        }
        self.dice.pick(&self.tasks).to_string()
    }

    fn list(&mut self) {
        let status = *self.dice.pick(&[None, Some(Status::Running)]);
        let all = self.said.is_multiple_of(2);
        self.ask(Ask::List(List { status, all, ..List::default() }));
    }

    fn person_clears(&mut self) {
        let ask = match self.dice.below(4) {
            0 => Ask::ForgetFinished { by: self.world.now },
            1 => Ask::Forget { tasks: self.tasks.iter().map(TaskId::to_string).collect() },
            _ => Ask::Forget { tasks: vec![self.some_task()] },
        };
        self.world.person(ask);
    }

    /// A window shows a session, or none any more.
    fn show(&mut self) {
        let (window, session) = self.session();
        if self.dice.chance(800) {
            self.world.show_session(window, &session);
        } else {
            self.world.show_nothing(window);
        }
    }

    fn act(&mut self) {
        if self.twist == Twist::Clients && self.dice.chance(650) {
            return self.client_acts();
        }
        let most = if self.calm { 80 } else { 124 };
        match self.dice.below(most) {
            0..=34 => self.launch(),
            35..=46 => self.resume(),
            47..=51 => {
                let task = self.some_task();
                self.ask(Ask::Output { task, offset: 0 });
            }
            52..=53 => self.list(),
            54..=61 => self.block(),
            62..=65 => self.cancel(),
            66 => self.person_clears(),
            67 => self.ask(Ask::Clear),
            68..=71 => self.reply(),
            72..=74 => self.undo(),
            75..=76 => {
                let (window, session) = self.session();
                self.world.use_session(window, &session);
            }
            77 => self.show(),
            78..=79 => self.drop_call(),
            80..=85 => self.world.restart_daemon(),
            86..=91 => {
                let window = self.some_host();
                self.world.cut_link(window);
            }
            92..=97 => {
                let window = self.some_host();
                self.world.kill_window(window);
                if self.dice.chance(700) {
                    self.boot_any();
                }
            }
            98..=101 => {
                let window = self.boot_any();
                if self.dice.chance(300) {
                    let session = self.world.conversation(window);
                    self.sessions.push(session);
                }
            }
            102..=105 => {
                let window = self.some_host();
                let deaf = self.dice.chance(500);
                self.world.deafen(window, deaf);
            }
            106..=109 => {
                let full = self.dice.chance(500);
                self.world.set_full(full);
            }
            110..=113 => self.delete_child(),
            114..=116 => {
                let (window, session) = self.session();
                self.world.delete_session(window, &session);
            }
            117 => self.world.set_store_aside(),
            118..=119 if self.twist == Twist::OtherDatabase => self.lie(),
            _ => {
                self.world.kill_daemon();
            }
        }
    }

    /// A window of another place speaks of sessions that it does not have.
    fn lie(&mut self) {
        let (window, session) = (self.some_window(), self.dice.pick(&self.sessions).clone());
        if !self.world.oc.shares(self.world.windows[window].process, &session) {
            self.world.lie(window, &session);
        }
    }

    fn ask(&mut self, ask: impl Into<ToolCall>) {
        let (window, session) = self.session();
        self.world.ask(window, &session, ask);
    }

    fn script(&mut self) -> String {
        self.said += 1;
        script(&mut self.dice, self.said)
    }

    fn launch(&mut self) {
        let prompt = self.script();
        let agent = match self.dice.below(100) {
            0..=3 => "nobody",
            4..=53 if self.twist.has_shared() => SPECIALIST,
            _ => "general",
        };
        let agent = agent.to_owned();
        let description = format!("work {}", self.said);
        let fork = self.dice.chance(100);
        let launch = Ask::Launch { prompt, description, agent, fork, collects: false };
        let child = self.helper().filter(|_| self.dice.chance(150));
        match child {
            Some((window, child)) => {
                self.world.ask(window, &child, launch);
            }
            None => self.ask(launch),
        }
        // The same call twice, as after a broken pipe.
        if self.dice.chance(50) {
            let last = self.world.calls.len() - 1;
            self.world.send_call(last);
        }
    }

    /// The session of some helper that is at work, and the window that it works in.
    fn helper(&mut self) -> Option<(usize, SessionId)> {
        let rows = self.world.audit().rows.values();
        let mut at_work = rows.filter(|row| !row.task.is_finished());
        let (host, session) =
            at_work.find_map(|row| Some((row.task.run.host.clone(), row.task.session.clone()?)))?;
        let window = self.world.windows.iter().position(|window| window.host == host)?;
        self.world.alive().contains(&window).then_some((window, session))
    }

    fn resume(&mut self) {
        let (task, prompt) = (self.some_task(), self.script());
        if self.dice.chance(250) {
            return self.step_in(task, prompt);
        }
        let twice = self.dice.chance(200);
        if twice {
            self.ask(Ask::Resume { task: task.clone(), prompt: prompt.clone(), collects: false });
        }
        let note = Some(Note::ResumeIgnores);
        self.ask(ToolCall { ask: Ask::Resume { task, prompt, collects: false }, note });
    }

    /// A person has a task go on, however it ended.
    fn step_in(&mut self, task: String, prompt: String) {
        let key = name(&format!("person:{}", self.world.calls.len()));
        self.world.person(Ask::ResumeAny { task, prompt, key });
        // The same call twice, as after a broken pipe.
        if self.dice.chance(100) {
            let last = self.world.calls.len() - 1;
            self.world.send_call(last);
        }
    }

    fn block(&mut self) {
        let tasks = (0..self.dice.between(1, 3)).map(|_| self.some_task()).collect();
        let timeout_ms = *self.dice.pick(&[0, 500, 5_000, 60_000]);
        let any = self.dice.chance(250);
        self.ask(Ask::Wait { tasks, any, timeout_ms });
    }

    fn cancel(&mut self) {
        let task = self.some_task();
        if self.dice.chance(300) {
            self.world.person(Ask::Cancel { task });
        } else {
            self.ask(Ask::Cancel { task });
        }
    }

    fn reply(&mut self) {
        for window in self.world.alive() {
            let process = self.world.windows[window].process;
            let question = self.world.oc.questions(process).first().map(|open| open.id.clone());
            if let Some(question) = question {
                let reply = match self.dice.below(3) {
                    0 => Reply::Once,
                    1 => Reply::Reject(None),
                    _ => Reply::Reject(Some("not like this".to_owned())),
                };
                self.world.person(Ask::Reply { question, reply });
                return;
            }
        }
    }

    fn undo(&mut self) {
        let (window, session) = self.session();
        let process = self.world.windows[window].process;
        // A host offers no way to send "unless an undo is pending", so a delivery that is on its
        // way at this very moment cannot be helped; people are not that quick here.
        if self.world.is_being_told(&session) {
            return;
        }
        let done = if self.dice.chance(600) {
            self.world.oc.set_revert(process, &session)
        } else {
            self.world.oc.clear_revert(process, &session)
        };
        if done.is_ok() {
            self.world.trace.tell(|| format!("a person begins or ends an undo in {session}"));
        }
    }

    fn drop_call(&mut self) {
        let waiting: Vec<usize> = self.world.waiting().collect();
        if !waiting.is_empty() {
            let call = *self.dice.pick(&waiting);
            self.world.drop_call(call);
        }
    }

    fn delete_child(&mut self) {
        if let Some((window, child)) = self.helper() {
            self.world.delete_session(window, &child);
        }
    }
}
