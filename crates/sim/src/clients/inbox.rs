//! The inbox of a client's session: what is put into it is there for good, and nothing can be put
//! into it while the client does not run. A client may have none.

use legwork_engine::work::Wake;
use legwork_engine::{Action, Finding, HostError};
use legwork_protocol::SessionId;

use crate::adapter::{self, Plan, Write};
use crate::world::World;

/// Times in a thousand that an inbox takes nothing right now, where things go wrong.
const BUSY: u32 = 100;

impl World {
    /// Reads what an action on a window needs to know.
    pub(crate) fn reads(&mut self, window: usize, action: &Action) -> Plan {
        let plan = adapter::read(&self.oc, self.windows[window].process, action);
        if !self.is_clients(window) {
            return plan;
        }
        match plan {
            Plan::Write(Write::Send(to, _)) if !self.is_pushed(&to, action) => {
                Plan::Over(Ok(Finding::Pulled))
            }
            Plan::Write(Write::Send(to, _)) if !self.client_runs(&to) => {
                Plan::Over(Ok(Finding::Absent))
            }
            Plan::Write(_) if self.faults.slow > 0 && self.dice.chance(BUSY) => {
                Plan::Over(Err(HostError::Busy))
            }
            plan => plan,
        }
    }

    /// Puts a message into an inbox; it may say so at once, or only when it is asked again.
    pub(crate) fn put_into_inbox(&mut self, write: Write) -> Result<Finding, HostError> {
        let Write::Send(to, prompt) = write else { return Err(HostError::Gone) };
        if !self.client_runs(&to) {
            return Err(HostError::Unreachable);
        }
        self.oc.put(&to, prompt).map_err(|_| HostError::Gone)?;
        Ok(if self.dice.chance(500) { Finding::Delivered } else { Finding::Done })
    }

    /// What is to start no turn waits for the next one, as does everything without an inbox.
    fn is_pushed(&self, session: &SessionId, action: &Action) -> bool {
        let is_to_wake = matches!(action, Action::Deliver { wake: Wake::StartTurn, .. });
        is_to_wake && self.client_of(session).is_some_and(|client| client.has_inbox)
    }

    fn client_runs(&self, session: &SessionId) -> bool {
        self.client_of(session).is_some_and(|client| client.process.is_some())
    }
}
