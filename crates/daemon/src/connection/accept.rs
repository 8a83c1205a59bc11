//! Accepts connections: those of our user, up to so many at once.

use std::sync::Arc;

use legwork_protocol::line::{FromDaemon, encode};
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::silent::Silent;
use super::{ConnectionId, Shared, serve, socket};
use crate::limits::{ACCEPT_PAUSE, CONNECTIONS_MAX, LAST_KNOCK, PERMIT_MAX, WRITE_MAX};

/// How many connections there may be. Clones are the same limit.
#[derive(Debug, Clone)]
pub struct ConnectionLimit(Arc<Semaphore>);

impl Default for ConnectionLimit {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(CONNECTIONS_MAX)))
    }
}

impl ConnectionLimit {
    /// How many there are, those included that have not said hello yet.
    pub fn taken(&self) -> usize {
        CONNECTIONS_MAX - self.0.available_permits()
    }

    /// Takes a permit. If none is free, the oldest connection that has not said hello is closed.
    async fn take(&self, silent: &Silent) -> Option<OwnedSemaphorePermit> {
        if self.0.available_permits() == 0 && !silent.cut_first() {
            return None;
        }
        timeout(PERMIT_MAX, self.0.clone().acquire_owned()).await.ok()?.ok()
    }

    /// Waits until there are none.
    pub async fn all_free(&self) {
        // It is never closed.
        let _ = self.0.acquire_many(CONNECTIONS_MAX as u32).await;
    }
}

/// The socket that is listened on; another one after it was lost.
pub type Listener = watch::Receiver<Arc<UnixListener>>;

pub async fn keep(mut listener: Listener, limit: ConnectionLimit, shared: Shared) -> ! {
    let mut next = 0;
    loop {
        let current = listener.borrow_and_update().clone();
        let accepted = tokio::select! {
            accepted = current.accept() => accepted,
            Ok(()) = listener.changed() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                shared.log.peer(format_args!("a connection could not be taken: {error}"));
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if let Err(why) = socket::check_peer(&stream) {
            shared.log.peer(format_args!("a connection was refused: {why}"));
            continue;
        }
        let Some(permit) = limit.take(&shared.silent).await else {
            shared.log.peer(format_args!("over {CONNECTIONS_MAX} connections; one was refused"));
            let why = format!("The legwork daemon has {CONNECTIONS_MAX} connections already.");
            tokio::spawn(turn_away(stream, FromDaemon::Bye { why, leaving: false }));
            continue;
        };
        let silent = shared.silent.add(ConnectionId(next));
        tokio::spawn(serve(stream, ConnectionId(next), shared.clone(), permit, silent));
        next += 1;
    }
}

/// Whoever connected too late is told that the daemon ends, and starts another.
pub async fn close(listener: &Listener, why: &str) {
    let listener = listener.borrow().clone();
    while let Ok(Ok((stream, _))) = timeout(LAST_KNOCK, listener.accept()).await {
        if socket::check_peer(&stream).is_ok() {
            turn_away(stream, FromDaemon::Bye { why: why.to_owned(), leaving: true }).await;
        }
    }
}

async fn turn_away(mut stream: UnixStream, bye: FromDaemon) {
    // It fits into the socket's own buffer.
    let _ = timeout(WRITE_MAX, stream.write_all(&encode(&bye))).await;
}
