//! What somebody says who is connected: on whose behalf a call is made, what its caller may do, and
//! which news a host may have.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Instant;

use legwork_engine::{Caller, Hint, Input};
use legwork_machine::process;
use legwork_protocol::line::{Context, Environment, ToDaemon};
use legwork_protocol::{Ask, CallKey, HostId, TaskId};
use serde_json::Value;

use crate::connection::{ConnectionId, Origin, Standing};
use crate::daemon::Daemon;

impl Daemon {
    pub(crate) fn heard(&mut self, peer: ConnectionId, line: ToDaemon) {
        // One that was displaced may still have lines under way.
        let Some(from) = self.shell.outside().guests.get_mut(&peer) else { return };
        from.heard = Instant::now();
        let host = from.host.clone();
        if let ToDaemon::Call { id, .. } | ToDaemon::Query { id, .. } = &line {
            let id = *id;
            if !from.takes(id) {
                return;
            }
            if let Some(why) = self.check_records() {
                return self.refuse(peer, id, why);
            }
        }
        match line {
            ToDaemon::Call { id, key, tool, arguments, mut context } => {
                let standing = self.peer_standing(peer);
                let environment = context.as_mut().and_then(|context| context.environment.take());
                let ask = read_call(&tool, arguments);
                let ask = ask.and_then(|ask| standing.refuses_ask(&ask).map_or(Ok(ask), Err));
                match ask.and_then(|ask| Ok((self.caller(host, key, context)?, ask))) {
                    Ok((caller, ask)) => {
                        self.comes_with(&caller, &ask, environment);
                        self.ask(peer, id, caller, ask);
                    }
                    Err(text) => self.refuse(peer, id, text),
                }
            }
            ToDaemon::Query { id, query } => match host {
                None => match self.peer_standing(peer).refuses_query(&query) {
                    None => self.query(peer, id, query),
                    Some(why) => self.refuse(peer, id, why),
                },
                Some(_) => self.refuse(peer, id, "A host does not ask this.".to_owned()),
            },
            ToDaemon::Cancel { id } => {
                if let Some(call) = self.shell.outside().close(peer, id) {
                    self.step(Input::Dropped { call });
                }
            }
            ToDaemon::Event { name, properties } => {
                let Some(host) = host else { return };
                for hint in self.shell.outside().hints(&host, &name, &properties) {
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
    ) -> Result<Caller, String> {
        let Some(context) = context else {
            return match host {
                None => Ok(Caller::Person),
                Some(_) => Err("A host's call needs the context of its session.".to_owned()),
            };
        };
        let host = match host {
            Some(host) => host,
            None => self.built_in.keeper(&context)?,
        };
        let Context { session, message, agent, directory, environment: _ } = context;
        Ok(Caller::Session { host, session, key, message, agent, directory })
    }

    /// What a connected program may do. A host's calls are its sessions'.
    fn peer_standing(&mut self, peer: ConnectionId) -> Standing {
        let guest = self.shell.outside().guests.get(&peer).filter(|guest| guest.host.is_none());
        match guest.map(|guest| guest.origin.clone()) {
            Some(origin) => self.standing(&origin),
            None => Standing::Free,
        }
    }

    pub(crate) fn standing(&mut self, origin: &Origin) -> Standing {
        let hosts = self.shell.outside().hosts.keys();
        let id = |host: &HostId| process::pid_here(process::mark_in(host.as_str())?);
        let hosts: Vec<u32> = hosts.filter_map(id).filter(|id| *id != std::process::id()).collect();
        origin.standing(|mark| self.built_in.is_mark(mark), &hosts)
    }

    /// What is launched or resumed by this call is to have this environment. A task that somebody
    /// else works on keeps its own.
    fn comes_with(&mut self, caller: &Caller, ask: &Ask, environment: Option<Environment>) {
        let (Caller::Session { host, session, .. }, Some(environment)) = (caller, environment)
        else {
            return;
        };
        match ask {
            Ask::Launch { .. } if self.built_in.contains(host) => {
                self.built_in.launches_with(session, environment);
            }
            Ask::Resume { task, .. } => {
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

    pub(crate) fn refuse(&mut self, peer: ConnectionId, id: u64, why: String) {
        if let Some(guest) = self.shell.outside().guests.get(&peer) {
            guest.answer(id, true, why);
        }
    }

    /// Puts a question to the engine.
    pub(crate) fn ask(&mut self, peer: ConnectionId, id: u64, caller: Caller, ask: Ask) {
        let call = self.shell.outside().open_call(peer, id);
        self.step(Input::Ask { call, caller, ask, spare: spare() });
    }
}

fn read_call(tool: &str, arguments: Value) -> Result<Ask, String> {
    Ask::from_tool(tool, arguments).map_err(|refusal| refusal.text())
}

/// An id for a task, by the dice that the standard library has for its maps.
fn spare() -> TaskId {
    TaskId::from_number(RandomState::new().build_hasher().finish())
}
