//! The one trait that every host implements.

use std::fmt::Debug;
use std::pin::Pin;

use legwork_engine::text::toast::Toast;
use legwork_engine::{Action, Finding, Hint, HostError, Serves};
use legwork_protocol::SessionId;
use legwork_protocol::api::transcript::Entry;
use legwork_protocol::line::Wanted;
use legwork_protocol::tools::OfferedAgent;
use serde_json::Value;
use tokio::sync::watch;

/// What a host is doing. Dropped, it stops asking for anything.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One host, as the daemon sees it.
///
/// The daemon calls the methods from one worker per host, which keeps the order of each lane and
/// gives up on what takes longer than ten seconds. None of the methods may block the thread.
pub trait Host: Debug + Send + Sync {
    /// Performs one action and says what it found.
    ///
    /// An action may come twice, because the daemon may die between the effect and the record of
    /// it. So whatever has a fixed id (an opened session's mark, a message's id) is looked up
    /// before it is made; after the reads at most one write follows. A dropped future asks for
    /// nothing more. A host that does not support an action answers with [`unsupported`].
    fn perform<'a>(&'a self, action: &'a Action) -> HostFuture<'a, Result<Finding, HostError>>;

    /// Whose helpers run here. A host that serves everyone is asked for an agent that the asker's
    /// own host does not have.
    fn serves(&self) -> Serves {
        Serves::OwnPlace
    }

    /// The agents that work can be handed to here, those first that are made for it. Never from a
    /// cache: whoever asks wants to know what is so now.
    fn agents(&self) -> HostFuture<'_, Result<Vec<OfferedAgent>, HostError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// The events that the front of this host forwards, sent to it once when it connects.
    fn wanted_events(&self) -> Vec<Wanted> {
        Vec::new()
    }

    /// Reads an event. What is unknown or malformed hints at nothing. Hints only trigger a check,
    /// so one too many does no harm.
    fn hints(&self, name: &str, properties: &Value) -> Vec<Hint> {
        let _ = (name, properties);
        Vec::new()
    }

    /// Shows a toast, if the host has a screen. Nothing depends on whether it is seen.
    fn toast<'a>(&'a self, toast: &'a Toast) -> HostFuture<'a, ()> {
        let _ = toast;
        Box::pin(std::future::ready(()))
    }

    /// What was said and done in a session, oldest first: all of it, or all from the entry with
    /// this key on. A key that is gone gives all of it.
    ///
    /// Entries keep their keys for good. A person reads them, so nothing depends on them.
    fn conversation<'a>(
        &'a self,
        session: &'a SessionId,
        from: Option<&'a str>,
    ) -> HostFuture<'a, Result<Vec<Entry>, HostError>> {
        let _ = (session, from);
        Box::pin(std::future::ready(Err(unsupported("this"))))
    }

    /// Changes whenever that may have changed. Somebody follows it as long as they hold this, and a
    /// moment longer; what is done only for them ends then. None if there is nothing to follow.
    fn follow(&self, session: &SessionId) -> Option<watch::Receiver<u64>> {
        let _ = session;
        None
    }

    /// The link to the host is lost, and so may be events. Forgets everything that was kept only to
    /// save requests.
    fn link_lost(&self) {}
}

/// The answer of a host of this kind to an action that it does not support, such as opening a
/// session where sessions are only notified.
pub fn unsupported(kind: &str) -> HostError {
    HostError::Rejected { why: format!("a host of the kind {kind} does not do that") }
}
