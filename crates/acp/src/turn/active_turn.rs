//! What goes on at this moment in the sessions: the turns under way. Shared between those who
//! work and those who look; a restart forgets it, because nothing goes on after one.

use std::collections::BTreeMap;
use std::sync::Mutex;

use legwork_engine::work::Question;
use legwork_machine::{epoch_ms, lock};
use legwork_protocol::{MessageId, QuestionId, SessionId, Time};

use super::used::Used;
use crate::session::session_log::End;

#[derive(Debug, Clone)]
pub struct ActiveTurn {
    /// The prompt that it answers.
    pub message: MessageId,
    pub tool_calls: u32,
    pub used: Used,
    pub moved: Time,
    pub questions: Vec<Question>,
    /// Its end, while that is not written down yet.
    pub end: Option<End>,
}

#[derive(Debug, Default)]
pub struct Turns(Mutex<BTreeMap<SessionId, ActiveTurn>>);

impl Turns {
    pub fn begin(&self, session: &SessionId, message: MessageId) {
        let turn = ActiveTurn {
            message,
            tool_calls: 0,
            used: Used::default(),
            moved: now(),
            questions: Vec::new(),
            end: None,
        };
        lock(&self.0).insert(session.clone(), turn);
    }

    pub fn moved(&self, session: &SessionId, tool_calls: u32) {
        self.change(session, |turn| {
            turn.moved = now();
            turn.tool_calls = tool_calls;
        });
    }

    pub fn used(&self, session: &SessionId, used: Used) {
        self.change(session, |turn| turn.used = used);
    }

    pub fn asked(&self, session: &SessionId, question: Question) {
        self.change(session, |turn| turn.questions.push(question));
    }

    pub fn answered(&self, session: &SessionId, question: &QuestionId) {
        self.change(session, |turn| turn.questions.retain(|open| open.id != *question));
    }

    /// It has ended, and that is not written down yet.
    pub fn ended(&self, session: &SessionId, end: End) {
        self.change(session, |turn| {
            turn.questions.clear();
            turn.end = Some(end);
        });
    }

    /// Its end is written down. The next one may have begun already: its end was seen before.
    pub fn forget(&self, session: &SessionId, message: &MessageId) {
        let mut all = lock(&self.0);
        if all.get(session).is_some_and(|turn| turn.message == *message) {
            all.remove(session);
        }
    }

    pub fn of(&self, session: &SessionId) -> Option<ActiveTurn> {
        lock(&self.0).get(session).cloned()
    }

    /// All sessions in which something goes on.
    pub fn list(&self) -> Vec<(SessionId, ActiveTurn)> {
        let all = lock(&self.0);
        let at_work = all.iter().filter(|(_, turn)| turn.end.is_none());
        at_work.map(|(session, turn)| (session.clone(), turn.clone())).collect()
    }

    fn change(&self, session: &SessionId, change: impl FnOnce(&mut ActiveTurn)) {
        if let Some(turn) = lock(&self.0).get_mut(session) {
            change(turn);
        }
    }
}

pub fn now() -> Time {
    Time(epoch_ms())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_has_begun_is_not_forgotten_with_the_one_before() {
        let turns = Turns::default();
        let session: SessionId = "acp_1".parse().unwrap();
        let [first, next]: [MessageId; 2] = ["msg_1", "msg_2"].map(|id| id.parse().unwrap());
        turns.begin(&session, first.clone());
        turns.ended(&session, End::Answered { text: "done".to_owned() });
        turns.begin(&session, next.clone());
        turns.forget(&session, &first);
        assert_eq!(turns.of(&session).map(|turn| turn.message), Some(next.clone()));
        turns.forget(&session, &next);
        assert!(turns.of(&session).is_none());
    }
}
