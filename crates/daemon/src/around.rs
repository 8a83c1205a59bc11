//! What the daemon stands on and others can take away: its socket, its records and its log. They
//! are looked at now and then, because nobody says when they go.

use std::path::PathBuf;
use std::sync::Arc;

use legwork_client::Record;
use legwork_machine::Folders;
use legwork_store::Store;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use crate::connection::accept::Listener;
use crate::connection::{Bound, bind_one};
use crate::fault::{Fault, chain};
use crate::limits::LOOK_AROUND_EVERY;
use crate::log::Log;

/// The socket and the record of where it is.
#[derive(Debug)]
pub struct Around {
    names: Vec<PathBuf>,
    bound: Bound,
    listener: watch::Sender<Arc<UnixListener>>,
    record: Record,
    looked: Instant,
    log: Log,
}

impl Around {
    /// Listens, and says where.
    pub fn listen(
        folders: &Folders,
        store: &Store,
        record: Record,
        log: Log,
    ) -> Result<(Self, Listener), Fault> {
        let mut names = vec![folders.socket.clone()];
        names.extend(folders.other_sockets());
        let (listener, bound) = bind_one(&names)?;
        let (listener, current) = watch::channel(Arc::new(listener));
        let mut around = Self { names, bound, listener, record, looked: Instant::now(), log };
        around.say_where(store);
        Ok((around, current))
    }

    fn say_where(&mut self, store: &Store) {
        let Bound { path, inode } = &self.bound;
        self.log.info(format_args!("legwork {} listens on {}", self.record.build, path.display()));
        (self.record.socket, self.record.inode) = (Some(path.clone()), *inode);
        self.note(store);
    }

    /// A disk that is full must not end a daemon, and whoever finds no record still looks where the
    /// socket ought to be.
    fn note(&self, store: &Store) {
        if let Err(fault) = store.note(&self.record.text()) {
            self.log.warn(format_args!("others may not find this daemon: {}", chain(&fault)));
        }
    }

    /// How long until it is time to look.
    pub fn look_in(&self) -> Duration {
        LOOK_AROUND_EVERY.saturating_sub(self.looked.elapsed())
    }

    /// Listens again if the socket is gone.
    pub fn look(&mut self, store: &Store) {
        self.looked = Instant::now();
        self.log.reopen_if_gone();
        if self.bound.is_in_place() {
            return;
        }
        let lost = self.bound.path.display();
        match bind_one(&self.names) {
            Ok((listener, bound)) => {
                self.log.warn(format_args!("the socket {lost} was gone"));
                self.bound = bound;
                self.listener.send_replace(Arc::new(listener));
                self.say_where(store);
            }
            Err(fault) => {
                let why = chain(&fault);
                self.log.warn(format_args!("the socket {lost} is gone, and no other: {why}"));
            }
        }
    }

    /// Says how many helpers would end with this daemon.
    pub fn at_work(&mut self, helpers: usize, store: &Store) {
        if self.record.at_work != helpers {
            self.record.at_work = helpers;
            self.note(store);
        }
    }

    /// Nobody is let in any more.
    pub fn leave(&mut self, store: &Store) {
        self.record.leaving = true;
        self.note(store);
        self.bound.remove();
    }
}
