//! The budget: when the person is told, and how long what was spent is remembered.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod desk;

use legwork_engine::record::{Change, Ledger, Saved};
use legwork_engine::{Engine, Hint, Input, PromptUsage, Usage};
use legwork_protocol::limits::LEDGERS_MAX;
use legwork_protocol::{Ask, Cost, Currency, Settings, TaskId, Time};

use desk::{DAWN, Desk, answered, parent, session_id};

fn up_to(max_cost_micros: u64) -> Settings {
    Settings { max_cost_micros, ..Settings::default() }
}

fn cost(micros: u64) -> Usage {
    let cost = Some(Cost { micros, currency: Currency::USD });
    Usage { tokens: None, cost, model: None }
}

/// The host tells what the task has cost so far; gives back the toasts that come of it.
fn costs(desk: &mut Desk, task: TaskId, session: &str, micros: u64) -> Vec<String> {
    let prompt = desk.tasks[&task].stage.prompt().unwrap().clone();
    let used = Some(PromptUsage { prompt, usage: cost(micros) });
    let hint = Hint::Progress { session: session_id(session), tool: None, used };
    let reaction = desk.on(Input::Hint(hint));
    let toasts = desk.engine.toasts(&reaction.save);
    toasts.into_iter().map(|(_, toast)| toast.message).collect()
}

#[test]
fn p4_the_person_is_told_once_when_four_fifths_are_used_up() {
    let mut desk = Desk::new(up_to(1_000_000));
    let task = desk.working(parent("call_1"), "Explore", "ses_one");
    assert!(costs(&mut desk, task, "ses_one", 799_999).is_empty());
    let told = costs(&mut desk, task, "ses_one", 800_000);
    let message = "They have cost 0.8000 of 1.0000 USD. At limits.max_cost no more is started, nor what waits.";
    assert_eq!(told, [message]);
    assert!(costs(&mut desk, task, "ses_one", 900_000).is_empty(), "once");
    desk.ends("ses_one", answered("Done."));
    let second = desk.working(parent("call_2"), "Again", "ses_two");
    assert!(costs(&mut desk, second, "ses_two", 50_000).is_empty(), "once for a session");
}

#[test]
fn p4_without_a_limit_nobody_is_told_and_nothing_is_refused() {
    let mut desk = Desk::new(up_to(0));
    let task = desk.working(parent("call_1"), "Explore", "ses_one");
    assert!(costs(&mut desk, task, "ses_one", u64::MAX).is_empty());
    desk.working(parent("call_2"), "Another", "ses_two");
}

#[test]
fn p4_who_was_told_before_a_restart_is_not_told_again_unless_the_limit_is_another() {
    let root = session_id(desk::PARENT);
    let (currency, at) = (Currency::USD, DAWN);
    let ledger = Ledger { root, currency, micros: 850_000, warned_micros: 1_000_000, at };
    for (limit, times) in [(1_000_000, 0), (1_100_000, 1)] {
        let saved = Saved { ledgers: vec![ledger.clone()], ..Saved::default() };
        let mut desk = Desk::new(up_to(limit));
        desk.engine = Engine::restore(up_to(limit), saved, desk.now, 1_000);
        desk.host_comes("host_1");
        let task = desk.working(parent("call_1"), "Explore", "ses_one");
        assert_eq!(costs(&mut desk, task, "ses_one", 50_000).len(), times, "{limit}");
    }
}

#[test]
fn p4_news_of_an_earlier_prompt_changes_nothing() {
    let mut desk = Desk::new(up_to(0));
    let task = desk.working(parent("call_1"), "Explore", "ses_one");
    let used = Some(PromptUsage { prompt: "msg_earlier".parse().unwrap(), usage: cost(5) });
    desk.hint(Hint::Progress { session: session_id("ses_one"), tool: None, used });
    let view = desk.engine.view(&task.to_string(), desk.now).unwrap();
    assert_eq!(view.usage.cost, None);
}

#[test]
fn g3_the_oldest_of_too_many_ledgers_is_forgotten() {
    let ledger = |number: usize| {
        let root = session_id(&format!("ses_{number}"));
        let at = Time(DAWN.0 - 1_000_000 + number as u64);
        Ledger { root, currency: Currency::USD, micros: 1, warned_micros: 0, at }
    };
    let ledgers = (0..LEDGERS_MAX).map(ledger).collect();
    let mut desk = Desk::new(up_to(0));
    let saved = Saved { ledgers, ..Saved::default() };
    desk.engine = Engine::restore(up_to(0), saved, desk.now, 1_000);
    desk.host_comes("host_1");
    let task = desk.working(parent("call_1"), "Explore", "ses_one");
    costs(&mut desk, task, "ses_one", 5);
    desk.ask(parent("call_2"), Ask::Cancel { task: task.to_string() });
    let forgotten: Vec<_> = desk
        .saved
        .iter()
        .filter_map(|change| match change {
            Change::LedgerForgotten { root } => Some(root.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(forgotten, ["ses_0"]);
}
