//! The agents of `config.toml`, a table `[agents.NAME]` each. A wrong key costs that key; only an
//! agent that could not be started at all, for want of a command, is left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use legwork_acp::agents::{Agent, Permissions, Source};
use legwork_protocol::limits::{AGENT_MAX_BYTES, ECHO_MAX_CHARS};
use legwork_protocol::refusal::plain;
use toml::de::{DeTable, DeValue};

use super::Wrong;
use super::names::unknown;
use super::setting::whole_number;

/// The list of programs that are kept.
pub const KEEP: &str = "agents.keep";

const KEYS: [&str; 5] = ["command", "env", "cwd", "permissions", "start_seconds"];

/// Whether people can call an agent so.
pub fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > AGENT_MAX_BYTES || !name.chars().all(fits) {
        let shown = plain(name, ECHO_MAX_CHARS);
        return Err(format!(
            "{shown:?} is no name for an agent: use letters, digits, `-`, `_` and `.`"
        ));
    }
    Ok(())
}

/// The agents of this table, in the order of the file, and the names that are kept if it says so.
pub fn read(
    agents: &DeTable<'_>,
    home: Option<&Path>,
    wrong: &mut Wrong<'_>,
) -> (Vec<Agent>, Option<Vec<String>>) {
    let (mut found, mut kept) = (Vec::new(), None);
    for (name, inside) in agents {
        let at = name.span().start;
        // An agent may have that name too.
        if name.get_ref() == "keep" && inside.get_ref().as_table().is_none() {
            match keep(inside.get_ref()) {
                Ok(names) => kept = Some(names),
                Err(what) => wrong(at, what),
            }
            continue;
        }
        match (check_name(name.get_ref()), inside.get_ref().as_table()) {
            (Err(what), _) => wrong(at, what),
            (Ok(()), None) => {
                let name = name.get_ref();
                wrong(at, format!("agents.{name}: expected a table, [agents.{name}]"));
            }
            (Ok(()), Some(keys)) => {
                let reading = Reading { name: name.get_ref(), at, home };
                found.extend(reading.agent(keys, wrong).map(|agent| (at, agent)));
            }
        }
    }
    // The first one may become the default, and a table does not keep its order.
    found.sort_by_key(|(at, _)| *at);
    (found.into_iter().map(|(_, agent)| agent).collect(), kept)
}

/// Where in the file each key of each agent is, and the list of what is kept.
pub fn lines(agents: &DeTable<'_>) -> impl Iterator<Item = (String, usize)> {
    agents.iter().flat_map(|(name, inside)| {
        let of = format!("agents.{}", name.get_ref());
        let Some(keys) = inside.get_ref().as_table() else {
            return vec![(of, name.span().start)];
        };
        let keys = keys.keys();
        keys.map(|key| (format!("{of}.{}", key.get_ref()), key.span().start)).collect()
    })
}

fn keep(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let is_name = |name: &String| !name.trim().is_empty() && !name.contains('/');
    texts(value).filter(|names| names.iter().all(is_name)).ok_or_else(|| {
        "agents.keep: expected names of programs, like keep = [\"tmux\", \"gpg-agent\"]".to_owned()
    })
}

struct Reading<'a> {
    name: &'a str,
    at: usize,
    home: Option<&'a Path>,
}

impl Reading<'_> {
    fn agent(&self, keys: &DeTable<'_>, wrong: &mut Wrong<'_>) -> Option<Agent> {
        let mut agent = Agent::new(self.name, Vec::new(), Source::Config);
        for (key, value) in keys {
            if let Err(what) = self.set(&mut agent, key.get_ref(), value.get_ref()) {
                wrong(key.span().start, what);
            }
        }
        if !keys.iter().any(|(key, _)| key.get_ref() == "command") {
            let name = self.name;
            wrong(self.at, format!("agents.{name} is left out: it has no command, {LIKE}"));
        }
        (!agent.command.is_empty()).then_some(agent)
    }

    fn set(&self, agent: &mut Agent, key: &str, value: &DeValue<'_>) -> Result<(), String> {
        let name = format!("agents.{}.{key}", self.name);
        match key {
            "command" => {
                agent.command = command(value).map_err(|what| format!("{name}: {what}"))?;
            }
            "env" => agent.env = env(&name, value)?,
            "cwd" => agent.cwd = Some(self.folder(&name, value)?),
            "permissions" => match value.as_str() {
                Some("ask") => agent.permissions = Permissions::Ask,
                Some("allow") => agent.permissions = Permissions::Allow,
                Some("reject") => agent.permissions = Permissions::Reject,
                _ => return Err(format!("{name}: expected \"ask\", \"allow\" or \"reject\"")),
            },
            "start_seconds" => match whole_number(value).filter(|seconds| *seconds > 0) {
                Some(seconds) => agent.start_max = Duration::from_secs(seconds.into()),
                None => return Err(format!("{name}: expected a whole number of seconds from 1")),
            },
            _ => {
                let there_are = format!("there are {}", KEYS.join(", "));
                return Err(unknown(&format!("agents.{}.", self.name), key, &KEYS, &there_are));
            }
        }
        Ok(())
    }

    fn folder(&self, name: &str, value: &DeValue<'_>) -> Result<PathBuf, String> {
        let text = value.as_str().filter(|text| is_passable(text)).unwrap_or_default();
        let below_home = if text == "~" { Some("") } else { text.strip_prefix("~/") };
        match (below_home, self.home) {
            (Some(below), Some(home)) => Ok(home.join(below)),
            (Some(_), None) => Err(format!("{name}: there is no home folder that ~ could mean")),
            (None, _) if Path::new(text).is_absolute() => Ok(text.into()),
            (None, _) => Err(format!("{name}: expected a folder like \"/srv/x\" or \"~/x\"")),
        }
    }
}

const LIKE: &str = "like command = [\"program\", \"--acp\"]";

/// A program and its arguments.
pub fn command(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    if let Some(text) = value.as_str() {
        let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
        let list = plain(&words.join(", "), ECHO_MAX_CHARS);
        return Err(format!("expected a list; write command = [{list}]"));
    }
    let is_command = |words: &Vec<String>| {
        words.first().is_some_and(|program| !program.trim().is_empty())
            && words.iter().all(|word| is_passable(word))
    };
    texts(value)
        .filter(is_command)
        .ok_or_else(|| format!("expected a program and its arguments as texts, {LIKE}"))
}

pub fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.get_ref().as_str().map(str::to_owned)).collect()
}

fn env(name: &str, value: &DeValue<'_>) -> Result<BTreeMap<String, String>, String> {
    let like = "like env = { NAME = \"value\" }";
    let Some(table) = value.as_table() else {
        return Err(format!("{name}: expected a table, {like}"));
    };
    let mut all = BTreeMap::new();
    for (key, value) in table {
        let key = key.get_ref().as_ref();
        let is_name = !key.is_empty() && !key.contains('=') && is_passable(key);
        match value.get_ref().as_str().filter(|text| is_name && is_passable(text)) {
            Some(text) => all.insert(key.to_owned(), text.to_owned()),
            None => {
                let shown = plain(key, ECHO_MAX_CHARS);
                return Err(format!("{name}: {shown} is no variable with a text, {like}"));
            }
        };
    }
    Ok(all)
}

/// Whether a process can be given it.
fn is_passable(text: &str) -> bool {
    !text.contains('\0')
}
