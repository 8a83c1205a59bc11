//! A newer legwork takes over. Several versions on one machine are normal, and the newest is to be
//! the daemon: it knows what the others know, and perhaps a store that they do not.
//!
//! This daemon makes way as soon as nothing is unfinished and no call waits, although others are
//! connected: they come back by themselves, as after a crash. What they look at (the board, a
//! conversation, the news) they ask for again.

use crate::connection::{Open, Peer};
use crate::daemon::Daemon;
use crate::version::{BUILD, is_newer};

/// The build of somebody who connects, if a daemon of theirs would be newer. Who would start none
/// takes no other's place.
pub fn successor(build: &str, starts: bool) -> Option<String> {
    (starts && is_newer(build)).then(|| build.to_owned())
}

impl Daemon {
    /// Ends this daemon for a newer one, if nobody would miss it.
    pub(crate) fn makes_way_for(&mut self, successor: Option<&str>) -> bool {
        let Some(build) = successor.filter(|_| self.may_be_replaced()) else { return false };
        self.leaving = Some(format!("legwork {build} takes over from {BUILD}."));
        true
    }

    /// The same for one that came while there was something to do.
    pub(crate) fn make_way(&mut self) {
        let peers = self.shell.outside().peers.values();
        let successor = peers.filter_map(|peer| peer.successor.clone()).next();
        self.makes_way_for(successor.as_deref());
    }

    fn may_be_replaced(&mut self) -> bool {
        !self.shell.outside().peers.values().any(waits) && self.has_nothing_to_do()
    }

    /// Whether a daemon with another line format may take its place. Whoever is connected would be
    /// shut out by that one.
    pub(crate) fn is_alone(&mut self) -> bool {
        self.shell.outside().peers.is_empty() && self.has_nothing_to_do()
    }
}

/// Whether it has asked something that is not asked again and again anyway.
fn waits(peer: &Peer) -> bool {
    peer.open.values().any(|open| match open {
        Open::Call(_) => true,
        Open::Follow(_) | Open::Reading(_) | Open::Board(_) => false,
    })
}
