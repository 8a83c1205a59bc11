//! The worker with a host that hangs, panics and goes, in virtual time.

use std::sync::{Arc, Mutex};

use legwork_engine::Action;
use legwork_engine::record::Target;
use legwork_engine::text::toast::ToastKind;
use legwork_host::HostFuture;
use legwork_protocol::TaskId;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;

/// Stops hang until they are let go, finding missing sessions panics, the rest is done at once.
#[derive(Debug, Default)]
struct Fake {
    let_go: Notify,
    seen: Mutex<Vec<String>>,
}

impl Host for Fake {
    fn perform<'a>(&'a self, action: &'a Action) -> HostFuture<'a, Result<Finding, HostError>> {
        Box::pin(async move {
            match action {
                Action::Stop { .. } => self.let_go.notified().await,
                Action::Observe { .. } => std::future::pending().await,
                Action::FindMissing { .. } => panic!("a host with a bug"),
                _ => {}
            }
            self.seen.lock().unwrap().push(format!("{action:?}").chars().take(5).collect());
            Ok(Finding::Done)
        })
    }

    fn toast<'a>(&'a self, toast: &'a Toast) -> HostFuture<'a, ()> {
        self.seen.lock().unwrap().push(toast.title.clone());
        Box::pin(std::future::ready(()))
    }
}

fn worker() -> (Arc<Fake>, HostWorker, UnboundedReceiver<Found>) {
    let fake = Arc::new(Fake::default());
    let (findings, found) = mpsc::unbounded_channel();
    (fake.clone(), HostWorker::new(fake, findings), found)
}

fn work(id: u64, action: Action) -> Work {
    Work { id: WorkId(id), host: "h".parse().unwrap(), action }
}

fn stop(session: &str) -> Action {
    let target = Target::Session(session.parse().unwrap());
    Action::Stop { task: TaskId::from_number(1), target }
}

fn probe(session: &str) -> Action {
    Action::Probe { session: session.parse().unwrap() }
}

const UNREACHABLE: Result<Finding, HostError> = Err(HostError::Unreachable);

#[tokio::test(start_paused = true)]
async fn what_hangs_is_unreachable_after_ten_seconds_and_still_not_overtaken() {
    let (fake, worker, mut found) = worker();
    let begun = Instant::now();
    worker.give(work(1, stop("a")));
    worker.give(work(2, probe("b")));
    assert_eq!(found.recv().await, Some((WorkId(2), Ok(Finding::Done))));
    assert_eq!(found.recv().await, Some((WorkId(1), UNREACHABLE)));
    assert_eq!(begun.elapsed().as_secs(), UNIT_MAX.as_secs());
    worker.give(work(3, probe("a")));
    worker.give(work(4, probe("b")));
    assert_eq!(found.recv().await, Some((WorkId(4), Ok(Finding::Done))));
    assert_eq!(fake.seen.lock().unwrap().len(), 2, "the third waits");
    fake.let_go.notify_one();
    assert_eq!(found.recv().await, Some((WorkId(3), Ok(Finding::Done))));
    assert_eq!(*fake.seen.lock().unwrap(), ["Probe", "Probe", "Stop ", "Probe"]);
    drop(worker);
    assert_eq!(found.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_hangs_does_not_hold_its_session_for_ever() {
    let (_fake, worker, mut found) = worker();
    let session = "a".parse().unwrap();
    worker.give(work(1, Action::Observe { session, message: "m".parse().unwrap() }));
    assert_eq!(found.recv().await, Some((WorkId(1), UNREACHABLE)));
    worker.give(work(2, probe("a")));
    assert_eq!(found.recv().await, Some((WorkId(2), Ok(Finding::Done))));
}

#[tokio::test]
async fn when_the_link_breaks_what_is_under_way_is_given_up() {
    let (fake, worker, mut found) = worker();
    worker.give(work(1, stop("a")));
    tokio::task::yield_now().await;
    drop(worker);
    assert_eq!(found.recv().await, None);
    assert_eq!(Arc::strong_count(&fake), 1);
}

#[tokio::test]
async fn a_host_that_panics_has_not_answered() {
    let (_fake, worker, mut found) = worker();
    worker.give(work(1, Action::FindMissing { sessions: Vec::new() }));
    assert_eq!(found.recv().await, Some((WorkId(1), UNREACHABLE)));
    worker.give(work(2, probe("a")));
    assert_eq!(found.recv().await, Some((WorkId(2), Ok(Finding::Done))));
}

#[tokio::test(start_paused = true)]
async fn n8_a_toast_goes_after_what_it_is_about() {
    let (fake, worker, mut found) = worker();
    let (title, message) = ("Completed".to_owned(), String::new());
    worker.show(Toast { title, message, kind: ToastKind::Success, duration_ms: 1 });
    tokio::task::yield_now().await;
    worker.give(work(1, probe("a")));
    assert_eq!(found.recv().await, Some((WorkId(1), Ok(Finding::Done))));
    tokio::time::sleep(TOAST_AFTER).await;
    tokio::task::yield_now().await;
    assert_eq!(*fake.seen.lock().unwrap(), ["Probe", "Completed"]);
}
