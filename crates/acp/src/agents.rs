//! Which agents there are: those of the settings, those that are known and found on the PATH, and
//! the one that is built in. Starts none of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_machine::{Folders, on_path};

/// Agents that speak ACP, as we would call them: name, program and arguments.
const WELL_KNOWN: [(&str, &str, &[&str]); 5] = [
    ("opencode", "opencode", &["acp"]),
    ("claude", "claude-agent-acp", &[]),
    ("codex", "codex-acp", &[]),
    ("gemini", "gemini", &["--acp"]),
    ("goose", "goose", &["acp"]),
];
/// Names the folder in which the built-in agent keeps its conversations; without it they end with
/// its process.
pub const MEMORY_VARIABLE: &str = "LEGWORK_REHEARSAL_MEMORY";
pub const REHEARSAL: &str = "rehearsal";
/// An agent that is downloaded when it is first called may take long until it says hello.
pub const START_MAX_SECONDS: u32 = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// Variables that it gets beside ours.
    pub env: BTreeMap<String, String>,
    /// The folder that it works in, if not that of whoever asks.
    pub cwd: Option<PathBuf>,
    pub permissions: Permissions,
    pub start_max: Duration,
    pub source: Source,
}

/// What becomes of an agent's requests for a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permissions {
    #[default]
    Ask,
    Allow,
    Reject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Config,
    /// This program was found on the PATH.
    Path(PathBuf),
    BuiltIn,
}

impl Agent {
    pub fn new(name: impl Into<String>, command: Vec<String>, source: Source) -> Self {
        Self {
            name: name.into(),
            command,
            env: BTreeMap::new(),
            cwd: None,
            permissions: Permissions::default(),
            start_max: Duration::from_secs(START_MAX_SECONDS.into()),
            source,
        }
    }
}

/// All agents: those of the settings first; one of them takes the place of another with its name.
pub fn known(configured: Vec<Agent>, folders: &Folders, path: Option<&OsStr>) -> Vec<Agent> {
    let found = WELL_KNOWN.iter().filter_map(|(name, program, arguments)| {
        let program = on_path(program, path?).next()?;
        let command = [text(&program)].into_iter().chain(arguments.iter().map(|a| (*a).to_owned()));
        Some(Agent::new(*name, command.collect(), Source::Path(program)))
    });
    let legwork = legwork_machine::program().unwrap_or_else(|_| PathBuf::from("legwork"));
    let built_in = rehearsal(&legwork, &folders.sessions.join(REHEARSAL));
    let mut agents = configured;
    for agent in found.chain([built_in]) {
        if !agents.iter().any(|other| other.name == agent.name) {
            agents.push(agent);
        }
    }
    agents
}

/// The agent that is built in. It keeps its conversations in the folder `memory`.
fn rehearsal(legwork: &Path, memory: &Path) -> Agent {
    let command = vec![text(legwork), REHEARSAL.to_owned()];
    let env = BTreeMap::from([(MEMORY_VARIABLE.to_owned(), text(memory))]);
    Agent { env, ..Agent::new(REHEARSAL, command, Source::BuiltIn) }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn folders() -> Folders {
        Folders::in_home(Path::new("/l"))
    }

    fn names(agents: &[Agent]) -> Vec<&str> {
        agents.iter().map(|agent| agent.name.as_str()).collect()
    }

    #[test]
    fn without_settings_and_path_there_is_the_one_built_in() {
        let agents = known(Vec::new(), &folders(), None);
        assert_eq!(names(&agents), [REHEARSAL]);
        assert_eq!(agents[0].command[1], "rehearsal");
    }

    #[test]
    fn what_can_be_started_is_found_on_the_path_and_settings_go_first() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("gemini", 0o755), ("goose", 0o644), ("codex-acp", 0o755)] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let own = |name: &str| Agent::new(name, vec!["x".to_owned()], Source::Config);
        let path = Some(folder.path().as_os_str());
        let agents = known(vec![own("mine"), own("codex")], &folders(), path);
        assert_eq!(names(&agents), ["mine", "codex", "gemini", REHEARSAL]);
        assert_eq!(agents[1].source, Source::Config);
        assert_eq!(agents[2].command[1], "--acp");
    }
}
