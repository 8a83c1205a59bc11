//! The environment that an agent gets: that of whoever launched its helper, without what names
//! somebody else's session or terminal. Kept in memory only, so that it is lost with the daemon.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};

use legwork_machine::lock;
use legwork_protocol::SessionId;
use legwork_protocol::line::Environment;
use tokio::process::Command;

use crate::agents::own_program;
use crate::limits::{ENVIRONMENTS_MAX, ENVIRONMENTS_MAX_BYTES, PATHS_MAX};

/// Variables that no helper gets. Keys and settings of agents are none of them: a helper may need
/// those (`CLAUDE_CODE_OAUTH_TOKEN`, `CODEX_HOME`), so they are named one by one.
const FOREIGN: [&str; 33] = [
    // These say that one runs in a session of this agent, and which: an agent that finds its own
    // believes that it was called by itself, and some then refuse to start.
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_PROCESS_ROLE",
    "OPENCODE_RUN_ID",
    "GEMINI_CLI",
    "QWEN_CODE",
    "GOOSE_TERMINAL",
    "GOOSE_SESSION_ID",
    "AGENT",
    "AI_AGENT",
    "AGENT_SESSION_ID",
    "CURSOR_AGENT",
    "CLINE_ACTIVE",
    // These name the terminal of whoever launched it. A helper has none, and what it starts would
    // write to that one or ask there.
    "TMUX",
    "TMUX_PANE",
    "STY",
    "SSH_TTY",
    "GPG_TTY",
    // These are the daemon's own, if a service manager started it.
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
];

/// Gives a process this environment; without one it gets ours.
///
/// An adapter starts the person's own program, if there is one and they name no other.
pub fn give(command: &mut Command, environment: Option<&Environment>, words: &[String]) {
    if let Some(environment) = environment {
        command.env_clear().envs(environment.variables());
    }
    for name in FOREIGN {
        command.env_remove(name);
    }
    let value = |name: &str| match environment {
        Some(environment) => environment.get(name).map(OsString::from),
        None => env::var_os(name),
    };
    if let Some((variable, program)) = value("PATH").and_then(|path| own_program(words, &path))
        && value(variable).is_none()
    {
        command.env(variable, program);
    }
}

#[derive(Debug, Default)]
pub struct Environments(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    /// The newest last.
    all: VecDeque<(SessionId, Arc<Environment>)>,
}

impl Environments {
    /// What is started for this session gets this one from now on.
    pub fn keep(&self, session: &SessionId, environment: Arc<Environment>) {
        let mut kept = lock(&self.0);
        if let Some(before) = kept.all.iter().position(|(of, _)| of == session) {
            kept.forget(before);
        }
        kept.bytes += environment.bytes();
        kept.all.push_back((session.clone(), environment));
        while kept.all.len() > ENVIRONMENTS_MAX || kept.bytes > ENVIRONMENTS_MAX_BYTES {
            kept.forget(0);
        }
    }

    /// That of the first of these sessions that has one.
    pub fn of(&self, sessions: [&SessionId; 2]) -> Option<Arc<Environment>> {
        let kept = lock(&self.0);
        let of = |session: &SessionId| kept.all.iter().find(|(of, _)| of == session);
        sessions.into_iter().find_map(of).map(|(_, environment)| environment.clone())
    }

    /// The PATHs in them, the newest first, each once.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for (_, environment) in lock(&self.0).all.iter().rev() {
            if let Some(path) = environment.get("PATH")
                && paths.len() < PATHS_MAX
                && !paths.iter().any(|known| known == path)
            {
                paths.push(path.to_owned());
            }
        }
        paths
    }
}

impl Kept {
    fn forget(&mut self, at: usize) {
        if let Some((_, environment)) = self.all.remove(at) {
            self.bytes -= environment.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn environment(name: &str, value: &str) -> Arc<Environment> {
        let variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Arc::new(Environment::new(variables, None).unwrap())
    }

    fn session(number: usize) -> SessionId {
        format!("term_{number}").parse().unwrap()
    }

    #[test]
    fn p2_the_oldest_is_forgotten_first_and_the_newest_counts() {
        let all = Environments::default();
        for number in 0..=ENVIRONMENTS_MAX {
            all.keep(&session(number), environment("PATH", &format!("/{}", number % 3)));
        }
        let of = |number| all.of([&session(usize::MAX), &session(number)]);
        assert!(of(0).is_none() && of(1).is_some());
        assert_eq!(all.paths().len(), 3);
        all.keep(&session(1), environment("PATH", "/new"));
        assert_eq!(of(1).unwrap().get("PATH"), Some("/new"));
        assert_eq!(all.paths()[0], "/new");
        assert_eq!(lock(&all.0).all.len(), ENVIRONMENTS_MAX);
    }

    #[test]
    fn g3_environments_take_so_much_and_no_more() {
        let all = Environments::default();
        for number in 0..100 {
            all.keep(&session(number), environment("A", &"x".repeat(1_000_000)));
        }
        let kept = lock(&all.0);
        assert!(kept.bytes <= ENVIRONMENTS_MAX_BYTES && kept.all.len() > 50);
    }

    #[tokio::test]
    async fn p2_what_names_another_session_is_not_passed_on() {
        let mut command = Command::new("env");
        let variables = ["CLAUDECODE", "TMUX", "CODEX_HOME", "PATH"].map(|name| {
            let value = std::env::var(name).unwrap_or_else(|_| "x".to_owned());
            (name.to_owned(), value)
        });
        let environment = Environment::new(variables.into(), None).unwrap();
        give(&mut command, Some(&environment), &[]);
        let said = String::from_utf8(command.output().await.unwrap().stdout).unwrap();
        let names: Vec<&str> =
            said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert_eq!(names, ["CODEX_HOME", "PATH"]);
    }
}
