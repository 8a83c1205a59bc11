//! Sessions: how they are made, found and deleted.

use legwork_protocol::{SessionId, TaskId};
use legwork_sim::host::{ApiError, Kind, NewSession, Status};

use crate::contract::{Contract, body};
use crate::subject::{host, host_alone};

#[test]
fn a_parent_is_not_checked() {
    let mut host = host();
    let parent = "ses_nope".parse().ok();
    let session = host.create(NewSession { parent, ..NewSession::default() });
    assert!(host.messages(&session).unwrap().is_empty());
}

#[test]
fn a_session_is_found_by_its_mark_after_a_restart() {
    let mut host = host_alone();
    let mark = TaskId::from_number(9);
    let session = host.create(NewSession { mark: Some(mark), ..NewSession::default() });
    host.restart();
    assert_eq!(host.marked(mark), [session]);
    assert!(host.marked(mark.next()).is_empty());
}

#[test]
fn an_unknown_session_is_not_found_and_a_malformed_id_is_a_server_error() {
    let mut host = host();
    let unknown: SessionId = "ses_unknown".parse().unwrap();
    let malformed: SessionId = "nonsense".parse().unwrap();
    assert_eq!(host.prompt(&unknown, body(0, "say a")), Err(ApiError::NotFound));
    assert_eq!(host.delete(&unknown), Err(ApiError::NotFound));
    assert_eq!(host.messages(&malformed).err(), Some(ApiError::ServerError));
}

#[test]
fn delete_takes_the_children_first_and_a_second_delete_finds_nothing() {
    let mut host = host();
    let parent = host.open();
    let child = host.create(NewSession { parent: Some(parent.clone()), ..NewSession::default() });
    assert_eq!(host.delete(&parent), Ok(true));
    host.until(|host| host.events().len() > 1);
    let gone: Vec<&SessionId> = host.events().iter().map(|event| &event.session).collect();
    assert_eq!(gone, [&child, &parent]);
    assert_eq!(host.delete(&parent), Err(ApiError::NotFound));
    assert_eq!(host.delete(&child), Err(ApiError::NotFound));
}

#[test]
fn deleting_a_busy_session_does_not_stop_it_and_an_abort_still_does() {
    let mut host = host();
    let session = host.open();
    host.send(&session, 0, "hang");
    host.until_busy(&session);
    host.delete(&session).unwrap();
    host.until(|host| host.count(|kind| *kind == Kind::Deleted) == 1);
    host.forget_events();
    host.wait(60_000);
    assert_eq!(host.status(&session), Some(Status::Busy));
    assert!(host.events().is_empty());
    assert!(host.abort(&session));
    host.until(|host| host.status(&session).is_none());
}
