//! What callers hear when nothing can be saved.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use legwork_engine::record::Parent;
use legwork_engine::shell::{Outside, Shell};
use legwork_engine::task::{Asked, Run, Stage, Task};
use legwork_engine::{Caller, Change, Headless, Input, Journal, Saved, Say, Usage, Work};
use legwork_protocol::api::{Answer, List};
use legwork_protocol::{Ask, CallId, HostId, Interrupted, Settings, TaskId, Time};

const NOW: Time = Time(1_000_000);

/// Records that can be read and not be changed.
struct Full(Saved);

impl Journal for Full {
    type Fault = &'static str;

    fn save(&mut self, _: Time, _: &[Change]) -> Result<(), Self::Fault> {
        Err("the disk is full")
    }

    fn detail(&mut self, _: TaskId, _: u32) -> Result<Option<String>, Self::Fault> {
        Ok(None)
    }

    fn load(&mut self) -> Result<Saved, Self::Fault> {
        Ok(self.0.clone())
    }

    fn probe(&mut self) -> Result<(), Self::Fault> {
        Err("the disk is full")
    }
}

/// Everybody listens, and every host has ended.
#[derive(Default)]
struct World(Vec<(CallId, Say)>);

impl Outside for World {
    fn say(&mut self, call: CallId, said: Say) {
        self.0.push((call, said));
    }

    fn start(&mut self, _: Work) {}

    fn headless(&mut self, _: Headless) {}

    fn has_ended(&mut self, _: &HostId) -> bool {
        true
    }

    fn trouble(&mut self, _: &str) {}
}

/// One task that waits for a host.
fn waiting() -> Saved {
    let parent: Parent = Parent {
        session: "ses_parent".parse().unwrap(),
        place: "project".parse().unwrap(),
        active_host: Some("host".parse().unwrap()),
    };
    let run = Run {
        number: 0,
        asker: parent.session.clone(),
        key: "call".parse().unwrap(),
        host: "host".parse().unwrap(),
        order: 1,
        prompt: Some("look".into()),
        continued: 0,
        started: NOW,
        paused_ms: 0,
        ended: None,
        tool_calls: 0,
        usage: Usage::default(),
        used_before: Usage::default(),
        asked: Asked::default(),
    };
    let task = Task {
        id: TaskId::from_number(1),
        seq: 1,
        place: parent.place.clone(),
        realm: parent.place.clone(),
        directory: "/p".into(),
        root: parent.session.clone(),
        parent: parent.session.clone(),
        depth: 1,
        agent: "general".into(),
        description: "Explore".into(),
        created: NOW,
        fork_before: None,
        session: None,
        stage: Stage::Queued,
        run,
        retrieved: None,
    };
    Saved { tasks: vec![task], parents: vec![parent], ..Saved::default() }
}

#[test]
fn k4_a_reader_is_answered_once_when_the_disk_fills_in_the_middle_of_a_step() {
    let settings = Settings { interrupted: Interrupted::Fail, ..Settings::default() };
    let mut shell = Shell::start(Full(waiting()), World::default(), settings, NOW).unwrap();
    let ask = Ask::List(List { all: true, ..List::default() });
    let spare = TaskId::from_number(2);
    // In the same step the host is found to have ended, which cannot be saved.
    let input = Input::Ask { call: CallId(1), caller: Caller::Person, ask, spare };
    shell.step(input, NOW);
    assert!(shell.is_degraded());
    let said = &shell.outside().0;
    assert_eq!(said.len(), 1, "{said:?}");
    let (CallId(1), Say::Answer(Ok(Answer::Listed(listed)))) = &said[0] else { panic!("{said:?}") };
    assert_eq!((listed.total, listed.tasks[0].id), (1, TaskId::from_number(1)));
}
