//! What a helper can do with the programs of the machine it works on: approve its own permission,
//! call others off, leave something running, and start what others share.

use std::fs;
use std::time::Duration;

use super::agent::{ASKING_SHELL, SHELL};
use super::report::{Attack, Kind, Report, Trial};
use crate::fault::{Done, Fault};
use crate::processes::{self, Process};
use crate::progress::{note, wait};
use crate::terminal::{LOOK, SOON, Terminal};

/// The attack.
pub const ATTACK: Attack = Attack {
    name: "inside",
    does: "a helper answers its own permission, cancels others, leaves processes, starts a tmux",
    holds: "it may not; nothing of it runs on once it is called off; a shared tmux server survives",
    run: attack,
};

/// Nothing that a helper prints takes longer.
const END: Duration = Duration::from_secs(60);
/// For what must not happen.
const WHILE: Duration = Duration::from_secs(4);

fn attack(trial: &Trial, report: &mut Report) -> Done<()> {
    let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
    let agent =
        |way: &str| format!("[agents.{way}]\ncommand = [{own:?}, \"agent\", {way:?}, \"1\"]\n");
    // One that was cut off and asked to go on would leave the same things again.
    let recovery = "[recovery]\ninterrupted = \"fail\"\n";
    let settings = format!("{recovery}{}{}", agent(SHELL), agent(ASKING_SHELL));
    let terminal = Terminal::open(&settings)?;
    let daemon = terminal.start()?;
    commands(&terminal, report)?;
    // So that no other process has the same command line.
    let seconds = 100_000_000 + trial.dice(1).below(1_000_000) * 2;
    escape(&terminal, seconds, None, report)?;
    escape(&terminal, seconds + 1, Some(daemon), report)?;
    shared(&terminal, report)?;
    report.daemons(&terminal);
    Ok(())
}

/// Commands of legwork that a helper runs, as they are and with nothing of its environment.
fn commands(terminal: &Terminal, report: &mut Report) -> Done<()> {
    note("a helper answers its own permission and calls another one off");
    let other = terminal.launch("rehearsal", "wait 120s; say unharmed")?;
    let id = terminal.home.root().join("id");
    let legwork = terminal.legwork.path().display();
    let own = terminal.own_folder();
    let bare = format!("env -i LEGWORK_HOME={} {legwork}", own.display());
    let script = format!(
        "while [ ! -s {id} ]; do sleep 0.1; done; me=$(cat {id}); sleep 1\n\
         {legwork} answer $me once; echo answer=$?\n\
         {bare} answer $me once; echo bare-answer=$?\n\
         {legwork} cancel {other}; echo cancel=$?\n\
         {bare} cancel {other}; echo bare-cancel=$?\n\
         setsid {bare} cancel {other}; echo detached-cancel=$?\n",
        id = id.display(),
    );
    let task = terminal.launch(ASKING_SHELL, &script)?;
    fs::write(&id, &task).map_err(|why| Fault::trying("telling the helper its id", why))?;
    report.tasks += 2;
    for left in terminal.settle(std::slice::from_ref(&task), END)? {
        report.flaw(Kind::Stuck, left);
    }
    let said = terminal.output(&task)?;
    for what in ["answer", "bare-answer", "cancel", "bare-cancel", "detached-cancel"] {
        report.rounds += 1;
        let line = said.out.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix('='));
        match line {
            Some("0") => report.flaw(Kind::Wrong, format!("inside of a helper, {what} was done")),
            Some(_) => {}
            None => report.flaw(Kind::Wrong, format!("{what} was not tried: {}", said.said())),
        }
    }
    let status = terminal.status(&other)?.unwrap_or_default();
    report.expect(status == "running", Kind::Lost, || format!("the other helper is {status}"));
    let ran = terminal.run(&["cancel", &other])?;
    report.expect(ran.is_done() || status != "running", Kind::Wrong, || {
        format!("a person cannot cancel it: {}", ran.said())
    });
    Ok(())
}

/// A process that hides from its environment, its group and its parent. The helper is called off,
/// or the daemon is killed and started again.
fn escape(terminal: &Terminal, seconds: u64, kill: Option<u32>, report: &mut Report) -> Done<()> {
    let how = if kill.is_some() { "a kill of the daemon" } else { "a cancel" };
    note(format!("a helper leaves something running before {how}"));
    let seconds = seconds.to_string();
    let line = ["sleep", &*seconds];
    let script = format!("setsid env -i sleep {seconds} > /dev/null 2>&1 & sleep 120");
    let task = terminal.launch(SHELL, &script)?;
    report.rounds += 1;
    report.tasks += 1;
    let begun = || (!processes::with_words(&line).is_empty()).then_some(());
    wait("the helper has left something", SOON, LOOK, begun)?;
    if let Some(daemon) = kill {
        terminal.kill(daemon)?;
        terminal.start()?;
    } else {
        terminal.run(&["cancel", &task])?;
    }
    let gone = || processes::with_words(&line).is_empty().then_some(());
    if wait("it is gone", SOON / 2, LOOK, gone).is_err() {
        let what = format!("after {how}, `setsid env -i sleep` of the helper runs on");
        report.flaw(Kind::Orphaned, what);
    }
    processes::kill_with_words(&line);
    Ok(())
}

/// A server that others use as well, which the helper happened to start.
fn shared(terminal: &Terminal, report: &mut Report) -> Done<()> {
    let tmux = |args: &[&str]| {
        let mut command = terminal.home.command("tmux");
        command.args(args);
        terminal.finish(command)
    };
    if !tmux(&["-V"]).is_ok_and(|ran| ran.is_done()) {
        report.left_out.push("a shared tmux server: there is no tmux".to_owned());
        return Ok(());
    }
    for called_off in [false, true] {
        note("a helper starts a tmux server that others share");
        let rest = if called_off { "sleep 120" } else { "sleep 3; echo started" };
        let script = format!("tmux new-session -d -s shared sleep 600; {rest}");
        let task = terminal.launch(SHELL, &script)?;
        report.rounds += 1;
        report.tasks += 1;
        let there = || tmux(&["has-session", "-t", "shared"]).ok()?.is_done().then_some(());
        if wait("the tmux server is there", SOON, LOOK, there).is_err() {
            report.flaw(Kind::Lost, "the tmux server that a helper started never came up");
            continue;
        }
        if called_off {
            terminal.run(&["cancel", &task])?;
        }
        terminal.settle(std::slice::from_ref(&task), END)?;
        // One that was called off is given some seconds.
        let is_agent = |one: &Process| one.words.iter().any(|word| word == SHELL);
        let ended = || (!terminal.others().iter().any(is_agent)).then_some(());
        wait("the agent has ended", SOON, LOOK, ended)?;
        std::thread::sleep(WHILE);
        let how = if called_off { "was called off" } else { "was done" };
        report.expect(there().is_some(), Kind::Lost, || {
            format!("the tmux server is gone after the helper that started it {how}")
        });
        let _ = tmux(&["kill-server"]);
    }
    Ok(())
}
