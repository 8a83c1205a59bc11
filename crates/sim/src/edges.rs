//! The transitions that histories take. Those that the tables allow and no history takes are listed
//! too, so that what is untested shows in a diff.

use std::collections::BTreeSet;

use legwork_engine::record::{About, Change, DeliveryEnd, Forget, Target};
use legwork_engine::task::{Outcome, ResumedBy, StageName};

/// A step in the life of a run, a notice, a delivery or a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    Launched(StageName),
    Moved { from: StageName, to: StageName },
    Ended { from: StageName, to: Outcome },
    Resumed { from: StageName, to: StageName, by: ResumedBy },
    Forgotten(Forget),
    Cleared,
    NoticePending(Subject),
    NoticeWithdrawn(Subject),
    DeliveryCreated,
    DeliveryWithdrawn,
    DeliveryDone(DeliveryEnd),
    StopRequested(Stopped),
    StopDone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    End,
    Question,
    Unread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stopped {
    Session,
    Opened,
    Marked,
}

impl Edge {
    /// The step that a change is, if it is one.
    pub fn of(change: &Change) -> Option<Self> {
        Some(match change {
            Change::Launched { task, .. } => Self::Launched(task.stage.name()),
            Change::Moved { task, from } => Self::Moved { from: *from, to: task.stage.name() },
            Change::Ended { task, from, .. } => Self::Ended { from: *from, to: task.outcome()? },
            Change::Resumed { task, from, by } => {
                Self::Resumed { from: *from, to: task.stage.name(), by: *by }
            }
            Change::Forgotten { why, .. } => Self::Forgotten(*why),
            Change::Cleared { .. } => Self::Cleared,
            Change::Enqueued(notice) => Self::NoticePending(notice.id.about.into()),
            Change::Withdrawn(id) => Self::NoticeWithdrawn(id.about.into()),
            Change::DeliveryCreated(_) => Self::DeliveryCreated,
            Change::DeliveryWithdrawn { .. } => Self::DeliveryWithdrawn,
            Change::DeliveryDone { end, .. } => Self::DeliveryDone(*end),
            Change::StopRequested(stop) => Self::StopRequested((&stop.target).into()),
            Change::StopDone { .. } => Self::StopDone,
            _ => return None,
        })
    }

    /// All that the tables allow.
    fn allowed() -> impl Iterator<Item = Self> {
        let stages = StageName::ALL.into_iter();
        let moves = stages.flat_map(|from| {
            let next = StageName::ALL.into_iter().filter(move |to| from.may_become(*to));
            next.map(move |to| match to.outcome() {
                Some(to) => Self::Ended { from, to },
                None => Self::Moved { from, to },
            })
        });
        let forgets = [Forget::Cleared, Forget::ParentDeleted].map(Self::Forgotten);
        let subjects = [Subject::End, Subject::Question, Subject::Unread].into_iter();
        let notices = subjects.flat_map(|of| [Self::NoticePending(of), Self::NoticeWithdrawn(of)]);
        let ends = [DeliveryEnd::Delivered, DeliveryEnd::ParentGone, DeliveryEnd::Refused];
        let stops = [Stopped::Session, Stopped::Opened, Stopped::Marked].map(Self::StopRequested);
        moves.chain(forgets).chain(notices).chain(ends.map(Self::DeliveryDone)).chain(stops)
    }
}

impl From<About> for Subject {
    fn from(about: About) -> Self {
        match about {
            About::End => Self::End,
            About::Question(_) => Self::Question,
            About::Unread => Self::Unread,
        }
    }
}

impl From<&Target> for Stopped {
    fn from(target: &Target) -> Self {
        match target {
            Target::Session(_) => Self::Session,
            Target::Opened(_) => Self::Opened,
            Target::Marked => Self::Marked,
        }
    }
}

/// A line for each transition that was taken, then one for each that is allowed and was not.
pub fn table(taken: &BTreeSet<Edge>) -> String {
    let untaken = Edge::allowed().filter(|edge| !taken.contains(edge));
    let untaken: BTreeSet<String> = untaken.map(|edge| format!("never {edge:?}\n")).collect();
    let taken = taken.iter().map(|edge| format!("{edge:?}\n"));
    taken.chain(untaken).collect()
}

/// The arrows of the lifecycle, written down a second time on purpose: a mistake in the first
/// table would otherwise be its own witness.
pub fn arrow(from: StageName, to: StageName) -> bool {
    use StageName::{Cancelled, Completed, Failed, Opening, Prompting, Queued, Working};
    match (from, to) {
        (Completed | Failed | Cancelled, _) => false,
        (_, Failed | Cancelled | Queued) => true,
        (Queued, Opening | Prompting) | (Opening, Opening | Prompting) => true,
        (Prompting, Prompting | Working | Completed) | (Working, Working | Completed) => true,
        (Queued, Working | Completed) | (Opening, Working | Completed) => false,
        (Prompting | Working, Opening) | (Working, Prompting) => false,
    }
}
