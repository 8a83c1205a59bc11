//! How others find the daemon: its socket, and the record that says where it is. Anybody can delete
//! the socket or the log, so both are checked now and then and made again.

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
use crate::limits::CHECK_SOCKET_EVERY;
use crate::log::Log;

#[derive(Debug)]
pub struct Rendezvous {
    names: Vec<PathBuf>,
    bound: Bound,
    listener: watch::Sender<Arc<UnixListener>>,
    record: Record,
    checked: Instant,
    log: Log,
}

impl Rendezvous {
    /// Listens, and announces where.
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
        let mut rendezvous = Self { names, bound, listener, record, checked: Instant::now(), log };
        rendezvous.announce(store);
        Ok((rendezvous, current))
    }

    fn announce(&mut self, store: &Store) {
        let Bound { path, inode } = &self.bound;
        self.log.info(format_args!("legwork {} listens on {}", self.record.build, path.display()));
        (self.record.socket, self.record.inode) = (Some(path.clone()), *inode);
        self.note(store);
    }

    /// A full disk must not end a daemon, and whoever finds no record still tries the usual socket.
    fn note(&self, store: &Store) {
        if let Err(fault) = store.note(&self.record.text()) {
            self.log.warn(format_args!("others may not find this daemon: {}", chain(&fault)));
        }
    }

    pub fn check_in(&self) -> Duration {
        CHECK_SOCKET_EVERY.saturating_sub(self.checked.elapsed())
    }

    pub fn check(&mut self, store: &Store) {
        self.checked = Instant::now();
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
                self.announce(store);
            }
            Err(fault) => {
                let why = chain(&fault);
                self.log.warn(format_args!("the socket {lost} is gone, and no other: {why}"));
            }
        }
    }

    /// Records how many helpers would end with this daemon.
    pub fn at_work(&mut self, helpers: usize, store: &Store) {
        if self.record.at_work != helpers {
            self.record.at_work = helpers;
            self.note(store);
        }
    }

    /// Nobody can connect any more.
    pub fn leave(&mut self, store: &Store) {
        self.record.leaving = true;
        self.note(store);
        self.bound.remove();
    }
}
