//! The end of everything that a home started. A shell waits for the test to let go of a pipe, which
//! happens on `Drop` and also when the test is killed or leaves a home in a static; then it kills
//! whatever bears the home's path in its environment, and removes the folder.
//!
//! Process groups would not do: the host gives the commands of its tools groups of their own.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where there is no /proc, the groups of which we know the leaders have to do.
const SWEEP: &str = r#"
cat > "$1/groups"
for round in 1 2 3 4 5; do
    if [ -d /proc/self ]; then
        found=
        for file in $(grep -lsF -- "HOME=$1/" /proc/[0-9]*/environ); do
            pid=${file#/proc/}
            kill -9 "${pid%/environ}" 2> /dev/null && found=1
        done
    else
        found=
        while read -r group; do kill -9 -- "-$group" 2> /dev/null && found=1; done < "$1/groups"
    fi
    [ -n "$found" ] || break
    sleep 0.05
done
rm -rf "$1" || { sleep 0.3; rm -rf "$1"; }
"#;

/// A folder, and the promise that it goes.
#[derive(Debug)]
pub(crate) struct Sweep {
    folder: PathBuf,
    shell: Child,
}

impl Sweep {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("legwork-kit-").tempdir();
        // The path has to be the one that the processes will see.
        let folder = folder.expect("a temporary folder").keep();
        let folder = folder.canonicalize().expect("its real path");
        let shell = Command::new("sh")
            .args(["-c", SWEEP, "sweep"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Self { folder, shell: shell.expect("sh is there") }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A process that leads a group of its own.
    pub fn remember(&self, leader: u32) {
        let mut pipe = self.shell.stdin.as_ref().expect("the pipe is ours until the end");
        writeln!(pipe, "{leader}").expect("the shell reads");
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
