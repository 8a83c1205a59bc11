//! A disk that is full while helpers work, and has room again.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use legwork_sim::host::Dice;

use super::namespace;
use super::report::{Attack, Kind, Report, Trial};
use crate::fault::{Done, Fault};
use crate::progress::{note, wait};
use crate::terminal::{LOOK, Ran, SOON, Terminal};

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "full-disk",
    does: "legwork's folder is on a disk of 3 MB that is full while helpers end",
    holds: "new work is refused in words, nothing is lost or told twice, and it goes on with room",
    run: attack,
};

const ROUNDS: usize = 4;
const HELPERS: usize = 4;
const SETTLE: Duration = Duration::from_secs(60);

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    if !namespace::is_inside() {
        return namespace::enter(&ATTACK, trial, report);
    }
    let terminal = Terminal::open("")?;
    let own = terminal.own_folder();
    let options = ["-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs"];
    if !Command::new("mount").args(options).arg(&own).status().is_ok_and(|it| it.success()) {
        report.skip("a small disk cannot be mounted here");
        return Ok(());
    }
    let _disk = Disk(own.clone());
    let daemon = terminal.start()?;
    let mut dice = trial.dice(1);
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        if !trial.has_time() {
            break;
        }
        all.extend(one(&terminal, &own, &mut dice, round, report)?);
        report.rounds += 1;
    }
    report.tasks = all.len();
    let ids: Vec<String> = all.iter().map(|(task, _)| task.clone()).collect();
    for left in terminal.settle(&ids, SETTLE)? {
        report.flaw(Kind::Stuck, left);
    }
    for (task, words) in &all {
        let ran = terminal.output(task)?;
        // The daemon may have been unable to hear the answer, and says so.
        let honest = ran.code == Some(3) && !ran.out.trim().is_empty();
        report.expect(ran.is_done() && ran.out.contains(words) || honest, Kind::Lost, || {
            format!("{task}: {}", ran.said())
        });
        let told = terminal.told(task);
        report.expect(told <= 1, Kind::Doubled, || format!("{task} was told {told} times"));
        report.expect(told >= 1, Kind::Lost, || format!("{task} was never told"));
    }
    let now = terminal.daemon()?.map(|facts| facts.pid);
    report.expect(now == Some(daemon), Kind::Wrong, || {
        format!("the daemon was process {daemon}, now it is {now:?}")
    });
    report.daemons(&terminal);
    Ok(())
}

/// Helpers begin, the disk is full, they end, somebody wants more; then there is room.
fn one(
    terminal: &Terminal,
    own: &Path,
    dice: &mut Dice,
    round: usize,
    report: &mut Report,
) -> Done<Vec<(String, String)>> {
    let mut all = Vec::new();
    for number in 0..HELPERS {
        let words = format!("round-{round}-{number}");
        let prompt = format!("wait {}ms; say {words}", 300 + dice.below(1_500));
        all.push((terminal.launch("rehearsal", &prompt)?, words));
    }
    let ballast = fill(own)?;
    note(format!("round {round}: the disk is full"));
    std::thread::sleep(Duration::from_millis(500 + dice.below(1_500)));
    let words = format!("full-{round}");
    let more =
        terminal.run(&["run", "--detach", "--agent", "rehearsal", &format!("say {words}")])?;
    match more.out.lines().next().map(str::trim).filter(|id| id.starts_with("bg_")) {
        // There may have been room for it in a file that was long enough.
        Some(id) if more.is_done() => all.push((id.to_owned(), words)),
        _ => report.expect(in_words(&more), Kind::Wrong, || {
            format!("with a full disk a launch got {}", more.said())
        }),
    }
    let listed = terminal.run(&["list", "--json"])?;
    let shown = listed.json()["tasks"].as_array().map_or(0, Vec::len);
    report.expect(listed.is_done() && shown >= all.len() - 1, Kind::Lost, || {
        format!("with a full disk {shown} tasks are shown: {}", listed.said())
    });
    fs::remove_file(&ballast).map_err(|why| Fault::trying("making room", why))?;
    let works = || {
        let ran = terminal.run(&["run", "--agent", "rehearsal", "say room"]).ok()?;
        (ran.is_done() && ran.out.contains("room")).then_some(())
    };
    if wait("there is room and a helper works", SOON, LOOK * 4, works).is_err() {
        report.flaw(Kind::Stuck, format!("round {round}: with room again no helper works"));
    }
    Ok(all)
}

/// A refusal that a person understands: it names the disk, the room or that nothing can be saved.
fn in_words(ran: &Ran) -> bool {
    let text = format!("{}{}", ran.out, ran.err).to_lowercase();
    let known = ["disk", "room", "space", "full", "saved", "save"];
    !ran.is_done() && known.iter().any(|word| text.contains(word))
}

fn fill(own: &Path) -> Done<PathBuf> {
    let path = own.join("ballast");
    let mut file = File::create(&path).map_err(|why| Fault::trying("filling the disk", why))?;
    for size in [64 << 10, 4 << 10, 1] {
        let piece = vec![b'x'; size];
        while file.write_all(&piece).is_ok() {}
    }
    Ok(path)
}

/// A disk that is mounted; else its folder could not go with the home.
struct Disk(PathBuf);

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
