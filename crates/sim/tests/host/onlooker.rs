//! What a person does in the host, two processes, and what only an onlooker can know.

use std::sync::Arc;

use legwork_protocol::TaskId;
use legwork_sim::host::{ApiError, Kind, Nasty, NewSession, OpenCode, Prompt, Status};

use crate::contract::{Contract, body, id, text};
use crate::subject::{host, host_with};

fn persons_agent() -> Arc<str> {
    "plan".into()
}

#[test]
fn a_person_is_announced_and_we_are_not() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "say a");
    host.until_quiet(&session);
    assert_eq!(host.count(|kind| *kind == Kind::Used), 0);
    let process = host.process;
    let message = host.host.used(process, &session, &persons_agent(), "say b").unwrap();
    host.until_quiet(&session);
    assert_eq!(host.count(|kind| *kind == Kind::Used), 1);
    assert_eq!(text(&host.answers(&session, &message)), ["b"]);
}

#[test]
fn a_prompt_of_ours_makes_an_undo_permanent_and_is_found_out() {
    let mut host = host();
    let session = host.open();
    let process = host.process;
    host.host.set_revert(process, &session).unwrap();
    assert!(host.host.get(&session).unwrap().revert_pending);
    host.host.clear_revert(process, &session).unwrap();
    host.send(&session, 0, "say a");
    host.until_quiet(&session);
    assert_eq!(host.host.undos_destroyed(), 0);
    host.host.set_revert(process, &session).unwrap();
    host.prompt(&session, Prompt { no_reply: true, ..body(1, "told") }).unwrap();
    host.wait(1_000);
    assert_eq!(host.host.undos_destroyed(), 1);
    assert!(!host.host.get(&session).unwrap().revert_pending);
}

#[test]
fn a_persons_own_prompt_ends_the_undo_rightly() {
    let mut host = host();
    let session = host.open();
    let process = host.process;
    host.host.set_revert(process, &session).unwrap();
    host.host.used(process, &session, &persons_agent(), "say a").unwrap();
    assert_eq!(host.host.undos_destroyed(), 0);
    assert!(!host.host.get(&session).unwrap().revert_pending);
}

#[test]
fn two_processes_share_sessions_but_neither_status_nor_events() {
    let mut host = host();
    let other = host.host.boot();
    let session = host.open();
    host.send(&session, 0, "hang");
    host.until_busy(&session);
    assert_eq!(host.host.status(other).count(), 0);
    assert_eq!(host.host.abort(other, &session), Ok(true));
    assert_eq!(host.status(&session), Some(Status::Busy));
    host.wait(10_000);
    host.forget_events();
    host.host.prompt_async(other, &session, body(1, "say other")).unwrap();
    host.wait(60_000);
    assert!(host.events().iter().all(|event| event.process == other));
    assert_eq!(text(&host.answers(&session, &id(1))), ["other"]);
    assert_eq!(host.host.running_sessions(host.process).count(), 1);
}

#[test]
fn two_processes_may_answer_one_prompt_twice() {
    let mut host = host();
    let other = host.host.boot();
    let session = host.open();
    host.send(&session, 0, "wait 4000; say first");
    host.until_busy(&session);
    host.host.prompt_async(other, &session, body(1, "wait 30000; say second")).unwrap();
    host.wait(200_000);
    assert!(host.host.tally(&id(1)).unwrap().answered > 1);
}

#[test]
fn a_process_that_quits_closes_what_it_left() {
    let mut host = host();
    let session = host.open();
    let message = host.send(&session, 0, "hang");
    host.until_busy(&session);
    let process = host.process;
    host.host.quit(process);
    assert!(host.answers(&session, &message)[0].error.is_some());
    assert!(!host.host.alive(process));
    assert_eq!(host.host.abort(process, &session), Err(ApiError::ServerError));
}

#[test]
fn the_facts_count_what_happened() {
    let mut host = host();
    let mark = TaskId::from_number(3);
    let session = host.create(NewSession { mark: Some(mark), ..NewSession::default() });
    let first = host.send(&session, 0, "wait 3000; say first");
    host.until_busy(&session);
    let second = host.send(&session, 1, "say second");
    host.until_quiet(&session);
    host.send(&session, 1, "say second");
    host.until_quiet(&session);
    let facts = host.host.get(&session).unwrap().facts;
    assert_eq!((facts.turns, facts.empty_turns), (1, 1));
    let (one, two) = (host.host.tally(&first).unwrap(), host.host.tally(&second).unwrap());
    assert_eq!((one.started, one.joined, one.answered), (1, 0, 1));
    assert_eq!((two.started, two.joined, two.answered, two.stored), (1, 1, 1, 2));
    host.delete(&session).unwrap();
    assert_eq!((host.host.ever_marked(mark), host.marked(mark).len()), (1, 0));
}

#[test]
fn what_runs_on_after_an_abort_is_seen() {
    let mut host = host_with(Nasty { busy_ms: (300, 300), ..Nasty::scripted() });
    let session = host.open();
    host.send(&session, 0, "wait 5000; say anyway");
    host.wait(100);
    host.abort(&session);
    host.until_quiet(&session);
    assert!(host.host.ran_after_abort(&session) > 5_000);
    host.send(&session, 1, "hang");
    host.wait(10_000);
    host.abort(&session);
    assert_eq!(host.host.ran_after_abort(&session), 0);
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let history = |seed| {
        let mut host = OpenCode::new(0, seed, Nasty::default());
        let process = host.boot();
        let mut events = Vec::new();
        for number in 0..30 {
            let session = host.create(NewSession::default());
            let script = "tool bash; retry 1; tool edit; say done";
            host.prompt_async(process, &session, body(number, script)).unwrap();
        }
        while let Some(due) = host.next_due() {
            host.advance(due.max(host.now()), &mut events);
        }
        events
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}
