//! Which agents there are for helpers, which one `legwork run` takes, and how to get more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Config;
use legwork_acp::agents::{Agent, REHEARSAL, known, possible};
use legwork_acp::orphans::ProcessTree;
use legwork_acp::{Introduction, check};
use legwork_machine::Folders;
use tokio::task::JoinSet;

use crate::fault::Fault;

/// An agent by its place among those that were started, and what it said of itself or what is
/// wrong.
pub type Started = (usize, Agent, Result<Introduction, String>);

/// Starts agents all at once, asks each who it is, and ends it again.
pub fn start_all(
    agents: Vec<Agent>,
    directory: &Path,
    processes: &Arc<ProcessTree>,
) -> JoinSet<Started> {
    let start = |(number, agent): (usize, Agent)| {
        let directory = directory.to_owned();
        let processes = processes.clone();
        async move {
            let said = check(&agent, &directory, &processes).await;
            (number, agent, said.map_err(|wrong| wrong.to_string()))
        }
    };
    agents.into_iter().enumerate().map(start).collect()
}

#[derive(Debug)]
pub struct Agents {
    /// All of them, the settings' first.
    pub known: Vec<Agent>,
    pub named: Option<String>,
    config: PathBuf,
}

impl Agents {
    /// Those of the settings, those on the PATH, and the one that is built in.
    pub fn find(folders: &Folders) -> Self {
        // Every command has told the mistakes.
        let (config, _) = Config::read(&folders.config);
        let path = std::env::var_os("PATH");
        let known = known(config.agents, folders, path.as_deref());
        Self { known, named: config.run_agent, config: folders.config.clone() }
    }

    pub fn default(&self) -> Option<&str> {
        self.named.as_deref().or_else(|| self.names().next())
    }

    /// All but the one that is built in, which helps nobody.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|agent| agent.name.as_str()).filter(|name| *name != REHEARSAL)
    }

    /// How somebody gets an agent who has none.
    pub fn advice(&self) -> Option<String> {
        let has_none = self.names().next().is_none();
        has_none.then(|| format!("Helpers have no agent to run on yet. {}", how_to_get_one()))
    }

    /// The agent that is taken. Whether there is one of that name is the daemon's to say.
    pub fn choose(&self, asked: Option<&str>) -> Result<String, Fault> {
        match asked.or_else(|| self.default()) {
            Some(name) => Ok(name.to_owned()),
            None => Err(Fault::Refused(format!(
                "{}\n\nAny other program that speaks ACP can be written into {}:\n\
                 \n  [agents.mine]\n  command = [\"program\", \"--acp\"]\n\n\
                 `legwork agents` shows what there is. To see legwork at work without any:\n\
                 \n  legwork run --agent {REHEARSAL} \"say hello\"",
                self.advice().unwrap_or_default(),
                self.config.display()
            ))),
        }
    }
}

pub fn how_to_get_one() -> String {
    let programs: Vec<&str> = possible().collect();
    let (last, first) = programs.split_last().unwrap_or((&"", &[]));
    format!("Have {} or {last} on the PATH.", first.join(", "))
}

#[cfg(test)]
mod tests {
    use legwork_acp::agents::Source;

    use super::*;

    fn agents(named: Option<&str>, known: &[&str]) -> Agents {
        let agent = |name: &&str| Agent::new(*name, vec!["x".to_owned()], Source::Config);
        Agents {
            known: known.iter().map(agent).collect(),
            named: named.map(str::to_owned),
            config: "config.toml".into(),
        }
    }

    #[test]
    fn the_agent_is_the_one_asked_for_else_the_settings_else_the_first_but_the_one_built_in() {
        for (asked, named, known, taken) in [
            (Some("a"), Some("b"), &["c", REHEARSAL][..], Some("a")),
            (Some(REHEARSAL), None, &[REHEARSAL], Some(REHEARSAL)),
            (None, Some("b"), &["c", REHEARSAL], Some("b")),
            (None, Some(REHEARSAL), &["c", REHEARSAL], Some(REHEARSAL)),
            (None, None, &["c", "d", REHEARSAL], Some("c")),
            (None, None, &[REHEARSAL, "d"], Some("d")),
            (None, None, &[REHEARSAL], None),
        ] {
            let chosen = agents(named, known).choose(asked).ok();
            assert_eq!(chosen.as_deref(), taken, "{asked:?} {named:?} {known:?}");
        }
    }

    #[test]
    fn without_any_agent_it_says_how_to_get_one_and_how_to_try() {
        let why = agents(None, &[REHEARSAL]).choose(None).unwrap_err().to_string();
        for hint in ["PATH", "config.toml", "legwork agents", "--agent rehearsal"] {
            assert!(why.contains(hint), "{why}");
        }
    }
}
