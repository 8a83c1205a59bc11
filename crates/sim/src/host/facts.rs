//! What only an onlooker of the virtual world can know. Checkers ask here; nothing that pretends to
//! be a client may.

use legwork_protocol::{MessageId, SessionId, TaskId};

use super::OpenCode;
use super::events::ProcessNo;
use super::storage::{Session, Tally};

impl OpenCode {
    /// Every session that ever was, deleted ones too.
    pub fn ever(&self) -> &[Session] {
        &self.storage.sessions
    }

    /// A session, deleted or not.
    pub fn once(&self, session: &SessionId) -> Option<&Session> {
        self.storage.by_id.get(session).map(|number| &self.storage.sessions[*number])
    }

    /// How many sessions ever bore this mark.
    pub fn ever_marked(&self, mark: TaskId) -> usize {
        self.storage.ever_marked(mark).count()
    }

    /// What happened with a prompt, wherever it was stored.
    pub fn tally(&self, message: &MessageId) -> Option<Tally> {
        let session = &self.storage.sessions[*self.storage.owner.get(message)?];
        let mut prompts = session.prompts();
        prompts.find(|(id, _)| *id == message).map(|(_, user)| user.tally)
    }

    /// The sessions in which this process has a turn, shown by its status or not, deleted or not.
    pub fn running_sessions(&self, process: ProcessNo) -> impl Iterator<Item = &SessionId> {
        let turns = self.processes[process.0 as usize].turns.iter();
        turns.map(|turn| &self.storage.sessions[turn.session].id)
    }

    /// Whether any process has a turn in this session.
    pub fn runs(&self, session: &SessionId) -> bool {
        let number = self.storage.by_id.get(session);
        number.is_some_and(|number| {
            self.processes.iter().any(|process| process.turn(*number).is_some())
        })
    }

    /// For how many milliseconds something has run in the session after its last abort, so far; 0
    /// when it was never aborted.
    pub fn ran_after_abort(&self, session: &SessionId) -> u64 {
        let Some(facts) = self.once(session).map(|session| session.facts) else { return 0 };
        let Some(abort) = facts.last_abort else { return 0 };
        let until = if self.runs(session) { Some(self.world.now) } else { facts.ran_until };
        until.map_or(0, |until| until.since(abort))
    }

    /// How many undos prompts of ours have made permanent, in all sessions.
    pub fn undos_destroyed(&self) -> u32 {
        self.storage.sessions.iter().map(|session| session.facts.undos_destroyed).sum()
    }
}
