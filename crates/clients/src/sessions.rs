//! Client sessions that have called, and how to wake each. A file keeps them, so that a delivery
//! reaches its session after a restart of the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use legwork_host::{append_line, read_lines, rewrite_lines};
use legwork_protocol::line::Reach;
use legwork_protocol::{SessionId, TaskId};
use serde::{Deserialize, Serialize};

use crate::limits::{SESSIONS_MAX, TAKEN_OVER_MAX};

#[derive(Debug)]
pub struct Sessions {
    path: PathBuf,
    known: BTreeMap<SessionId, Known>,
    /// How many sessions have been written down, which is also the order in which they spoke.
    written: u64,
}

#[derive(Debug)]
struct Known {
    reach: Option<Reach>,
    /// Tasks of other sessions that it has gone on with.
    taken_over: BTreeSet<TaskId>,
    order: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reach: Option<Reach>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    taken_over: BTreeSet<TaskId>,
}

impl Sessions {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut sessions = Self { path: path.to_owned(), known: BTreeMap::new(), written: 0 };
        let lines: Vec<Line> = read_lines(path)?.unwrap_or_default();
        let had = lines.len();
        lines.into_iter().for_each(|line| sessions.take(line));
        if had > 2 * sessions.known.len() + 100 {
            sessions.rewrite()?;
        }
        Ok(sessions)
    }

    /// This session has called and can be reached so.
    pub fn keep(&mut self, session: &SessionId, reach: Option<&Reach>) -> io::Result<()> {
        if self.known.get(session).is_some_and(|known| known.reach.as_ref() == reach) {
            return Ok(());
        }
        let taken_over = self.taken_over(session).cloned().unwrap_or_default();
        self.write(Line { session: session.clone(), reach: reach.cloned(), taken_over })
    }

    /// This session, if it is known, has gone on with a task of another one.
    pub fn take_over(&mut self, session: &SessionId, task: TaskId) -> io::Result<()> {
        let Some(known) = self.known.get(session).filter(|known| !known.taken_over.contains(&task))
        else {
            return Ok(());
        };
        let mut taken_over = known.taken_over.clone();
        taken_over.insert(task);
        if taken_over.len() > TAKEN_OVER_MAX {
            taken_over.pop_first();
        }
        self.write(Line { session: session.clone(), reach: known.reach.clone(), taken_over })
    }

    pub fn taken_over(&self, session: &SessionId) -> Option<&BTreeSet<TaskId>> {
        self.known.get(session).map(|known| &known.taken_over)
    }

    /// Removes these tasks, from the file too.
    pub fn forget(&mut self, tasks: &BTreeSet<TaskId>) -> io::Result<()> {
        let mut changed = false;
        for known in self.known.values_mut() {
            let had = known.taken_over.len();
            known.taken_over.retain(|task| !tasks.contains(task));
            changed |= known.taken_over.len() != had;
        }
        if changed { self.rewrite() } else { Ok(()) }
    }

    fn write(&mut self, line: Line) -> io::Result<()> {
        append_line(&self.path, &line)?;
        self.take(line);
        Ok(())
    }

    pub fn knows(&self, session: &SessionId) -> bool {
        self.known.contains_key(session)
    }

    pub fn reach(&self, session: &SessionId) -> Option<Reach> {
        self.known.get(session)?.reach.clone()
    }

    fn take(&mut self, line: Line) {
        let Line { session, reach, taken_over } = line;
        self.written += 1;
        self.known.insert(session, Known { reach, taken_over, order: self.written });
        if self.known.len() > SESSIONS_MAX {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.order);
            if let Some(oldest) = oldest.map(|(session, _)| session.clone()) {
                self.known.remove(&oldest);
            }
        }
    }

    fn rewrite(&self) -> io::Result<()> {
        let mut known: Vec<_> = self.known.iter().collect();
        known.sort_by_key(|(_, known)| known.order);
        let line = |(session, known): (&SessionId, &Known)| Line {
            session: session.clone(),
            reach: known.reach.clone(),
            taken_over: known.taken_over.clone(),
        };
        rewrite_lines(&self.path, known.into_iter().map(line))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn codex(thread: &str) -> Reach {
        Reach::Codex { thread: thread.to_owned(), home: "/h".to_owned(), program: None }
    }

    #[test]
    fn m6_a_session_and_its_way_are_known_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let (one, two): (SessionId, SessionId) =
            ("codex_1".parse().unwrap(), "mcp_2".parse().unwrap());
        let mut sessions = Sessions::open(&path).unwrap();
        sessions.keep(&one, Some(&codex("a"))).unwrap();
        sessions.keep(&two, None).unwrap();
        sessions.keep(&one, Some(&codex("b"))).unwrap();
        let length = fs::metadata(&path).unwrap().len();
        sessions.keep(&one, Some(&codex("b"))).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), length, "nothing new is not written");
        let again = Sessions::open(&path).unwrap();
        assert_eq!(again.reach(&one), Some(codex("b")));
        assert!(again.knows(&two) && again.reach(&two).is_none());
        assert!(!again.knows(&"codex_3".parse().unwrap()));
    }

    #[test]
    fn s4_what_a_session_has_gone_on_with_is_known_after_a_restart_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let one: SessionId = "claude_1".parse().unwrap();
        let tasks: Vec<TaskId> = (0..=TAKEN_OVER_MAX as u64).map(TaskId::from_number).collect();
        let mut sessions = Sessions::open(&path).unwrap();
        sessions.take_over(&one, tasks[0]).unwrap();
        assert!(sessions.taken_over(&one).is_none(), "it has never called");
        sessions.keep(&one, None).unwrap();
        sessions.take_over(&one, tasks[0]).unwrap();
        sessions.keep(&one, Some(&codex("a"))).unwrap();
        let mut again = Sessions::open(&path).unwrap();
        assert!(again.taken_over(&one).unwrap().contains(&tasks[0]));
        tasks.iter().for_each(|task| again.take_over(&one, *task).unwrap());
        assert_eq!(again.taken_over(&one).unwrap().len(), TAKEN_OVER_MAX);
        again.forget(&tasks.iter().copied().collect()).unwrap();
        let again = Sessions::open(&path).unwrap();
        assert!(again.taken_over(&one).unwrap().is_empty());
        assert_eq!(again.reach(&one), Some(codex("a")));
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions");
        let one: SessionId = "codex_1".parse().unwrap();
        let mut sessions = Sessions::open(&path).unwrap();
        for number in 0..300 {
            sessions.keep(&one, Some(&codex(&number.to_string()))).unwrap();
        }
        assert_eq!(Sessions::open(&path).unwrap().reach(&one), Some(codex("299")));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }
}
