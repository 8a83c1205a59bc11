//! What Linux tells of processes in /proc, and the end of one, by its number. What is to be killed
//! must bear the home of the campaign in its environment: nothing else is ever touched.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::fault::{Done, Fault};

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its command line.
    pub words: Vec<String>,
}

impl Process {
    /// Whether it is a bridge of ours.
    pub fn is_bridge(&self) -> bool {
        self.words.ends_with(&["bridge".to_owned(), "opencode".to_owned()])
    }

    /// Whether it is a daemon of ours.
    pub fn is_daemon(&self) -> bool {
        self.words.windows(2).any(|two| two == ["daemon", "run"])
    }
}

/// Processor time that a process has used, in seconds, to a hundredth.
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    let ticks = cpu_ticks(&read(pid, "stat")?)?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// User and system time in a line of /proc/PID/stat.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut words = after_name(stat)?.split(' ').skip(11);
    let mut number = || words.next()?.parse::<u64>().ok();
    Some(number()? + number()?)
}

/// The name may have spaces and brackets of its own.
fn after_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(") ").map(|(_, rest)| rest)
}

/// Memory that a process holds, in KB.
pub fn memory_kb(pid: u32) -> Option<u64> {
    field_kb(&read(pid, "status")?, "VmRSS:")
}

/// The most memory that a process has ever held, in KB.
pub fn peak_kb(pid: u32) -> Option<u64> {
    field_kb(&read(pid, "status")?, "VmHWM:")
}

fn field_kb(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// How many files and sockets a process has open.
pub fn handles(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

/// Whether a process is there and more than its exit code.
pub fn is_alive(pid: u32) -> bool {
    let stat = read(pid, "stat");
    stat.as_deref().and_then(after_name).is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// The processes that bear this home in their environment, without those that have ended.
pub fn in_home(root: &Path) -> Vec<Process> {
    let found = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = found.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut ours: Vec<Process> = numbers
        .filter(|pid| bears(*pid, root) && is_alive(*pid))
        .map(|pid| Process { pid, words: words(pid) })
        .collect();
    ours.sort_by_key(|process| process.pid);
    ours
}

/// The OpenCodes of this home that legwork started without a window. What one of them has forked is
/// the same for a moment, until it becomes another program.
pub fn headless(root: &Path) -> Vec<u32> {
    let serves = |one: &Process| {
        let program = one.words.first().is_some_and(|word| word.ends_with("opencode"));
        program && one.words.iter().any(|word| word == "serve")
    };
    let ours = in_home(root).into_iter().filter(serves).map(|one| one.pid);
    let ours: Vec<u32> = ours.filter(|pid| has_variable(*pid, "LEGWORK_HEADLESS=")).collect();
    let is_fork = |pid: u32| parent(pid).is_some_and(|parent| ours.contains(&parent));
    ours.iter().copied().filter(|pid| !is_fork(*pid)).collect()
}

/// The processes that come of this one and have this in the name of their program.
pub fn descendants(of: u32, program: &str) -> Vec<u32> {
    let found = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = found.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let comes_of = |pid: u32| {
        std::iter::successors(parent(pid), |pid| parent(*pid)).any(|ancestor| ancestor == of)
    };
    let is_it = |pid: u32| words(pid).first().is_some_and(|word| word.contains(program));
    numbers.filter(|pid| comes_of(*pid) && is_it(*pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    after_name(&read(pid, "stat")?)?.split(' ').nth(1)?.parse().ok()
}

/// Kills one process of this home without a warning.
///
/// # Errors
/// When it is not there or not of this home.
pub fn kill(root: &Path, pid: u32) -> Done<()> {
    signal(root, pid, Signal::KILL)
}

/// Sends a signal to one process of this home.
///
/// # Errors
/// When it is not there or not of this home.
pub fn signal(root: &Path, pid: u32, signal: Signal) -> Done<()> {
    let fault = |why: &str| Fault::trying(format!("killing process {pid}"), why);
    if !bears(pid, root) {
        return Err(fault("it is not of this home"));
    }
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(fault("no number"))?;
    kill_process(number, signal).map_err(|why| fault(&why.to_string()))
}

/// The processes with exactly this command line, whatever their environment.
pub fn with_words(line: &[&str]) -> Vec<u32> {
    let found = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = found.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| words(*pid) == line && is_alive(*pid)).collect()
}

/// Kills the processes with exactly this command line, which has to be one of a kind.
pub fn kill_with_words(line: &[&str]) {
    for pid in with_words(line) {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // It may have ended by itself.
        let _ = number.map(|number| kill_process(number, Signal::KILL));
    }
}

fn bears(pid: u32, root: &Path) -> bool {
    has_variable(pid, &format!("HOME={}/", root.display()))
}

/// Whether a variable that a process was started with begins so.
fn has_variable(pid: u32, begin: &str) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|one| one.starts_with(begin.as_bytes()))
}

fn words(pid: u32) -> Vec<String> {
    let line = read(pid, "cmdline").unwrap_or_default();
    line.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn read(pid: u32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/{name}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_whatever_the_name_is() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 17 5 9 9 20 0 8 0 99 1 2";
        assert_eq!(cpu_ticks(stat), Some(22));
        assert_eq!(cpu_ticks("42 (a) S 1"), None);
    }

    #[test]
    fn memory_is_a_field_of_the_status() {
        let status = "Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t   812 kB\n";
        assert_eq!(field_kb(status, "VmRSS:"), Some(812));
        assert_eq!(field_kb("Name:\tx\n", "VmRSS:"), None);
    }

    #[test]
    fn a_process_of_another_home_is_not_killed() {
        let own = std::process::id();
        assert!(is_alive(own) && handles(own).is_some() && cpu_seconds(own).is_some());
        assert_eq!(parent(own), Some(std::os::unix::process::parent_id()));
        let fault = kill(Path::new("/no/such/home"), own).unwrap_err();
        assert!(fault.to_string().ends_with("it is not of this home"), "{fault}");
    }
}
