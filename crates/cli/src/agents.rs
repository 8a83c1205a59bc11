//! Which agents there are for `legwork run`, and which one it takes.

use std::path::PathBuf;

use legwork_acp::agents::{Agent, REHEARSAL, known};
use legwork_config::Config;
use legwork_machine::Folders;

use crate::fault::Fault;

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
        let found = || self.known.iter().map(|agent| agent.name.as_str());
        self.named.as_deref().or_else(|| found().find(|name| *name != REHEARSAL))
    }

    /// The agent that is taken. Whether there is one of that name is the daemon's to say.
    pub fn choose(&self, asked: Option<&str>) -> Result<String, Fault> {
        match asked.or_else(|| self.default()) {
            Some(name) => Ok(name.to_owned()),
            None => Err(Fault::Refused(format!(
                "No agent was found. Install one that speaks ACP so that it is on the PATH \
                 (opencode, gemini, goose, claude-agent-acp or codex-acp), or write one into {}:\n\
                 \n  [agents.mine]\n  command = [\"program\", \"--acp\"]\n\n\
                 `legwork agents` shows what there is. To see legwork at work without any:\n\
                 \n  legwork run --agent {REHEARSAL} \"say hello\"",
                self.config.display()
            ))),
        }
    }
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
