//! Power cuts: the writes and syncs of a working daemon are recorded with strace, and daemons are
//! started on homes as a cut at a random moment would have left them.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::image::{self, Known};
use super::report::{Attack, Kind, Report, Trial};
use super::trace::{self, Disk, Op};
use crate::fault::{Done, Fault};
use crate::progress::note;
use crate::terminal::Terminal;

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "power-cut",
    does: "50 homes as a power cut would leave them: what was synced, and some of the rest",
    holds: "a daemon starts; what counts as completed has its result and its conversation",
    run: attack,
};

const IMAGES: usize = 50;
const TASKS: usize = 20;
const SETTLE: Duration = Duration::from_secs(90);

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    if !Command::new("strace").arg("-V").output().is_ok_and(|it| it.status.success()) {
        report.skip("there is no strace");
        return Ok(());
    }
    let terminal = Terminal::open("")?;
    let own = terminal.own_folder();
    let (ops, known) = record(&terminal, trial)?;
    note(format!("{} operations on files, {} tasks", ops.len(), known.len()));
    if ops.len() < TASKS {
        report.skip("strace cannot follow a process here");
        return Ok(());
    }
    let mut dice = trial.dice(2);
    for _ in 0..IMAGES {
        if !trial.has_time() {
            break;
        }
        let moment = dice.between(1, ops.len() as u64) as usize;
        let mut disk = Disk::default();
        ops[..moment].iter().for_each(|op| disk.apply(op));
        make(&own, &disk.cut(&mut dice))?;
        report.rounds += 1;
        let what = format!("cut after {moment} of {} operations", ops.len());
        match terminal.start() {
            Ok(_) => look(&terminal, &known, &what, report)?,
            Err(fault) => report.flaw(Kind::Stuck, format!("{what}: no daemon starts: {fault}")),
        }
        image::end(&terminal)?;
    }
    for line in terminal.panics() {
        report.flaw(Kind::Panic, line);
    }
    Ok(())
}

/// Has helpers work under strace.
fn record(terminal: &Terminal, trial: &Trial) -> Done<(Vec<Op>, Vec<Known>)> {
    let file = terminal.home.root().join("trace");
    let daemon = terminal.start_with(|command| traced(&command, &file))?;
    let mut dice = trial.dice(1);
    let mut known = Vec::new();
    for number in 0..TASKS {
        let words = format!("written-{number}-{:x}", dice.roll());
        let prompt = format!("wait {}ms; tool look; say {words}", dice.below(400));
        known.push(Known { task: terminal.launch("rehearsal", &prompt)?, words });
    }
    let ids: Vec<String> = known.iter().map(|one| one.task.clone()).collect();
    if let Some(left) = terminal.settle(&ids, SETTLE)?.first() {
        return Err(Fault::trying("recording", left));
    }
    terminal.kill(daemon)?;
    let text = fs::read(&file).map_err(|why| Fault::trying("reading the trace", why))?;
    let mut ops = trace::read(&String::from_utf8_lossy(&text), &terminal.own_folder());
    ops.retain(|op| {
        let path = trace::path_of(op);
        let name = path.to_string_lossy();
        // Folders, a map of the log that SQLite makes anew, and sockets.
        !path.is_dir() && !name.ends_with("-shm") && !name.contains(".sock")
    });
    Ok((ops, known))
}

/// The same command under strace.
fn traced(command: &Command, file: &Path) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "-s", trace::LONGEST, "-e", trace::CALLS, "-o"]).arg(file);
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        strace.current_dir(folder);
    }
    strace.stdin(std::process::Stdio::null());
    strace
}

/// Writes the files of an image where legwork's own were.
fn make(own: &Path, image: &[(PathBuf, Vec<u8>)]) -> Done<()> {
    let fault = |why: std::io::Error| Fault::trying("writing an image", why);
    fs::remove_dir_all(own).map_err(fault)?;
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true).mode(0o700);
    folders.create(own).map_err(fault)?;
    for (path, bytes) in image.iter().filter(|(path, _)| *path != own) {
        if let Some(folder) = path.parent() {
            folders.create(folder).map_err(fault)?;
        }
        fs::write(path, bytes).map_err(fault)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(fault)?;
    }
    Ok(())
}

fn look(terminal: &Terminal, known: &[Known], what: &str, report: &mut Report) -> Done<()> {
    let own = terminal.own_folder();
    let tasks = terminal.tasks()?;
    report.tasks += tasks.len();
    for one in known {
        let task = tasks.iter().find(|task| task["id"] == *one.task);
        if task.is_none_or(|task| task["status"] != "completed") {
            continue;
        }
        let ran = terminal.output(&one.task)?;
        report.expect(ran.is_done() && ran.out.contains(&one.words), Kind::Lost, || {
            format!("{what}: {} is completed without its result: {}", one.task, ran.said())
        });
        report.expect(image::is_in_a_session(&own, &one.words), Kind::Lost, || {
            format!("{what}: {} is completed and its session is empty", one.task)
        });
    }
    if tasks.is_empty() && !image::sessions(&own).is_empty() {
        // Records that never reached the disk are nobody's fault; what was set aside is told.
        let aside = fs::read_dir(own.join("store")).into_iter().flatten().filter_map(Result::ok);
        let aside = aside.filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.contains("unreadable") || name.contains("aside")
        });
        let told = image::told(terminal)?;
        report.expect(aside.count() == 0 || image::says_so(&told), Kind::Wrong, || {
            format!("{what}: records were set aside and nobody says so")
        });
    }
    Ok(())
}
