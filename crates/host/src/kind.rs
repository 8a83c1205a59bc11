//! Kinds of hosts that connect over the daemon's socket.

use std::fmt::Debug;
use std::sync::Arc;

use legwork_protocol::line::Startup;
use legwork_protocol::{HostId, Place};
use tokio::sync::oneshot;

use crate::host::{Host, HostFuture};
use crate::link::Link;

/// A kind of host that connects. The daemon holds one value for each kind, for as long as it runs,
/// so what all hosts of a kind share can live in it.
pub trait Kind: Debug + Send + Sync {
    /// The kind as a hello names it.
    fn name(&self) -> &'static str;

    /// The host at the other end of a new link. Must not wait for the host: it says what it wants
    /// to know with its first action.
    fn connect(&self, id: HostId, link: Link) -> Arc<dyn Host>;

    /// Starts a host of this place without a window, which connects by itself. None if that is not
    /// a place of this kind, or hosts of this kind are not started by us.
    fn start_headless(&self, place: &Place, how: &HowToStart) -> Option<Starting> {
        let _ = (place, how);
        None
    }
}

/// How a host of a place is to be started.
#[derive(Debug)]
pub struct HowToStart {
    /// The folder to start it in.
    pub directory: String,
    /// Another one of the place, which it is to be like. None if nobody has told of one since the
    /// daemon was started.
    pub like: Option<Startup>,
}

/// A host that is being started.
pub struct Starting {
    /// Its process, once there is one.
    pub process: oneshot::Receiver<u32>,
    /// Done when it has connected; else why it did not.
    pub done: HostFuture<'static, Result<(), String>>,
}
