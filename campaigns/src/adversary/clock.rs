//! The wall clock jumps while helpers work: forwards by more than the longest silence and by more
//! than the longest run, backwards, and as after a suspend. A small library in C gives the daemon
//! the clock; its own time (CLOCK_MONOTONIC) runs as ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::report::{Attack, Kind, Report, Trial};
use crate::fault::{Done, Fault};
use crate::progress::note;
use crate::terminal::Terminal;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "clock",
    does: "the wall clock jumps 31 minutes, three hours, a day and backwards under helpers",
    holds: "nothing ends and nothing is told before its time; each result comes whole, once",
    run: attack,
};

const SHIM: &str = include_str!("clock.c");
const MINUTE_MS: i64 = 60_000;
/// Name, jump of the wall clock, jump of the clock that counts suspends.
const JUMPS: [(&str, i64, i64); 6] = [
    ("31 minutes", 31 * MINUTE_MS, 0),
    ("31 minutes asleep", 31 * MINUTE_MS, 31 * MINUTE_MS),
    ("3 hours asleep", 180 * MINUTE_MS, 180 * MINUTE_MS),
    ("a day", 1_440 * MINUTE_MS, 0),
    ("a day back", -1_440 * MINUTE_MS, 0),
    ("a month asleep", 43_200 * MINUTE_MS, 43_200 * MINUTE_MS),
];
/// How long helpers work. Longer than two polls, so that a jump is noticed meanwhile.
const WORK_S: u64 = 16;
const HELPERS: usize = 3;
const SETTLE: Duration = Duration::from_secs(90);

fn attack(_: &Trial, report: &mut Report) -> Done<()> {
    let folder = Folder::new()?;
    let Some(shim) = compile(&folder.0)? else {
        report.skip("there is no cc that makes a library");
        return Ok(());
    };
    note(format!("{} jumps at once, each in a home of its own", JUMPS.len()));
    let reports: Vec<Done<Report>> = thread::scope(|scope| {
        let begun: Vec<_> = JUMPS.iter().map(|jump| scope.spawn(|| one(&shim, *jump))).collect();
        let ended = begun.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Fault::new("a part of the attack panicked")))
        });
        ended.collect()
    });
    for one in reports {
        let one = one?;
        report.rounds += one.rounds;
        report.tasks += one.tasks;
        report.flaws.extend(one.flaws);
    }
    Ok(())
}

fn one(shim: &Path, (name, wall, asleep): (&str, i64, i64)) -> Done<Report> {
    let mut report = Report { rounds: 1, tasks: HELPERS, ..Report::default() };
    let terminal = Terminal::open("")?;
    let clock = terminal.home.root().join("clock");
    set(&clock, 0, 0)?;
    terminal.start_with(|mut command| {
        command.env("LD_PRELOAD", shim).env("LEGWORK_CAMPAIGN_CLOCK", &clock);
        command
    })?;
    let words = |number: usize| format!("after-{number}");
    let tasks: Vec<String> = (0..HELPERS)
        .map(|number| {
            terminal.launch("rehearsal", &format!("wait {WORK_S}s; say {}", words(number)))
        })
        .collect::<Done<_>>()?;
    thread::sleep(Duration::from_secs(2));
    set(&clock, wall, asleep)?;
    if !noticed(&terminal)? {
        return Err(Fault::new(format!("{name}: the daemon's clock did not jump")));
    }
    thread::sleep(Duration::from_secs(WORK_S / 2));
    for task in &tasks {
        let status = terminal.status(task)?.unwrap_or_else(|| "gone".to_owned());
        report.expect(status == "running", Kind::Wrong, || {
            format!("{name}: {task} is {status} before its time")
        });
        report.expect(terminal.told(task) == 0, Kind::Wrong, || format!("{name}: told early"));
    }
    for left in terminal.settle(&tasks, SETTLE)? {
        report.flaw(Kind::Stuck, format!("{name}: {left}"));
    }
    for (number, task) in tasks.iter().enumerate() {
        let (ran, told) = (terminal.output(task)?, terminal.told(task));
        let whole = ran.is_done() && ran.out.contains(&words(number));
        report.expect(whole, Kind::Lost, || format!("{name}: {task}: {}", ran.said()));
        report.expect(told <= 1, Kind::Doubled, || format!("{name}: {task} told {told} times"));
        report.expect(told >= 1, Kind::Lost, || format!("{name}: {task} was never told"));
    }
    report.daemons(&terminal);
    Ok(report)
}

/// Whether the daemon has another day or hour than before, as its log shows: else the attack would
/// hold whatever legwork does.
fn noticed(terminal: &Terminal) -> Done<bool> {
    terminal.tasks()?;
    let log = fs::read_to_string(terminal.own_folder().join("daemon.log")).unwrap_or_default();
    // The moment to the minute, as 2026-11-16T03:47.
    let minutes: Vec<&str> = log.lines().filter_map(|line| line.get(..16)).collect();
    Ok(minutes.first() != minutes.last())
}

fn set(clock: &Path, wall: i64, asleep: i64) -> Done<()> {
    use std::io::Write;
    // In place: the daemon has mapped the file.
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(clock);
    let bytes = [wall.to_ne_bytes(), asleep.to_ne_bytes()].concat();
    let written = file.and_then(|mut file| file.write_all(&bytes));
    written.map_err(|why| Fault::trying("setting the clock", why))
}

fn compile(folder: &Path) -> Done<Option<PathBuf>> {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, SHIM).map_err(|why| Fault::trying("writing the clock", why))?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
    Ok(cc.status().is_ok_and(|status| status.success()).then_some(library))
}

/// A folder for the library; it goes with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Done<Self> {
        let folder = std::env::temp_dir().join(format!("legwork-clock-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|why| Fault::trying("making a folder", why))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
