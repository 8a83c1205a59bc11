//! Kills and stops of every process: on the real OpenCode (a short history of the `chaos` campaign)
//! and of the daemon and its agents over ACP.

use std::time::Duration;

use legwork_sim::host::Dice;
use rustix::process::Signal;

use super::report::{Attack, Kind, Report, Trial};
use crate::chaos::{self, Rule};
use crate::fault::Done;
use crate::processes;
use crate::progress::note;
use crate::terminal::{SOON, Terminal};

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "kills",
    does: "SIGKILL and SIGSTOP of OpenCode, bridge, daemon and agents while helpers work",
    holds: "each run is told once, with its whole result or as interrupted; nothing is left",
    run: attack,
};

/// Blows over ACP: each a kill or a stop, with three helpers at work.
const ROUNDS: usize = 20;
const HELPERS: usize = 3;
/// Kills and stops on the real OpenCode.
const BLOWS: usize = 8;
const SETTLE: Duration = Duration::from_secs(90);

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    over_acp(trial, report)?;
    on_opencode(trial, report)?;
    Ok(())
}

fn on_opencode(trial: &Trial, report: &mut Report) -> Done<()> {
    let ended = chaos::short(trial.seed, BLOWS)?;
    report.rounds += BLOWS;
    report.tasks += ended.tasks();
    for one in &ended.broken {
        let kind = match one.rule {
            Rule::Lost => Kind::Lost,
            Rule::Doubled => Kind::Doubled,
            Rule::Stuck => Kind::Stuck,
            Rule::WrongOutcome => Kind::Wrong,
            Rule::OrphanSession | Rule::OrphanProcess => Kind::Orphaned,
        };
        report.flaw(kind, format!("OpenCode: {}", one.what));
    }
    Ok(())
}

/// A helper that says its own words after a while.
struct Launched {
    task: String,
    words: String,
}

fn over_acp(trial: &Trial, report: &mut Report) -> Done<()> {
    let terminal = Terminal::open("")?;
    let mut daemon = terminal.start()?;
    let mut dice = trial.dice(1);
    let mut helpers = Vec::new();
    for round in 0..ROUNDS {
        if !trial.has_time() {
            break;
        }
        helpers.extend(launch(&terminal, &mut dice, round)?);
        std::thread::sleep(Duration::from_millis(dice.below(250)));
        daemon = blow(&terminal, &mut dice, daemon)?;
        report.rounds += 1;
    }
    report.tasks += helpers.len();
    let ids: Vec<String> = helpers.iter().map(|helper| helper.task.clone()).collect();
    for left in terminal.settle(&ids, SETTLE)? {
        report.flaw(Kind::Stuck, left);
    }
    for helper in &helpers {
        check(&terminal, helper, report)?;
    }
    let left = || terminal.others().is_empty().then_some(());
    if crate::progress::wait("no agent is left", SOON, Duration::from_millis(100), left).is_err() {
        report.flaw(Kind::Orphaned, format!("still there: {:?}", terminal.others()));
    }
    report.memory(daemon, 128);
    report.daemons(&terminal);
    Ok(())
}

fn launch(terminal: &Terminal, dice: &mut Dice, round: usize) -> Done<Vec<Launched>> {
    let mut helpers = Vec::new();
    for number in 0..HELPERS {
        let words = format!("result-{round}-{number}-{:x}", dice.roll());
        let prompt = format!("wait {}ms; tool look; say {words}", dice.below(600));
        let task = terminal.launch("rehearsal", &prompt)?;
        helpers.push(Launched { task, words });
    }
    Ok(helpers)
}

/// One blow; gives back the daemon that is there afterwards.
fn blow(terminal: &Terminal, dice: &mut Dice, daemon: u32) -> Done<u32> {
    let root = terminal.home.root();
    let agents: Vec<u32> = terminal.others().iter().map(|one| one.pid).collect();
    let hit_agent = !agents.is_empty() && dice.chance(400);
    let victim = if hit_agent { *dice.pick(&agents) } else { daemon };
    let who = if hit_agent { "an agent" } else { "the daemon" };
    if dice.chance(450) {
        let ms = dice.between(100, 1_500);
        note(format!("stop {who} for {ms} ms"));
        // An agent may have ended by itself.
        if processes::signal(root, victim, Signal::STOP).is_ok() {
            std::thread::sleep(Duration::from_millis(ms));
            let _ = processes::signal(root, victim, Signal::CONT);
        }
        return Ok(daemon);
    }
    note(format!("kill {who}"));
    if hit_agent {
        let _ = processes::kill(root, victim);
        return Ok(daemon);
    }
    terminal.kill(daemon)?;
    terminal.start()
}

fn check(terminal: &Terminal, helper: &Launched, report: &mut Report) -> Done<()> {
    let Launched { task, words } = helper;
    match terminal.told(task) {
        0 => report.flaw(Kind::Lost, format!("{task} was never told")),
        1 => {}
        times => report.flaw(Kind::Doubled, format!("{task} was told {times} times")),
    }
    let ran = terminal.output(task)?;
    let honest = ["nterrupted", "signal: 9"].iter().any(|word| ran.out.contains(word));
    match ran.code {
        Some(0) => report.expect(ran.out.contains(words), Kind::Lost, || {
            format!("{task} is completed without its result: {}", ran.said())
        }),
        Some(3) => report.expect(honest, Kind::Wrong, || {
            format!("{task} failed for another reason: {}", ran.said())
        }),
        _ => report.flaw(Kind::Wrong, format!("{task}: {}", ran.said())),
    }
    Ok(())
}
