//! A `legwork run` that goes on while a test does something else.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use legwork_machine::process::{is_alive, process_mark};
use legwork_testkit::DEADLINE;
use legwork_testkit::legwork::{Home, Ran, eventually, without_delays};
use rustix::process::{Pid, Signal, kill_process};

pub struct Running {
    child: Child,
    err: BufReader<ChildStderr>,
    said: String,
    /// Dropped, nobody waits any more.
    _watched: Sender<()>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let _watched = end_in_time(child.id());
        Self { child, err, said: String::new(), _watched }
    }

    /// Waits for the line of stderr that has this in it.
    pub fn until(&mut self, wanted: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "{wanted:?} in {}", self.said);
            self.said.push_str(&line);
            if line.contains(wanted) {
                return line;
            }
        }
    }

    /// The task that was launched next.
    pub fn launched(&mut self) -> String {
        let line = self.until("Launched: ");
        line.trim_end().rsplit_once(" (").unwrap().1.trim_end_matches(')').to_owned()
    }

    /// What it prints, for whoever reads that as it comes.
    pub fn take_out(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(id, signal).unwrap();
    }

    pub fn ends(mut self) -> Ran {
        self.err.read_to_string(&mut self.said).unwrap();
        let output = self.child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: without_delays(&self.said),
        }
    }
}

/// Kills a program that does not end in time, so that a test fails instead of waiting for ever.
fn end_in_time(id: u32) -> Sender<()> {
    let (watched, over) = mpsc::channel();
    thread::spawn(move || {
        if over.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL);
        }
    });
    watched
}

/// Kills the daemon; whoever needs one starts another.
pub fn kill_daemon(home: &Home) {
    let view = home.run(["daemon", "status", "--json"]).with_code(0).json();
    let pid = u32::try_from(view["daemon"]["pid"].as_u64().unwrap()).unwrap();
    let mark = process_mark(pid).unwrap();
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    eventually("the daemon is gone", || (!is_alive(&mark)).then_some(()));
}

/// Waits until no notice is pending: what is mail by then is all there is.
pub fn until_all_is_told(home: &Home) {
    eventually("nothing is pending", || {
        let view = home.run(["daemon", "status", "--json"]).with_code(0).json();
        (view["daemon"]["pending"] == 0 && view["daemon"]["unfinished"] == 0).then_some(())
    });
}

/// Waits until a task is finished. Not with `wait`: who was there at the end is not told of it.
pub fn until_finished(home: &Home, task: &str) {
    eventually("it is finished", || {
        let view = home.run(["show", task, "--json"]).with_code(0).json();
        view["ended"].is_u64().then_some(())
    });
}

/// Has the scripted agent do this, and gives the task's id.
pub fn launch(home: &Home, script: &str) -> String {
    let launched = home.run(["run", "--agent", "rehearsal", "--detach", script]).with_code(0);
    launched.out.trim().to_owned()
}

pub fn until_asked(home: &Home, task: &str) {
    eventually("it asks", || {
        let asked = home.run(["answer", task, "--json"]).json();
        (asked.as_array().unwrap().len() == 1).then_some(())
    });
}
