//! The runs that the client polls for. Claude Code tells its model how each of them ended, also one
//! that the model itself ended by a call of ours: in the model's turn while that goes on, later in
//! a turn of its own, which is a request to the model for nothing. So the answer to such a call
//! waits until the client's poll has been answered.

use std::collections::BTreeMap;

use legwork_protocol::{QuestionId, TaskId};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::limits::{END_TAKEN, ENDS_GIVEN_MAX};

/// A run of a task.
type Run = (TaskId, u32);

/// The runs that have not ended for the client, each with the questions that it knows.
#[derive(Debug, Default)]
pub struct Polls(watch::Sender<BTreeMap<Run, Vec<QuestionId>>>);

impl Polls {
    /// The questions of the run that the client knows; `None` if it has not polled for the run.
    pub fn known(&self, run: Run) -> Option<Vec<QuestionId>> {
        self.0.borrow().get(&run).cloned()
    }

    /// The client is answered that the run goes on, and what it asks.
    pub fn goes_on(&self, run: Run, asked: Vec<QuestionId>) {
        self.0.send_modify(|polls| drop(polls.insert(run, asked)));
    }

    /// The client has the end of the run.
    pub fn has_end(&self, run: Run) {
        self.0.send_modify(|polls| drop(polls.remove(&run)));
    }

    /// Whether the client polls for runs of this task, or for any.
    pub fn are_of(&self, task: Option<TaskId>) -> bool {
        self.0.borrow().keys().any(|run| is_of(*run, task))
    }

    /// Waits until the client has the ends of all that it polls for of this task, or of any, and
    /// has taken them into its turn; not for long, since a client may have stopped polling.
    pub async fn have_ends(&self, task: Option<TaskId>) {
        let mut polls = self.0.subscribe();
        let given = polls.wait_for(|polls| !polls.keys().any(|run| is_of(*run, task)));
        if timeout(ENDS_GIVEN_MAX, given).await.is_ok() {
            sleep(END_TAKEN).await;
        }
    }
}

fn is_of(run: Run, task: Option<TaskId>) -> bool {
    task.is_none_or(|task| run.0 == task)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn x3_an_end_is_waited_for_until_the_client_has_taken_it_and_not_for_ever() {
        let polls = std::sync::Arc::new(Polls::default());
        let [one, other] = [1, 2].map(TaskId::from_number);
        polls.goes_on((one, 0), Vec::new());
        polls.goes_on((other, 1), Vec::new());
        assert!(polls.are_of(Some(one)) && polls.are_of(None));
        let began = Instant::now();
        let given = polls.clone();
        let poll = tokio::spawn(async move {
            sleep(ENDS_GIVEN_MAX / 2).await;
            given.has_end((one, 0));
        });
        polls.have_ends(Some(one)).await;
        assert_eq!(began.elapsed(), ENDS_GIVEN_MAX / 2 + END_TAKEN);
        poll.await.unwrap();
        assert!(!polls.are_of(Some(one)));
        // That of the other task never comes.
        let began = Instant::now();
        polls.have_ends(None).await;
        assert_eq!(began.elapsed(), ENDS_GIVEN_MAX);
    }
}
