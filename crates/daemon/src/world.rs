//! Everything outside of the engine: who is connected, which of their calls are open, and the hosts
//! that are attached. Performs what the shell asks for; decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use legwork_engine::input::Progress;
use legwork_engine::shell::Outside;
use legwork_engine::text::answers;
use legwork_engine::text::fence::Fence;
use legwork_engine::text::toast::Toast;
use legwork_engine::{Headless, HostError, Say, Work, WorkId};
use legwork_host::{Host, Kind};
use legwork_machine::process;
use legwork_protocol::api::{Answer, Note, Told};
use legwork_protocol::limits::RESULT_LINE_MAX_BYTES;
use legwork_protocol::line::{FromDaemon, HostLifetime, beginning};
use legwork_protocol::view::{HostView, News};
use legwork_protocol::{CallId, HostId, Place, TaskId};
use tokio::sync::watch;

use crate::board::Looking;
use crate::calls::Number;
use crate::connection::{ConnectionId, Open, Peer};
use crate::host::{BuiltIns, Findings, HeadlessHosts, HostWorker};
use crate::limits::CLIENTS_MAX;
use crate::log::Log;
use crate::reading::{Here, Reads};

#[derive(Debug)]
pub struct World {
    pub peers: BTreeMap<ConnectionId, Peer>,
    pub hosts: BTreeMap<HostId, Attached>,
    /// Where the answer to a call goes, and in which form.
    calls: BTreeMap<CallId, (ConnectionId, u64, Form)>,
    next_call: u64,
    /// The work in flight, and its host.
    in_flight: BTreeMap<WorkId, HostId>,
    built_in: BuiltIns,
    findings: Findings,
    pub reads: Reads,
    /// The kinds of hosts that may connect.
    pub kinds: Arc<[Box<dyn Kind>]>,
    pub headless: HeadlessHosts,
    pub log: Log,
}

/// In which form somebody wants an answer.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// As a model reads it; what its front says of how it is told goes first.
    Text(Option<Note>, Fence, Option<Told>),
    /// As it is.
    Values,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// The host that was reached through it.
    pub host: Option<HostId>,
    pub calls: Vec<CallId>,
    /// Work that will not come back.
    pub work: Vec<WorkId>,
}

#[derive(Debug)]
pub struct Attached {
    /// The connection that it is reached through; none for a built-in host.
    pub connection: Option<ConnectionId>,
    pub kind: &'static str,
    pub place: Place,
    pub lifetime: HostLifetime,
    pub host: Arc<dyn Host>,
    pub worker: HostWorker,
    /// Dropped with the rest when it leaves.
    pub is_there: watch::Sender<()>,
    /// Requests made over its link so far, for people.
    pub requests: Arc<AtomicU64>,
    pub versions: Versions,
}

/// Of which legwork the parts are that a host is reached through; a built-in host needs none.
#[derive(Debug, Default)]
pub struct Versions {
    pub bridge: String,
    /// Nothing if there is no plugin, or an older one.
    pub plugin: Option<String>,
}

impl Attached {
    /// `opencode run` has none, and when it is about to end, a call would only hold it up.
    pub fn has_screen(&self) -> bool {
        self.lifetime == HostLifetime::Interactive
    }
}

impl World {
    pub fn new(
        built_in: BuiltIns,
        kinds: Vec<Box<dyn Kind>>,
        (findings, reads): (Findings, Reads),
        headless: HeadlessHosts,
        log: Log,
    ) -> Self {
        Self {
            peers: BTreeMap::new(),
            hosts: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            in_flight: BTreeMap::new(),
            built_in,
            findings,
            reads,
            kinds: kinds.into(),
            headless,
            log,
        }
    }

    pub fn worker(&self, host: &Arc<dyn Host>) -> HostWorker {
        HostWorker::new(host.clone(), self.findings.clone())
    }

    /// A new call of this connection, under the connection's own number.
    pub fn open_call(&mut self, connection: ConnectionId, id: u64, form: Form) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        if let Some(peer) = self.peers.get_mut(&connection) {
            peer.open.insert(id, Open::Call(call));
            self.calls.insert(call, (connection, id, form));
        }
        call
    }

    /// Nobody waits for this any more. Gives back the call that it was.
    pub fn close(&mut self, connection: ConnectionId, id: u64) -> Option<CallId> {
        match self.peers.get_mut(&connection)?.open.remove(&id)? {
            Open::Call(call) => {
                self.calls.remove(&call);
                Some(call)
            }
            Open::Follow(_) | Open::Reading(_) | Open::Board(_) => None,
        }
    }

    /// Whether somebody still waits for what this work found. Nobody does a second time.
    pub fn came_back(&mut self, work: WorkId) -> bool {
        self.in_flight.remove(&work).is_some()
    }

    /// The connection is gone, and with it what is given back.
    pub fn remove(&mut self, id: ConnectionId) -> Option<Gone> {
        let peer = self.peers.remove(&id)?;
        let mut gone = Gone::default();
        for open in peer.open.into_values() {
            if let Open::Call(call) = open {
                self.calls.remove(&call);
                gone.calls.push(call);
            }
        }
        if let Some(host) = peer.host {
            if let Some(attached) = self.hosts.remove(&host) {
                attached.host.link_lost();
            }
            let its = self.in_flight.extract_if(.., |_, asked| *asked == host);
            gone.work = its.map(|(work, _)| work).collect();
            gone.host = Some(host);
        }
        Some(gone)
    }

    /// A person's program that waits for nothing and was silent longest, if there are so many that
    /// one has to go for the next. Nothing, too, if all of them wait for something.
    pub fn crowded(&self) -> Result<Option<ConnectionId>, ()> {
        let clients = || self.peers.iter().filter(|(_, peer)| peer.host.is_none());
        if clients().count() < CLIENTS_MAX {
            return Ok(None);
        }
        let idle = clients().filter(|(_, peer)| peer.open.is_empty());
        idle.min_by_key(|(_, peer)| peer.heard).map(|(id, _)| Some(*id)).ok_or(())
    }

    /// The host that can be asked for sessions of this place: this one if it is there.
    pub fn host_of(&self, host: &HostId, place: &Place) -> Option<Here> {
        let its = self.hosts.get(host).filter(|host| host.place == *place);
        let other = || self.hosts.values().find(|host| host.place == *place);
        let here = |attached: &Attached| Here {
            host: attached.host.clone(),
            is_there: attached.is_there.subscribe(),
        };
        its.or_else(other).map(here)
    }

    /// Whoever reads the conversation of this task looks again; without a task everybody does.
    pub fn hurry_readers(&self, task: Option<TaskId>) {
        let open = self.peers.values().flat_map(|peer| peer.open.values());
        for open in open {
            if let Open::Reading(reader) = open
                && task.is_none_or(|task| task == reader.task)
            {
                reader.hurry.notify_one();
            }
        }
    }

    /// Those who wait for a change of the board.
    pub fn looking(&self) -> impl Iterator<Item = (Number, &Looking)> {
        let open = self.peers.iter().flat_map(|(connection, peer)| {
            peer.open.iter().map(|(id, open)| ((*connection, *id), open))
        });
        open.filter_map(|(number, open)| match open {
            Open::Board(looking) => Some((number, looking)),
            Open::Call(_) | Open::Follow(_) | Open::Reading(_) => None,
        })
    }

    pub fn tell(&mut self, news: &News) {
        for peer in self.peers.values_mut() {
            peer.tell(news);
        }
    }

    /// Shows something on a host's screen, if it is there and has one.
    pub fn show(&self, host: &HostId, toast: Toast) {
        if let Some(host) = self.hosts.get(host).filter(|host| host.has_screen()) {
            host.worker.show(toast);
        }
    }

    pub fn host_views(&self) -> Vec<HostView> {
        let connected = self.hosts.iter().filter(|(_, host)| host.connection.is_some());
        let view = |(id, host): (&HostId, &Attached)| HostView {
            host: id.clone(),
            kind: host.kind.to_owned(),
            place: host.place.clone(),
            lifetime: host.lifetime,
            requests: host.requests.load(Ordering::Relaxed),
            bridge: host.versions.bridge.clone(),
            plugin: host.versions.plugin.clone(),
        };
        connected.map(view).collect()
    }
}

/// An answer that fits into a line: of a long result as much as does, from its offset on.
fn fitting(mut answer: Answer) -> Answer {
    if let Answer::Output(output) = &mut answer
        && let Some(whole) = &mut output.text
    {
        let skipped = usize::try_from(output.offset).unwrap_or(usize::MAX);
        let from = whole.char_indices().nth(skipped).map_or(whole.len(), |(at, _)| at);
        let rest = &whole[from..];
        let page = beginning(rest, RESULT_LINE_MAX_BYTES);
        let taken = page.chars().count() as u64;
        output.next = (page.len() < rest.len()).then(|| output.offset.saturating_add(taken));
        *whole = page.to_owned();
    }
    answer
}

impl Outside for World {
    fn say(&mut self, call: CallId, said: Say) {
        let Some((connection, id, form)) = self.calls.get(&call).copied() else { return };
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        match said {
            Say::Progress(progress) => {
                let (text, Progress { left, waited_ms }) =
                    (answers::still_waiting(progress), progress);
                peer.send(id, &FromDaemon::Progress { id, left, waited_ms, text });
            }
            Say::Answer(answer) => {
                match (answer, form) {
                    (Err(refusal), _) => peer.refuse(id, refusal),
                    (Ok(mut answer), Form::Text(note, fence, as_front_says)) => {
                        if let Answer::Launched { told, .. } | Answer::Resumed { told, .. } =
                            &mut answer
                        {
                            *told = as_front_says.unwrap_or(*told);
                        }
                        let text = answers::answer(&answer, note, fence);
                        peer.send(id, &FromDaemon::Answer { id, text, task: answer.task() });
                    }
                    (Ok(answer), Form::Values) => {
                        peer.send(id, &FromDaemon::Data { id, data: fitting(answer) });
                    }
                }
                peer.open.remove(&id);
                self.calls.remove(&call);
            }
        }
    }

    fn start(&mut self, work: Work) {
        self.in_flight.insert(work.id, work.host.clone());
        match self.hosts.get(&work.host) {
            Some(host) => host.worker.give(work),
            // Through the inbox, like any other finding: the engine is in the middle of a step.
            None => {
                let _ = self.findings.send((work.id, Err(HostError::Unreachable)));
            }
        }
    }

    fn headless(&mut self, order: Headless) {
        match order {
            Headless::Start { place, directory } => {
                self.headless.start(&self.kinds, place, directory);
            }
            Headless::End { host } => self.headless.end(host),
        }
    }

    fn has_ended(&mut self, host: &HostId) -> bool {
        let ended = |mark| !process::is_alive(mark);
        self.built_in.was_before(host) || process::mark_in(host.as_str()).is_some_and(ended)
    }

    fn trouble(&mut self, what: &str) {
        self.log.warn(what);
    }
}

#[cfg(test)]
mod tests {
    use legwork_engine::{Action, Finding};
    use legwork_host::{BuiltIn, HostFuture};
    use tokio::sync::mpsc::{self, UnboundedReceiver};

    use super::*;
    use crate::connection::{Origin, SendQueue};
    use crate::host::Found;
    use crate::limits::OPEN_CALLS_MAX;

    fn host(id: &str) -> HostId {
        id.parse().unwrap()
    }

    fn world() -> World {
        with_findings().0
    }

    fn with_findings() -> (World, UnboundedReceiver<Found>) {
        let home = tempfile::tempdir().unwrap();
        let log = Log::open(&home.path().join("log"), false).unwrap();
        let (findings, found) = mpsc::unbounded_channel();
        let (hints, _) = mpsc::unbounded_channel();
        let opening: legwork_host::Opening = Box::new(|_| Ok(Arc::new(Mute(host("mute")))));
        let detached = Arc::default();
        let built_in = BuiltIns::open(vec![opening], &hints, &log, &detached).unwrap();
        let headless = HeadlessHosts::new(detached, hints, log.clone());
        let reads = Reads::new(mpsc::unbounded_channel().0);
        (World::new(built_in, Vec::new(), (findings, reads), headless, log), found)
    }

    fn work(id: u64) -> Work {
        Work {
            id: WorkId(id),
            host: host("h"),
            action: Action::FindMissing { sessions: Vec::new() },
        }
    }

    /// Never answers.
    #[derive(Debug)]
    struct Mute(HostId);

    impl Host for Mute {
        fn perform<'a>(&'a self, _: &'a Action) -> HostFuture<'a, Result<Finding, HostError>> {
            Box::pin(std::future::pending())
        }
    }

    impl BuiltIn for Mute {
        fn id(&self) -> &HostId {
            &self.0
        }

        fn place(&self) -> &Place {
            unreachable!("nobody asks")
        }

        fn kind(&self) -> &'static str {
            "mute"
        }

        fn was_before(&self, host: &HostId) -> bool {
            host.as_str().starts_with("mute-")
        }
    }

    #[tokio::test]
    async fn work_in_flight_goes_with_its_host_and_comes_back_once() {
        let (mut world, _found) = with_findings();
        let connection = ConnectionId(1);
        world
            .peers
            .insert(connection, Peer::new(Some(host("h")), SendQueue::default(), Origin::Unseen));
        let mute: Arc<dyn Host> = Arc::new(Mute(host("h")));
        let attached = Attached {
            connection: Some(connection),
            kind: "mute",
            place: "p".parse().unwrap(),
            lifetime: HostLifetime::Interactive,
            worker: world.worker(&mute),
            is_there: watch::channel(()).0,
            host: mute,
            requests: Arc::default(),
            versions: Versions::default(),
        };
        world.hosts.insert(host("h"), attached);
        for id in [1, 2, 3] {
            world.start(work(id));
        }
        assert!(world.came_back(WorkId(2)));
        assert!(!world.came_back(WorkId(2)));
        let gone = world.remove(connection).unwrap();
        assert_eq!((gone.host, gone.work), (Some(host("h")), vec![WorkId(1), WorkId(3)]));
        assert!(!world.came_back(WorkId(1)));
        assert!(world.hosts.is_empty());
        assert_eq!(world.remove(connection), None);
    }

    #[tokio::test]
    async fn work_for_a_host_that_is_not_there_comes_back_unreachable() {
        let (mut world, mut found) = with_findings();
        world.start(work(1));
        assert_eq!(found.recv().await, Some((WorkId(1), Err(HostError::Unreachable))));
        assert!(world.came_back(WorkId(1)));
    }

    #[test]
    fn only_a_process_that_is_known_to_have_ended_has_ended() {
        let mut world = world();
        let mark = process::process_mark(std::process::id()).unwrap();
        assert!(!world.has_ended(&host(&format!("opencode-{mark}-0badcafe"))));
        let gone = format!("opencode-{}-1-00000000-0badcafe", std::process::id());
        assert!(world.has_ended(&host(&gone)));
        // One of another container is away at the most, and one that was part of an earlier daemon
        // is gone: we have its lock.
        let (here, elsewhere) = (mark.rsplit_once('.').map_or("1-1-0", |(here, _)| here), "1");
        let elsewhere = format!("{here}.{elsewhere}-0badcafe");
        assert!(!world.has_ended(&host(&format!("opencode-{elsewhere}"))));
        assert!(world.has_ended(&host(&format!("mute-{elsewhere}"))));
        for id in ["opencode", "opencode-", "opencode-1", "opencode-x-y-z-w", "a-b-c"] {
            assert!(!world.has_ended(&host(id)), "{id}");
        }
    }

    #[test]
    fn a_peer_cannot_have_calls_without_end() {
        let mut world = world();
        let connection = ConnectionId(1);
        world.peers.insert(connection, Peer::new(None, SendQueue::default(), Origin::Unseen));
        for id in 0..OPEN_CALLS_MAX as u64 {
            assert!(world.peers[&connection].takes(id));
            world.open_call(connection, id, Form::Values);
        }
        assert!(!world.peers[&connection].takes(3));
        assert!(!world.peers[&connection].takes(u64::MAX));
        assert_eq!(world.close(connection, 3), Some(CallId(3)));
        assert!(world.peers[&connection].takes(3));
        let gone = world.remove(connection).unwrap();
        assert_eq!((gone.host, gone.calls.len()), (None, OPEN_CALLS_MAX - 1));
        assert!(world.calls.is_empty());
    }
}
