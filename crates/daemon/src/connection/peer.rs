//! Somebody who is connected, as the loop knows it: what it has asked and not been answered, and
//! what it follows.

use std::collections::BTreeMap;
use std::time::Instant;

use legwork_protocol::line::FromDaemon;
use legwork_protocol::view::News;
use legwork_protocol::{CallId, HostId, Refusal};

use super::{Origin, SendQueue};
use crate::board::Looking;
use crate::limits::{OPEN_CALLS_MAX, WATCHER_MAX_BEHIND};
use crate::reading::Reader;

#[derive(Debug)]
pub struct Peer {
    /// The host that it stands for; a person's program stands for none.
    pub host: Option<HostId>,
    pub send_queue: SendQueue,
    pub origin: Origin,
    /// Its build, if it is newer than this daemon and would start the next one.
    pub successor: Option<String>,
    /// What has no answer yet, by the peer's own numbers.
    pub open: BTreeMap<u64, Open>,
    /// When it last said something.
    pub heard: Instant,
}

/// Something that a peer asked and that is not over.
#[derive(Debug)]
pub enum Open {
    Call(CallId),
    /// It follows. News that were left out because it reads too slowly: the first, and how many.
    Follow(Option<(News, u64)>),
    /// A conversation is read for it.
    Reading(Reader),
    /// It waits for a change of the board.
    Board(Looking),
}

impl Peer {
    pub fn new(host: Option<HostId>, send_queue: SendQueue, origin: Origin) -> Self {
        let (open, heard) = (BTreeMap::new(), Instant::now());
        Self { host, send_queue, origin, successor: None, open, heard }
    }

    pub fn refuse(&self, id: u64, refusal: Refusal) {
        self.send(id, &FromDaemon::refused(id, refusal));
    }

    /// Answers a call or request; what is too long for a line is refused instead.
    pub fn send(&self, id: u64, line: &FromDaemon) {
        if let Err(bad) = self.send_queue.send(line) {
            let why = Refusal::BadRequest(format!("The answer cannot be sent: {bad}."));
            let _ = self.send_queue.send(&FromDaemon::refused(id, why));
        }
    }

    /// Whether a call or request with this number can be taken on; if not, it is answered why.
    pub fn takes(&self, id: u64) -> bool {
        let why = if self.open.contains_key(&id) {
            format!("The number {id} is in use.")
        } else if self.open.len() >= OPEN_CALLS_MAX {
            format!("{OPEN_CALLS_MAX} calls have no answer yet. Wait for some of them.")
        } else {
            return true;
        };
        self.refuse(id, Refusal::BadRequest(why));
        false
    }

    /// Tells it, if it follows and keeps up.
    pub fn tell(&mut self, news: &News) {
        for (id, open) in &mut self.open {
            let Open::Follow(left_out) = open else { continue };
            if self.send_queue.behind() >= WATCHER_MAX_BEHIND {
                left_out.get_or_insert_with(|| (news.clone(), 0)).1 += 1;
                continue;
            }
            if let Some((first, count)) = left_out.take() {
                let line = format!("{count} lines were left out from here on: they came too fast");
                send_news(&self.send_queue, *id, News { line, detail: false, ..first });
            }
            send_news(&self.send_queue, *id, news.clone());
        }
    }
}

fn send_news(send_queue: &SendQueue, id: u64, news: News) {
    // A sentence is short.
    let _ = send_queue.send(&FromDaemon::News { id, news });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(line: &str) -> News {
        let task = legwork_protocol::TaskId::from_number(1);
        News { at: legwork_protocol::Time(1), task, run: 0, line: line.to_owned(), detail: false }
    }

    #[test]
    fn a_slow_watcher_is_told_how_much_it_missed() {
        let mut peer = Peer::new(None, SendQueue::default(), Origin::Unseen);
        peer.open.insert(7, Open::Follow(None));
        for _ in 0..WATCHER_MAX_BEHIND + 5 {
            peer.tell(&news("launched"));
        }
        assert_eq!(peer.send_queue.behind(), WATCHER_MAX_BEHIND);
        let Some(Open::Follow(Some((_, left_out)))) = peer.open.get(&7) else {
            panic!("nothing was left out")
        };
        assert_eq!(*left_out, 5);
        peer.send_queue = SendQueue::default();
        peer.tell(&news("completed"));
        assert_eq!(peer.send_queue.behind(), 2, "how many were left out, and the news");
    }
}
