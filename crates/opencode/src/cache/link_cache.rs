//! What one OpenCode need not be asked twice over one link. Only saves requests: without it, or
//! with a new one, they are made again. What a person or another process may change unseen is kept
//! for a minute at most.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use legwork_machine::lock;
use legwork_protocol::SessionId;
use serde_json::Value;
use tokio::time::Instant;

use crate::cache::event_cache::EventCache;
use crate::limits::{AGENTS_KEPT, MODELS_KEPT};
use crate::wire::choice::Model;

#[derive(Debug, Default)]
pub struct LinkCache {
    known: Mutex<Known>,
    pub(crate) event_cache: Arc<EventCache>,
}

#[derive(Debug, Default)]
struct Known {
    agents: Option<(Instant, Arc<Vec<Value>>)>,
    /// The model of each session that was opened over this link; it is the session's for good.
    models: BTreeMap<SessionId, Option<Model>>,
}

impl LinkCache {
    /// For a link whose events go to this cache.
    pub fn with(event_cache: Arc<EventCache>) -> Self {
        Self { event_cache, known: Mutex::default() }
    }

    pub(crate) fn agents(&self) -> Option<Arc<Vec<Value>>> {
        let known = lock(&self.known);
        let (read, agents) = known.agents.as_ref()?;
        (read.elapsed() < AGENTS_KEPT).then(|| agents.clone())
    }

    pub(crate) fn agents_are(&self, agents: Arc<Vec<Value>>) {
        lock(&self.known).agents = Some((Instant::now(), agents));
    }

    /// The model that the session was opened for, if this is known; it may be none.
    pub(crate) fn model_of(&self, session: &SessionId) -> Option<Option<Model>> {
        lock(&self.known).models.get(session).cloned()
    }

    pub(crate) fn opened(&self, session: SessionId, model: Option<Model>) {
        keep(&mut lock(&self.known).models, MODELS_KEPT, session, model);
    }
}

/// Inserts into a bounded map. When it is full, it is cleared first: what is missing is asked for
/// again.
pub fn keep<K: Ord, V>(all: &mut BTreeMap<K, V>, most: usize, key: K, value: V) {
    if all.len() >= most {
        all.clear();
    }
    all.insert(key, value);
}
