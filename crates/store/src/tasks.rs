//! Changes to tasks and their runs. Each update is guarded by the stage and run that it starts
//! from, and changes nothing if the task is elsewhere.

use legwork_engine::Usage;
use legwork_engine::record::{Forget, Origin};
use legwork_engine::task::{ResumedBy, StageName, Task};
use legwork_protocol::{TaskId, Time};
use rusqlite::{Statement, ToSql, Transaction};

use crate::columns::all;
use crate::fault::Fault;
use crate::save::{TRIED, run, run_one};
use crate::{outbox, tombstones, usage, words};

const INSERT: &str = "INSERT INTO tasks (
        id, seq, place, root, parent, depth, agent, description, created, session, stage, message,
        retrieved, run, asker, key, host, queue_order, continued, started, ended, tool_calls, asked,
        paused_ms, realm, directory,
        tokens, cost_micros, currency, model, tokens_before, cost_micros_before, currency_before,
        fork_before
    ) VALUES (
        ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
        ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26,
        ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34
    ) ON CONFLICT DO NOTHING";

const UPDATE: &str = "UPDATE tasks SET
        seq = ?2, place = ?3, root = ?4, parent = ?5, depth = ?6, agent = ?7, description = ?8,
        created = ?9, session = ?10, stage = ?11, message = ?12, retrieved = ?13, run = ?14,
        asker = ?15, key = ?16, host = ?17, queue_order = ?18, continued = ?19, started = ?20,
        ended = ?21, tool_calls = ?22, asked = ?23, paused_ms = ?24,
        realm = ?25, directory = ?26, tokens = ?27, cost_micros = ?28, currency = ?29, model = ?30,
        tokens_before = ?31, cost_micros_before = ?32, currency_before = ?33,
        fork_before = ?34
    WHERE id = ?1 AND stage = ?35 AND run = ?36";

pub fn launched(tx: &Transaction<'_>, task: &Task, origin: &Origin) -> Result<(), Fault> {
    let what = |why| Fault::impossible(format!("launch of {}: {why}", task.id));
    if task.run.number != 0 || task.is_finished() {
        return Err(what("it has to begin with an unfinished run 0"));
    }
    if write(tx, INSERT, task, &[])? != 1 {
        return Err(what("there is a task with this id"));
    }
    run(
        tx,
        "INSERT INTO origins (task, message, agent, directory) VALUES (?1, ?2, ?3, ?4)",
        (words::id(task.id), &origin.message, &origin.agent, &origin.directory),
    )?;
    begin_run(tx, task)
}

pub fn resumed(
    tx: &Transaction<'_>,
    task: &Task,
    from: StageName,
    by: ResumedBy,
) -> Result<(), Fault> {
    let what =
        |why| Fault::impossible(format!("resume of {} as run {}: {why}", task.id, task.run.number));
    if task.is_finished() {
        return Err(what("it has to begin unfinished"));
    }
    let Some(before) = task.run.number.checked_sub(1) else {
        return Err(what("there is no run before"));
    };
    if !by.may_resume(from) {
        return Err(what("there is no such step"));
    }
    if write(tx, UPDATE, task, &[&from.as_str(), &before])? != 1 {
        return Err(what("it is not there at the run before"));
    }
    begin_run(tx, task)
}

pub fn moved(tx: &Transaction<'_>, task: &Task, from: StageName) -> Result<(), Fault> {
    if task.is_finished() {
        return Err(bad_move(task, from, "an end has to be saved as one"));
    }
    go(tx, task, from)
}

pub fn ended(
    tx: &Transaction<'_>,
    task: &Task,
    from: StageName,
    detail: &str,
) -> Result<(), Fault> {
    if !task.is_finished() {
        return Err(bad_move(task, from, "that is no end"));
    }
    go(tx, task, from)?;
    run_one(
        tx,
        "UPDATE runs SET started = ?3, ended = ?4, outcome = ?5, detail = ?6
         WHERE task = ?1 AND run = ?2",
        (
            words::id(task.id),
            task.run.number,
            words::int(task.run.started.0),
            task.run.ended.map(|at| words::int(at.0)),
            task.stage.name().as_str(),
            detail,
        ),
        || format!("end of {}: run {} never began", task.id, task.run.number),
    )?;
    usage::run_ended(tx, task)
}

pub fn retrieved(tx: &Transaction<'_>, task: TaskId, at: Time) -> Result<(), Fault> {
    run_one(
        tx,
        "UPDATE tasks SET retrieved = ?2 WHERE id = ?1",
        (words::id(task), words::int(at.0)),
        || format!("reading of {task}: there is no such task"),
    )
}

/// What hangs on the task goes with it, by the references of the schema.
pub fn forgotten(tx: &Transaction<'_>, at: Time, task: TaskId, why: Forget) -> Result<(), Fault> {
    if why == Forget::ParentDeleted {
        tombstones::put(tx, at, task)?;
    }
    let id = words::id(task);
    run(tx, "INSERT OR IGNORE INTO removals (task) VALUES (?1)", [&id])?;
    let carried = "SELECT DISTINCT delivery FROM notices
         WHERE task = ?1 AND state = 'pending' AND delivery IS NOT NULL";
    let deliveries: Vec<String> = all(tx, TRIED, carried, [&id], |row| row.plain())?;
    run_one(tx, "DELETE FROM tasks WHERE id = ?1", [&id], || {
        format!("forgetting of {task}: there is no such task")
    })?;
    for delivery in deliveries {
        outbox::drop_empty(tx, &delivery)?;
    }
    Ok(())
}

fn go(tx: &Transaction<'_>, task: &Task, from: StageName) -> Result<(), Fault> {
    if !from.may_become(task.stage.name()) {
        return Err(bad_move(task, from, "there is no such step"));
    }
    if write(tx, UPDATE, task, &[&from.as_str(), &task.run.number])? != 1 {
        return Err(bad_move(task, from, "it is not there"));
    }
    Ok(())
}

fn bad_move(task: &Task, from: StageName, why: &str) -> Fault {
    let (id, run) = (task.id, task.run.number);
    let (from, to) = (from.as_str(), task.stage.name().as_str());
    Fault::impossible(format!("{id} run {run} from {from} to {to}: {why}"))
}

fn begin_run(tx: &Transaction<'_>, task: &Task) -> Result<(), Fault> {
    let begun = &task.run;
    run_one(
        tx,
        "INSERT INTO runs (task, run, asker, key, started, prompt) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO NOTHING",
        (
            words::id(task.id),
            begun.number,
            begun.asker.as_str(),
            begun.key.as_str(),
            words::int(begun.started.0),
            begun.prompt.as_deref(),
        ),
        || format!("{} run {}: it was begun before", task.id, begun.number),
    )
}

/// Says how many rows the statement changed. The guard follows the columns.
fn write(
    tx: &Transaction<'_>,
    sql: &str,
    task: &Task,
    guard: &[&dyn ToSql],
) -> Result<usize, Fault> {
    tx.prepare_cached(sql)
        .and_then(|mut statement| {
            bind(&mut statement, task)?;
            for (number, value) in (35..).zip(guard) {
                statement.raw_bind_parameter(number, value)?;
            }
            statement.raw_execute()
        })
        .map_err(Fault::when(TRIED))
}

/// The numbers are those of both statements above. The prompt is not among them: it is long, and
/// a run keeps the one that it began with.
fn bind(to: &mut Statement<'_>, task: &Task) -> rusqlite::Result<()> {
    let last = &task.run;
    let open = if task.is_finished() { &[][..] } else { &last.asked.ids };
    let asked = words::asked(last.asked.before, open);
    to.raw_bind_parameter(1, words::id(task.id))?;
    to.raw_bind_parameter(2, words::int(task.seq))?;
    to.raw_bind_parameter(3, task.place.as_str())?;
    to.raw_bind_parameter(4, task.root.as_str())?;
    to.raw_bind_parameter(5, task.parent.as_str())?;
    to.raw_bind_parameter(6, task.depth)?;
    to.raw_bind_parameter(7, task.agent.as_ref())?;
    to.raw_bind_parameter(8, task.description.as_ref())?;
    to.raw_bind_parameter(9, words::int(task.created.0))?;
    to.raw_bind_parameter(10, task.session.as_ref().map(|session| session.as_str()))?;
    to.raw_bind_parameter(11, task.stage.name().as_str())?;
    to.raw_bind_parameter(12, task.stage.prompt().map(|message| message.as_str()))?;
    to.raw_bind_parameter(13, task.retrieved.map(|at| words::int(at.0)))?;
    to.raw_bind_parameter(14, last.number)?;
    to.raw_bind_parameter(15, last.asker.as_str())?;
    to.raw_bind_parameter(16, last.key.as_str())?;
    to.raw_bind_parameter(17, last.host.as_str())?;
    to.raw_bind_parameter(18, words::int(last.order))?;
    to.raw_bind_parameter(19, last.continued)?;
    to.raw_bind_parameter(20, words::int(last.started.0))?;
    to.raw_bind_parameter(21, last.ended.map(|at| words::int(at.0)))?;
    to.raw_bind_parameter(22, last.tool_calls)?;
    to.raw_bind_parameter(23, asked)?;
    to.raw_bind_parameter(24, words::int(last.paused_ms))?;
    to.raw_bind_parameter(25, task.realm.as_str())?;
    to.raw_bind_parameter(26, task.directory.as_ref())?;
    let Usage { tokens, cost, model } = &last.usage;
    to.raw_bind_parameter(27, tokens.map(words::int))?;
    to.raw_bind_parameter(28, cost.map(|cost| words::int(cost.micros)))?;
    to.raw_bind_parameter(29, cost.as_ref().map(|cost| cost.currency.as_str()))?;
    to.raw_bind_parameter(30, model.as_deref())?;
    let Usage { tokens, cost, .. } = &last.used_before;
    to.raw_bind_parameter(31, tokens.map(words::int))?;
    to.raw_bind_parameter(32, cost.map(|cost| words::int(cost.micros)))?;
    to.raw_bind_parameter(33, cost.as_ref().map(|cost| cost.currency.as_str()))?;
    to.raw_bind_parameter(34, task.fork_before.as_deref())
}
