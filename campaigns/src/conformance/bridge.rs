//! The bridge between the suite, which asks over HTTP, and `legwork mcp`. The bridge itself is a
//! module for Node, which the suite needs anyway.

use std::process::{Child, ChildStdout, Stdio};

use legwork_testkit::Lines;

use crate::conformance::suite::Suite;
use crate::fault::{Done, Fault};
use crate::terminal::Terminal;

const SOURCE: &str = include_str!("bridge.mjs");

/// A bridge that runs. The fronts that it has started end with it.
pub struct Bridge {
    child: Child,
    /// Kept open: it would be told that nobody reads it.
    _lines: Lines<ChildStdout>,
    /// Where it is asked.
    pub url: String,
}

impl Bridge {
    /// Starts one on a free port of this machine.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(terminal: &Terminal, suite: &Suite) -> Done<Self> {
        let fault = |why| Fault::trying("starting the bridge", why);
        let file = terminal.home.root().join("bridge.mjs");
        std::fs::write(&file, SOURCE).map_err(fault)?;
        let mut command = terminal.home.command(&suite.node);
        command.arg(file).arg(terminal.legwork.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(fault)?;
        let stdout = child.stdout.take().ok_or_else(|| Fault::new("the bridge has no stdout"))?;
        let mut lines = Lines::of(stdout);
        let url = lines.until("the bridge's address", |line| line.starts_with("http://"));
        Ok(Self { child, _lines: lines, url })
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
