//! The socket, the folder that it is in, or the records are removed under a live daemon; and a
//! terminal that has other temporary folders than the one that started it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::report::{Attack, Kind, Report, Trial};
use super::socket;
use crate::fault::{Done, Fault};
use crate::processes;
use crate::progress::{note, wait};
use crate::terminal::{LOOK, Ran, SOON, Terminal};

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "lost-socket",
    does: "removes socket, runtime folder and store under a daemon; a terminal with other folders",
    holds: "the daemon is found at once and can be stopped; nothing is taken on that is then lost",
    run: attack,
};

/// At once, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(4);
/// The daemon may look at its files every so often.
const NOTICED: Duration = Duration::from_secs(8);

fn attack(_: &Trial, report: &mut Report) -> Done<()> {
    for stop in [false, true] {
        socket_gone(stop, report)?;
    }
    folder_gone(report)?;
    other_folders(report)?;
    store_gone(report)?;
    Ok(())
}

/// A daemon with a helper at work.
fn at_work(terminal: &Terminal, report: &mut Report) -> Done<(u32, String)> {
    report.rounds += 1;
    report.tasks += 1;
    let daemon = terminal.start()?;
    Ok((daemon, terminal.launch("rehearsal", "wait 120s; say x")?))
}

/// Whether a listing came at once and has the task in it.
fn listed(ran: &Ran, task: &str, when: &str, report: &mut Report) {
    let tasks = ran.json()["tasks"].take();
    let has = tasks.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == task));
    report.expect(ran.is_done() && has, Kind::Lost, || format!("{when}: {}", ran.said()));
    report.expect(ran.took < AT_ONCE, Kind::Stuck, || {
        format!("{when}: a listing took {:?}: {}", ran.took, ran.said())
    });
}

fn stopped(terminal: &Terminal, ran: &Ran, daemon: u32, when: &str, report: &mut Report) {
    let gone = || (!processes::is_alive(daemon)).then_some(());
    if wait("the daemon has ended", SOON / 2, LOOK, gone).is_err() {
        let said = ran.said();
        report.flaw(Kind::Stuck, format!("{when}: `daemon stop` does not end it: {said}"));
        let _ = terminal.kill(daemon);
    }
}

fn remove(path: &Path) -> Done<()> {
    let done = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    done.map_err(|why| Fault::trying(format!("removing {}", path.display()), why))
}

fn socket_gone(stop: bool, report: &mut Report) -> Done<()> {
    note("the socket is removed");
    let terminal = Terminal::open("")?;
    let (daemon, task) = at_work(&terminal, report)?;
    remove(&socket::of(daemon)?)?;
    let when = "without its socket";
    if stop {
        let ran = terminal.run(&["daemon", "stop", "--yes"])?;
        stopped(&terminal, &ran, daemon, when, report);
    } else {
        listed(&terminal.run(&["list", "--json"])?, &task, when, report);
        let ran = terminal.run(&["run", "--agent", "rehearsal", "say reached"])?;
        report.expect(ran.is_done() && ran.out.contains("reached"), Kind::Stuck, || {
            format!("{when}: a helper got {}", ran.said())
        });
    }
    report.daemons(&terminal);
    Ok(())
}

/// A terminal with the folders of the XDG specification, as most people have.
fn with_runtime_folder() -> Done<(Terminal, PathBuf)> {
    let terminal = Terminal::open("")?;
    let runtime = private(&terminal, "run")?;
    terminal.home.set_env("LEGWORK_HOME", "");
    terminal.home.set_env("XDG_RUNTIME_DIR", &runtime.to_string_lossy());
    Ok((terminal, runtime))
}

fn private(terminal: &Terminal, name: &str) -> Done<PathBuf> {
    let folder = terminal.home.root().join(name);
    let made = fs::DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|why| Fault::trying("making a folder", why))?;
    Ok(folder)
}

fn folder_gone(report: &mut Report) -> Done<()> {
    note("the runtime folder is removed");
    let (terminal, runtime) = with_runtime_folder()?;
    let (daemon, task) = at_work(&terminal, report)?;
    remove(&runtime)?;
    let when = "without the runtime folder";
    listed(&terminal.run(&["list", "--json"])?, &task, when, report);
    let ran = terminal.run(&["daemon", "stop", "--yes"])?;
    stopped(&terminal, &ran, daemon, when, report);
    Ok(())
}

fn other_folders(report: &mut Report) -> Done<()> {
    note("terminals with other temporary folders");
    let (terminal, _) = with_runtime_folder()?;
    let (daemon, task) = at_work(&terminal, report)?;
    let (other_run, other_tmp) = (private(&terminal, "run2")?, private(&terminal, "tmp2")?);
    let other = |args: &[&str]| -> Command {
        let mut command = terminal.command(args);
        command.env("XDG_RUNTIME_DIR", &other_run).env("TMPDIR", &other_tmp);
        command
    };
    let none = |args: &[&str]| -> Command {
        let mut command = terminal.command(args);
        command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", &other_tmp);
        command
    };
    let ran = terminal.finish(other(&["list", "--json"]))?;
    listed(&ran, &task, "with another XDG_RUNTIME_DIR and TMPDIR", report);
    let ran = terminal.finish(none(&["list", "--json"]))?;
    listed(&ran, &task, "without XDG_RUNTIME_DIR", report);
    let ran = terminal.finish(other(&["daemon", "stop", "--yes"]))?;
    stopped(&terminal, &ran, daemon, "from another terminal", report);
    Ok(())
}

/// What is taken on after the records are gone is kept, or it is not taken on.
fn store_gone(report: &mut Report) -> Done<()> {
    note("the store is removed");
    let terminal = Terminal::open("")?;
    let (daemon, _) = at_work(&terminal, report)?;
    let store = terminal.own_folder().join("store");
    remove(&store)?;
    std::thread::sleep(NOTICED);
    let ran = terminal.run(&["run", "--detach", "--agent", "rehearsal", "say kept"])?;
    let id = ran.out.lines().next().unwrap_or_default().trim().to_owned();
    if ran.is_done() && id.starts_with("bg_") {
        // The daemon may be another one by now.
        let now = terminal.daemon()?.map_or(daemon, |facts| facts.pid);
        terminal.settle(std::slice::from_ref(&id), SOON)?;
        terminal.kill(now)?;
        terminal.start()?;
        let kept = terminal.status(&id)?.is_some();
        report.expect(kept, Kind::Lost, || {
            "a task that was launched after the store was removed is gone after a restart"
                .to_owned()
        });
    } else {
        report.expect(!ran.err.trim().is_empty(), Kind::Wrong, || {
            format!("without its store a launch got {}", ran.said())
        });
    }
    for line in terminal.panics() {
        report.flaw(Kind::Panic, line);
    }
    Ok(())
}
