//! Reads `config.toml`. Every key is optional. All mistakes are reported at once, each with its
//! line and what would be right. A wrong key costs that key only: a daemon that has tasks to look
//! after does not stay down for a typo.
//!
//! A crate of its own, because the settings are the engine's and the agents are the ACP host's: the
//! daemon gets the settings from whoever starts it and knows no host.

mod agents;
mod names;
#[cfg(test)]
mod tests;
mod trust;

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use legwork_acp::AgentSettings;
use legwork_acp::agents::Agent;
use legwork_acp::orphans::KEPT;
use legwork_protocol::notify::Notify;
use legwork_protocol::refusal::plain;
use legwork_protocol::{Cost, Currency, Interrupted, Settings, WakeOn};
use toml::de::{DeTable, DeValue};

use self::names::unknown_setting;

/// A hundred times the longest sensible config file.
const CONFIG_MAX_BYTES: u64 = 64 << 10;

/// The largest budget: more is no limit at all.
const MAX_COST: f64 = 1_000_000.0;

/// The ports below it are the system's.
const FIRST_FREE_PORT: u16 = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub settings: Settings,
    /// The agents, in the order of the file.
    pub agents: Vec<Agent>,
    /// The agent that `legwork run` takes if none is named.
    pub run_agent: Option<String>,
    /// Why the agents of the file are not used, if somebody else could have written them.
    pub distrusted: Option<String>,
    /// Programs that do not end with the agent that started them, by their names.
    pub keep: Vec<String>,
    /// How a person who is elsewhere is told.
    pub notify: Notify,
    /// Where `legwork ui` listens, if that is free.
    pub ui_port: Option<u16>,
}

impl Config {
    /// What this file says as far as it is right, and its mistakes in the order of the file, a line
    /// each. A file that is not there says nothing.
    pub fn read(path: &Path) -> (Self, Vec<String>) {
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        read(path, home.as_deref())
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
            distrusted: None,
            keep,
            notify: Notify::default(),
            ui_port: None,
        }
    }
}

/// Says what is wrong, and where in the file.
type Wrong<'a> = dyn FnMut(usize, String) + 'a;

/// Something that is wrong: its line, counted from 1, unless it is about the whole file; what, and
/// what would be right.
type Mistake = (Option<usize>, String);

fn read(path: &Path, home: Option<&Path>) -> (Config, Vec<String>) {
    let (mut config, mut mistakes, mut distrusted) = (Config::default(), Vec::new(), None);
    match text(path, &mut distrusted) {
        Ok(text) => mistakes = config.take(&text, home),
        Err(why) => mistakes.push((None, why)),
    }
    let names_programs = !config.agents.is_empty() || !config.notify.command.is_empty();
    if let Some(why) = distrusted.filter(|_| names_programs) {
        config.agents.clear();
        config.notify.command.clear();
        mistakes.push((None, why.clone()));
        config.distrusted = Some(why);
    }
    mistakes.sort_by_key(|(line, _)| *line);
    let shown = |(line, what): Mistake| match line {
        Some(line) => format!("{}:{line}: {what}", path.display()),
        None => format!("{}: {what}", path.display()),
    };
    (config, mistakes.into_iter().map(shown).collect())
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
    /// Takes over what is right, and gives back what is not.
    fn take(&mut self, text: &str, home: Option<&Path>) -> Vec<Mistake> {
        let line_of = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        let (file, errors) = DeTable::parse_recoverable(text);
        let mistake = |error: &toml::de::Error| {
            (error.span().map(|span| line_of(span.start)), plain(error.message(), 200))
        };
        let mut mistakes: Vec<Mistake> = errors.iter().map(mistake).collect();
        let mut wrong = |at: usize, what: String| mistakes.push((Some(line_of(at)), what));
        for (section, inside) in file.get_ref() {
            let (name, at) = (section.get_ref(), section.span().start);
            match inside.get_ref().as_table() {
                None if name == "agents" => {
                    wrong(at, "agents: expected tables, [agents.NAME]".to_owned())
                }
                None => wrong(at, unknown_setting(name)),
                Some(agents) if name == "agents" => {
                    let (agents, keep) = agents::read(agents, home, &mut wrong);
                    self.agents = agents;
                    if let Some(keep) = keep {
                        self.keep = keep;
                    }
                }
                Some(keys) => {
                    for (key, value) in keys {
                        let name = format!("{name}.{}", key.get_ref());
                        if let Err(what) = set(self, &name, value.get_ref()) {
                            wrong(key.span().start, what);
                        }
                    }
                }
            }
        }
        mistakes
    }
}

fn set(config: &mut Config, name: &str, value: &DeValue<'_>) -> Result<(), String> {
    let settings = &mut config.settings;
    let number = || {
        let range = format!("{name}: expected a whole number from 0 (no limit) to {}", u32::MAX);
        whole_number(value).ok_or(range)
    };
    let yes_or_no = || match value {
        DeValue::Boolean(yes) => Ok(*yes),
        _ => Err(format!("{name}: expected true or false")),
    };
    match name {
        "limits.max_running" => settings.max_running = number()?,
        "limits.max_in_window" => settings.max_in_window = number()?,
        "limits.max_tasks_per_root" => settings.max_tasks_per_root = number()?,
        "limits.max_depth" => settings.max_depth = number()?,
        "limits.max_run_minutes" => settings.max_run_minutes = number()?,
        "limits.max_quiet_minutes" => settings.max_quiet_minutes = number()?,
        "limits.max_cost" => settings.max_cost_micros = amount(name, value)?,
        "notices.max_result_chars" => settings.max_result_chars = number()?,
        "notices.start_turns" => settings.start_turns = yes_or_no()?,
        "notices.wake" => match value.as_str() {
            Some("each") => settings.wake = WakeOn::Each,
            Some("last") => settings.wake = WakeOn::Last,
            _ => return Err(format!("{name}: expected \"each\" or \"last\"")),
        },
        "recovery.interrupted" => match value.as_str() {
            Some("fail") => settings.interrupted = Interrupted::Fail,
            Some("continue") => settings.interrupted = Interrupted::Continue,
            _ => return Err(format!("{name}: expected \"fail\" or \"continue\"")),
        },
        "recovery.headless" => settings.headless = yes_or_no()?,
        "run.agent" => {
            let agent =
                value.as_str().ok_or_else(|| format!("{name}: expected an agent's name"))?;
            agents::check_name(agent).map_err(|what| format!("{name}: {what}"))?;
            config.run_agent = Some(agent.to_owned());
        }
        "notify.command" => config.notify.command = agents::command(name, value)?,
        "notify.desktop" => match value {
            DeValue::Boolean(yes) => config.notify.desktop = *yes,
            _ => return Err(format!("{name}: expected true or false")),
        },
        "ui.port" => {
            let port = whole_number(value).and_then(|port| u16::try_from(port).ok());
            let port = port.filter(|port| *port >= FIRST_FREE_PORT);
            let range = format!("{name}: expected a port from {FIRST_FREE_PORT} to {}", u16::MAX);
            config.ui_port = Some(port.ok_or(range)?);
        }
        "notify.on" => (config.notify.ends, config.notify.questions) = events(name, value)?,
        _ => return Err(unknown_setting(name)),
    }
    Ok(())
}

/// Whether ends and questions are among these.
fn events(name: &str, value: &DeValue<'_>) -> Result<(bool, bool), String> {
    let wrong = || format!("{name}: expected a list of \"end\" and \"question\"");
    let texts = agents::texts(value).ok_or_else(wrong)?;
    if texts.iter().any(|text| text != "end" && text != "question") {
        return Err(wrong());
    }
    let has = |wanted: &str| texts.iter().any(|text| text == wanted);
    Ok((has("end"), has("question")))
}

/// An amount of money in millionths, from `2`, `2.5` or `0.25`.
fn amount(name: &str, value: &DeValue<'_>) -> Result<u64, String> {
    let wrong = || format!("{name}: expected an amount like 2.50, or 0 for no limit");
    let amount = match value {
        DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
        _ => whole_number(value).map(f64::from),
    };
    let amount = amount.filter(|amount| *amount <= MAX_COST).ok_or_else(wrong)?;
    Cost::of(amount, Currency::USD).map(|cost| cost.micros).ok_or_else(wrong)
}

fn whole_number(value: &DeValue<'_>) -> Option<u32> {
    let number = value.as_integer()?;
    let number = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
    u32::try_from(number).ok()
}
