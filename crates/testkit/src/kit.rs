//! The runtime on which everything of the testkit runs, whatever runtime a test has: a server that
//! several tests share must not end with the test that started it. Also the way in which all parts
//! wait: look, wait for news, look again, and give up loudly.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

/// How long a wait lasts before it panics. Only a test that fails waits so long, so this is for a
/// machine that has much else to do: a first turn takes 3 s, and with seven times as much to do as
/// the machine can, over 20 s.
pub const DEADLINE: Duration = Duration::from_secs(180);

static KIT: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
});

/// Runs a future to its end, for tests that are not asynchronous themselves.
pub fn block_on<F: Future>(future: F) -> F::Output {
    KIT.block_on(future)
}

pub(crate) fn spawn<F>(future: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    KIT.spawn(future)
}

/// Runs a future on the kit's runtime, so that its sockets belong there.
pub(crate) async fn on_kit<F>(future: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    match KIT.spawn(future).await {
        Ok(output) => output,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// A server's loop, which ends with this.
#[derive(Debug)]
pub(crate) struct Accepting(pub tokio::task::AbortHandle);

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Something that changes and tells so.
#[derive(Debug, Default)]
pub(crate) struct News(tokio::sync::Notify);

impl News {
    pub fn tell(&self) {
        self.0.notify_waiters();
    }

    /// Asks again after every change until there is an answer; `None` when the time is up.
    pub async fn until<T>(
        &self,
        within: Duration,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + within;
        loop {
            let mut told = std::pin::pin!(self.0.notified());
            // Before the look, or a change between the two is missed.
            told.as_mut().enable();
            if let Some(found) = look() {
                return Some(found);
            }
            if timeout_at(end, told).await.is_err() {
                return look();
            }
        }
    }
}

/// Asks every few milliseconds until there is an answer; `None` when the time is up. For what tells
/// nobody that it changed: files, screens, processes.
pub async fn poll<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() > end {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}
