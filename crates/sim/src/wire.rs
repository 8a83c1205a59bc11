//! What the simulated daemon sends out, kept until the world carries it away. A dead daemon sends
//! nothing.

use std::collections::BTreeSet;

use legwork_engine::shell::Outside;
use legwork_engine::{Headless, Say, Work};
use legwork_protocol::{CallId, HostId};

use crate::books::Fuse;

/// The daemon's outgoing post.
#[derive(Debug, Default)]
pub struct Wire {
    /// What was said, in order.
    pub said: Vec<(CallId, Say)>,
    /// What hosts are to do, in order.
    pub work: Vec<Work>,
    /// Headless hosts that are to start or to end.
    pub headless: Vec<Headless>,
    /// Hosts whose process has ended.
    pub ended: BTreeSet<HostId>,
    pub fuse: Fuse,
}

impl Outside for Wire {
    fn say(&mut self, call: CallId, said: Say) {
        if self.fuse.burn() {
            self.said.push((call, said));
        }
    }

    fn start(&mut self, work: Work) {
        if self.fuse.burn() {
            self.work.push(work);
        }
    }

    fn headless(&mut self, order: Headless) {
        if self.fuse.burn() {
            self.headless.push(order);
        }
    }

    fn has_ended(&mut self, host: &HostId) -> bool {
        self.ended.contains(host)
    }

    fn trouble(&mut self, _what: &str) {}
}
