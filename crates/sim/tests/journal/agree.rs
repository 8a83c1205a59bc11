//! Both side by side: long histories of changes that can be and changes that cannot.

use std::collections::BTreeMap;

use legwork_engine::Usage;
use legwork_engine::record::{About, Change, Forget, Journal, Ledger, NoticeId, Saved};
use legwork_engine::task::{ResumedBy, StageName, Task};
use legwork_protocol::{Cost, Currency, Time};
use legwork_sim::memory::Memory;
use legwork_store::Store;

use crate::records::{
    self, NOW, at, detail, dissolved, done, ended, launched, load, made, moved, msg, parent,
    pending, stage, stop, task,
};

/// Xorshift: the same numbers for the same seed, for ever.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len().max(1) as u64);
        from.get(at as usize)
    }
}

const TASKS: u64 = 8;

/// A task that is there, mostly.
fn some_task(dice: &mut Dice, saved: &Saved) -> Task {
    let there = dice.pick(&saved.tasks).filter(|_| dice.0 & 15 != 0).cloned();
    let mut task = there.unwrap_or_else(|| task(dice.below(TASKS)));
    task.run.tool_calls = dice.below(50) as u32;
    task.run.order = dice.below(1 << 40);
    task.run.started = Time(dice.below(u64::MAX));
    task.session = dice.chance(50).then(|| format!("ses_{}", dice.below(9)).parse().unwrap());
    task.run.asked.before = dice.below(3) as u32;
    task.run.asked.ids = (0..dice.below(3)).map(|n| format!("q {n}").parse().unwrap()).collect();
    task
}

fn some_stage(dice: &mut Dice) -> StageName {
    dice.pick(&StageName::ALL).copied().unwrap_or(StageName::Queued)
}

/// Mostly one that follows, and rather on than back.
fn next_stage(dice: &mut Dice, from: StageName) -> StageName {
    let next: Vec<_> = StageName::ALL.into_iter().filter(|to| from.may_become(*to)).collect();
    match dice.below(10) {
        0 | 1 => some_stage(dice),
        2..=5 if next.contains(&StageName::Completed) => StageName::Completed,
        2..=5 if next.contains(&StageName::Prompting) => StageName::Prompting,
        _ => dice.pick(&next).copied().unwrap_or(StageName::Queued),
    }
}

fn some_currency(dice: &mut Dice) -> Currency {
    if dice.chance(80) { Currency::USD } else { "EUR".parse().unwrap() }
}

fn some_usage(dice: &mut Dice) -> Usage {
    let cost = Cost { micros: dice.below(1 << 40), currency: some_currency(dice) };
    Usage {
        tokens: dice.chance(80).then(|| dice.below(1 << 40)),
        cost: dice.chance(80).then_some(cost),
        model: dice.chance(50).then(|| "provider/model".into()),
    }
}

/// The change that the stage calls for, mostly.
fn step(dice: &mut Dice, mut task: Task, from: StageName) -> Change {
    task.stage = stage(next_stage(dice, from));
    task.run.usage = some_usage(dice);
    task.run.used_before = Usage { model: None, ..some_usage(dice) };
    if task.is_finished() == dice.chance(95) {
        task.run.ended = Some(Time(dice.below(1 << 40)));
        ended(&task, from, &format!("detail {}", dice.below(1 << 30)))
    } else {
        moved(&task, from)
    }
}

fn some_notice(dice: &mut Dice, saved: &Saved) -> NoticeId {
    let there = dice.pick(&saved.notices).map(|notice| notice.id);
    there.filter(|_| dice.chance(90)).unwrap_or_else(|| {
        let about = if dice.chance(50) { About::End } else { About::Question(1) };
        NoticeId { task: some_task(dice, saved).id, run: dice.below(3) as u32, about }
    })
}

fn some_change(dice: &mut Dice, saved: &Saved) -> Change {
    let mut task = some_task(dice, saved);
    let from = if dice.chance(80) { task.stage.name() } else { some_stage(dice) };
    let name = format!("l{}", dice.below(5));
    let session = format!("ses_{}", dice.below(4));
    match dice.below(19) {
        0 => {
            let fresh = records::task(dice.below(TASKS));
            launched(&if dice.chance(80) { fresh } else { at(fresh, some_stage(dice)) })
        }
        1 | 2 => {
            task.run.number += u32::from(dice.chance(85));
            task.stage = stage(if dice.chance(80) { StageName::Queued } else { some_stage(dice) });
            task.run.prompt = Some(format!("prompt {}", task.run.order).into());
            let by = *dice.pick(&[ResumedBy::Session, ResumedBy::Person]).unwrap();
            let from = if dice.chance(80) { from } else { some_stage(dice) };
            Change::Resumed { task, from, by }
        }
        3..=6 => step(dice, task, from),
        7 => Change::Retrieved { task: task.id, at: Time(dice.below(1 << 40)) },
        8 if dice.chance(25) => Change::Forgotten { task: task.id, why: Forget::ParentDeleted },
        8 if dice.chance(25) => Change::Cleared { tasks: vec![task.id, some_task(dice, saved).id] },
        8 | 9 => {
            let about = if dice.chance(50) { About::End } else { About::Question(1) };
            pending(NoticeId { task: task.id, run: task.run.number, about })
        }
        10 => Change::Withdrawn(some_notice(dice, saved)),
        11 => {
            let count = dice.below(4);
            let notices: Vec<_> = (0..count).map(|_| some_notice(dice, saved)).collect();
            made(&name, &notices)
        }
        12 if dice.chance(35) => dissolved(msg(&name)),
        12 if dice.chance(50) => {
            Change::DeliveryPulled { delivery: msg(&name), notices: Vec::new() }
        }
        12 => done(&name),
        13 => Change::StopRequested(stop(dice.below(TASKS))),
        14 => Change::StopDone { task: task.id },
        15 => {
            let run = task.run.number + u32::from(dice.chance(10));
            let tool_calls = dice.below(9) as u32;
            Change::Used { task: task.id, run, tool_calls, usage: some_usage(dice) }
        }
        16 if dice.chance(70) => {
            let (currency, micros) = (some_currency(dice), dice.below(1 << 40));
            let (root, at) = (session.parse().unwrap(), Time(dice.below(1 << 40)));
            let ledger = Ledger { root, currency, micros, warned_micros: dice.below(2), at };
            Change::LedgerKept { ledger, warning: None }
        }
        16 => Change::LedgerForgotten { root: session.parse().unwrap() },
        _ if dice.chance(60) => {
            Change::ParentKnown(parent(&session, dice.chance(50).then_some("host-1")))
        }
        _ => Change::ParentForgotten { session: session.parse().unwrap() },
    }
}

fn kind(change: &Change) -> &'static str {
    match change {
        Change::Launched { .. } => "launched",
        Change::Resumed { .. } => "resumed",
        Change::Moved { .. } => "moved",
        Change::Ended { .. } => "ended",
        Change::Used { .. } => "used",
        Change::Asked { .. } => "asked",
        Change::LaunchUndone { .. } => "launch undone",
        Change::Answered { .. } => "answered",
        Change::LedgerKept { .. } => "ledger kept",
        Change::LedgerForgotten { .. } => "ledger forgotten",
        Change::Retrieved { .. } => "retrieved",
        Change::Forgotten { .. } => "forgotten",
        Change::Cleared { .. } => "cleared",
        Change::Enqueued(_) => "pending",
        Change::Withdrawn(_) => "withdrawn",
        Change::DeliveryCreated(_) => "delivery made",
        Change::DeliveryWithdrawn { .. } => "delivery dissolved",
        Change::DeliveryPulled { .. } => "delivery pulled",
        Change::DeliveryDone { .. } => "delivery done",
        Change::StopRequested(_) => "stop pending",
        Change::StopDone { .. } => "stop done",
        Change::ParentKnown(_) => "parent known",
        Change::ParentForgotten { .. } => "parent forgotten",
    }
}

#[test]
fn memory_and_store_agree_on_every_change_of_a_long_history() {
    let mut seen = BTreeMap::<_, [u32; 2]>::new();
    for seed in 1..=4 {
        let (home, mut store) = crate::store();
        let mut memory = Memory::default();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
        for step in 0..2_000 {
            let saved = load(&mut memory);
            let count = if dice.chance(75) { 1 } else { 1 + dice.below(4) };
            let changes: Vec<_> = (0..count).map(|_| some_change(&mut dice, &saved)).collect();
            let (quick, real) = (memory.save(NOW, &changes), store.save(NOW, &changes));
            let agree = quick.is_ok() == real.is_ok();
            assert!(agree, "seed {seed} step {step}: {quick:?}, {real:?}: {changes:#?}");
            if let [change] = &changes[..] {
                seen.entry(kind(change)).or_default()[usize::from(quick.is_err())] += 1;
            }
            assert_eq!(load(&mut memory), load(&mut store), "seed {seed} step {step}");
            for (number, run) in (0..TASKS).flat_map(|n| [(n, 0), (n, 1), (n, 2)]) {
                let kept = detail(&mut memory, number, run);
                assert_eq!(kept, detail(&mut store, number, run), "seed {seed} step {step}");
            }
        }
        drop(store);
        let mut store = Store::open(home.path()).unwrap().store;
        assert_eq!(load(&mut memory), load(&mut store), "seed {seed} after a restart");
    }
    for (kind, [taken, refused]) in &seen {
        assert!(*taken > 10, "{kind} was taken {taken} times only: {seen:?}");
        let always = ["parent known", "ledger kept"].contains(kind);
        assert!(*refused > 0 || always, "{kind} was never refused: {seen:?}");
    }
    assert_eq!(seen.len(), 20, "{seen:?}");
}
