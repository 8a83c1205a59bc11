//! Lines queued for one connection. Sending never waits: a connection that does not read is cut
//! off, so that it can neither hold up others nor fill the memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use legwork_host::Outgoing;
use legwork_machine::lock;
use legwork_protocol::line::{BadLine, FromDaemon, check_size, encode};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::limits::{SEND_QUEUE_MAX_BYTES, SEND_QUEUE_MAX_LINES, WRITE_MAX};

/// Clones send to the same connection.
#[derive(Debug, Clone, Default)]
pub struct SendQueue(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
    /// The connection is cut off, whatever is being written.
    cut: Notify,
}

const TOO_MUCH: &str = "it left too much unread";

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Nothing more is taken, and why.
    closed: Option<String>,
}

impl SendQueue {
    /// Sends a line, unless it is one that the connection would not read.
    pub fn send(&self, line: &FromDaemon) -> Result<(), BadLine> {
        let line = encode(line);
        check_size(&line)?;
        let mut state = lock(&self.0.state);
        if state.closed.is_some() {
            return Ok(());
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        if state.bytes > SEND_QUEUE_MAX_BYTES || state.lines.len() > SEND_QUEUE_MAX_LINES {
            *state = State { closed: Some(TOO_MUCH.to_owned()), ..State::default() };
            self.0.cut.notify_one();
        }
        drop(state);
        self.0.changed.notify_one();
        Ok(())
    }

    /// The last line to this connection.
    pub fn bye(&self, why: &str, leaving: bool) {
        // As short as a line gets.
        let _ = self.send(&FromDaemon::Bye { why: why.to_owned(), leaving });
        lock(&self.0.state).closed.get_or_insert_with(|| why.to_owned());
        self.0.changed.notify_one();
    }

    /// Lines that the connection has not begun to read.
    pub fn behind(&self) -> usize {
        lock(&self.0.state).lines.len()
    }

    /// Writes what is sent until there is a last line or the connection does not take it. Gives
    /// back why it ended.
    pub async fn deliver(&self, mut to: impl AsyncWrite + Unpin) -> String {
        loop {
            match self.next() {
                (Some(line), _) => {
                    let written = tokio::select! {
                        written = write(&mut to, &line) => written,
                        () = self.0.cut.notified() => Err(TOO_MUCH.to_owned()),
                    };
                    if let Err(why) = written {
                        return why;
                    }
                }
                (None, Some(why)) => return why,
                (None, None) => self.0.changed.notified().await,
            }
        }
    }

    /// The next line, and why it is the last but those that wait.
    fn next(&self) -> (Option<Vec<u8>>, Option<String>) {
        let mut state = lock(&self.0.state);
        let line = state.lines.pop_front();
        state.bytes -= line.as_ref().map_or(0, Vec::len);
        (line, state.closed.clone())
    }
}

impl Outgoing for SendQueue {
    fn send(&self, line: &FromDaemon) -> Result<(), BadLine> {
        Self::send(self, line)
    }
}

async fn write(to: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> Result<(), String> {
    let mut rest = line;
    while !rest.is_empty() {
        match timeout(WRITE_MAX, to.write(rest)).await {
            Ok(Ok(0)) => return Err("it takes nothing more".to_owned()),
            Ok(Ok(written)) => rest = &rest[written..],
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err(format!("it read nothing for {} s", WRITE_MAX.as_secs())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn answer(text: &str) -> FromDaemon {
        FromDaemon::Answer { id: 1, text: text.to_owned(), task: None }
    }

    #[tokio::test]
    async fn lines_arrive_in_order_and_the_last_one_ends_it() {
        let send_queue = SendQueue::default();
        let (near, mut far) = tokio::io::duplex(64);
        send_queue.send(&answer("one")).unwrap();
        send_queue.send(&answer("two")).unwrap();
        send_queue.bye("enough", false);
        send_queue.send(&answer("three")).unwrap();
        let mut text = String::new();
        let (why, read) = tokio::join!(send_queue.deliver(near), far.read_to_string(&mut text));
        read.unwrap();
        assert_eq!(why, "enough");
        let kinds: Vec<&str> = text.lines().map(|line| &line[..14]).collect();
        assert_eq!(kinds, [r#"{"type":"answe"#, r#"{"type":"answe"#, r#"{"type":"bye","#]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_cut_off() {
        let send_queue = SendQueue::default();
        let (near, _far) = tokio::io::duplex(64);
        send_queue.send(&answer(&"x".repeat(1_000))).unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(send_queue.deliver(near).await, "it read nothing for 30 s");
        assert_eq!(begun.elapsed().as_secs(), WRITE_MAX.as_secs());
    }

    #[tokio::test]
    async fn what_waits_for_a_peer_is_bounded() {
        let send_queue = SendQueue::default();
        let long = answer(&"x".repeat(8 << 20));
        for _ in 0..10 {
            send_queue.send(&long).unwrap();
        }
        assert_eq!(send_queue.behind(), 0);
        assert_eq!(send_queue.deliver(tokio::io::sink()).await, TOO_MUCH);
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_too_much_unread_is_cut_off_in_the_middle_of_a_line() {
        let send_queue = SendQueue::default();
        let (near, _far) = tokio::io::duplex(64);
        let begun = tokio::time::Instant::now();
        let flood = async {
            for _ in 0..SEND_QUEUE_MAX_LINES + 10 {
                send_queue.send(&answer("x")).unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (why, ()) = tokio::join!(send_queue.deliver(near), flood);
        assert_eq!((why.as_str(), begun.elapsed().as_secs()), (TOO_MUCH, 0));
    }

    #[test]
    fn a_line_that_the_peer_would_not_read_is_not_sent() {
        let send_queue = SendQueue::default();
        assert!(send_queue.send(&answer(&"x".repeat(17 << 20))).is_err());
        assert_eq!(send_queue.behind(), 0);
    }
}
