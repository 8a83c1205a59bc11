//! What runs used up: the figures of each, sums over all of them, and the ledgers of root sessions.

use std::collections::BTreeMap;

use legwork_engine::record::Ledger;
use legwork_engine::task::Task;
use legwork_protocol::api::CostBy;
use legwork_protocol::view::{CostGroup, CostSum, CostsView, RunView};
use legwork_protocol::{Cost, Currency, SessionId, TaskId, Time, Usage};
use rusqlite::{Connection, Transaction};

use crate::columns::{Columns, all};
use crate::fault::Fault;
use crate::save::{run, run_one};
use crate::words;

const TRIED: &str = "read what runs used up";

/// Runs of one task that are shown, the newest ones: a person reads no more, and one answer holds
/// them.
const RUNS_SHOWN: u32 = 1_000;

/// The ended runs, and what the others have used up so far.
const RUNS: &str = "SELECT usage.started, usage.tool_calls, usage.tokens, usage.cost_micros,
        usage.currency, tasks.directory, tasks.agent
    FROM usage JOIN tasks ON tasks.id = usage.task
    UNION ALL
    SELECT started, coalesce((SELECT value FROM json_each(?2) WHERE key = tasks.id), tool_calls), tokens,
        cost_micros, currency, directory, agent FROM tasks
    WHERE stage IN ('queued', 'opening', 'prompting', 'working')";

/// What an unfinished run has used up so far.
pub fn used(
    tx: &Transaction<'_>,
    task: TaskId,
    number: u32,
    tool_calls: u32,
    usage: &Usage,
) -> Result<(), Fault> {
    let Usage { tokens, cost, model } = usage;
    run_one(
        tx,
        "UPDATE tasks SET tool_calls = ?3, tokens = ?4, cost_micros = ?5, currency = ?6, model = ?7
         WHERE id = ?1 AND run = ?2 AND stage IN ('queued', 'opening', 'prompting', 'working')",
        (
            words::id(task),
            number,
            tool_calls,
            tokens.map(words::int),
            cost.map(|cost| words::int(cost.micros)),
            cost.as_ref().map(|cost| cost.currency.as_str()),
            model.as_deref(),
        ),
        || format!("usage of {task}: its run {number} is not under way"),
    )
}

/// The figures of a run that is over stay, whatever becomes of the task.
pub fn run_ended(tx: &Transaction<'_>, task: &Task) -> Result<(), Fault> {
    let Usage { tokens, cost, model } = &task.run.usage;
    run_one(
        tx,
        "INSERT INTO usage
            (task, run, started, tool_calls, tokens, cost_micros, currency, model)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        (
            words::id(task.id),
            task.run.number,
            words::int(task.run.started.0),
            task.run.tool_calls,
            tokens.map(words::int),
            cost.map(|cost| words::int(cost.micros)),
            cost.as_ref().map(|cost| cost.currency.as_str()),
            model.as_deref(),
        ),
        || format!("usage of {} run {}: it ended before", task.id, task.run.number),
    )
}

pub fn ledger_kept(tx: &Transaction<'_>, ledger: &Ledger) -> Result<(), Fault> {
    let Ledger { root, currency, micros, warned_micros, at } = ledger;
    run_one(
        tx,
        "INSERT INTO ledgers (root, currency, micros, warned_micros, at)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET
         micros = excluded.micros, warned_micros = excluded.warned_micros, at = excluded.at",
        (
            root.as_str(),
            currency.as_str(),
            words::int(*micros),
            words::int(*warned_micros),
            words::int(at.0),
        ),
        || format!("ledger of {root}"),
    )
}

pub fn ledger_forgotten(tx: &Transaction<'_>, root: &SessionId) -> Result<(), Fault> {
    match run(tx, "DELETE FROM ledgers WHERE root = ?1", [root.as_str()])? {
        0 => Err(Fault::impossible(format!("forgetting of the ledger of {root}: there is none"))),
        _ => Ok(()),
    }
}

/// The next two columns, an amount and its currency.
pub fn cost(row: &mut Columns<'_>) -> Result<Option<Cost>, Fault> {
    let (micros, currency) = (row.maybe_number()?, row.maybe_parsed()?);
    Ok(micros.zip(currency).map(|(micros, currency)| Cost { micros, currency }))
}

/// Whether the prompts of runs are read with them: each may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    With,
    Without,
}

pub fn runs(db: &Connection, task: TaskId, prompts: Prompts) -> Result<Vec<RunView>, Fault> {
    let sql = "SELECT runs.run, runs.started, runs.ended, runs.outcome, usage.tool_calls,
            usage.tokens, usage.cost_micros, usage.currency, usage.model,
            CASE WHEN ?3 THEN runs.prompt END
        FROM runs LEFT JOIN usage ON usage.task = runs.task AND usage.run = runs.run
        WHERE runs.task = ?1 ORDER BY runs.run DESC LIMIT ?2";
    let mut runs =
        all(db, TRIED, sql, (words::id(task), RUNS_SHOWN, prompts == Prompts::With), |row| {
            let (number, started, ended) = (row.plain()?, row.time()?, row.maybe_time()?);
            let (outcome, tool_calls) = (row.maybe_parsed()?, row.plain()?);
            let (tokens, cost) = (row.maybe_number()?, cost(row)?);
            let model: Option<String> = row.plain()?;
            let prompt: Option<String> = row.plain()?;
            let usage = Usage { tokens, cost, model: model.map(Into::into) };
            Ok(RunView {
                run: number,
                prompt: prompt.unwrap_or_default(),
                started,
                ended,
                outcome,
                tool_calls,
                usage,
            })
        })?;
    runs.reverse();
    Ok(runs)
}

/// The sums of all runs. Of one under way the records know the tool calls of a while ago, so
/// whoever knows better says so.
pub fn costs(
    db: &Connection,
    by: CostBy,
    since: Option<Time>,
    under_way: &BTreeMap<TaskId, u32>,
) -> Result<CostsView, Fault> {
    let (name, order) = match by {
        CostBy::Day => ("date(started / 1000, 'unixepoch', 'localtime')", "DESC"),
        CostBy::Project => ("directory", "ASC"),
        CostBy::Agent => ("agent", "ASC"),
    };
    let sql = format!(
        "SELECT coalesce({name}, '') AS name, currency, count(*), sum(coalesce(tool_calls, 0)),
            sum(coalesce(tokens, 0)), count(*) - count(tokens),
            sum(coalesce(cost_micros, 0)), count(*) - count(cost_micros)
         FROM ({RUNS}) WHERE started >= ?1 GROUP BY name, currency ORDER BY name {order}"
    );
    let since = words::int(since.unwrap_or_default().0);
    let mut groups: Vec<(String, Sums)> = Vec::new();
    let mut total = Sums::default();
    let known = under_way.iter().map(|(task, calls)| format!("\"{task}\":{calls}"));
    let known = format!("{{{}}}", known.collect::<Vec<_>>().join(","));
    let rows =
        all(db, TRIED, &sql, (since, known), |row| Ok((row.plain::<String>()?, sums(row)?)))?;
    for (name, sums) in rows {
        total.add(&sums);
        match groups.last_mut().filter(|(last, _)| *last == name) {
            Some((_, group)) => group.add(&sums),
            None => groups.push((name, sums)),
        }
    }
    let groups = groups.into_iter().map(|(name, sums)| CostGroup { name, sum: sums.view() });
    Ok(CostsView { by, groups: groups.collect(), total: total.view() })
}

#[derive(Default)]
struct Sums {
    sum: CostSum,
    costs: BTreeMap<Currency, u64>,
}

fn sums(row: &mut Columns<'_>) -> Result<Sums, Fault> {
    let currency: Option<Currency> = row.maybe_parsed()?;
    let mut sums = Sums::default();
    sums.sum.runs = row.number()?;
    sums.sum.tool_calls = row.number()?;
    (sums.sum.tokens, sums.sum.tokens_unknown) = (row.number()?, row.number()?);
    let micros = row.number()?;
    sums.sum.cost_unknown = row.number()?;
    sums.costs.extend(currency.map(|currency| (currency, micros)));
    Ok(sums)
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.sum.runs += other.sum.runs;
        self.sum.tool_calls += other.sum.tool_calls;
        self.sum.tokens = self.sum.tokens.saturating_add(other.sum.tokens);
        self.sum.tokens_unknown += other.sum.tokens_unknown;
        self.sum.cost_unknown += other.sum.cost_unknown;
        for (currency, micros) in &other.costs {
            let sum = self.costs.entry(*currency).or_default();
            *sum = sum.saturating_add(*micros);
        }
    }

    fn view(self) -> CostSum {
        let costs = self.costs.into_iter();
        let costs = costs.map(|(currency, micros)| Cost { micros, currency }).collect();
        CostSum { costs, ..self.sum }
    }
}
