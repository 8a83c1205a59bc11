//! Where a connection comes from. A helper has our program on its PATH and our socket in reach, and
//! must not answer its own questions with it. Its environment it can hide; its ancestors it cannot,
//! because what loses its parent becomes a child of this daemon.
//!
//! This keeps a helper from steering what is a person's by the means that a person has. It does not
//! keep a program of the user from anything that the user may do: `at`, `systemd-run` and a
//! container start programs that are no descendants of ours.

use std::time::Duration;

use legwork_machine::process::{Detached, INSIDE};
use legwork_machine::table::{entry, variable};
use legwork_protocol::api::{Ask, Inside, Refusal, Request};
use tokio::net::UnixStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Ancestors that are looked at. No real chain is so long.
const LINE_MAX: usize = 1_000;
/// A process that hangs in the kernel can keep whoever looks at it waiting. On a busy machine it
/// takes seconds, and who cannot be told may not act.
const TRACE_MAX: Duration = Duration::from_secs(10);
/// A parent that ends while it is looked for is looked for again.
const TRIES: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The process and its ancestors, the nearest first, and the marks of agents that they bear.
    Line { ids: Vec<u32>, marks: Vec<String> },
    /// A process of another container, or of a system that does not show processes.
    Unseen,
    /// A process that has ended already, or whose ancestors have no end.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Free,
    /// It is in an agent of ours: it may look.
    InAgent,
    /// It was started by a host: it may look, and launch helpers of its own.
    InHost,
    /// It cannot be told: it may look.
    Lost,
}

impl Origin {
    pub async fn of(stream: &UnixStream) -> Self {
        let id = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let Some(id) = id.and_then(|id| u32::try_from(id).ok()).filter(|id| *id > 0) else {
            return Self::Unseen;
        };
        if !cfg!(target_os = "linux") {
            return Self::Unseen;
        }
        let traced = timeout(TRACE_MAX, spawn_blocking(move || trace(id))).await;
        traced.ok().and_then(Result::ok).unwrap_or(Self::Lost)
    }

    /// What it may do: `is_ours` tells marks of our agents, `hosts` are the connected ones. What is
    /// above a detached process counts for nothing: we started it, and not for an agent.
    pub fn standing(
        &self,
        is_ours: impl Fn(&str) -> bool,
        hosts: &[u32],
        detached: &Detached,
    ) -> Standing {
        match self {
            Self::Unseen => Standing::Free,
            Self::Lost => Standing::Lost,
            Self::Line { ids, marks } => {
                let free = ids.iter().position(|id| detached.contains(*id));
                let line = &ids[..free.map_or(ids.len(), |at| at + 1)];
                let above = line.get(1..).unwrap_or_default();
                if above.contains(&std::process::id()) || marks.iter().any(|mark| is_ours(mark)) {
                    Standing::InAgent
                } else if above.iter().any(|id| hosts.contains(id)) {
                    Standing::InHost
                } else {
                    Standing::Free
                }
            }
        }
    }
}

fn trace(id: u32) -> Origin {
    for _ in 0..TRIES {
        if let Some(line) = line(id) {
            return line;
        }
    }
    Origin::Lost
}

fn line(first: u32) -> Option<Origin> {
    let (mut ids, mut marks, mut next) = (Vec::new(), Vec::new(), first);
    while next > 0 {
        let found = entry(next).filter(|found| !found.is_zombie())?;
        marks.extend(variable(next, INSIDE).filter(|mark| !mark.is_empty()));
        ids.push(next);
        if ids.len() > LINE_MAX {
            return Some(Origin::Lost);
        }
        next = found.parent;
    }
    Some(Origin::Line { ids, marks })
}

impl Standing {
    pub fn refuses_host(self) -> Option<Refusal> {
        if self == Self::InHost { None } else { self.refusal() }
    }

    pub fn refuses(self, request: &Request) -> Option<Refusal> {
        match request {
            Request::Show { .. }
            | Request::Runs { .. }
            | Request::Log { .. }
            | Request::Transcript { .. }
            | Request::Board(_)
            | Request::Cost { .. }
            | Request::Follow
            | Request::Status
            | Request::Ended { .. }
            | Request::Unread { .. }
            | Request::Mail => None,
            // Who asks for agents wants to launch.
            Request::Agents if self == Self::InHost => None,
            Request::Agents | Request::Shutdown => self.refusal(),
            Request::Ask(ask) => self.refuses_ask(ask),
        }
    }

    pub fn refuses_ask(self, ask: &Ask) -> Option<Refusal> {
        match ask {
            Ask::Output { .. } | Ask::Wait { .. } | Ask::Collect { .. } | Ask::List(_) => None,
            Ask::Launch { .. } if self == Self::InHost => None,
            _ => self.refusal(),
        }
    }

    fn refusal(self) -> Option<Refusal> {
        let inside = match self {
            Self::Free => return None,
            Self::InAgent => Inside::Agent,
            Self::InHost => Inside::Host,
            Self::Lost => Inside::Unknown,
        };
        Some(Refusal::NotAPerson(inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(ids: &[u32], marks: &[&str]) -> Standing {
        let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
        let origin = Origin::Line { ids: ids.to_vec(), marks };
        origin.standing(|mark| mark == "ours", &[70, 71], &Detached::default())
    }

    #[test]
    fn d5_who_descends_from_an_agent_or_bears_its_mark_is_inside() {
        let ourselves = std::process::id();
        assert_eq!(standing(&[500, 400, 1], &[]), Standing::Free);
        assert_eq!(standing(&[500, 400, ourselves, 1], &[]), Standing::InAgent);
        assert_eq!(standing(&[500, ourselves], &[]), Standing::InAgent, "an adopted orphan");
        assert_eq!(standing(&[500, 1], &["theirs", "ours"]), Standing::InAgent);
        assert_eq!(standing(&[500, 1], &["theirs"]), Standing::Free);
        assert_eq!(standing(&[500, 71, 1], &[]), Standing::InHost);
        assert_eq!(standing(&[500, 71, ourselves, 1], &[]), Standing::InAgent);
        assert_eq!(standing(&[71, 1], &[]), Standing::Free, "the host itself");
        assert_eq!(Origin::Unseen.standing(|_| true, &[], &Detached::default()), Standing::Free);
        assert_eq!(Origin::Lost.standing(|_| false, &[], &Detached::default()), Standing::Lost);
    }

    #[test]
    fn k6_a_headless_host_of_ours_is_a_host_and_no_agent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (detached, host, ourselves) = (Detached::default(), child.id(), std::process::id());
        let standing = |hosts: &[u32]| {
            let ids = vec![500, host, ourselves, 1];
            Origin::Line { ids, marks: Vec::new() }.standing(|_| false, hosts, &detached)
        };
        assert_eq!(standing(&[]), Standing::InAgent);
        detached.insert(host);
        assert_eq!(standing(&[]), Standing::Free, "the bridge of one that is connecting");
        assert_eq!(standing(&[host]), Standing::InHost, "a tool of one that is connected");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(standing(&[]), Standing::InAgent, "its number may be another's by now");
    }

    #[test]
    fn d5_who_is_inside_may_look_and_no_more() {
        let launch = Ask::Launch {
            prompt: "p".to_owned(),
            description: "d".to_owned(),
            agent: "a".to_owned(),
            fork: false,
            collects: false,
        };
        let launch = Request::Ask(launch);
        for (standing, launches) in [
            (Standing::Free, true),
            (Standing::InHost, true),
            (Standing::InAgent, false),
            (Standing::Lost, false),
        ] {
            assert_eq!(standing.refuses(&launch).is_none(), launches, "{standing:?}");
            let acts = standing == Standing::Free;
            let forget = Request::Ask(Ask::Forget { tasks: Vec::new() });
            for request in [Request::Ask(Ask::Clear), forget, Request::Shutdown] {
                assert_eq!(standing.refuses(&request).is_none(), acts, "{standing:?}");
            }
            assert!(standing.refuses(&Request::Mail).is_none());
            assert!(standing.refuses(&Request::Follow).is_none());
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_is_traced_to_the_process_that_made_it() {
        let (near, _far) = UnixStream::pair().unwrap();
        let Origin::Line { ids, .. } = Origin::of(&near).await else { panic!("not traced") };
        assert_eq!(ids.first(), Some(&std::process::id()));
        assert!(ids.len() > 1, "{ids:?}");
        assert_eq!(trace(u32::MAX), Origin::Lost);
    }
}
