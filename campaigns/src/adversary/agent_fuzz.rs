//! Agents over ACP that mean no good, each beside an honest one, in a daemon of its own so that its
//! memory can be told.

use std::time::Duration;

use super::agent::{AROUND_HALF, LAST_WORDS, WAYS};
use super::report::{Attack, Kind, Report, Trial};
use crate::fault::{Done, Fault};
use crate::progress::{note, wait};
use crate::terminal::{SOON, Terminal};

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "agent-fuzz",
    does: "ACP agents that send damaged lines, floods, half characters, or never read",
    holds: "each run ends with its words or a reason; at most 300 MB of memory; honest helpers are \
            unharmed",
    run: attack,
};

/// Longer than any of them takes on a busy machine.
const END: Duration = Duration::from_secs(90);
/// A line may be 16 MB and an answer 8 MB, and each is there a few times while it is read.
const MOST_MB: u64 = 300;

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    for (number, (way, does)) in WAYS.iter().enumerate() {
        if !trial.has_time() {
            report.left_out.push(format!("an agent that {does}: no time was left"));
            continue;
        }
        note(format!("an agent that {does}"));
        one(way, trial.dice(number as u64).roll(), report)?;
    }
    Ok(())
}

fn one(way: &str, seed: u64, report: &mut Report) -> Done<()> {
    let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
    let seed = seed.to_string();
    let terminal = Terminal::open(&format!(
        "[agents.hostile]\ncommand = [{own:?}, \"agent\", {way:?}, {seed:?}]\n"
    ))?;
    let daemon = terminal.start()?;
    report.rounds += 1;
    report.tasks += 2;
    let task = terminal.launch("hostile", "work")?;
    let honest = terminal.run(&["run", "--agent", "rehearsal", "wait 300ms; say fine"])?;
    let fine = honest.is_done() && honest.out.trim() == "fine";
    report.expect(fine, Kind::Wrong, || format!("{way}: beside it, {}", honest.said()));
    for left in terminal.settle(std::slice::from_ref(&task), END)? {
        report.flaw(Kind::Stuck, format!("{way}: {left}"));
    }
    ended(&terminal, way, &task, report)?;
    let told = terminal.told(&task);
    report.expect(told == 1, Kind::Doubled, || format!("{way}: it was told {told} times"));
    let gone = || terminal.others().is_empty().then_some(());
    if wait("the agent is gone", SOON, Duration::from_millis(100), gone).is_err() {
        report.flaw(Kind::Orphaned, format!("{way}: {:?}", terminal.others()));
    }
    let before = report.flaws.len();
    report.memory(daemon, MOST_MB);
    report.flaws[before..].iter_mut().for_each(|flaw| flaw.what.insert_str(0, &format!("{way}: ")));
    report.daemons(&terminal);
    Ok(())
}

/// A run that is completed has all that was said; one that failed says why.
fn ended(terminal: &Terminal, way: &str, task: &str, report: &mut Report) -> Done<()> {
    let ran = terminal.output(task)?;
    match ran.code {
        Some(0) => {
            let half = if way == "half-emoji" { &AROUND_HALF[..] } else { &[] };
            for words in half.iter().chain([&LAST_WORDS]) {
                report.expect(ran.out.contains(words), Kind::Lost, || {
                    format!("{way}: completed without \"{words}\": {}", ran.said())
                });
            }
        }
        Some(3) => report.expect(ran.out.contains("hostile"), Kind::Wrong, || {
            format!("{way}: it failed without saying who did what: {}", ran.said())
        }),
        _ => report.flaw(Kind::Wrong, format!("{way}: {}", ran.said())),
    }
    Ok(())
}
