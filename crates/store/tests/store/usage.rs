//! What runs used up: kept for each, summed over all, and the ledgers that outlive their tasks.

use std::collections::BTreeMap;

use crate::common::{NOW, asked, ended, finish, id, launched, moved, msg, open, resumed, task};
use legwork_engine::Usage;
use legwork_engine::record::{Change, Forget, Journal, Ledger, Settled};
use legwork_engine::task::{Outcome, Stage, Task};
use legwork_engine::text::timeline::sentence;
use legwork_protocol::api::{CostBy, Reply};
use legwork_protocol::view::{CostSum, RunView};
use legwork_protocol::{Cost, Currency, Time};
use legwork_store::{Prompts, Store};
use rusqlite::Connection;
use tempfile::TempDir;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn cost(micros: u64, currency: &str) -> Cost {
    Cost { micros, currency: currency.parse().unwrap() }
}

fn usage(tokens: u64, micros: u64) -> Usage {
    Usage { tokens: Some(tokens), cost: Some(cost(micros, "USD")), model: Some("p/m".into()) }
}

/// A task that began so many days after the others, and used this up.
fn used(store: &mut Store, number: u64, days: u64, usage: Usage, change: impl FnOnce(&mut Task)) {
    let mut task = task(number);
    change(&mut task);
    // Ten in the morning, which is the same day nearly everywhere.
    task.run.started = Time(1_700_000_000_000 - 1_700_000_000_000 % DAY_MS + days * DAY_MS)
        .plus(10 * 60 * 60 * 1000);
    (task.run.usage, task.run.tool_calls) = (usage, 2);
    store.save(NOW, &finish(&mut task, "done")).unwrap();
}

fn names(sums: &[(String, CostSum)]) -> Vec<&str> {
    sums.iter().map(|(name, _)| name.as_str()).collect()
}

fn sums(store: &Store, by: CostBy, since: Option<Time>) -> (Vec<(String, CostSum)>, CostSum) {
    let costs = store.costs(by, since, &BTreeMap::new()).unwrap();
    (costs.groups.into_iter().map(|group| (group.name, group.sum)).collect(), costs.total)
}

#[test]
fn p4_every_run_of_a_task_keeps_its_figures() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    let mut task = task(1);
    (task.run.usage, task.run.tool_calls) = (usage(100, 20), 3);
    store.save(NOW, &finish(&mut task, "first")).unwrap();
    (task.run.usage, task.run.tool_calls) = (Usage::default(), 0);
    store.save(NOW, &[resumed(&mut task)]).unwrap();
    let later = Change::Used { task: id(1), run: 1, tool_calls: 1, usage: usage(7, 5) };
    store.save(NOW, &[later]).unwrap();
    drop(store);

    let mut store = open(home.path());
    let last = &store.load().unwrap().tasks[0].run;
    assert_eq!((&last.usage, last.tool_calls), (&usage(7, 5), 1), "so far");
    let end = ended(&mut task, Outcome::Failed, "no");
    let Change::Ended { mut task, from, detail } = end else { unreachable!() };
    (task.run.usage, task.run.tool_calls) = (Usage { tokens: Some(9), ..Usage::default() }, 1);
    store.save(NOW, &[Change::Ended { task, from, detail }]).unwrap();
    let figures =
        |run: RunView| (run.run, run.outcome, run.tool_calls, run.usage.tokens, run.usage.cost);
    let runs: Vec<_> =
        store.runs(id(1), Prompts::Without).unwrap().into_iter().map(figures).collect();
    assert_eq!(
        runs,
        [
            (0, Some(Outcome::Completed), Some(3), Some(100), Some(cost(20, "USD"))),
            (1, Some(Outcome::Failed), Some(1), Some(9), None),
        ]
    );
}

#[test]
fn p4_figures_are_refused_of_a_run_that_is_over_or_another() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    store.save(NOW, &[launched(&task(1))]).unwrap();
    let told = |run| Change::Used { task: id(1), run, tool_calls: 0, usage: usage(1, 1) };
    store.save(NOW, &[told(0)]).unwrap();
    store.save(NOW, &[told(1)]).unwrap_err();
    let mut task = task(1);
    store.save(NOW, &[ended(&mut task, Outcome::Cancelled, "")]).unwrap();
    store.save(NOW, &[told(0)]).unwrap_err();
}

#[test]
fn p4_costs_are_summed_by_day_project_and_agent_and_what_is_unknown_is_counted() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    used(&mut store, 1, 0, usage(100, 20), |_| {});
    used(&mut store, 2, 0, usage(50, 5), |task| task.agent = "plan".into());
    used(&mut store, 3, 3, Usage::default(), |task| task.directory = "/q".into());
    let euro = Usage { cost: Some(cost(7, "EUR")), ..Usage::default() };
    used(&mut store, 4, 3, euro, |task| task.agent = "plan".into());
    // One that is under way counts with what it has used up so far.
    let mut going = task(5);
    going.run.started = NOW.plus(DAY_MS * 10);
    store.save(NOW, &[launched(&going)]).unwrap();
    let working = moved(&mut going, Stage::Prompting(msg("msg_1")));
    let so_far = Change::Used { task: id(5), run: 0, tool_calls: 1, usage: usage(3, 1) };
    store.save(NOW, &[working, so_far]).unwrap();

    let (days, total) = sums(&store, CostBy::Day, None);
    assert_eq!(names(&days), ["2023-11-24", "2023-11-17", "2023-11-14"]);
    assert_eq!(
        (days[2].1.runs, days[2].1.tokens, &days[2].1.costs),
        (2, 150, &vec![cost(25, "USD")])
    );
    assert_eq!((days[1].1.cost_unknown, days[1].1.tokens_unknown), (1, 2));
    let all = CostSum {
        runs: 5,
        tool_calls: 9,
        tokens: 153,
        tokens_unknown: 2,
        costs: vec![cost(7, "EUR"), cost(26, "USD")],
        cost_unknown: 1,
    };
    assert_eq!(total, all);

    let (projects, _) = sums(&store, CostBy::Project, None);
    assert_eq!(names(&projects), ["/p", "/q"]);
    let (agents, same) = sums(&store, CostBy::Agent, None);
    assert_eq!((names(&agents), same), (vec!["explore", "plan"], all));
    assert_eq!(agents[1].1.costs, [cost(7, "EUR"), cost(5, "USD")]);
    let (days, total) = sums(&store, CostBy::Day, Some(NOW.plus(DAY_MS)));
    assert_eq!((names(&days), total.runs), (vec!["2023-11-24", "2023-11-17"], 3));
}

#[test]
fn p4_nothing_of_a_cleared_task_is_summed_and_its_ledger_stays() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    used(&mut store, 1, 0, usage(100, 20), |_| {});
    let ledger = |micros| {
        let (root, currency) = ("ses_root".parse().unwrap(), Currency::USD);
        Ledger { root, currency, micros, warned_micros: 0, at: NOW }
    };
    let keep = |micros| Change::LedgerKept { ledger: ledger(micros), warning: None };
    store.save(NOW, &[keep(20), keep(30)]).unwrap();
    store.save(NOW, &[Change::Forgotten { task: id(1), why: Forget::Cleared }]).unwrap();
    assert_eq!(sums(&store, CostBy::Agent, None), (Vec::new(), CostSum::default()));
    drop(store);
    let mut store = open(home.path());
    assert_eq!(store.load().unwrap().ledgers, [ledger(30)]);
    let forget = Change::LedgerForgotten { root: "ses_root".parse().unwrap() };
    store.save(NOW, std::slice::from_ref(&forget)).unwrap();
    store.save(NOW, &[forget]).unwrap_err();
    assert!(store.load().unwrap().ledgers.is_empty());
}

#[test]
fn k4_figures_and_ledgers_survive_damage_elsewhere_and_a_bad_ledger_costs_only_itself() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    used(&mut store, 1, 0, usage(100, 20), |_| {});
    let ledger = |root: &str| {
        let (root, currency) = (root.parse().unwrap(), Currency::USD);
        Ledger { root, currency, micros: 20, warned_micros: 0, at: NOW }
    };
    for root in ["ses_a", "ses_b"] {
        store.save(NOW, &[Change::LedgerKept { ledger: ledger(root), warning: None }]).unwrap();
    }
    drop(store);
    let db = Connection::open(home.path().join("legwork.db")).unwrap();
    db.execute("UPDATE ledgers SET currency = 'shells' WHERE root = 'ses_a'", ()).unwrap();
    drop(db);
    let opened = Store::open(home.path()).unwrap();
    assert_eq!(opened.set_aside.unwrap().rescued, 1);
    let mut store = opened.store;
    assert_eq!(store.load().unwrap().ledgers, [ledger("ses_b")]);
    assert_eq!(store.runs(id(1), Prompts::Without).unwrap()[0].usage.tokens, Some(100));
    assert_eq!(store.load().unwrap().tasks[0].run.usage, usage(100, 20));
}

#[test]
fn p6_the_same_question_twice_is_in_the_history_twice_with_both_answers() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    store.save(NOW, &[launched(&task(1))]).unwrap();
    let question = asked("bash: ls");
    for _ in 0..2 {
        let (again, how) = (question.clone(), Settled::ByPerson(Reply::Once));
        store.save(NOW, &[Change::Asked { task: id(1), run: 0, question: again }]).unwrap();
        let question = question.clone();
        store.save(NOW, &[Change::Answered { task: id(1), run: 0, question, how }]).unwrap();
    }
    let events = store.timeline(id(1)).unwrap();
    let lines: Vec<String> = events.iter().skip(1).map(|(_, _, event)| sentence(event)).collect();
    let asks = "asks for a permission: bash: ls";
    let answered = "answered by a person through legwork: yes, this once (bash: ls)";
    assert_eq!(lines, [asks, answered, asks, answered]);
}
