//! What waits is bounded. The clock stands still but for where somebody waits for it, so that half
//! a minute takes no time.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use super::*;
use crate::page::limits::{EVENTS_AHEAD, WRITE_MAX};

fn front() -> Front {
    let folder = tempfile::tempdir().unwrap();
    Front::bind(&Folders::in_home(folder.path()), 0).unwrap()
}

/// One side of a connection that is served.
fn served(front: &Front) -> DuplexStream {
    let (ours, theirs) = duplex(1 << 10);
    let shared = front.shared.clone();
    tokio::spawn(serve_one(theirs, shared, Known::default()));
    ours
}

async fn read_all(mut stream: DuplexStream) -> String {
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    String::from_utf8_lossy(&read).into_owned()
}

#[tokio::test(start_paused = true)]
async fn v3_a_head_that_never_ends_is_given_up() {
    let (front, began) = (front(), Instant::now());
    let mut stream = served(&front);
    stream.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
    let read = read_all(stream).await;
    assert!(!read.contains("200 OK"), "{read}");
    assert_eq!(began.elapsed().as_secs(), REQUEST_MAX.as_secs());
}

#[tokio::test(start_paused = true)]
async fn v3_a_body_that_never_ends_is_given_up() {
    let (front, began) = (front(), Instant::now());
    let mut stream = served(&front);
    let (port, token) = (front.port, front.shared.guard.token.reveal());
    let head = format!(
        "POST /api/clear HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\norigin: \
         http://127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\ncontent-length: 9\r\n\
         connection: close\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let read = read_all(stream).await;
    assert!(read.contains("504") && read.contains("took too long"), "{read}");
    assert_eq!(began.elapsed().as_secs(), REQUEST_MAX.as_secs());
}

#[tokio::test(start_paused = true)]
async fn v3_a_reader_that_reads_nothing_is_given_up() {
    let (front, began) = (front(), Instant::now());
    let (port, (mut stream, theirs)) = (front.port, duplex(16));
    let serving = tokio::spawn(serve_one(theirs, front.shared.clone(), Known::default()));
    let asked = format!("GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(asked.as_bytes()).await.unwrap();
    serving.await.unwrap();
    assert_eq!(began.elapsed().as_secs(), WRITE_MAX.as_secs());
}

#[tokio::test]
async fn v3_for_a_tab_that_does_not_read_nothing_is_kept() {
    let (front, made) = (front(), Arc::new(AtomicUsize::new(0)));
    let making = made.clone();
    let mut events = stream(seat(front.shared.clone()).unwrap(), |tab| async move {
        loop {
            making.fetch_add(1, Ordering::Relaxed);
            tab.event("board", &json!({})).await?;
        }
    });
    for read in 0..3 {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(made.load(Ordering::Relaxed), read + EVENTS_AHEAD + 1, "one waits for room");
        events.frame().await.unwrap().unwrap();
    }
    assert_eq!(*front.shared.tabs.borrow(), 1);
    drop(events);
    assert_eq!(*front.shared.tabs.borrow(), 0);
    assert_eq!(front.shared.seats.available_permits(), STREAMS_MAX);
}

#[tokio::test(start_paused = true)]
async fn v2_it_ends_when_no_tab_was_open_for_a_while() {
    let (front, began) = (front(), Instant::now());
    let linger = Duration::from_secs(60);
    let open = seat(front.shared.clone()).unwrap();
    let waiting = idle(&front.shared.tabs, Some(linger));
    tokio::pin!(waiting);
    let early = timeout(10 * linger, &mut waiting).await;
    assert!(early.is_err(), "somebody looks at it");
    drop(open);
    waiting.await;
    assert_eq!(began.elapsed(), 11 * linger);
    let never = timeout(10 * linger, idle(&front.shared.tabs, None)).await;
    assert!(never.is_err(), "in the foreground it stays");
}
