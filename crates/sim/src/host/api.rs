//! The calls of OpenCode's API, with its answers and its errors. Each takes effect at once, at the
//! time of the last `advance`; latency, loss and order belong to whoever carries the calls.

use std::sync::Arc;

use legwork_protocol::{MessageId, QuestionId, SessionId, TaskId};

use super::OpenCode;
use super::events::{Kind, ProcessNo, Status};
use super::process::Question;
use super::storage::{Message, Session, SessionFacts};
use super::turn::{Fate, Here, Phase, Turn};
use super::world::What;

/// Who answers a prompt that names nobody (seen in 1.18.33).
pub(super) const DEFAULT_AGENT: &str = "build";

/// The database of hosts that serve everyone, and the agent that only they have.
pub const SHARED: u8 = 2;
/// Where sessions of programs are kept that have no agents.
pub const CLIENTS: u8 = 3;
/// See [`SHARED`].
pub const SPECIALIST: &str = "specialist";

/// Why a call was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiError {
    /// 404.
    NotFound,
    /// 400, with the host's words.
    BadRequest(String),
    /// 500; also what a process answers that has ended.
    ServerError,
}

/// An agent that the host has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub name: Arc<str>,
    /// Whether it is for the host's own use. It can be prompted all the same.
    pub hidden: bool,
}

#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub parent: Option<SessionId>,
    pub title: Arc<str>,
    pub mark: Option<TaskId>,
    /// Whether its permissions let it launch tasks itself.
    pub may_nest: bool,
    /// The database that it is kept in.
    pub database: u8,
}

/// What a person answers to a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Yes,
    /// No, and nothing else.
    No,
    /// No, with words for the model.
    NoBut(Arc<str>),
}

impl OpenCode {
    /// `GET /agent`, without the hidden ones.
    pub fn agents(&self, process: ProcessNo) -> impl Iterator<Item = &Agent> {
        let database = self.database(process);
        let seen = self.agents.iter().filter(move |agent| !agent.hidden && database != CLIENTS);
        seen.filter(move |agent| (&*agent.name == SPECIALIST) == (database == SHARED))
    }

    /// `POST /session`. The parent is not checked (seen in 1.18.33).
    pub fn create(&mut self, new: NewSession) -> SessionId {
        let id: SessionId = self.world.fresh(b"ses_");
        let number = self.storage.sessions.len();
        self.storage.by_id.insert(id.clone(), number);
        if let Some(mark) = new.mark {
            self.storage.by_mark.insert((mark, number));
        }
        self.storage.sessions.push(Session {
            id: id.clone(),
            parent: new.parent,
            title: new.title,
            mark: new.mark,
            may_nest: new.may_nest,
            database: new.database,
            created: self.world.now,
            revert_pending: false,
            messages: Vec::new(),
            deleted: false,
            facts: SessionFacts::default(),
        });
        id
    }

    /// The sessions whose metadata bears this mark, oldest first.
    pub fn sessions_marked(&self, mark: TaskId) -> impl Iterator<Item = &Session> {
        self.storage.ever_marked(mark).filter(|session| !session.deleted)
    }

    /// `GET /session/:id/children`.
    pub fn children<'a>(&'a self, parent: &'a SessionId) -> impl Iterator<Item = &'a Session> {
        let there = self.storage.sessions.iter().filter(|session| !session.deleted);
        there.filter(move |session| session.parent.as_ref() == Some(parent))
    }

    /// `GET /session/:id`.
    pub fn get(&self, session: &SessionId) -> Result<&Session, ApiError> {
        self.known(session).map(|number| &self.storage.sessions[number])
    }

    /// Whether the process has the session in its database. To one that has not, it is as if it
    /// had never been.
    pub fn shares(&self, process: ProcessNo, session: &SessionId) -> bool {
        self.once(session).is_some_and(|session| session.database == self.database(process))
    }

    /// `GET /session/:id/message`, oldest first.
    pub fn messages(&self, session: &SessionId) -> Result<&[Message], ApiError> {
        self.get(session).map(|session| session.messages.as_slice())
    }

    /// `GET /session/status`: what this process is at. A session that is not in it may be anything.
    pub fn status(&self, process: ProcessNo) -> impl Iterator<Item = (&SessionId, Status)> {
        let turns = self.processes[process.0 as usize].turns.iter();
        turns.filter_map(|turn| {
            turn.status.map(|status| (&self.storage.sessions[turn.session].id, status))
        })
    }

    /// `GET /permission`: what waits for a person in this process.
    pub fn questions(&self, process: ProcessNo) -> &[Question] {
        &self.processes[process.0 as usize].questions
    }

    /// `POST /session/:id/abort`. Says true to everything, and announces idle even where nothing
    /// ran (seen in 1.18.33).
    pub fn abort(&mut self, process: ProcessNo, session: &SessionId) -> Result<bool, ApiError> {
        self.up(process)?;
        let known = self.storage.by_id.get(session).copied();
        if let Some(number) = known {
            self.storage.sessions[number].facts.last_abort = Some(self.world.now);
        }
        let stopped = known.and_then(|number| self.stop(process, number));
        let Some((number, open)) = stopped else {
            self.world.emit_idle(process, session);
            return Ok(true);
        };
        let why = self.world.words.aborted.clone();
        if open.is_some() {
            self.world.emit(process, session, Kind::Error { why: why.clone() });
        }
        self.world.emit_idle(process, session);
        let late = self.world.nasty.error_before_message;
        if !late && let Some(open) = &open {
            self.storage.sessions[number].fail(open, &why, self.world.now);
        }
        if late || self.world.nasty.idle_twice {
            let ms = self.world.within(self.world.nasty.second_idle_ms);
            self.world.plan(ms, process, number, What::Rest { open, why });
        }
        Ok(true)
    }

    /// Takes away the turn, if an abort can reach it, with the message that it leaves open.
    fn stop(&mut self, process: ProcessNo, number: usize) -> Option<(usize, Option<MessageId>)> {
        let misses_gap = self.world.nasty.abort_misses_gap;
        let place = &mut self.processes[process.0 as usize];
        match place.turn(number)?.phase {
            Phase::Starting if misses_gap => return None,
            Phase::Failing(_) => return None,
            _ => {}
        }
        let turn = place.end(number)?;
        if let Phase::Asking(question) = &turn.phase
            && !self.world.nasty.stale_questions
        {
            place.questions.retain(|known| known.id != *question);
        }
        if let Some(timer) = turn.timer {
            self.world.agenda.remove(&timer);
        }
        self.storage.sessions[number].facts.ran_until = Some(self.world.now);
        Some((number, turn.open))
    }

    /// `DELETE /session/:id`: the children first, then the session. Does not stop what runs in
    /// them (seen in 1.18.33).
    pub fn delete(&mut self, process: ProcessNo, session: &SessionId) -> Result<bool, ApiError> {
        self.up(process)?;
        let number = self.known(session)?;
        self.bury(process, number);
        Ok(true)
    }

    fn bury(&mut self, process: ProcessNo, number: usize) {
        let session = &mut self.storage.sessions[number];
        // Before the children, so that a circle of parents ends.
        session.deleted = true;
        let id = session.id.clone();
        for child in 0..self.storage.sessions.len() {
            let other = &self.storage.sessions[child];
            let same = other.database == self.storage.sessions[number].database;
            if same && !other.deleted && other.parent.as_ref() == Some(&id) {
                self.bury(process, child);
            }
        }
        if !self.world.nasty.deleted_runs_on {
            self.stop(process, number);
        }
        self.world.emit(process, &id, Kind::Deleted);
    }

    /// `POST /permission/:id/reply`. A second reply finds nothing.
    pub fn reply(
        &mut self,
        process: ProcessNo,
        question: &QuestionId,
        reply: &Reply,
    ) -> Result<bool, ApiError> {
        self.up(process)?;
        let questions = &mut self.processes[process.0 as usize].questions;
        let place = questions.iter().position(|known| known.id == *question);
        let Question { id, session, .. } = questions.remove(place.ok_or(ApiError::NotFound)?);
        self.world.emit(process, &session, Kind::Replied { question: id });
        if *reply == Reply::No {
            self.refuse_rest(process, &session);
        }
        if let Some(number) = self.storage.by_id.get(&session).copied()
            && let Some(turn) = self.turn(process, number)
            && turn.phase == Phase::Asking(question.clone())
        {
            self.drive(
                process,
                number,
                match reply {
                    Reply::Yes => Turn::allowed,
                    Reply::No => Turn::refused,
                    Reply::NoBut(_) => Turn::advised,
                },
            );
        }
        Ok(true)
    }

    /// A refusal also refuses what else the session asks (source of 1.18.18).
    fn refuse_rest(&mut self, process: ProcessNo, session: &SessionId) {
        for other in std::mem::take(&mut self.processes[process.0 as usize].questions) {
            if other.session == *session {
                self.world.emit(process, session, Kind::Replied { question: other.id });
            } else {
                self.processes[process.0 as usize].questions.push(other);
            }
        }
    }

    /// `POST /session/:id/revert`: a person begins an undo. Not in a busy session.
    pub fn set_revert(&mut self, process: ProcessNo, session: &SessionId) -> Result<(), ApiError> {
        self.up(process)?;
        let number = self.known(session)?;
        if self.turn(process, number).is_some() {
            return Err(ApiError::BadRequest("Session is busy".into()));
        }
        self.storage.sessions[number].revert_pending = true;
        self.world.emit(process, session, Kind::Updated);
        Ok(())
    }

    /// `POST /session/:id/unrevert`: the person takes it back.
    pub fn clear_revert(
        &mut self,
        process: ProcessNo,
        session: &SessionId,
    ) -> Result<(), ApiError> {
        self.up(process)?;
        let number = self.known(session)?;
        self.storage.sessions[number].revert_pending = false;
        self.world.emit(process, session, Kind::Updated);
        Ok(())
    }

    pub(super) fn up(&self, process: ProcessNo) -> Result<(), ApiError> {
        if self.alive(process) { Ok(()) } else { Err(ApiError::ServerError) }
    }

    pub(super) fn known(&self, session: &SessionId) -> Result<usize, ApiError> {
        match self.storage.find(session) {
            Some(number) => Ok(number),
            // A malformed id is a server error (seen in 1.18.33).
            None if !session.as_str().starts_with("ses") => Err(ApiError::ServerError),
            None => Err(ApiError::NotFound),
        }
    }

    pub(super) fn turn(&self, process: ProcessNo, number: usize) -> Option<&Turn> {
        self.processes[process.0 as usize].turn(number)
    }

    /// Lets a turn do something, and takes it away if that was its end.
    pub(super) fn drive(
        &mut self,
        process: ProcessNo,
        number: usize,
        act: fn(&mut Turn, &mut Here<'_>) -> Fate,
    ) {
        let place = &mut self.processes[process.0 as usize];
        let Some(at) = place.turns.iter().position(|turn| turn.session == number) else {
            return;
        };
        let turn = &mut place.turns[at];
        let mut here = Here {
            session: &mut self.storage.sessions[number],
            questions: &mut place.questions,
            world: &mut self.world,
        };
        if act(turn, &mut here) == Fate::Ends {
            place.turns.swap_remove(at);
            self.storage.sessions[number].facts.ran_until = Some(self.world.now);
        }
    }
}
