//! What is packed around the program: npm packages, release archives, the Homebrew formula, manual
//! pages, the notices of what it is built from. One file for each; what they share is here.
//!
//! Every chore writes into a folder that it is given, and publishes nothing.

pub mod archive;
pub mod formula;
pub mod man;
pub mod notices;
pub mod npm;
pub mod project;

use crate::{Fault, say};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A program for one system, as `TARGET=PATH` names it on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What the packing calls the system.
    pub target: String,
    pub path: PathBuf,
}

/// The systems that there are programs for: as npm calls them, and as Rust does. For Linux they are
/// static, so that one program fits every C library.
pub const SYSTEMS: [(&str, &str); 4] = [
    ("linux-x64", "x86_64-unknown-linux-musl"),
    ("linux-arm64", "aarch64-unknown-linux-musl"),
    ("darwin-x64", "x86_64-apple-darwin"),
    ("darwin-arm64", "aarch64-apple-darwin"),
];

/// The words of a command line: programs, and options with a value.
#[derive(Debug, Default)]
pub struct Words {
    pub programs: Vec<Program>,
    values: Vec<(String, String)>,
}

impl Words {
    /// Reads `--binary TARGET=PATH` and the options named.
    pub(crate) fn read(args: &[String], known: &[&str]) -> Result<Self, Fault> {
        let mut words = Self::default();
        let mut left = args.iter();
        while let Some(name) = left.next() {
            if name != "--binary" && !known.contains(&name.as_str()) {
                return Err(Fault::new(format!("`{name}` is not understood")));
            }
            let value = left.next().ok_or_else(|| Fault::new(format!("{name} needs a value")))?;
            if name == "--binary" {
                words.programs.push(program(value)?);
            } else {
                words.values.push((name.clone(), value.clone()));
            }
        }
        Ok(words)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().rfind(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str, Fault> {
        self.value(name).ok_or_else(|| Fault::new(format!("{name} is missing")))
    }
}

fn program(word: &str) -> Result<Program, Fault> {
    let (target, path) = word
        .split_once('=')
        .ok_or_else(|| Fault::new(format!("`{word}` does not name a program as TARGET=PATH")))?;
    let path = std::path::absolute(path).map_err(|cause| Fault::trying(word, cause))?;
    if !path.is_file() {
        return Err(Fault::new(format!("{} is no file", path.display())));
    }
    Ok(Program { target: target.to_owned(), path })
}

/// Runs a chore of packing, and says how it ended.
#[expect(clippy::print_stderr, reason = "a chore tells its faults on the terminal")]
pub fn told(
    usage: &str,
    args: &[String],
    chore: impl FnOnce() -> Result<String, Fault>,
) -> ExitCode {
    if args.iter().any(|word| word == "--help" || word == "-h") {
        say(usage);
        return ExitCode::SUCCESS;
    }
    match chore() {
        Ok(words) => {
            say(words);
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{fault}\n\n{usage}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a program to its end; gives what it printed.
pub fn run(command: &mut Command) -> Result<String, Fault> {
    let what = format!("running {}", command.get_program().to_string_lossy());
    let done = command.output().map_err(|cause| Fault::trying(&what, cause))?;
    if !done.status.success() {
        return Err(Fault::trying(what, String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Writes a file, and the folders above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Fault> {
    let failed = |cause| Fault::trying(format!("writing {}", path.display()), cause);
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::write(path, text).map_err(failed)
}

/// Copies a file that is to be run.
pub(crate) fn copy_program(from: &Path, to: &Path) -> Result<(), Fault> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |cause| Fault::trying(format!("copying {}", from.display()), cause);
    to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::copy(from, to).map_err(failed)?;
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_read_or_refused_in_words() {
        let words = |line: &str| {
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Words::read(&args, &["--out"])
        };
        let own = env!("CARGO_MANIFEST_DIR");
        let read = words(&format!("--binary linux-x64={own}/Cargo.toml --out a")).unwrap();
        assert_eq!((read.programs.len(), read.value("--out")), (1, Some("a")));
        let fault = |line| words(line).unwrap_err().to_string();
        assert_eq!(fault("--out"), "--out needs a value");
        assert_eq!(fault("--in a"), "`--in` is not understood");
        assert_eq!(fault("--binary a"), "`a` does not name a program as TARGET=PATH");
        assert_eq!(fault("--binary a=/no/such"), "/no/such is no file");
    }
}
