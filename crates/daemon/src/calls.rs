//! What somebody says who is connected: on whose behalf a call is made, what its caller may do, and
//! which news a host may have.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Instant;

use legwork_engine::text::fence::Fence;
use legwork_engine::{Caller, Hint, Input};
use legwork_machine::process;
use legwork_protocol::api::{Ask, Refusal, ToolCall};
use legwork_protocol::line::{Context, Environment, ToDaemon};
use legwork_protocol::{CallKey, HostId, TaskId};

use crate::connection::{ConnectionId, Origin, Standing};
use crate::daemon::Daemon;
use crate::world::Form;

impl Daemon {
    pub(crate) fn heard(&mut self, connection: ConnectionId, line: ToDaemon) {
        // One that was displaced may still have lines under way.
        let Some(from) = self.shell.outside().peers.get_mut(&connection) else { return };
        from.heard = Instant::now();
        let host = from.host.clone();
        if let ToDaemon::Call { id, .. } | ToDaemon::Request { id, .. } = &line {
            let id = *id;
            if !from.takes(id) {
                return;
            }
            if let Some(why) = self.check_records() {
                return self.refuse_if((connection, id), Err(why));
            }
        }
        match line {
            ToDaemon::Call { id, key, tool, arguments, context } => {
                let told = context.as_ref().and_then(|context| Some(context.client.as_ref()?.told));
                let asked = ToolCall::read(&tool, arguments).and_then(|ToolCall { ask, note }| {
                    let form = Form::Text(note, fence(), told);
                    self.ask((connection, id), (key, context), ask, form)
                });
                self.refuse_if((connection, id), asked);
            }
            ToDaemon::Request { id, key, request, context } => {
                let asked = self.request((connection, id), (key, context), request);
                self.refuse_if((connection, id), asked);
            }
            ToDaemon::Cancel { id } => {
                if let Some(call) = self.shell.outside().close(connection, id) {
                    self.step(Input::Dropped { call });
                }
            }
            ToDaemon::Event { name, properties } => {
                let Some(host) = host else { return };
                let attached = self.shell.outside().hosts.get(&host);
                let hints = attached.map(|attached| attached.host.hints(&name, &properties));
                for hint in hints.into_iter().flatten() {
                    if self.may_tell(&host, &hint) {
                        self.step(Input::Hint(hint));
                    }
                }
            }
            // These are dealt with where the connection is read.
            ToDaemon::Hello { .. } | ToDaemon::Result(_) => {}
        }
    }

    /// Whether a host may have news of this session: it is not known to be kept elsewhere. Nobody
    /// but the person vouches for a server that is reached by its address.
    fn may_tell(&mut self, host: &HostId, hint: &Hint) -> bool {
        let Some(session) = hint.session().cloned() else { return true };
        let place = self.shell.outside().hosts.get(host).map(|host| host.place.clone());
        let Some(place) = place else { return false };
        let now = self.clock.now();
        self.shell.read(now, |engine| engine.may_be_of(&session, &place)) != Some(false)
    }

    /// Who calls: a host's call is a session's; one that comes with a session from elsewhere is
    /// that of a terminal, which a built-in host keeps; any other is a person's.
    fn caller(
        &self,
        host: Option<HostId>,
        key: CallKey,
        context: Option<Context>,
    ) -> Result<Caller, Refusal> {
        let Some(context) = context else {
            return match host {
                None => Ok(Caller::Person),
                Some(_) => {
                    let why = "A host's call needs the context of its session.";
                    Err(Refusal::BadRequest(why.to_owned()))
                }
            };
        };
        let host = match host {
            Some(host) => host,
            None => self.built_in.keeper(&context).map_err(Refusal::BadRequest)?,
        };
        let Context { session, message, agent, directory, .. } = context;
        let taken_over = self.built_in.taken_over(&session);
        Ok(Caller::Session { host, session, key, message, agent, directory, taken_over })
    }

    /// Whether a person at this host's screen may decide this: what concerns helpers of its place,
    /// or helpers that its sessions launched. The host could do both itself.
    fn is_decided_at(&mut self, host: &HostId, ask: &Ask) -> bool {
        let place = self.shell.outside().hosts.get(host).map(|host| host.place.clone());
        let Some(place) = place else { return false };
        let now = self.clock.now();
        self.shell.read(now, |engine| engine.concerns(&place, ask)).unwrap_or(false)
    }

    /// What a connected program may do. A host's calls are its sessions'.
    pub(crate) fn peer_standing(&mut self, connection: ConnectionId) -> Standing {
        let peer = self.shell.outside().peers.get(&connection).filter(|peer| peer.host.is_none());
        match peer.map(|peer| peer.origin.clone()) {
            Some(origin) => self.standing(&origin),
            None => Standing::Free,
        }
    }

    pub(crate) fn standing(&mut self, origin: &Origin) -> Standing {
        let hosts = self.shell.outside().hosts.keys();
        let id = |host: &HostId| process::pid_here(process::mark_in(host.as_str())?);
        let hosts: Vec<u32> = hosts.filter_map(id).filter(|id| *id != std::process::id()).collect();
        let detached = &self.shell.outside().headless.detached;
        origin.standing(|mark| self.built_in.is_mark(mark), &hosts, detached)
    }

    /// A session that polls for a task of another one has taken it over.
    fn goes_on_with(&mut self, caller: &Caller, ask: &Ask) -> Result<(), Refusal> {
        let (Ask::Collect { task, .. }, Caller::Session { host, session, .. }) = (ask, caller)
        else {
            return Ok(());
        };
        if !self.built_in.contains(host) {
            return Ok(());
        }
        let now = self.clock.now();
        match self.shell.read(now, |engine| engine.view(task, now)) {
            Some(Ok(task)) if task.parent != *session => {
                self.built_in.takes_over(session, task.id).map_err(Refusal::BadRequest)
            }
            // What is not there is refused as any other.
            _ => Ok(()),
        }
    }

    /// What is launched or resumed by this call is to have this environment. A task that somebody
    /// else works on keeps its own.
    fn comes_with(&mut self, caller: &Caller, ask: &Ask, environment: Option<Environment>) {
        let Some(environment) = environment else { return };
        match (ask, caller) {
            (Ask::Launch { .. }, Caller::Session { host, session, .. })
                if self.built_in.contains(host) =>
            {
                self.built_in.launches_with(session, environment);
            }
            (Ask::Resume { task, .. }, Caller::Session { .. })
            | (Ask::ResumeAny { task, .. }, Caller::Person) => {
                let now = self.clock.now();
                let view = self.shell.read(now, |engine| engine.view(task, now));
                if let Some(Ok(view)) = view
                    && !view.status.is_unfinished()
                {
                    self.built_in.resumes_with(view.id, environment);
                }
            }
            _ => {}
        }
    }

    fn refuse_if(&mut self, (connection, id): Number, asked: Result<(), Refusal>) {
        let Err(refusal) = asked else { return };
        if let Some(peer) = self.shell.outside().peers.get(&connection) {
            peer.refuse(id, refusal);
        }
    }

    /// Puts something to the engine on behalf of whoever asks.
    pub(crate) fn ask(
        &mut self,
        (connection, id): Number,
        (key, mut context): (CallKey, Option<Context>),
        ask: Ask,
        form: Form,
    ) -> Result<(), Refusal> {
        if let Some(refusal) = self.peer_standing(connection).refuses_ask(&ask) {
            return Err(refusal);
        }
        let host = self.shell.outside().peers.get(&connection).and_then(|peer| peer.host.clone());
        let environment = context.as_mut().and_then(|context| context.environment.take());
        // A person who resumes brings an environment along, and is nobody's session for that.
        let context = match (&ask, &host) {
            (Ask::ResumeAny { .. }, None) => None,
            _ => context,
        };
        let caller = match (&host, &context, form) {
            // The person at a host's screen.
            (Some(host), None, Form::Values) if self.is_decided_at(host, &ask) => Caller::Person,
            _ => self.caller(host, key, context)?,
        };
        if let (Caller::Person, Ask::Output { task, .. }) = (&caller, &ask) {
            self.check_kept(task)?;
        }
        self.comes_with(&caller, &ask, environment);
        self.goes_on_with(&caller, &ask)?;
        let call = self.shell.outside().open_call(connection, id, form);
        self.step(Input::Ask { call, caller, ask, spare: spare() });
        Ok(())
    }
}

/// A call or request: the connection, and its number there.
pub(crate) type Number = (ConnectionId, u64);

/// An id for a task, by the dice that the standard library has for its maps.
fn spare() -> TaskId {
    TaskId::from_number(RandomState::new().build_hasher().finish())
}

/// No helper knows the dice.
pub(crate) fn fence() -> Fence {
    Fence::of(&spare().to_string(), "")
}
