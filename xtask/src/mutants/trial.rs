//! One defect after the other: plant, build, run, read the verdict, undo.

use super::copy;
use super::list::Mutant;
use crate::{Fault, tree};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The runner that is built with each defect in place. It takes `--seeds N`, ends with 0 if all
/// histories held, and otherwise prints `broken: <checker>: ...` and `seeds: <n>`.
const PACKAGE: &str = "legwork-sim";
const RUNNER: &str = "sim";

/// Assertions on, and quick to build again after a change of one line.
const PROFILE: &str = "mutants";
const PROFILE_SETTINGS: [&str; 2] =
    ["profile.mutants.inherits=\"dev\"", "profile.mutants.debug=false"];

/// Defects in here show only in histories that are kept in a file, which take longer.
const STORE: &str = "crates/store/";
const FILE_IS_SLOWER: u64 = 20;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What to plant, where, and how long to look for it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The workspace; it is copied, not changed.
    pub root: PathBuf,
    /// The defects.
    pub mutants: Vec<Mutant>,
    /// Histories for each.
    pub seeds: u64,
    /// The longest run of one.
    pub limit: Duration,
}

/// How the simulation took a defect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It noticed.
    Caught {
        /// The checker, or how else it came out.
        by: String,
        /// How many histories it took, where the runner tells.
        seeds: Option<u64>,
    },
    /// It noticed nothing: the checkers are too weak.
    Survived,
    /// The defect is no Rust: an error of the list.
    Unbuildable,
}

/// A defect with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The name of the defect.
    pub name: String,
    /// How it went.
    pub verdict: Verdict,
    /// Building and running.
    pub took: Duration,
}

/// Plants all defects of the plan, one after the other, and tells each step to `say`.
///
/// # Errors
/// When the healthy code does not pass, or a defect has no place, or the copy cannot be made.
pub fn run_all(plan: &Plan, say: &mut dyn FnMut(&str)) -> Result<Vec<Trial>, Fault> {
    // All places are looked up first: a stale list should not cost an hour.
    for mutant in &plan.mutants {
        mutant.plant(&tree::read(&plan.root, &mutant.file)?)?;
    }
    if plan.mutants.is_empty() {
        say("The list is empty: nothing to plant.");
        return Ok(Vec::new());
    }
    let bench = Bench::new(plan)?;
    say("building and running the healthy code");
    let started = Instant::now();
    bench.baseline()?;
    say(&format!("healthy: {} histories in {}", plan.seeds, seconds(started.elapsed())));
    let mut trials = Vec::new();
    for mutant in &plan.mutants {
        let trial = bench.try_one(mutant)?;
        let (by, _) = words(&trial.verdict);
        say(&format!("{}: {by} ({})", trial.name, seconds(trial.took)));
        trials.push(trial);
    }
    Ok(trials)
}

/// The table at the end.
pub fn table(trials: &[Trial]) -> String {
    let mut rows = vec![["mutant", "caught by", "seeds", "time"].map(str::to_owned)];
    for trial in trials {
        let (by, seeds) = words(&trial.verdict);
        rows.push([trial.name.clone(), by, seeds, seconds(trial.took)]);
    }
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let [name, by, seeds, time] = [0, 1, 2, 3].map(|column| wide(column).unwrap_or(0));
    let mut text = String::new();
    for [a, b, c, d] in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{a:<name$}  {b:<by$}  {c:>seeds$}  {d:>time$}");
    }
    let caught = trials.iter().filter(|trial| matches!(trial.verdict, Verdict::Caught { .. }));
    let _ = write!(text, "{} of {} caught", caught.count(), trials.len());
    text
}

fn words(verdict: &Verdict) -> (String, String) {
    match verdict {
        Verdict::Caught { by, seeds } => {
            (by.clone(), seeds.map_or_else(|| "?".to_owned(), |n| n.to_string()))
        }
        Verdict::Survived => ("NOTHING: it survived".to_owned(), "-".to_owned()),
        Verdict::Unbuildable => ("NOBODY: it does not build".to_owned(), "-".to_owned()),
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

/// The copy of the workspace, and what is built from it.
struct Bench<'plan> {
    plan: &'plan Plan,
    copy: PathBuf,
    target: PathBuf,
    logs: PathBuf,
}

/// What a history is kept in.
#[derive(Clone, Copy)]
enum Books {
    Memory,
    File,
}

/// How a run of the simulation ended.
enum End {
    Exit(ExitStatus),
    Never,
}

impl<'plan> Bench<'plan> {
    fn new(plan: &'plan Plan) -> Result<Self, Fault> {
        let folder = plan.root.join("target").join("mutants");
        let [copy, target, logs] = ["work", "target", "logs"].map(|name| folder.join(name));
        copy::refresh(&plan.root, &copy)?;
        copy::make_folder(&logs)?;
        Ok(Self { plan, copy, target, logs })
    }

    fn baseline(&self) -> Result<(), Fault> {
        let log = self.log("healthy");
        let see = format!("see {}", log.display());
        if !self.build(&log)?.success() {
            return Err(Fault::new(format!("The healthy code does not build; {see}")));
        }
        for books in [Books::Memory, Books::File] {
            match self.simulate(&log, books)? {
                End::Exit(status) if status.success() => {}
                End::Exit(_) => {
                    return Err(Fault::new(format!("The healthy code does not pass; {see}")));
                }
                End::Never => {
                    return Err(Fault::new(format!(
                        "The healthy code does not end in {}; raise --limit or lower --seeds; \
                         {see}",
                        seconds(self.plan.limit)
                    )));
                }
            }
        }
        Ok(())
    }

    fn try_one(&self, mutant: &Mutant) -> Result<Trial, Fault> {
        let started = Instant::now();
        let healthy = tree::read(&self.plan.root, &mutant.file)?;
        self.write(&mutant.file, &mutant.plant(&healthy)?)?;
        let verdict = self.judge(mutant, &self.log(&mutant.name));
        // Undone before a fault is passed on, so that the copy is always the healthy code.
        self.write(&mutant.file, &healthy)?;
        Ok(Trial { name: mutant.name.clone(), verdict: verdict?, took: started.elapsed() })
    }

    fn judge(&self, mutant: &Mutant, log: &Path) -> Result<Verdict, Fault> {
        if !self.build(log)?.success() {
            return Ok(Verdict::Unbuildable);
        }
        // Only histories that are kept in a file meet the store.
        let books = if mutant.file.starts_with(STORE) { Books::File } else { Books::Memory };
        let end = self.simulate(log, books)?;
        let said = fs::read(log)
            .map_err(|cause| Fault::trying(format!("reading {}", log.display()), cause))?;
        Ok(verdict(&end, &String::from_utf8_lossy(&said)))
    }

    fn build(&self, log: &Path) -> Result<ExitStatus, Fault> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", PACKAGE, "--bin", RUNNER]);
        command.args(["--profile", PROFILE]);
        for setting in PROFILE_SETTINGS {
            command.args(["--config", setting]);
        }
        command.arg("--target-dir").arg(&self.target);
        let mut child = self.start(command, log)?;
        child.wait().map_err(|cause| Fault::trying("waiting for cargo build", cause))
    }

    /// Runs what was built directly, not through cargo: a run without end is ended by its own id.
    fn simulate(&self, log: &Path, books: Books) -> Result<End, Fault> {
        let runner = self.target.join(PROFILE).join(RUNNER);
        let mut command = Command::new(runner);
        match books {
            Books::Memory => command.args(["--seeds", &self.plan.seeds.to_string()]),
            Books::File => {
                let seeds = (self.plan.seeds / FILE_IS_SLOWER).max(1);
                command.args(["--sqlite", "--seeds", &seeds.to_string()])
            }
        };
        let child = self.start(command, log)?;
        wait_until(child, Instant::now() + self.plan.limit)
            .map_err(|cause| Fault::trying("waiting for the simulation", cause))
    }

    /// Starts a command in the copy; what it says goes to a file, so that no pipe can fill up.
    fn start(&self, mut command: Command, log: &Path) -> Result<Child, Fault> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |cause| Fault::trying(format!("starting {name}"), cause);
        let out = File::create(log).map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
        command.current_dir(&self.copy).stdin(Stdio::null()).stdout(out).stderr(err);
        command.spawn().map_err(failed)
    }

    fn write(&self, file: &str, text: &str) -> Result<(), Fault> {
        fs::write(self.copy.join(file), text)
            .map_err(|cause| Fault::trying(format!("changing the copy of {file}"), cause))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }
}

fn wait_until(mut child: Child, deadline: Instant) -> std::io::Result<End> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exit(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(End::Never);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What the end of a run and its words mean.
fn verdict(end: &End, said: &str) -> Verdict {
    let seeds = said.lines().find_map(|line| line.strip_prefix("seeds: ")?.trim().parse().ok());
    let caught = |by: &str| Verdict::Caught { by: by.to_owned(), seeds };
    let status = match end {
        End::Never => return caught("no end"),
        End::Exit(status) if status.success() => return Verdict::Survived,
        End::Exit(status) => status,
    };
    let broken = said.lines().find_map(|line| line.strip_prefix("broken: "));
    if let Some(broken) = broken {
        return caught(broken.split(':').next().unwrap_or(broken).trim());
    }
    let panic = said.lines().find_map(|line| line.split_once("panicked at ")?.1.split(':').next());
    match panic {
        Some(file) => caught(&format!("panic in {file}")),
        None => caught(&status.to_string()),
    }
}
