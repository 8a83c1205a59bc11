//! Clients that nobody can wake: what they are told waits in the outbox until their front reads it,
//! with the answer to a call: N1, M5. It is shown once, whichever of front and daemon dies.

use legwork_protocol::api::{List, Reply};
use legwork_protocol::{Ask, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::clients::{End, Kept};

use crate::clients::Stage;

/// A story with a client that nobody can wake.
fn unwakeable() -> Stage {
    let mut stage = Stage::new();
    stage.story.world.clients.all[stage.client].has_inbox = false;
    stage
}

impl Stage {
    /// A helper that has ended, and whose end waits to be read.
    fn unread(&mut self, script: &str) -> TaskId {
        let task = self.launch_with(script, false);
        self.story.until_status(task, Status::Completed);
        self.story.until("a message that waits", |story| story.said("waits for its reader"));
        task
    }

    /// The client calls a tool that has nothing to do with its tasks.
    fn calls(&mut self) {
        let call = self.story.world.client_asks(self.client, Ask::List(List::default())).unwrap();
        self.story.answer(call);
    }

    fn until_shown(&mut self) {
        self.story.until("a message to be shown", |story| story.said("client is shown"));
    }
}

trait Said {
    fn said(&self, what: &str) -> bool;
}

impl Said for Story {
    fn said(&self, what: &str) -> bool {
        self.transcript().contains(what)
    }
}

#[test]
fn m5_a_result_waits_for_the_next_call_and_is_shown_once() {
    let mut stage = unwakeable();
    stage.unread("wait 3000; say found it");
    stage.story.pass(60_000);
    assert_eq!(stage.messages(), 0);
    stage.calls();
    stage.until_shown();
    let session = stage.session.clone();
    let shown = stage.story.deliveries(&session).remove(0);
    assert!(shown.headline.starts_with("[BACKGROUND TASK COMPLETED]"), "{shown:?}");
    assert!(shown.headline.ends_with("1 background task finished, 0 still running."), "{shown:?}");
    assert!(shown.results[0].contains("found it"), "{shown:?}");
    stage.story.pass(1_000);
    stage.calls();
    stage.story.pass(1_000);
    assert_eq!(stage.messages(), 1);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn n1_what_was_shown_is_acknowledged_to_the_next_daemon() {
    let mut stage = unwakeable();
    stage.unread("say found it");
    stage.calls();
    stage.until_shown();
    stage.story.world.kill_daemon();
    stage.story.pass(20_000);
    stage.story.world.start_daemon();
    stage.story.pass(5_000);
    stage.calls();
    stage.story.pass(1_000);
    assert_eq!(stage.messages(), 1);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn n1_what_a_front_has_read_and_not_shown_is_shown_by_the_next() {
    let mut stage = unwakeable();
    stage.unread("say found it");
    stage.calls();
    stage.story.world.kill_front(stage.client);
    stage.story.world.restart_daemon();
    stage.story.pass(10_000);
    assert_eq!(stage.messages(), 0);
    stage.story.world.connect_front(stage.client);
    stage.calls();
    stage.until_shown();
    stage.story.end();
}

#[test]
fn m5_what_is_cleared_or_read_otherwise_is_not_shown() {
    let mut stage = unwakeable();
    let scripts = ["wait 3000; say one", "wait 3000; say two", "wait 3000; say three"];
    let [cleared, read, left] = scripts.map(|script| stage.launch_with(script, false));
    stage.story.until_status(left, Status::Completed);
    stage.story.pass(1_000);
    stage.story.person(Ask::Forget { tasks: vec![cleared.to_string()] });
    let output = Ask::Output { task: read.to_string(), offset: 0 };
    let call = stage.story.world.client_asks(stage.client, output).unwrap();
    assert!(stage.story.answer(call).contains("two"));
    stage.until_shown();
    let session = stage.session.clone();
    let shown = stage.story.deliveries(&session).remove(0);
    assert_eq!(shown.headline.lines().count(), 2, "{shown:?}");
    assert!(shown.results.len() == 1 && shown.results[0].contains("three"), "{shown:?}");
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m5_a_question_that_is_settled_is_not_shown() {
    let mut stage = unwakeable();
    let task = stage.launch_with("ask; say found it", false);
    stage.story.until("a question that waits", |story| story.said("waits for its reader"));
    let process = stage.story.world.windows[1].process;
    let question = stage.story.world.oc.questions(process)[0].id.clone();
    stage.story.person(Ask::Reply { question, reply: Reply::Once });
    stage.story.until_status(task, Status::Completed);
    stage.story.pass(1_000);
    stage.calls();
    stage.until_shown();
    let session = stage.session.clone();
    let shown = stage.story.deliveries(&session);
    assert!(!shown[0].headline.contains("WAITING") && shown.len() == 1, "{shown:?}");
    stage.story.end();
}

/// The end of a run that was collected waits for its reader, and a new front is there.
fn stage_of_an_unread_end() -> (Stage, TaskId) {
    let mut stage = unwakeable();
    let task = stage.launch_with("wait 1000; say found it", true);
    stage.story.world.kill_front(stage.client);
    stage.story.until("a message that waits", |story| story.said("waits for its reader"));
    stage.story.world.connect_front(stage.client);
    (stage, task)
}

impl Stage {
    fn polls(&mut self, task: TaskId) {
        self.story.world.client_collects(self.client, (task, 0), 20_000).unwrap();
    }

    fn until_told(&mut self, task: TaskId, end: End) {
        let client = self.client;
        self.story.until("the poll to be answered", |story| {
            let kept = story.world.clients.all[client].runs.get(&(task, 0));
            assert!(matches!(kept, Some(Kept::Open | Kept::Told(_))), "{kept:?}");
            kept != Some(&Kept::Open)
        });
        let kept = self.story.world.clients.all[client].runs.get(&(task, 0));
        assert_eq!(kept, Some(&Kept::Told(end)), "{}", self.story.transcript());
    }
}

#[test]
fn m2_who_polls_for_what_a_front_is_showing_is_told_that_it_is_known() {
    let (mut stage, task) = stage_of_an_unread_end();
    stage.calls();
    stage.polls(task);
    stage.until_told(task, End::Known);
    assert_eq!(stage.messages(), 1);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m2_who_polls_after_a_restart_for_what_a_front_has_shown_is_told_that_it_is_known() {
    let (mut stage, task) = stage_of_an_unread_end();
    stage.calls();
    stage.until_shown();
    stage.story.world.kill_daemon();
    stage.story.world.start_daemon();
    stage.story.pass(1);
    stage.polls(task);
    stage.until_told(task, End::Known);
    assert_eq!(stage.messages(), 1);
    stage.story.end();
}

#[test]
fn m2_what_a_poll_collects_is_not_shown() {
    let (mut stage, task) = stage_of_an_unread_end();
    stage.polls(task);
    stage.story.pass(3);
    stage.calls();
    stage.until_told(task, End::Whole);
    stage.story.pass(1_000);
    assert_eq!(stage.messages(), 0);
    stage.story.end();
}
