//! Files that rot: while no daemon runs, bytes of one of legwork's files are flipped, cut off or
//! overwritten, and a daemon is started on what is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_sim::host::Dice;

use super::image::{self, Known};
use super::report::{Attack, Kind, Report, Trial};
use crate::fault::{Done, Fault};
use crate::files;
use crate::terminal::Terminal;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "bit-rot",
    does: "flips, cuts off and overwrites bytes of records, sessions, settings and lock",
    holds: "no panic; no session file is deleted; losses are said; records that can be read lose \
            nothing",
    run: attack,
};

const ROUNDS: usize = 100;
const TASKS: usize = 6;
const SETTLE: Duration = Duration::from_secs(60);
/// Damage that nobody can read through is made in so many rounds of a thousand.
const HOPELESS_PER_MILLE: u32 = 300;

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    let terminal = Terminal::open("[limits]\nmax_running = 8\n")?;
    let (images, known) = prepare(&terminal)?;
    let mut dice = trial.dice(1);
    for round in 0..ROUNDS {
        if !trial.has_time() {
            break;
        }
        let image = &images[round % images.len()];
        image::put(&terminal, image)?;
        let before = image::sessions(&terminal.own_folder());
        let (file, what) = damage(&terminal.own_folder(), &mut dice)?;
        let what = format!("{} {what}", file.display());
        report.rounds += 1;
        report.tasks += known.len();
        if let Err(fault) = terminal.start() {
            report.flaw(Kind::Stuck, format!("{what}: no daemon starts: {fault}"));
            image::end(&terminal)?;
            continue;
        }
        if let Err(fault) = look(&terminal, &known, &before, &file, &what, report) {
            report.flaw(Kind::Stuck, format!("{what}: {fault}"));
        }
        image::end(&terminal)?;
    }
    report.daemons(&terminal);
    Ok(())
}

/// Some finished tasks, twice: as a kill leaves the files, and as a good end does.
fn prepare(terminal: &Terminal) -> Done<(Vec<PathBuf>, Vec<Known>)> {
    let daemon = terminal.start()?;
    let mut known = Vec::new();
    for number in 0..TASKS {
        let words = format!("kept-{number}");
        let task = terminal.launch("rehearsal", &format!("say {words}"))?;
        known.push(Known { task, words });
    }
    let ids: Vec<String> = known.iter().map(|one| one.task.clone()).collect();
    if let Some(left) = terminal.settle(&ids, SETTLE)?.first() {
        return Err(Fault::trying("preparing the records", left));
    }
    let own = terminal.own_folder();
    let keep = |name: &str| {
        let image = terminal.home.root().join(name);
        files::copy(&own, &image).map(|()| image)
    };
    terminal.kill(daemon)?;
    let killed = keep("killed")?;
    terminal.start()?;
    terminal.run(&["daemon", "stop", "--yes"])?;
    image::end(terminal)?;
    Ok((vec![killed, keep("stopped")?], known))
}

/// Damages one file; gives back which, and how.
fn damage(own: &Path, dice: &mut Dice) -> Done<(PathBuf, String)> {
    let mut all = files::all(own);
    // What SQLite makes anew, and what nobody reads.
    all.retain(|path| !path.ends_with("daemon.log") && !path.to_string_lossy().ends_with("-shm"));
    let (records, others): (Vec<PathBuf>, Vec<PathBuf>) =
        all.into_iter().partition(|path| path.starts_with(own.join("store")));
    let from = if dice.chance(600) { &records } else { &others };
    let file = dice.pick(from).clone();
    let fault = |why| Fault::trying(format!("damaging {}", file.display()), why);
    let mut bytes = fs::read(&file).map_err(fault)?;
    let what = spoil(&mut bytes, dice);
    fs::write(&file, bytes).map_err(fault)?;
    let file = file.strip_prefix(own).unwrap_or(&file).to_owned();
    Ok((file, what))
}

fn spoil(bytes: &mut Vec<u8>, dice: &mut Dice) -> String {
    let length = bytes.len().max(1) as u64;
    if dice.chance(HOPELESS_PER_MILLE) {
        bytes.iter_mut().take(200).for_each(|byte| *byte = dice.roll() as u8);
        return "with rubbish for a beginning".to_owned();
    }
    let at = dice.below(length) as usize;
    match dice.below(5) {
        0 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        1 => {
            bytes.iter_mut().skip(at).take(4_096).for_each(|byte| *byte = 0);
            format!("with 4 KB of zeros at {at}")
        }
        2 => {
            bytes.clear();
            "emptied".to_owned()
        }
        _ => {
            let count = dice.between(1, 64);
            for _ in 0..count {
                let place = dice.below(length) as usize;
                bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << dice.below(8));
            }
            format!("with {count} bits flipped")
        }
    }
}

fn look(
    terminal: &Terminal,
    known: &[Known],
    before: &[PathBuf],
    file: &Path,
    what: &str,
    report: &mut Report,
) -> Done<()> {
    let own = terminal.own_folder();
    let tasks = terminal.tasks()?;
    let is_there = |one: &&Known| tasks.iter().any(|task| task["id"] == *one.task);
    let there: Vec<&Known> = known.iter().filter(is_there).collect();
    let in_store = file.starts_with("store");
    // The last commits lie in a file of their own, and are gone with its bytes; that the file was
    // longer, nobody can see.
    let is_wal = file.to_string_lossy().ends_with("-wal");
    if there.len() < known.len() {
        report.expect(in_store, Kind::Lost, || {
            format!("{what}: {} of {} tasks are left", there.len(), known.len())
        });
        let told = image::told(terminal)?;
        report.expect(is_wal || image::says_so(&told), Kind::Wrong, || {
            format!("{what}: {} of {} tasks are left and nobody says so", there.len(), known.len())
        });
    }
    for one in there {
        let ran = terminal.output(&one.task)?;
        let whole = ran.is_done() && ran.out.contains(&one.words);
        // A flipped bit in the text of a result is nothing that a database sees.
        let excused = in_store && (ran.code.is_some() && !ran.said().trim().is_empty());
        report.expect(whole || excused, Kind::Lost, || {
            format!("{what}: {}: {}", one.task, ran.said())
        });
    }
    let deleted = before.iter().filter(|session| !own.join(session).exists()).count();
    report.expect(deleted == 0, Kind::Lost, || {
        format!("{what}: {deleted} of {} session files were deleted", before.len())
    });
    let ran = terminal.run(&["run", "--agent", "rehearsal", "say alive"])?;
    let alive = ran.is_done() && ran.out.contains("alive");
    report.expect(alive || image::says_so(&ran.said()), Kind::Stuck, || {
        format!("{what}: no new helper works: {}", ran.said())
    });
    Ok(())
}
