//! Kinds of hosts that connect over the daemon's socket.

use std::fmt::Debug;
use std::sync::Arc;

use legwork_protocol::HostId;

use crate::host::Host;
use crate::link::Link;

/// A kind of host that connects. The daemon holds one value for each kind, for as long as it runs,
/// so what all hosts of a kind share can live in it.
pub trait Kind: Debug + Send + Sync {
    /// The kind as a hello names it.
    fn name(&self) -> &'static str;

    /// The host at the other end of a new link. Must not wait for the host: it says what it wants
    /// to know with its first action.
    fn connect(&self, id: HostId, link: Link) -> Arc<dyn Host>;
}
