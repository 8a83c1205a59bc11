//! Reads `config.toml`. Every key is optional. All mistakes are reported at once, each with its
//! line and what would be right. A wrong key costs that key only: a daemon that has tasks to look
//! after does not stay down for a typo.
//!
//! A crate of its own, because the settings are the engine's and the agents are the ACP host's: the
//! daemon gets the settings from whoever starts it and knows no host.

mod agents;
mod edit;
mod names;
mod setting;
#[cfg(test)]
mod tests;
mod trust;

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use legwork_acp::AgentSettings;
use legwork_acp::agents::Agent;
use legwork_acp::orphans::KEPT;
use legwork_protocol::Settings;
use legwork_protocol::notify::Notify;
use legwork_protocol::refusal::plain;
use toml::de::DeTable;

pub use self::edit::set;
use self::names::unknown_setting;
use self::setting::SETTINGS;
pub use self::setting::Value;

/// A hundred times the longest sensible config file.
const CONFIG_MAX_BYTES: u64 = 64 << 10;

/// Where `legwork ui` listens if the file says nothing else: the same for good, so that its address
/// can be kept as a bookmark.
const UI_PORT: u16 = 5975;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub settings: Settings,
    /// The agents, in the order of the file.
    pub agents: Vec<Agent>,
    /// The agent that `legwork run` takes if none is named.
    pub run_agent: Option<String>,
    /// Programs that do not end with the agent that started them, by their names.
    pub keep: Vec<String>,
    /// How a person who is elsewhere is told.
    pub notify: Notify,
    /// Where `legwork ui` listens, if that is free.
    pub ui_port: u16,
}

/// A setting as it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub name: String,
    pub about: &'static str,
    pub value: Value,
    /// The line of the file that says so; otherwise it is the default.
    pub line: Option<usize>,
}

impl Config {
    /// What this file says as far as it is right, and its mistakes in the order of the file, a line
    /// each. A file that is not there says nothing.
    pub fn read(path: &Path) -> (Self, Vec<String>) {
        let read = read(path, home().as_deref());
        (read.config, read.mistakes)
    }

    /// Every setting as this file leaves it, the agents of the file last, and its mistakes.
    pub fn effective(path: &Path) -> (Vec<Effective>, Vec<String>) {
        let read = read(path, home().as_deref());
        (read.effective(), read.mistakes)
    }

    pub fn agent_settings(self) -> AgentSettings {
        AgentSettings { agents: self.agents, keep: self.keep }
    }
}

impl Default for Config {
    fn default() -> Self {
        let keep = KEPT.map(str::to_owned).to_vec();
        Self {
            settings: Settings::default(),
            agents: Vec::new(),
            run_agent: None,
            keep,
            notify: Notify::default(),
            ui_port: UI_PORT,
        }
    }
}

/// Says what is wrong, and where in the file.
type Wrong<'a> = dyn FnMut(usize, String) + 'a;

/// Something that is wrong: its line, counted from 1, unless it is about the whole file; what, and
/// what would be right.
type Mistake = (Option<usize>, String);

/// What a file says.
struct Contents {
    config: Config,
    mistakes: Vec<String>,
    /// The lines of the keys that count, by their names.
    lines: BTreeMap<String, usize>,
}

fn read(path: &Path, home: Option<&Path>) -> Contents {
    let (mut config, mut mistakes, mut distrusted) = (Config::default(), Vec::new(), None);
    let mut lines = BTreeMap::new();
    match text(path, &mut distrusted) {
        Ok(text) => (mistakes, lines) = config.take(&text, home),
        Err(why) => mistakes.push((None, why)),
    }
    let names_programs = !config.agents.is_empty() || !config.notify.command.is_empty();
    if let Some(why) = distrusted.filter(|_| names_programs) {
        config.agents.clear();
        config.notify.command.clear();
        lines.remove("notify.command");
        mistakes.push((None, why));
    }
    mistakes.sort_by_key(|(line, _)| *line);
    let shown = |(line, what): Mistake| match line {
        Some(line) => format!("{}:{line}: {what}", path.display()),
        None => format!("{}: {what}", path.display()),
    };
    Contents { config, mistakes: mistakes.into_iter().map(shown).collect(), lines }
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

impl Contents {
    /// What a text says, wherever it stands.
    fn of(text: &str) -> Self {
        let mut config = Config::default();
        let (mistakes, lines) = config.take(text, home().as_deref());
        let mistakes = mistakes.into_iter().map(|(_, what)| what).collect();
        Self { config, mistakes, lines }
    }

    fn effective(&self) -> Vec<Effective> {
        let of = |name: String, about, value| {
            let line = self.lines.get(&name).copied();
            Effective { name, about, value, line }
        };
        let settings = SETTINGS.iter();
        let mut all: Vec<Effective> = settings
            .map(|setting| of(setting.name.to_owned(), setting.about, setting.value(&self.config)))
            .collect();
        let keep = Value::Texts(self.config.keep.clone());
        all.push(of(agents::KEEP.to_owned(), "programs that do not end with their agent", keep));
        all.extend(self.config.agents.iter().map(|agent| {
            let command = Value::Texts(agent.command.clone());
            of(format!("agents.{}.command", agent.name), "an agent of yours", command)
        }));
        all
    }
}

fn text(path: &Path, distrusted: &mut Option<String>) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        // Of the very file that is read.
        *distrusted = trust::distrust(path, &file);
        file.take(CONFIG_MAX_BYTES + 1).read_to_string(&mut text)
    });
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("the file cannot be read: {error}")),
        Ok(_) if text.len() as u64 > CONFIG_MAX_BYTES => {
            Err(format!("the file has more than {CONFIG_MAX_BYTES} bytes and was not read"))
        }
        Ok(_) => Ok(text),
    }
}

impl Config {
    /// Takes over what is right. Gives back what is not, and the lines of what is.
    fn take(&mut self, text: &str, home: Option<&Path>) -> (Vec<Mistake>, BTreeMap<String, usize>) {
        let line_of = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        let (file, errors) = DeTable::parse_recoverable(text);
        let mistake = |error: &toml::de::Error| {
            (error.span().map(|span| line_of(span.start)), plain(error.message(), 200))
        };
        let mut mistakes: Vec<Mistake> = errors.iter().map(mistake).collect();
        let mut lines = BTreeMap::new();
        let mut wrong = |at: usize, what: String| mistakes.push((Some(line_of(at)), what));
        for (section, inside) in file.get_ref() {
            let (name, at) = (section.get_ref(), section.span().start);
            let Some(keys) = inside.get_ref().as_table() else {
                let is_agents = name == "agents";
                let expected = || "agents: expected tables, [agents.NAME]".to_owned();
                wrong(at, if is_agents { expected() } else { unknown_setting(name) });
                continue;
            };
            if name == "agents" {
                let (agents, keep) = agents::read(keys, home, &mut wrong);
                self.agents = agents;
                lines.extend(agents::lines(keys).map(|(name, at)| (name, line_of(at))));
                match keep {
                    Some(keep) => self.keep = keep,
                    None => drop(lines.remove(agents::KEEP)),
                }
                continue;
            }
            for (key, value) in keys {
                let (name, at) = (format!("{name}.{}", key.get_ref()), key.span().start);
                let setting = SETTINGS.iter().find(|setting| setting.name == name);
                let read = setting.ok_or_else(|| unknown_setting(&name));
                match read.and_then(|setting| setting.read(self, value.get_ref())) {
                    Ok(()) => drop(lines.insert(name, line_of(at))),
                    Err(what) => wrong(at, what),
                }
            }
        }
        (mistakes, lines)
    }
}
