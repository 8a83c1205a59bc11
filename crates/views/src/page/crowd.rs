//! The connections that are open. Every user of the machine can connect, and whoever says nothing
//! must keep nobody out: when there are too many, the oldest goes that has not shown the token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::AbortHandle;

use crate::page::limits::CONNECTIONS_MAX;

/// Whether a connection has shown the token.
#[derive(Debug, Clone, Default)]
pub struct Known(Arc<AtomicBool>);

impl Known {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub struct Crowd(Vec<(AbortHandle, Known)>);

impl Crowd {
    /// Takes another one in.
    pub fn add(&mut self, connection: AbortHandle, known: Known) {
        self.0.retain(|(open, _)| !open.is_finished());
        if self.0.len() >= CONNECTIONS_MAX {
            // Among our own the oldest goes: a browser opens another when it needs one.
            let oldest = self.0.iter().position(|(_, known)| !known.is_set()).unwrap_or(0);
            self.0.remove(oldest).0.abort();
        }
        self.0.push((connection, known));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn v3_strangers_go_first_and_the_oldest_before_the_others() {
        let mut crowd = Crowd::default();
        let mut open = Vec::new();
        for number in 0..2 * CONNECTIONS_MAX {
            let (task, known) = (tokio::spawn(std::future::pending::<()>()), Known::default());
            if number < 10 {
                known.set();
            }
            crowd.add(task.abort_handle(), known);
            open.push(task);
        }
        assert_eq!(crowd.0.len(), CONNECTIONS_MAX);
        let gone = 10..10 + CONNECTIONS_MAX;
        for task in &mut open[gone.clone()] {
            let ended = tokio::time::timeout(Duration::from_secs(180), task).await.unwrap();
            assert!(ended.unwrap_err().is_cancelled());
        }
        let stays = |number: &usize| !gone.contains(number);
        assert!((0..open.len()).filter(stays).all(|number| !open[number].is_finished()));
    }
}
