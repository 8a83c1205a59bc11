//! The journal as the simulated daemon sees it: a real one, with a disk that may be full, a daemon
//! that may die between two effects, and the auditor beside it.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use legwork_engine::text::timeline;
use legwork_engine::{Change, Journal, Saved};
use legwork_protocol::{TaskId, Time};
use legwork_store::Store;

use crate::audit::Audit;
use crate::memory::Memory;
use crate::trace::Trace;

/// Counts down to the daemon's death: once it has blown, nothing that the daemon does has any
/// effect.
#[derive(Debug, Clone, Default)]
pub struct Fuse(Rc<Cell<State>>);

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Unlit,
    Burning(u32),
    Blown,
}

impl Fuse {
    /// The daemon dies before the effect after so many others.
    pub fn light(&self, effects: u32) {
        self.0.set(State::Burning(effects));
    }

    /// It did not come to that.
    pub fn put_out(&self) {
        if !self.has_blown() {
            self.0.set(State::Unlit);
        }
    }

    /// One effect is about to happen: may it?
    pub fn burn(&self) -> bool {
        match self.0.get() {
            State::Unlit => true,
            State::Burning(0) => {
                self.0.set(State::Blown);
                false
            }
            State::Burning(left) => {
                self.0.set(State::Burning(left - 1));
                true
            }
            State::Blown => false,
        }
    }

    /// Whether the daemon is dead.
    pub fn has_blown(&self) -> bool {
        matches!(self.0.get(), State::Blown)
    }
}

/// What the records are kept in.
#[derive(Debug)]
pub enum Keeper {
    Memory(Box<Memory>),
    /// SQLite, in a folder that is removed afterwards. Closed while the daemon is dead.
    File(tempfile::TempDir, Option<Box<Store>>),
}

/// The records, with what can happen to them.
#[derive(Debug)]
pub struct Books {
    keeper: Keeper,
    pub audit: Audit,
    /// Whether nothing can be written.
    pub full: bool,
    pub fuse: Fuse,
    trace: Trace,
}

/// Why the books did not do it.
#[derive(Debug)]
pub struct BooksFault(String);

impl fmt::Display for BooksFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

fn fault(why: impl fmt::Display) -> BooksFault {
    BooksFault(why.to_string())
}

impl Books {
    pub fn new(keeper: Keeper, audit: Audit, trace: Trace) -> Self {
        Self { keeper, audit, full: false, fuse: Fuse::default(), trace }
    }

    /// The daemon is dead, and so is its hold on the file.
    pub fn close(&mut self) {
        if let Keeper::File(_, store) = &mut self.keeper {
            *store = None;
        }
        self.fuse = Fuse::default();
    }

    /// Begins anew with empty books, if they are plain maps.
    pub fn set_aside(&mut self) -> bool {
        let Keeper::Memory(memory) = &mut self.keeper else { return false };
        **memory = Memory::default();
        memory.incomplete = true;
        true
    }

    fn save_now(&mut self, at: Time, changes: &[Change]) -> Result<(), BooksFault> {
        match &mut self.keeper {
            Keeper::Memory(memory) => memory.save(at, changes).map_err(fault),
            Keeper::File(folder, store) => open(folder, store)?.save(at, changes).map_err(fault),
        }
    }
}

fn open<'a>(
    folder: &tempfile::TempDir,
    store: &'a mut Option<Box<Store>>,
) -> Result<&'a mut Store, BooksFault> {
    if store.is_none() {
        *store = Some(Box::new(Store::open(folder.path()).map_err(fault)?.store));
    }
    store.as_deref_mut().ok_or_else(|| fault("closed"))
}

impl Journal for Books {
    type Fault = BooksFault;

    fn save(&mut self, at: Time, changes: &[Change]) -> Result<(), BooksFault> {
        if !self.fuse.burn() {
            return Err(fault("the daemon is dead"));
        }
        if self.full {
            self.trace.tell(|| "the disk is full: nothing is saved".to_owned());
            return Err(fault("the disk is full"));
        }
        if let Err(why) = self.save_now(at, changes) {
            // Not a fault that the world made: the daemon asked for something impossible.
            self.audit.broken("impossible change", why.to_string());
            return Err(why);
        }
        for change in changes {
            // Figures change with every step.
            if !matches!(
                change,
                Change::Used { .. } | Change::LedgerKept { .. } | Change::LedgerForgotten { .. }
            ) {
                self.trace.tell(|| format!("    {}", timeline::trace(change)));
            }
        }
        self.audit.committed(at, changes);
        Ok(())
    }

    fn detail(&mut self, task: TaskId, run: u32) -> Result<Option<String>, BooksFault> {
        match &mut self.keeper {
            Keeper::Memory(memory) => memory.detail(task, run).map_err(fault),
            Keeper::File(folder, store) => open(folder, store)?.detail(task, run).map_err(fault),
        }
    }

    fn load(&mut self) -> Result<Saved, BooksFault> {
        match &mut self.keeper {
            Keeper::Memory(memory) => memory.load().map_err(fault),
            Keeper::File(folder, store) => open(folder, store)?.load().map_err(fault),
        }
    }

    fn probe(&mut self) -> Result<(), BooksFault> {
        if self.full { Err(fault("the disk is full")) } else { Ok(()) }
    }
}
