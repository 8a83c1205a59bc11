//! Saving: the changes of one reaction in one transaction. Each statement is guarded so that it can
//! only touch the rows that its change names; one that touches others, or none, rolls back all.

use legwork_engine::record::{Change, Forget};
use legwork_protocol::{TaskId, Time};
use rusqlite::{Connection, Params, Transaction, TransactionBehavior};

use crate::fault::Fault;
use crate::{clear, outbox, tasks, timeline, usage, words};

pub const TRIED: &str = "save a change";

/// Immediate, because a transaction that begins by reading cannot wait for a lock later.
pub fn begin<'d>(db: &'d mut Connection, tried: &'static str) -> Result<Transaction<'d>, Fault> {
    db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Fault::when(tried))
}

pub fn save(db: &mut Connection, at: Time, changes: &[Change]) -> Result<(), Fault> {
    match clear::staying(db, changes)? {
        Some(staying) => clear::unguarded(db, |db| save_all(db, at, changes, Some(&staying))),
        None => save_all(db, at, changes, None),
    }
}

fn save_all(
    db: &mut Connection,
    at: Time,
    changes: &[Change],
    staying: Option<&[TaskId]>,
) -> Result<(), Fault> {
    let tx = begin(db, TRIED)?;
    for change in changes {
        match (change, staying) {
            (Change::Cleared { tasks }, Some(staying)) => clear::all_but(&tx, tasks, staying)?,
            _ => apply(&tx, at, change)?,
        }
        timeline::append(&tx, at, change)?;
    }
    tx.commit().map_err(Fault::when(TRIED))
}

pub fn apply(tx: &Transaction<'_>, at: Time, change: &Change) -> Result<(), Fault> {
    match change {
        Change::Launched { task, origin } => tasks::launched(tx, task, origin),
        // Its event in the history is all of it.
        Change::Resumed { task, from, by } => tasks::resumed(tx, task, *from, *by),
        Change::Moved { task, from } => tasks::moved(tx, task, *from),
        Change::Ended { task, from, detail } => tasks::ended(tx, task, *from, detail),
        Change::Used { task, run, tool_calls, usage } => {
            usage::used(tx, *task, *run, *tool_calls, usage)
        }
        // An event of the task's history, and nothing else.
        Change::Asked { .. } | Change::Answered { .. } | Change::LaunchUndone { .. } => Ok(()),
        Change::LedgerKept { ledger, .. } => usage::ledger_kept(tx, ledger),
        Change::LedgerForgotten { root } => usage::ledger_forgotten(tx, root),
        Change::Retrieved { task, at } => tasks::retrieved(tx, *task, *at),
        Change::Forgotten { task, why } => tasks::forgotten(tx, at, *task, *why),
        Change::Cleared { tasks } => {
            tasks.iter().try_for_each(|task| tasks::forgotten(tx, at, *task, Forget::Cleared))
        }
        Change::Enqueued(notice) => outbox::pending(tx, notice),
        Change::Withdrawn(notice) => outbox::withdrawn(tx, *notice),
        Change::DeliveryCreated(delivery) => outbox::delivery_created(tx, delivery),
        Change::DeliveryWithdrawn { delivery, .. } => {
            outbox::end_delivery(tx, delivery, words::PENDING)
        }
        Change::DeliveryPulled { delivery, .. } => outbox::delivery_pulled(tx, delivery),
        Change::DeliveryDone { delivery, end, .. } => {
            outbox::end_delivery(tx, delivery, words::delivery_end(*end))
        }
        Change::StopRequested(stop) => outbox::stop_requested(tx, stop),
        Change::StopDone { task } => outbox::stop_done(tx, *task),
        Change::ParentKnown(parent) => outbox::parent_known(tx, parent),
        Change::ParentForgotten { session } => outbox::parent_forgotten(tx, session),
    }
}

/// Runs a statement and says how many rows it changed.
pub fn run(tx: &Transaction<'_>, sql: &str, values: impl Params) -> Result<usize, Fault> {
    tx.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(values))
        .map_err(Fault::when(TRIED))
}

/// Runs a statement that has to change exactly one row.
pub fn run_one(
    tx: &Transaction<'_>,
    sql: &str,
    values: impl Params,
    what: impl FnOnce() -> String,
) -> Result<(), Fault> {
    match run(tx, sql, values)? {
        1 => Ok(()),
        _ => Err(Fault::impossible(what())),
    }
}
