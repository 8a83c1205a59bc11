//! A person's terminal in a home of its own, without OpenCode: a daemon that the campaign starts
//! and may end, and commands. Every command's last lines are read for notices, so that it can be
//! counted how often each task was told.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use legwork_testkit::{Home, Model};
use serde_json::Value;

use crate::fault::{Done, Fault};
use crate::legwork::{DaemonFacts, Legwork, finish, own_folder};
use crate::processes;
use crate::progress::wait;

/// For a daemon to be there, or gone, on a busy machine.
pub const SOON: Duration = Duration::from_secs(20);
pub const LOOK: Duration = Duration::from_millis(50);
/// The exit code of a Rust program that panics.
const PANICKED: i32 = 101;
/// No daemon of a campaign ends because nobody has asked for a while.
const LINGER_MS: &str = "900000";

/// A home with legwork in it. Everything that was started in it ends with it.
#[derive(Debug)]
pub struct Terminal {
    /// The home.
    pub home: Home,
    /// The program.
    pub legwork: Legwork,
    daemons: Mutex<Vec<Started>>,
    told: Mutex<Vec<String>>,
    /// The model that is in the settings of the home.
    pub model: Model,
}

/// A daemon that the campaign has started.
#[derive(Debug)]
struct Started {
    child: Child,
    stderr: PathBuf,
    killed: bool,
}

/// What a command gave.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its exit code; nothing when a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Ran {
    /// Whether it was done.
    pub fn is_done(&self) -> bool {
        self.code == Some(0)
    }

    /// What it printed, as JSON; null if it printed none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or(Value::Null)
    }

    /// Everything that a person sees of it, on one line.
    pub fn said(&self) -> String {
        let all = format!("code {:?}: {} {}", self.code, self.out, self.err);
        let words: Vec<&str> = all.split_whitespace().collect();
        words.join(" ").chars().take(300).collect()
    }
}

impl Terminal {
    /// A home with these settings, and no daemon yet.
    ///
    /// # Errors
    /// When there is no program, or the home cannot be made.
    pub fn open(config: &str) -> Done<Self> {
        let terminal = Self::empty()?;
        terminal.legwork.furnish(&terminal.home, config)?;
        terminal.home.set_env("LEGWORK_LINGER_MS", LINGER_MS);
        Ok(terminal)
    }

    /// A home in which legwork's files are where they are by default: what a client starts there
    /// gets few variables, and has to find the same files as a terminal.
    ///
    /// # Errors
    /// When there is no program, or the home cannot be made.
    pub fn plain(config: &str) -> Done<Self> {
        let terminal = Self::empty()?;
        let folder = terminal.home.root().join("home/.config/legwork");
        let fault = |why| Fault::trying("making legwork's folder", why);
        fs::create_dir_all(&folder).map_err(fault)?;
        fs::write(folder.join("config.toml"), config).map_err(fault)?;
        Ok(terminal)
    }

    fn empty() -> Done<Self> {
        let (legwork, model) = (Legwork::find()?, Model::start());
        let home = Home::new(&model);
        let (daemons, told) = (Mutex::default(), Mutex::default());
        Ok(Self { home, legwork, daemons, told, model })
    }

    /// The folder of legwork.
    pub fn own_folder(&self) -> PathBuf {
        own_folder(&self.home)
    }

    /// A command that is not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(self.legwork.path());
        command.args(args);
        command
    }

    /// A command, to its end.
    ///
    /// # Errors
    /// When it does not start or does not end.
    pub fn run(&self, args: &[&str]) -> Done<Ran> {
        let shown: Vec<String> = args.iter().map(|word| word.chars().take(60).collect()).collect();
        self.finish(self.command(args))
            .map_err(|why| Fault::trying(format!("legwork {}", shown.join(" ")), why))
    }

    /// A command that was prepared elsewhere, to its end.
    ///
    /// # Errors
    /// When it does not start or does not end.
    pub fn finish(&self, command: Command) -> Done<Ran> {
        let begun = Instant::now();
        let output = finish(command).map_err(Fault::new)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let headline = |line: &&str| line.starts_with("[BACKGROUND ");
        locked(&self.told).extend(err.lines().filter(headline).map(str::to_owned));
        Ok(Ran { code: output.status.code(), out, err, took: begun.elapsed() })
    }

    /// How often the end of a run of this task was told.
    pub fn told(&self, task: &str) -> usize {
        let of_task = |line: &&String| line.contains(task) && !line.contains("WAITING]");
        locked(&self.told).iter().filter(of_task).count()
    }

    /// Starts a daemon whose last words are kept, and waits until it answers.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub fn start(&self) -> Done<u32> {
        self.start_with(|command| command)
    }

    /// The same with another environment or a wrapper around it.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub fn start_with(&self, change: impl FnOnce(Command) -> Command) -> Done<u32> {
        let number = locked(&self.daemons).len();
        let stderr = self.home.root().join(format!("logs/daemon-{number}.err"));
        let fault = |why: std::io::Error| Fault::trying("starting the daemon", why);
        let file = File::create(&stderr).map_err(fault)?;
        let mut command = change(self.command(&["daemon", "run", "--foreground"]));
        let child = command.stderr(file).spawn().map_err(fault)?;
        locked(&self.daemons).push(Started { child, stderr, killed: false });
        let answers = || self.daemon().ok().flatten().map(|daemon| daemon.pid);
        wait("a daemon that answers", SOON, LOOK, answers)
            .map_err(|fault| Fault::trying(fault, self.last_words()))
    }

    /// What the newest daemon has said last.
    fn last_words(&self) -> String {
        let path = locked(&self.daemons).last().map(|daemon| daemon.stderr.clone());
        let text = path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        text.lines().last().unwrap_or("it has said nothing").to_owned()
    }

    /// The daemon; nothing when there is none. Starts none.
    ///
    /// # Errors
    /// When the command does not work.
    pub fn daemon(&self) -> Done<Option<DaemonFacts>> {
        Ok(DaemonFacts::of(&self.run(&["daemon", "status", "--json"])?.json()))
    }

    /// Kills a process of this home without a warning, and waits until it is gone.
    ///
    /// # Errors
    /// When it is not there.
    pub fn kill(&self, pid: u32) -> Done<()> {
        processes::kill(self.home.root(), pid)?;
        for daemon in locked(&self.daemons).iter_mut().filter(|one| one.child.id() == pid) {
            daemon.killed = true;
            let _ = daemon.child.wait();
        }
        wait("a killed process is gone", SOON, LOOK, || (!processes::is_alive(pid)).then_some(()))
    }

    /// How daemons that were started have ended, if that was by a panic or a signal.
    pub fn broken_daemons(&self) -> Vec<String> {
        let mut daemons = locked(&self.daemons);
        let ended = daemons.iter_mut().filter(|one| !one.killed).filter_map(|one| {
            let status: ExitStatus = one.child.try_wait().ok().flatten()?;
            // One that says why it cannot go on is no panic.
            let fell = status.code().is_none_or(|code| code == PANICKED);
            fell.then(|| format!("a daemon ended with {status}"))
        });
        ended.collect()
    }

    /// Every line about a panic that a daemon has left.
    pub fn panics(&self) -> Vec<String> {
        let mut files: Vec<PathBuf> =
            locked(&self.daemons).iter().map(|daemon| daemon.stderr.clone()).collect();
        files.push(self.own_folder().join("daemon.log"));
        let lines = |path: PathBuf| {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let found = text.lines().filter(|line| line.contains("panicked at"));
            found.map(str::to_owned).collect::<Vec<_>>()
        };
        files.into_iter().flat_map(lines).collect()
    }

    /// Launches a helper and does not wait for it.
    ///
    /// # Errors
    /// When it is refused.
    pub fn launch(&self, agent: &str, prompt: &str) -> Done<String> {
        let ran = self.run(&["run", "--detach", "--agent", agent, prompt])?;
        let id = ran.out.lines().next().unwrap_or_default().trim().to_owned();
        if ran.is_done() && id.starts_with("bg_") {
            Ok(id)
        } else {
            Err(Fault::trying("launching a helper", ran.said()))
        }
    }

    /// All tasks, newest first.
    ///
    /// # Errors
    /// When the command does not say them.
    pub fn tasks(&self) -> Done<Vec<Value>> {
        let ran = self.run(&["list", "--json"])?;
        match ran.json()["tasks"].take() {
            Value::Array(tasks) => Ok(tasks),
            _ => Err(Fault::trying("legwork list --json", ran.said())),
        }
    }

    /// The status of a task; nothing when there is none.
    ///
    /// # Errors
    /// When the listing cannot be had.
    pub fn status(&self, id: &str) -> Done<Option<String>> {
        let tasks = self.tasks()?;
        let found = tasks.iter().find(|task| task["id"] == id);
        Ok(found.and_then(|task| task["status"].as_str()).map(str::to_owned))
    }

    /// Waits until these tasks are finished and told; gives back what is known of those that are
    /// not, in words.
    ///
    /// # Errors
    /// When the listing cannot be had.
    pub fn settle(&self, ids: &[String], within: Duration) -> Done<Vec<String>> {
        let mut left = Vec::new();
        let _ = wait("all are finished", within, LOOK * 4, || {
            let tasks = self.tasks().ok()?;
            left = ids.iter().filter_map(|id| unsettled(&tasks, id)).collect();
            left.is_empty().then_some(())
        });
        // The notice may be on its way, and is shown to people only.
        let _ = wait("all are told", SOON.min(within), LOOK * 4, || {
            self.run(&["list"]).ok()?;
            ids.iter().all(|id| self.told(id) > 0).then_some(())
        });
        Ok(left)
    }

    /// The whole result or reason of a task, with the exit code that says which.
    ///
    /// # Errors
    /// When the command does not end.
    pub fn output(&self, id: &str) -> Done<Ran> {
        self.run(&["output", id])
    }

    /// Processes of the home that are none of ours to expect: no daemon, and not this program.
    pub fn others(&self) -> Vec<processes::Process> {
        let mut all = processes::in_home(self.home.root());
        all.retain(|one| !one.is_daemon());
        all
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for daemon in locked(&self.daemons).iter_mut() {
            let _ = daemon.child.kill();
            let _ = daemon.child.wait();
        }
    }
}

fn unsettled(tasks: &[Value], id: &str) -> Option<String> {
    let Some(task) = tasks.iter().find(|task| task["id"] == id) else {
        return Some(format!("{id} is not in the listing"));
    };
    let over = !task["ended"].is_null() && task["notice_pending"] != true;
    (!over).then(|| format!("{id} is still {}", task["status"].as_str().unwrap_or("there")))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
