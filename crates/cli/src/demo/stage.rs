//! Where the demo plays: a home among the temporary files, in which the same program is run as a
//! person would run it. Gone at the end, also when somebody breaks off.

use std::fs::{self, DirBuilder};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{env, process, thread};
use std::{fmt, io};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::signals;

/// Longer than a helper of the demo takes to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Stage {
    program: PathBuf,
    home: PathBuf,
}

impl Stage {
    pub fn open() -> Result<Self, Fault> {
        let home = env::temp_dir().join(format!("legwork-demo-{}", process::id()));
        let at_home = &Fault::file("make", &home);
        DirBuilder::new().mode(0o700).create(&home).map_err(at_home)?;
        let program = env::current_exe().map_err(at_home)?;
        let stage = Self { program, home: home.clone() };
        fs::create_dir(home.join("project")).map_err(at_home)?;
        break_off_cleanly(stage.program.clone(), home.clone());
        Ok(stage)
    }

    /// Runs the program before the person's eyes, everything that it says in one stream.
    pub fn show(&self, arguments: &[&str], expected: i32) -> Result<(), Fault> {
        let _goes_on = goes_on();
        let status = self.command(arguments)?.status();
        self.check(arguments, status.map_err(self.cannot_run())?, expected)
    }

    /// Runs it and gives back what it prints; what else it says is shown.
    pub fn ask(&self, arguments: &[&str]) -> Result<String, Fault> {
        let _goes_on = goes_on();
        let output = self.command(arguments)?.stdout(Stdio::piped()).spawn();
        let output = output.and_then(Child::wait_with_output);
        let output = output.map_err(self.cannot_run())?;
        self.check(arguments, output.status, 0)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, arguments: &[&str]) -> Result<Command, Fault> {
        let stdout = io::stdout().as_fd().try_clone_to_owned().map_err(Fault::Output)?;
        let mut command = command(&self.program, &self.home, arguments);
        command.stderr(stdout);
        Ok(command)
    }

    fn check(&self, arguments: &[&str], status: ExitStatus, wanted: i32) -> Result<(), Fault> {
        if status.code() == Some(wanted) {
            return Ok(());
        }
        // Ctrl-C reaches the command too, and before we are told of it.
        let interrupt = Signal::INT.as_raw();
        if status.signal() == Some(interrupt) || status.code() == Some(Exit::Interrupted as i32) {
            return Err(Fault::BrokenOff);
        }
        Err(wrong(format_args!("`legwork {}` ended with {status}", arguments.join(" "))))
    }

    pub fn result(&self, task: &str) -> Result<String, Fault> {
        let result = self.json(&["output", task])?;
        Ok(result["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until a helper has begun to use its tool.
    pub fn until_at_work(&self, task: &str) -> Result<(), Fault> {
        self.until(&["show", task], |task| {
            task["last_tools"].as_array().is_some_and(|tools| !tools.is_empty())
        })
    }

    /// Waits until nothing is pending: the next command shows what was told.
    pub fn until_told(&self) -> Result<(), Fault> {
        self.until(&["daemon", "status"], |found| found["daemon"]["pending"] == 0)
    }

    fn until(&self, arguments: &[&str], is_so: impl Fn(&Value) -> bool) -> Result<(), Fault> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if is_so(&self.json(arguments)?) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err(wrong(format_args!("nothing new in `legwork {}`", arguments.join(" "))))
    }

    /// The process of the daemon.
    pub fn daemon(&self) -> Result<Pid, Fault> {
        let view = self.json(&["daemon", "status"])?;
        let id = view["daemon"]["pid"].as_i64().and_then(|id| i32::try_from(id).ok());
        let no_daemon = || wrong(format_args!("there is no daemon in {view}"));
        id.and_then(Pid::from_raw).ok_or_else(no_daemon)
    }

    /// Kills the daemon, as a crash would.
    pub fn kill(&self, daemon: Pid) -> Result<(), Fault> {
        kill_process(daemon, Signal::KILL).map_err(|error| self.cannot_run()(error.into()))
    }

    pub fn close(&self) -> Result<(), Fault> {
        clean_up(&self.program, &self.home)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value, Fault> {
        let printed = self.ask(&[&["--json"], arguments].concat())?;
        serde_json::from_str(&printed).map_err(|error| Fault::Input(error.into()))
    }

    fn cannot_run(&self) -> impl Fn(io::Error) -> Fault {
        Fault::file("run", &self.program)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // After a demo that went wrong; after one that did not, there is nothing left.
        let _ = clean_up(&self.program, &self.home);
    }
}

pub fn wrong(what: fmt::Arguments<'_>) -> Fault {
    Fault::Refused(format!("The demo went wrong: {what}."))
}

/// Whether somebody has broken off. Who waits for the end of a command may be slower to get the
/// lock than the next command.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Held while a command runs. After the last one nobody gets it: the process is about to end.
fn goes_on() -> MutexGuard<'static, ()> {
    while IS_OVER.load(Ordering::Relaxed) {
        thread::park();
    }
    running()
}

fn running() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    legwork_machine::lock(&RUNNING)
}

fn command(program: &Path, home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(home.join("project"));
    command.env("LEGWORK_HOME", home).stdin(Stdio::null());
    command
}

fn clean_up(program: &Path, home: &Path) -> Result<(), Fault> {
    if !home.exists() {
        return Ok(());
    }
    let _ = command(program, home, &["daemon", "stop", "--yes"]).output();
    fs::remove_dir_all(home).map_err(Fault::file("remove", home))
}

/// Ctrl-C and SIGTERM leave nothing behind either.
fn break_off_cleanly(program: PathBuf, home: PathBuf) {
    let broken_off = move |exit: Exit| {
        IS_OVER.store(true, Ordering::Relaxed);
        // Held until the end, so that no further command starts a daemon again.
        let _over = running();
        let _ = clean_up(&program, &home);
        process::exit(exit as i32);
    };
    // Without it the demo is as good, until somebody breaks it off.
    let _ = signals::listen(broken_off);
}
