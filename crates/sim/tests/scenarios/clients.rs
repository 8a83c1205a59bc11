//! Clients that poll for the ends of their runs: M2, M3, M6. Each end is told one way, whichever of
//! client, front and daemon dies.

use legwork_protocol::api::Reply;
use legwork_protocol::limits::COLLECT_LEASE_MS;
use legwork_protocol::{Ask, SessionId, Status, TaskId};
use legwork_sim::Story;
use legwork_sim::calls::CallNo;
use legwork_sim::clients::{End, Kept};
use legwork_sim::host::SPECIALIST;

/// A story with one client, and a host that has helpers for it.
pub struct Stage {
    pub story: Story,
    /// The client and its session.
    pub client: usize,
    pub session: SessionId,
}

impl Stage {
    pub fn new() -> Self {
        let mut story = Story::new();
        story.world.boot_shared();
        let client = story.client("client");
        let session = story.world.clients.all[client].session.clone();
        // What comes now is not right after a start of the daemon.
        story.pass(COLLECT_LEASE_MS + 1_000);
        Self { story, client, session }
    }

    fn asks(&mut self, ask: Ask) -> CallNo {
        self.story.world.client_asks(self.client, ask).unwrap()
    }

    fn launch(&mut self, script: &str) -> TaskId {
        self.launch_with(script, true)
    }

    pub fn launch_with(&mut self, script: &str, collects: bool) -> TaskId {
        let (prompt, description) = (script.to_owned(), "Explore".to_owned());
        let agent = SPECIALIST.to_owned();
        let call = self.asks(Ask::Launch { prompt, description, agent, fork: false, collects });
        self.story.answer(call);
        self.story.world.calls[call].task().unwrap()
    }

    fn kept(&self, task: TaskId, run: u32) -> Option<Kept> {
        self.story.world.clients.all[self.client].runs.get(&(task, run)).copied()
    }

    fn until_kept(&mut self, task: TaskId, run: u32, kept: Kept) {
        let client = self.client;
        self.story.until("the client to have it", |story| {
            story.world.clients.all[client].runs.get(&(task, run)) == Some(&kept)
        });
    }

    pub fn messages(&mut self) -> usize {
        let session = self.session.clone();
        self.story.deliveries(&session).len()
    }

    fn until_message(&mut self) {
        let session = self.session.clone();
        self.story.until("a message", |story| !story.deliveries(&session).is_empty());
    }

    /// The time of all leases passes.
    fn pass_lease(&mut self) {
        self.story.pass(2 * COLLECT_LEASE_MS);
    }
}

const WHOLE: Kept = Kept::Told(End::Whole);
const KNOWN: Kept = Kept::Told(End::Known);

#[test]
fn m2_a_poll_is_told_and_no_message_follows() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    stage.until_kept(task, 0, WHOLE);
    assert_eq!(stage.story.status(task), Some(Status::Completed));
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m2_a_run_that_nobody_polls_for_is_told_by_a_message() {
    let mut stage = Stage::new();
    let task = stage.launch_with("wait 3000; say found it", false);
    stage.story.until_settled();
    assert_eq!((stage.kept(task, 0), stage.messages()), (None, 1));
    stage.story.end();
}

#[test]
fn m2_of_two_polls_both_hear_the_end_and_it_is_told_once() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    stage.story.pass(500);
    let second = stage.story.world.client_collects(stage.client, (task, 0), 20_000).unwrap();
    assert!(!stage.story.is_answered(second));
    assert_eq!(stage.story.answer(second), "it has ended");
    stage.until_kept(task, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m2_each_run_is_polled_for_by_itself() {
    let mut stage = Stage::new();
    let task = stage.launch("say found it");
    stage.until_kept(task, 0, WHOLE);
    let (name, prompt) = (task.to_string(), "wait 3000; say more".to_owned());
    let call = stage.asks(Ask::Resume { task: name, prompt, collects: true });
    stage.story.answer(call);
    let earlier = stage.story.world.client_collects(stage.client, (task, 0), 20_000).unwrap();
    assert_eq!(stage.story.answer(earlier), "it has ended");
    assert_eq!(stage.story.status(task), Some(Status::Resumed));
    // The lease of the second run began with the resume.
    stage.story.world.kill_front(stage.client);
    stage.story.until_status(task, Status::Completed);
    stage.story.pass(COLLECT_LEASE_MS / 2);
    assert_eq!(stage.messages(), 0);
    stage.until_message();
    assert_eq!(stage.messages(), 1);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m2_a_result_that_was_read_needs_no_message() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    stage.story.pass(500);
    stage.story.world.kill_front(stage.client);
    stage.story.until_status(task, Status::Completed);
    stage.story.world.connect_front(stage.client);
    let read = stage.asks(Ask::Output { task: task.to_string(), offset: 0 });
    assert!(stage.story.answer(read).contains("found it"));
    stage.story.world.kill_front(stage.client);
    stage.pass_lease();
    assert_eq!((stage.kept(task, 0), stage.messages()), (Some(Kept::Open), 0));
    stage.story.end();
}

#[test]
fn m2_a_poll_for_a_task_that_is_cleared_is_answered() {
    let mut stage = Stage::new();
    let task = stage.launch("hang");
    stage.story.pass(500);
    let cleared = stage.asks(Ask::Clear);
    stage.story.answer(cleared);
    stage.until_kept(task, 0, Kept::Gone);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m2_a_cancelled_run_has_ended_for_who_polls() {
    let mut stage = Stage::new();
    let task = stage.launch("hang");
    stage.story.pass(500);
    let cancelled = stage.asks(Ask::Cancel { task: task.to_string() });
    stage.story.answer(cancelled);
    stage.until_kept(task, 0, WHOLE);
    assert_eq!(stage.story.status(task), Some(Status::Cancelled));
    stage.story.end();
}

#[test]
fn m2_an_end_that_is_not_there_cannot_be_handed_over() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    let early = stage.asks(Ask::HandedOver { task: task.to_string(), run: 0 });
    assert_eq!(stage.story.answer(early), "That run has not ended.");
    let never = stage.asks(Ask::HandedOver { task: task.to_string(), run: 1 });
    assert_eq!(stage.story.answer(never), "That run has not ended.");
    let unknown = stage.story.world.client_collects(stage.client, (task, 1), 20_000).unwrap();
    assert_eq!(
        stage.story.answer(unknown),
        format!("Task not found: {task}. Use background_list to see available tasks.")
    );
    stage.until_kept(task, 0, WHOLE);
    stage.story.end();
}

#[test]
fn m2_a_stranger_cannot_take_the_end_of_another() {
    let mut stage = Stage::new();
    let stranger = stage.story.client("stranger");
    let task = stage.launch("wait 3000; say found it");
    stage.story.world.kill_front(stage.client);
    stage.story.until_status(task, Status::Completed);
    let taken = Ask::HandedOver { task: task.to_string(), run: 0 };
    let taken = stage.story.world.client_asks(stranger, taken).unwrap();
    assert_eq!(
        stage.story.answer(taken),
        "Only the session that asked for a run, or collects it, is handed its end."
    );
    stage.until_message();
    stage.story.end();
}

#[test]
fn m3_without_its_front_a_client_gets_a_message_after_the_lease() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    stage.story.pass(500);
    stage.story.world.kill_front(stage.client);
    let died = stage.story.world.now;
    stage.until_message();
    assert!(stage.story.world.now.since(died) >= COLLECT_LEASE_MS);
    // A front that it gets later is told that the conversation has it.
    stage.story.world.connect_front(stage.client);
    stage.until_kept(task, 0, KNOWN);
    assert_eq!(stage.messages(), 1);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_a_poll_goes_on_with_the_next_daemon() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 30000; say found it");
    stage.story.pass(1_000);
    stage.story.world.restart_daemon();
    stage.until_kept(task, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_what_ended_before_a_restart_waits_for_who_polls_again() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 2000; say found it");
    stage.story.world.kill_front(stage.client);
    stage.story.until_status(task, Status::Completed);
    stage.story.world.kill_daemon();
    // Longer than a lease.
    stage.story.pass(3 * COLLECT_LEASE_MS);
    stage.story.world.start_daemon();
    stage.story.pass(COLLECT_LEASE_MS / 2);
    assert_eq!(stage.messages(), 0);
    stage.story.world.connect_front(stage.client);
    stage.until_kept(task, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_a_client_that_dies_and_comes_back_polls_and_is_told() {
    let mut stage = Stage::new();
    let first = stage.launch("wait 3000; say found it");
    let second = stage.launch("wait 3000; say found more");
    stage.story.pass(500);
    stage.story.world.kill_client(stage.client);
    stage.story.pass(5 * COLLECT_LEASE_MS);
    stage.story.world.return_client(stage.client);
    stage.until_kept(first, 0, WHOLE);
    stage.until_kept(second, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_a_client_that_dies_before_it_has_kept_the_end_is_given_it_again() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    let given = |story: &mut Story| story.transcript().contains("client is given the end");
    stage.story.until("the end", given);
    stage.story.world.kill_client(stage.client);
    stage.pass_lease();
    assert_eq!(stage.kept(task, 0), Some(Kept::Open));
    stage.story.world.return_client(stage.client);
    stage.until_kept(task, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_who_is_absent_is_told_when_it_speaks() {
    let mut stage = Stage::new();
    let task = stage.launch_with("wait 3000; say found it", false);
    stage.story.world.kill_client(stage.client);
    stage.story.until_status(task, Status::Completed);
    stage.story.pass(60_000);
    let tries = |story: &Story| story.transcript().matches("→ clients: tell").count();
    assert_eq!((tries(&stage.story), stage.messages()), (1, 0));
    stage.story.world.return_client(stage.client);
    stage.story.pass(60_000);
    assert_eq!((tries(&stage.story), stage.messages()), (1, 0), "it has not spoken");
    let spoken = stage.asks(Ask::Output { task: "bg_nobody00".to_owned(), offset: 0 });
    stage.story.answer(spoken);
    stage.until_message();
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_who_polls_while_a_message_is_on_its_way_waits_for_that() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    stage.story.world.kill_front(stage.client);
    let inbox = stage.story.world.clients.window.unwrap();
    let slow_until = stage.story.world.now.plus(COLLECT_LEASE_MS + 5_000);
    stage.story.world.windows[inbox].slow_until = slow_until;
    let sent = |story: &mut Story| story.transcript().contains("→ clients: tell");
    stage.story.until("a message on its way", sent);
    stage.story.world.connect_front(stage.client);
    stage.story.pass(2_500);
    assert_eq!((stage.kept(task, 0), stage.messages()), (Some(Kept::Open), 0));
    stage.until_kept(task, 0, KNOWN);
    assert_eq!(stage.messages(), 1);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m3_a_lost_word_that_it_was_handed_over_is_said_again() {
    let mut stage = Stage::new();
    let task = stage.launch("wait 3000; say found it");
    let given = |story: &mut Story| story.transcript().contains("client is given the end");
    stage.story.until("the end", given);
    // Nobody has heard what the front has to say.
    stage.story.world.restart_daemon();
    stage.until_kept(task, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}

#[test]
fn m6_questions_change_what_a_poll_is_answered() {
    let mut stage = Stage::new();
    let task = stage.launch("ask; say found it");
    stage.story.pass(15_000);
    let polls = |story: &Story| story.transcript().matches("client polls for").count();
    let asked = polls(&stage.story);
    stage.story.pass(1_000);
    assert_eq!(polls(&stage.story), asked, "a client that knows the question waits again");
    let process = stage.story.world.windows[1].process;
    let question = stage.story.world.oc.questions(process)[0].id.clone();
    stage.story.person(Ask::Reply { question, reply: Reply::Once });
    stage.until_kept(task, 0, WHOLE);
    stage.pass_lease();
    assert_eq!(stage.messages(), 0);
    insta::assert_snapshot!(stage.story.end());
}
