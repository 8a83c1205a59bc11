//! How many inputs the engine takes in a second, with few and with many finished tasks kept, and
//! what a kept task takes of memory. One thousand tasks are at work all the while.

#![expect(clippy::disallowed_types, reason = "a bench measures")]
#![expect(clippy::unwrap_used, reason = "as in tests")]
#![expect(clippy::print_stdout, reason = "the figure for memory is no time")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use legwork_engine::input::{Caller, Hint, Input, Reaction, Serves};
use legwork_engine::record::{Parent, Saved};
use legwork_engine::task::{Asked, Outcome, Run, Stage, Task};
use legwork_engine::work::{Action, Finding, Observation, RunState};
use legwork_engine::{Engine, Usage, WorkId};
use legwork_protocol::api::List;
use legwork_protocol::line::HostLifetime;
use legwork_protocol::{
    Ask, CallId, HostId, MessageId, Place, SessionId, Settings, Status, TaskId, Time,
};

const NOW: Time = Time(1_700_000_000_000);
const KEPT: [u64; 3] = [100, 10_000, 100_000];
const RUNNING: u64 = 1_000;
const PER_PARENT: u64 = 20;

/// What most records share, as they do after a start.
struct Common {
    place: Place,
    host: HostId,
    agent: Arc<str>,
    parents: Vec<SessionId>,
}

impl Common {
    fn new(tasks: u64) -> Self {
        let parents = 0..tasks.div_ceil(PER_PARENT);
        let parents = parents.map(|number| format!("ses_parent_{number:016}").parse().unwrap());
        Self {
            place: "project".parse().unwrap(),
            host: "host_1".parse().unwrap(),
            agent: "explore".into(),
            parents: parents.collect(),
        }
    }

    fn task(&self, number: u64, stage: Stage) -> Task {
        let parent = self.parents[(number / PER_PARENT) as usize].clone();
        let finished = matches!(stage, Stage::Finished(_));
        Task {
            id: id(number),
            seq: number,
            place: self.place.clone(),
            realm: self.place.clone(),
            directory: self.agent.clone(),
            root: parent.clone(),
            parent: parent.clone(),
            depth: 1,
            agent: self.agent.clone(),
            description: "Find every caller of the old parser".into(),
            created: NOW,
            fork_before: None,
            session: Some(child(number)),
            stage,
            run: Run {
                number: 0,
                asker: parent,
                key: format!("call_{number:024}").parse().unwrap(),
                host: self.host.clone(),
                order: number,
                prompt: (!finished).then(|| "Find every caller of the old parser.".into()),
                continued: 0,
                started: NOW,
                paused_ms: 0,
                ended: finished.then_some(NOW),
                tool_calls: 3,
                usage: Usage::default(),
                used_before: Usage::default(),
                asked: Asked::default(),
            },
            retrieved: finished.then_some(NOW),
        }
    }
}

/// Ids as dice would make them, not in the order of launches.
fn id(number: u64) -> TaskId {
    TaskId::from_number(number.wrapping_mul(1_111_111_111_117))
}

fn child(number: u64) -> SessionId {
    format!("ses_child_{number:016}").parse().unwrap()
}

fn saved(kept: u64, running: u64) -> Saved {
    let common = Common::new(kept + running);
    let message: MessageId = "msg_prompt".parse().unwrap();
    let stage = |number| match number < kept {
        true => Stage::Finished(Outcome::Completed),
        false => Stage::Working(message.clone()),
    };
    let tasks = (0..kept + running).map(|number| common.task(number, stage(number))).collect();
    let parents = common.parents.iter().map(|session| Parent {
        session: session.clone(),
        place: common.place.clone(),
        active_host: Some(common.host.clone()),
    });
    Saved { tasks, parents: parents.collect(), ..Saved::default() }
}

/// An engine at work, and where it is in time.
struct Desk {
    engine: Engine,
    now: Time,
    kept: u64,
    calls: u64,
}

impl Desk {
    fn new(kept: u64) -> Self {
        let settings = Settings { max_running: 0, max_tasks_per_root: 0, ..Settings::default() };
        let engine = Engine::restore(settings, saved(kept, RUNNING), NOW, 0);
        let mut desk = Self { engine, now: NOW, kept, calls: 0 };
        let (host, place) = ("host_1".parse().unwrap(), "project".parse().unwrap());
        let came = desk.on(Input::Hint(Hint::HostCame {
            host,
            place,
            lifetime: HostLifetime::Interactive,
            serves: Serves::OwnPlace,
        }));
        desk.all_well(came);
        desk.now = NOW.plus(4_000);
        desk
    }

    fn on(&mut self, input: Input) -> Reaction {
        self.engine.on(input, self.now)
    }

    fn found(&mut self, work: WorkId, finding: Finding) -> Reaction {
        self.on(Input::Found { work, found: Ok(finding) })
    }

    /// What a host that came is asked comes back: all are there and at work.
    fn all_well(&mut self, came: Reaction) {
        for work in came.work {
            let finding = match work.action {
                Action::FindMissing { .. } => Finding::Missing { sessions: Vec::new() },
                _ => seen(RunState::Busy),
            };
            let _ = self.found(work.id, finding);
        }
    }

    /// The work of a reaction that has just one comes back.
    fn step(&mut self, before: &Reaction, finding: Finding) -> Reaction {
        self.found(before.work[0].id, finding)
    }

    fn ask(&mut self, caller: Caller, ask: Ask) -> Reaction {
        self.calls += 1;
        let (call, spare) = (CallId(self.calls), id(u64::from(u32::MAX) + self.calls));
        self.on(Input::Ask { call, caller, ask, spare })
    }

    /// The session of some task at work, another one each time.
    fn at_work(&mut self) -> SessionId {
        self.calls += 1;
        child(self.kept + self.calls * 37 % RUNNING)
    }

    /// From the launch to the notice that was told, and forgotten again, so that as many tasks are
    /// kept as before: eight inputs.
    fn life(&mut self, session: &SessionId) {
        let key = format!("call_of_a_life_{}", self.calls);
        let launch = Ask::Launch {
            prompt: "Find every caller of the old parser.".to_owned(),
            description: "Find callers".to_owned(),
            agent: "explore".to_owned(),
            fork: false,
            collects: false,
        };
        let check_agent = self.ask(caller("ses_life", &key), launch);
        let open = self.step(&check_agent, Finding::AgentKnown);
        let prompt = self.step(&open, Finding::Opened { session: session.clone() });
        let _ = self.step(&prompt, Finding::Done);
        let look = self.on(Input::Hint(Hint::Changed { session: session.clone() }));
        let answered = RunState::Answered { text: "There are three.".to_owned() };
        let tell = self.step(&look, seen(answered));
        assert!(matches!(tell.work[0].action, Action::Deliver { .. }));
        let _ = self.step(&tell, Finding::Delivered);
        let _ = black_box(self.ask(caller("ses_life", "call_clear"), Ask::Clear));
    }

    /// A poll falls due and comes back: all are at work.
    fn poll(&mut self) -> Duration {
        self.now = self.now.plus(5_000);
        let busy = (0..RUNNING).map(|number| (child(self.kept + number), None)).collect();
        let begun = Instant::now();
        let asked = self.on(Input::Tick);
        let poll =
            asked.work.iter().find(|work| matches!(work.action, Action::Poll { .. })).unwrap();
        let _ = black_box(self.found(poll.id, Finding::Polled { busy, questions: Vec::new() }));
        begun.elapsed()
    }
}

fn caller(session: &str, key: &str) -> Caller {
    Caller::Session {
        host: "host_1".parse().unwrap(),
        session: session.parse().unwrap(),
        key: key.parse().unwrap(),
        message: "msg_call".parse().unwrap(),
        agent: "build".to_owned(),
        directory: "/project".to_owned(),
        taken_over: Vec::new(),
    }
}

fn seen(state: RunState) -> Finding {
    Finding::Observed(Observation { state, tool_calls: 3, usage: Usage::default(), moved: None })
}

/// One measurement, with few and with many tasks kept.
fn measure(bench: &mut Criterion, name: &str, inputs: u64, mut act: impl FnMut(&mut Desk)) {
    let mut group = bench.benchmark_group(name);
    group.throughput(Throughput::Elements(inputs));
    for kept in KEPT {
        let mut desk = Desk::new(kept);
        group.bench_function(BenchmarkId::from_parameter(kept), |bench| {
            bench.iter(|| act(&mut desk));
        });
    }
    group.finish();
}

fn hints(bench: &mut Criterion) {
    measure(bench, "progress hint", 1, |desk| {
        let session = desk.at_work();
        let tool = Some("grep".to_owned());
        let _ = black_box(desk.on(Input::Hint(Hint::Progress { session, tool, used: None })));
    });
    measure(bench, "changed, then seen busy", 2, |desk| {
        let session = desk.at_work();
        let look = desk.on(Input::Hint(Hint::Changed { session }));
        let _ = black_box(desk.step(&look, seen(RunState::Busy)));
    });
    measure(bench, "hint about a stranger", 1, |desk| {
        let session = "ses_stranger".parse().unwrap();
        let _ = black_box(desk.on(Input::Hint(Hint::Changed { session })));
    });
}

fn lives(bench: &mut Criterion) {
    let session = "ses_of_a_life".parse().unwrap();
    measure(bench, "a whole life", 8, |desk| desk.life(&session));
}

fn asks(bench: &mut Criterion) {
    let list = |status, all| Ask::List(List { status, all, ..List::default() });
    let output = |task: TaskId| Ask::Output { task: task.to_string(), offset: 0 };
    let mine = "ses_parent_0000000000000000";
    measure(bench, "list one's own 20", 1, |desk| {
        let _ = black_box(desk.ask(caller(mine, "call_list"), list(None, false)));
    });
    measure(bench, "list 200 of all", 1, |desk| {
        let _ = black_box(desk.ask(Caller::Person, list(None, true)));
    });
    measure(bench, "list the newest completed", 1, |desk| {
        let _ = black_box(desk.ask(Caller::Person, list(Some(Status::Completed), true)));
    });
    measure(bench, "output of a finished task", 1, |desk| {
        let task = id(desk.calls * 37 % desk.kept);
        let _ = black_box(desk.ask(caller(mine, "call_output"), output(task)));
    });
    measure(bench, "output of a running task", 1, |desk| {
        let task = id(desk.kept + desk.calls * 37 % RUNNING);
        let _ = black_box(desk.ask(caller(mine, "call_output"), output(task)));
    });
}

/// One poll of all that run. Time flies here, so it is told now and then that they do.
fn polls(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("poll of 1000");
    group.throughput(Throughput::Elements(1)).sample_size(10);
    for kept in KEPT {
        group.bench_function(BenchmarkId::from_parameter(kept), |bench| {
            bench.iter_custom(|times| {
                let mut desk = Desk::new(kept);
                (0..times)
                    .map(|number| {
                        if number % 300 == 299 {
                            desk = Desk::new(kept);
                        }
                        desk.poll()
                    })
                    .sum()
            });
        });
    }
    group.finish();
}

/// Another window of the same project is opened, with one thousand tasks at work.
fn arrivals(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("another host comes");
    group.sample_size(10);
    for kept in KEPT {
        let mut desk = Desk::new(kept);
        let mut hosts = 0;
        group.bench_function(BenchmarkId::from_parameter(kept), |bench| {
            bench.iter(|| {
                hosts += 1;
                let host: HostId = format!("another_{hosts}").parse().unwrap();
                let place = "project".parse().unwrap();
                let came = desk.on(Input::Hint(Hint::HostCame {
                    host: host.clone(),
                    place,
                    lifetime: HostLifetime::Interactive,
                    serves: Serves::OwnPlace,
                }));
                desk.all_well(came);
                let _ = black_box(desk.on(Input::Hint(Hint::HostGone { host })));
            });
        });
    }
    group.finish();
}

/// What a start takes, and what is resident after it for each task kept.
fn start(bench: &mut Criterion) {
    let [.., most] = KEPT;
    let before = resident_bytes();
    let engine = Engine::restore(Settings::default(), saved(most, 0), NOW, 0);
    let after = resident_bytes();
    black_box(&engine);
    drop(engine);
    println!("memory: {} bytes for each of {most} tasks kept", (after - before) / most);

    let mut group = bench.benchmark_group("restore");
    group.sample_size(10);
    group.bench_function(BenchmarkId::from_parameter(most), |bench| {
        let restore = |saved| Engine::restore(Settings::default(), saved, NOW, 0);
        bench.iter_batched(|| saved(most, 0), restore, BatchSize::PerIteration);
    });
    group.finish();
}

/// Pages of 4 KiB, as this process holds them.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

// The memory first, before anything else was allocated and freed.
criterion_group!(benches, start, hints, lives, asks, polls, arrivals);
criterion_main!(benches);
