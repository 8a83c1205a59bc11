//! Reads back what a restart needs, in a fixed order and without results. A value that cannot be
//! read is a fault; whoever opened the file decides what to do about it.

use std::collections::BTreeMap;

use legwork_engine::Usage;
use legwork_engine::record::{Delivery, Ledger, Notice, NoticeId, Parent, Saved, Stop, Target};
use legwork_engine::task::{Run, Task};
use legwork_protocol::MessageId;
use rusqlite::Connection;

use crate::columns::{Columns, Known, all};
use crate::fault::Fault;
use crate::{usage, words};

const TRIED: &str = "read the store";

const TASKS: &str = "SELECT
        id, seq, place, root, parent, depth, agent, description, created, session, stage, message,
        retrieved, run, asker, key, host, queue_order, continued, started, ended, tool_calls, asked,
        paused_ms, realm, directory,
        tokens, cost_micros, currency, model, tokens_before, cost_micros_before, currency_before,
        fork_before,
        CASE WHEN stage IN ('queued', 'opening', 'prompting', 'working') THEN (
            SELECT prompt FROM runs WHERE runs.task = tasks.id AND runs.run = tasks.run
        ) END AS prompt
    FROM tasks";
const NOTICES: &str = "SELECT task, run, question, recipient, headline, made, delivery, spot
    FROM notices WHERE state = 'pending' ORDER BY task, run, question";
const DELIVERIES: &str = "SELECT id, recipient, counts FROM deliveries ORDER BY id";
const STOPS: &str = "SELECT task, place, host, session, prompted FROM stops ORDER BY task";
const PARENTS: &str = "SELECT session, place, active_host FROM parents ORDER BY session";

const LEDGERS: &str = "SELECT root, currency, micros, warned_micros, at FROM ledgers
    ORDER BY root, currency";

const EARLIER_CALLS: &str = "SELECT runs.task, runs.key
    FROM tasks JOIN runs ON runs.task = tasks.id AND runs.run < tasks.run
    WHERE tasks.run > 0 ORDER BY runs.task, runs.run";

pub fn load(db: &Connection) -> Result<Saved, Fault> {
    let mut known = Known::default();
    let mut tasks = all(db, TRIED, TASKS, (), |row| task(row, &mut known))?;
    // Almost in order already, which this sort is quick at; an index would cost every launch.
    tasks.sort_by_key(|task| (task.seq, task.id));

    let pending = all(db, TRIED, NOTICES, (), |row| notice(row, &mut known))?;
    let mut carried: BTreeMap<MessageId, Vec<(i64, NoticeId)>> = BTreeMap::new();
    for (notice, spot) in &pending {
        if let (Some(delivery), Some(spot)) = (&notice.delivery, spot) {
            carried.entry(delivery.clone()).or_default().push((*spot, notice.id));
        }
    }
    let deliveries = all(db, TRIED, DELIVERIES, (), |row| delivery(row, &mut known, &mut carried))?;
    Ok(Saved {
        tasks,
        notices: pending.into_iter().map(|(notice, _)| notice).collect(),
        deliveries,
        stops: all(db, TRIED, STOPS, (), |row| stop(row, &mut known))?,
        parents: all(db, TRIED, PARENTS, (), |row| parent(row, &mut known))?,
        ledgers: all(db, TRIED, LEDGERS, (), |row| ledger(row, &mut known))?,
        earlier_calls: all(db, TRIED, EARLIER_CALLS, (), |row| Ok((row.parsed()?, row.parsed()?)))?,
        incomplete: false,
    })
}

/// Whether the task in this row of the table is one.
pub fn reads_task(db: &Connection, row: i64) -> Result<(), Fault> {
    let sql = format!("{TASKS} WHERE tasks.rowid = {row}");
    all(db, TRIED, &sql, (), |columns| task(columns, &mut Known::default())).map(|_| ())
}

fn task(row: &mut Columns<'_>, known: &mut Known) -> Result<Task, Fault> {
    // Read in the order of the columns.
    let id = row.parsed()?;
    let seq = row.number()?;
    let place = known.places.one(row)?;
    let root = known.sessions.one(row)?;
    let parent = known.sessions.one(row)?;
    let depth = row.plain()?;
    let agent = known.shared(row)?;
    let description = row.text()?.into();
    let created = row.time()?;
    let session = row.maybe_parsed()?;
    let stage = words::stage(row.text()?, row.maybe_parsed()?)?;
    let retrieved = row.maybe_time()?;
    let mut run = Run {
        number: row.plain()?,
        asker: known.sessions.one(row)?,
        key: row.parsed()?,
        host: known.hosts.one(row)?,
        order: row.number()?,
        continued: row.plain()?,
        started: row.time()?,
        ended: row.maybe_time()?,
        tool_calls: row.plain()?,
        asked: words::questions(row.text()?)?,
        paused_ms: row.number()?,
        prompt: None,
        usage: Usage::default(),
        used_before: Usage::default(),
    };
    let (realm, directory) = (known.places.one(row)?, known.shared(row)?);
    let (tokens, cost) = (row.maybe_number()?, usage::cost(row)?);
    run.usage = Usage { tokens, cost, model: known.maybe_shared(row)? };
    let (tokens, cost) = (row.maybe_number()?, usage::cost(row)?);
    run.used_before = Usage { tokens, cost, model: None };
    let fork_before = row.maybe_text()?.map(Into::into);
    run.prompt = row.maybe_text()?.map(Into::into);
    Ok(Task {
        id,
        seq,
        place,
        realm,
        directory,
        root,
        parent,
        depth,
        agent,
        description,
        created,
        fork_before,
        session,
        stage,
        run,
        retrieved,
    })
}

/// With its position in its delivery.
fn notice(row: &mut Columns<'_>, known: &mut Known) -> Result<(Notice, Option<i64>), Fault> {
    let id =
        NoticeId { task: row.parsed()?, run: row.plain()?, about: words::about(row.plain()?)? };
    let notice = Notice {
        id,
        to: known.sessions.one(row)?,
        headline: row.text()?.to_owned(),
        made: row.time()?,
        delivery: row.maybe_parsed()?,
    };
    Ok((notice, row.plain()?))
}

fn delivery(
    row: &mut Columns<'_>,
    known: &mut Known,
    carried: &mut BTreeMap<MessageId, Vec<(i64, NoticeId)>>,
) -> Result<Delivery, Fault> {
    let id = row.parsed()?;
    let mut spots = carried.remove(&id).unwrap_or_default();
    spots.sort_unstable();
    Ok(Delivery {
        id,
        to: known.sessions.one(row)?,
        notices: spots.into_iter().map(|(_, notice)| notice).collect(),
        counts: row.text()?.to_owned(),
    })
}

fn stop(row: &mut Columns<'_>, known: &mut Known) -> Result<Stop, Fault> {
    Ok(Stop {
        task: row.parsed()?,
        place: known.places.one(row)?,
        host: known.hosts.one(row)?,
        target: match (row.maybe_parsed()?, row.plain::<bool>()?) {
            (Some(session), true) => Target::Session(session),
            (Some(session), false) => Target::Opened(session),
            (None, _) => Target::Marked,
        },
    })
}

fn parent(row: &mut Columns<'_>, known: &mut Known) -> Result<Parent, Fault> {
    Ok(Parent {
        session: known.sessions.one(row)?,
        place: known.places.one(row)?,
        active_host: row.maybe_parsed()?,
    })
}

fn ledger(row: &mut Columns<'_>, known: &mut Known) -> Result<Ledger, Fault> {
    Ok(Ledger {
        root: known.sessions.one(row)?,
        currency: row.parsed()?,
        micros: row.number()?,
        warned_micros: row.number()?,
        at: row.time()?,
    })
}
