//! Which agents there are: those of the settings, those that are known and found on the PATH, and
//! the one that is built in. Starts none of them.
//!
//! A program that does not speak ACP itself is used through its adapter if that is on the PATH too,
//! and else natively: `legwork adapt` speaks ACP for it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_machine::{Folders, on_path};

/// A program that can be an agent.
struct WellKnown {
    /// The agent's name, which is also that of the person's program.
    name: &'static str,
    speaks: Speaks,
}

/// How it speaks ACP.
enum Speaks {
    /// By itself, with these arguments.
    Itself(&'static [&'static str]),
    Through(Adapter),
}

/// A program that speaks ACP for another one, which it starts.
struct Adapter {
    program: &'static str,
    /// In npm's registry.
    package: &'static str,
    /// Names the other program; without it the adapter starts one that it brings along.
    variable: &'static str,
}

const WELL_KNOWN: [WellKnown; 5] = [
    WellKnown { name: "opencode", speaks: Speaks::Itself(&["acp"]) },
    WellKnown {
        name: "claude",
        speaks: Speaks::Through(Adapter {
            program: "claude-agent-acp",
            package: "@agentclientprotocol/claude-agent-acp",
            variable: "CLAUDE_CODE_EXECUTABLE",
        }),
    },
    WellKnown {
        name: "codex",
        speaks: Speaks::Through(Adapter {
            program: "codex-acp",
            package: "@agentclientprotocol/codex-acp",
            variable: "CODEX_PATH",
        }),
    },
    WellKnown { name: "gemini", speaks: Speaks::Itself(&["--acp"]) },
    WellKnown { name: "goose", speaks: Speaks::Itself(&["acp"]) },
];
/// Names the folder in which the built-in agent keeps its conversations; without it they end with
/// its process.
pub const MEMORY_VARIABLE: &str = "LEGWORK_REHEARSAL_MEMORY";
pub const REHEARSAL: &str = "rehearsal";
/// The command that speaks ACP for a program of the person: `legwork adapt codex --program PATH`.
pub const ADAPT: &str = "adapt";
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
    /// This program was found on the PATH, and legwork itself speaks ACP for it.
    Native(PathBuf),
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
    let legwork = legwork_machine::program().unwrap_or_else(|_| PathBuf::from("legwork"));
    let found = WELL_KNOWN.iter().filter_map(|one| one.find(path?, &legwork));
    let built_in = rehearsal(&legwork, &folders.sessions.join(REHEARSAL));
    let mut agents = configured;
    for agent in found.chain([built_in]) {
        if !agents.iter().any(|other| other.name == agent.name) {
            agents.push(agent);
        }
    }
    agents
}

/// The programs that are agents by being on the PATH.
pub fn possible() -> impl Iterator<Item = &'static str> {
    WELL_KNOWN.iter().map(|one| one.name)
}

impl WellKnown {
    /// The agent, if what it needs is on this PATH.
    fn find(&self, path: &OsStr, legwork: &Path) -> Option<Agent> {
        let find = |program: &str| on_path(program, path).next();
        let found = |program: PathBuf, arguments: &[&str]| {
            let arguments = arguments.iter().map(|argument| (*argument).to_owned());
            let command = [text(&program)].into_iter().chain(arguments).collect();
            Agent::new(self.name, command, Source::Path(program))
        };
        let adapter = match &self.speaks {
            Speaks::Itself(arguments) => return Some(found(find(self.name)?, arguments)),
            Speaks::Through(adapter) => adapter,
        };
        if let Some(program) = find(adapter.program) {
            return Some(found(program, &[]));
        }
        let program = find(self.name)?;
        let words = [&text(legwork), ADAPT, self.name, "--program", &text(&program)];
        let command = words.map(str::to_owned).to_vec();
        Some(Agent::new(self.name, command, Source::Native(program)))
    }
}

/// If this command starts an adapter: the variable that names the program which that starts in
/// turn, and the one of the person on this PATH.
pub fn own_program(command: &[String], path: &OsStr) -> Option<(&'static str, PathBuf)> {
    let is_named = |adapter: &Adapter| {
        command.iter().any(|word| {
            let name = Path::new(word).file_name().and_then(OsStr::to_str);
            name == Some(adapter.program) || word.starts_with(adapter.package)
        })
    };
    WELL_KNOWN.iter().find_map(|one| match &one.speaks {
        Speaks::Through(adapter) if is_named(adapter) => {
            Some((adapter.variable, on_path(one.name, path).next()?))
        }
        _ => None,
    })
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

    #[test]
    fn h1_an_adapter_goes_before_the_program_itself_and_settings_before_both() {
        let folder = tempfile::tempdir().unwrap();
        let add = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let codex = |configured: Vec<Agent>| {
            let agents = known(configured, &folders(), Some(folder.path().as_os_str()));
            agents.into_iter().find(|agent| agent.name == "codex").unwrap()
        };
        let program = add("codex");
        let native = codex(Vec::new());
        assert_eq!(native.source, Source::Native(program.clone()));
        assert_eq!(native.command[1..], ["adapt", "codex", "--program", &text(&program)]);
        assert_eq!(own_program(&native.command, folder.path().as_os_str()), None);
        let adapter = add("codex-acp");
        assert_eq!(codex(Vec::new()).source, Source::Path(adapter));
        let own = Agent::new("codex", vec!["x".to_owned()], Source::Config);
        assert_eq!(codex(vec![own]).source, Source::Config);
    }

    #[test]
    fn p13_an_adapter_is_known_by_its_program_or_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("codex");
        fs::write(&own, "").unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let found = |command: &str| {
            let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
            own_program(&command, folder.path().as_os_str())
        };
        for command in
            ["/x/codex-acp", "npx -y @agentclientprotocol/codex-acp@2.6.0", "node /x/codex-acp"]
        {
            assert_eq!(found(command), Some(("CODEX_PATH", own.clone())), "{command}");
        }
        for command in ["codex", "claude-agent-acp", "/codex-acp/x"] {
            assert_eq!(found(command), None, "{command}");
        }
    }
}
