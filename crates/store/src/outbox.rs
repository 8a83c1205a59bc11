//! Changes to the outbox: notices, the deliveries that carry them, stops, and the parents that are
//! told. A notice keeps its row while its task is there, so that it cannot be enqueued twice.

use legwork_engine::record::{About, Delivery, Notice, NoticeId, Parent, Stop, Target};
use legwork_protocol::{MessageId, SessionId, TaskId};
use rusqlite::{Connection, Transaction};

use crate::columns::all;
use crate::fault::Fault;
use crate::save::{TRIED, run, run_one};
use crate::words;

pub fn pending(tx: &Transaction<'_>, notice: &Notice) -> Result<(), Fault> {
    let id = notice.id;
    if notice.delivery.is_some() {
        return Err(Fault::impossible(format!("{}: it cannot begin in a delivery", name(id))));
    }
    run_one(
        tx,
        "INSERT INTO notices (task, run, question, recipient, headline, made, state)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?1)
         ON CONFLICT DO NOTHING",
        (
            words::id(id.task),
            id.run,
            words::question(id.about),
            notice.to.as_str(),
            &notice.headline,
            words::int(notice.made.0),
            words::PENDING,
        ),
        || format!("{}: it was pending before, or its task is not there", name(id)),
    )
}

/// A delivery that is pulled and has nothing left to tell goes with it.
pub fn withdrawn(tx: &Transaction<'_>, id: NoticeId) -> Result<(), Fault> {
    let key = (words::id(id.task), id.run, words::question(id.about));
    let carried = "SELECT deliveries.id FROM notices JOIN deliveries ON deliveries.id = delivery
        WHERE task = ?1 AND run = ?2 AND question = ?3 AND state = 'pending' AND counts = ''";
    let pulled: Vec<String> = all(tx, TRIED, carried, key.clone(), |row| row.plain())?;
    run_one(
        tx,
        "UPDATE notices SET state = ?4, delivery = NULL, spot = NULL
         WHERE task = ?1 AND run = ?2 AND question = ?3 AND state = 'pending'
             AND (delivery IS NULL OR delivery = ?5)",
        (key.0, key.1, key.2, words::WITHDRAWN, pulled.first()),
        || format!("withdrawal of {}: it is not pending, or in a delivery", name(id)),
    )?;
    pulled.iter().try_for_each(|delivery| drop_empty(tx, delivery))
}

/// A delivery that has nothing left to tell is dropped.
pub fn drop_empty(tx: &Transaction<'_>, delivery: &str) -> Result<(), Fault> {
    run(
        tx,
        "DELETE FROM deliveries WHERE id = ?1 AND NOT EXISTS (
            SELECT 1 FROM notices WHERE delivery = ?1 AND state = 'pending'
         )",
        [delivery],
    )?;
    Ok(())
}

pub fn delivery_pulled(tx: &Transaction<'_>, delivery: &MessageId) -> Result<(), Fault> {
    run_one(tx, "UPDATE deliveries SET counts = '' WHERE id = ?1", [delivery.as_str()], || {
        format!("delivery {delivery}: there is no such delivery")
    })
}

/// Who was told the end of this run by a delivery.
pub fn told_end(db: &Connection, task: TaskId, run: u32) -> Result<Option<SessionId>, Fault> {
    let sql = "SELECT recipient FROM notices
        WHERE task = ?1 AND run = ?2 AND question = ?3 AND state = 'delivered'";
    let key = (words::id(task), run, words::question(About::End));
    let told = all(db, "read who was told", sql, key, |row| row.parsed())?;
    Ok(told.into_iter().next())
}

pub fn delivery_created(tx: &Transaction<'_>, delivery: &Delivery) -> Result<(), Fault> {
    let what = |why: &str| format!("delivery {}: {why}", delivery.id);
    if delivery.notices.is_empty() {
        return Err(Fault::impossible(what("it tells nothing")));
    }
    run_one(
        tx,
        "INSERT INTO deliveries (id, recipient, counts) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        (delivery.id.as_str(), delivery.to.as_str(), &delivery.counts),
        || what("it exists already"),
    )?;
    for (spot, id) in (0i64..).zip(&delivery.notices) {
        run_one(
            tx,
            "UPDATE notices SET delivery = ?4, spot = ?5
             WHERE task = ?1 AND run = ?2 AND question = ?3 AND state = 'pending'
             AND delivery IS NULL",
            (words::id(id.task), id.run, words::question(id.about), delivery.id.as_str(), spot),
            || what(&format!("{} is not pending, or in a delivery", name(*id))),
        )?;
    }
    Ok(())
}

/// A delivery is dealt with, or was not sent: its notices are in this state now.
pub fn end_delivery(tx: &Transaction<'_>, delivery: &MessageId, state: &str) -> Result<(), Fault> {
    run_one(tx, "DELETE FROM deliveries WHERE id = ?1", [delivery.as_str()], || {
        format!("end of delivery {delivery}: there is no such delivery")
    })?;
    run(
        tx,
        "UPDATE notices SET delivery = NULL, spot = NULL, state = ?2
         WHERE delivery = ?1 AND state = 'pending'",
        (delivery.as_str(), state),
    )?;
    Ok(())
}

pub fn stop_requested(tx: &Transaction<'_>, stop: &Stop) -> Result<(), Fault> {
    let (session, prompted) = match &stop.target {
        Target::Session(session) => (Some(session.as_str()), true),
        Target::Opened(session) => (Some(session.as_str()), false),
        Target::Marked => (None, false),
    };
    run_one(
        tx,
        "INSERT INTO stops (task, place, host, session, prompted) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        (words::id(stop.task), stop.place.as_str(), stop.host.as_str(), session, prompted),
        || format!("stop of {}: one is pending", stop.task),
    )
}

pub fn stop_done(tx: &Transaction<'_>, task: TaskId) -> Result<(), Fault> {
    run_one(tx, "DELETE FROM stops WHERE task = ?1", [words::id(task)], || {
        format!("end of the stop of {task}: none is pending")
    })
}

pub fn parent_known(tx: &Transaction<'_>, parent: &Parent) -> Result<(), Fault> {
    let active_host = parent.active_host.as_ref().map(|host| host.as_str());
    run_one(
        tx,
        "INSERT INTO parents (session, place, active_host) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET place = excluded.place, active_host = excluded.active_host",
        (parent.session.as_str(), parent.place.as_str(), active_host),
        || format!("parent {}", parent.session),
    )
}

pub fn parent_forgotten(tx: &Transaction<'_>, session: &SessionId) -> Result<(), Fault> {
    run_one(tx, "DELETE FROM parents WHERE session = ?1", [session.as_str()], || {
        format!("forgetting of parent {session}: it is not known")
    })
}

fn name(id: NoticeId) -> String {
    format!("notice of {} run {} ({:?})", id.task, id.run, id.about)
}
