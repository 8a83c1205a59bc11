//! Connections that have not said hello. They are few at a time, so that whoever opens many and
//! says nothing keeps nobody else out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use legwork_machine::lock;
use tokio::sync::Notify;

use super::ConnectionId;
use crate::limits::SILENT_MAX;

/// All of them. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Silent(Arc<Mutex<BTreeMap<ConnectionId, Arc<Notify>>>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Waiting {
    all: Silent,
    id: ConnectionId,
    cut: Arc<Notify>,
}

impl Silent {
    /// One more. If there are too many, the one that came first has to go.
    pub fn add(&self, id: ConnectionId) -> Waiting {
        let cut = Arc::new(Notify::new());
        lock(&self.0).insert(id, cut.clone());
        if lock(&self.0).len() > SILENT_MAX {
            self.cut_first();
        }
        Waiting { all: self.clone(), id, cut }
    }

    /// The one that came first has to go, if there is one.
    pub fn cut_first(&self) -> bool {
        let first = lock(&self.0).pop_first();
        if let Some((_, first)) = &first {
            first.notify_one();
        }
        first.is_some()
    }
}

impl Waiting {
    pub async fn cut(&self) {
        self.cut.notified().await;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.all.0).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn g3_of_too_many_that_say_nothing_the_first_has_to_go() {
        let silent = Silent::default();
        let mut all: Vec<Waiting> =
            (0..SILENT_MAX as u64).map(|number| silent.add(ConnectionId(number))).collect();
        let goes =
            async |waiting: &Waiting| timeout(Duration::from_secs(1), waiting.cut()).await.is_ok();
        assert!(!goes(&all[0]).await);
        // One says hello, so there is room for another.
        drop(all.remove(5));
        all.push(silent.add(ConnectionId(1_000)));
        assert!(!goes(&all[0]).await);
        all.push(silent.add(ConnectionId(1_001)));
        assert!(goes(&all[0]).await);
        assert!(!goes(&all[1]).await);
        drop(all);
        assert!(lock(&silent.0).is_empty());
    }
}
