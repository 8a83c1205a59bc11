//! The sessions that have called, and how each is reached. Kept in a file, so that a delivery finds
//! its way after a restart of the daemon.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use legwork_host::{append_line, read_lines, rewrite_lines};
use legwork_protocol::SessionId;
use legwork_protocol::line::Reach;
use serde::{Deserialize, Serialize};

use crate::limits::SESSIONS_MAX;

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
    order: u64,
}

#[derive(Serialize, Deserialize)]
struct Line {
    session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reach: Option<Reach>,
}

impl Sessions {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut sessions = Self { path: path.to_owned(), known: BTreeMap::new(), written: 0 };
        let lines: Vec<Line> = read_lines(path)?.unwrap_or_default();
        let had = lines.len();
        for Line { session, reach } in lines {
            sessions.take(session, reach);
        }
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
        let line = Line { session: session.clone(), reach: reach.cloned() };
        append_line(&self.path, &line)?;
        self.take(line.session, line.reach);
        Ok(())
    }

    pub fn knows(&self, session: &SessionId) -> bool {
        self.known.contains_key(session)
    }

    pub fn reach(&self, session: &SessionId) -> Option<Reach> {
        self.known.get(session)?.reach.clone()
    }

    fn take(&mut self, session: SessionId, reach: Option<Reach>) {
        self.written += 1;
        self.known.insert(session, Known { reach, order: self.written });
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
