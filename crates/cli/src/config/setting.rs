//! The table of settings: a new one is one entry, and is then read, checked, suggested and shown.
//! Those of agents are in `agents`.

use std::fmt;

use legwork_protocol::money::setting as money;
use legwork_protocol::{Cost, Currency, Interrupted, WakeOn};
use toml::de::DeValue;

use super::{Config, agents};

/// The largest budget: more is no limit at all.
const MAX_COST: f64 = 1_000_000.0;

/// The ports below it are the system's.
const FIRST_FREE_PORT: u16 = 1024;

pub struct Setting {
    /// The section and the key.
    pub name: &'static str,
    pub about: &'static str,
    kind: Kind,
}

/// What a setting may be, and the field that it fills.
enum Kind {
    /// A whole number. 0 means no limit.
    Number(fn(&mut Config) -> &mut u32),
    /// Money, in millionths. 0 means no limit.
    Money(fn(&mut Config) -> &mut u64),
    YesOrNo(fn(&mut Config) -> &mut bool),
    /// One of two words.
    Words {
        words: [&'static str; 2],
        set: fn(&mut Config, is_second: bool),
        is_second: fn(&Config) -> bool,
    },
    Own {
        read: fn(&mut Config, &DeValue<'_>) -> Result<(), String>,
        shown: fn(&Config) -> Value,
    },
}

/// A value as the file writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Unset,
    /// A number, an amount of money, or true or false.
    Plain(String),
    Text(String),
    Texts(Vec<String>),
}

pub const SETTINGS: [Setting; 19] = [
    Setting {
        name: "limits.max_running",
        about: "helpers at work at once, per host; the rest waits",
        kind: Kind::Number(|config| &mut config.settings.max_running),
    },
    Setting {
        name: "limits.max_in_window",
        about: "of them in your window; more work beside it",
        kind: Kind::Number(|config| &mut config.settings.max_in_window),
    },
    Setting {
        name: "limits.max_tasks_per_root",
        about: "tasks kept under one conversation",
        kind: Kind::Number(|config| &mut config.settings.max_tasks_per_root),
    },
    Setting {
        name: "limits.max_depth",
        about: "levels of helpers",
        kind: Kind::Number(|config| &mut config.settings.max_depth),
    },
    Setting {
        name: "limits.max_run_minutes",
        about: "the longest run",
        kind: Kind::Number(|config| &mut config.settings.max_run_minutes),
    },
    Setting {
        name: "limits.max_quiet_minutes",
        about: "the longest silence of a run",
        kind: Kind::Number(|config| &mut config.settings.max_quiet_minutes),
    },
    Setting {
        name: "limits.max_cost",
        about: "what all runs of one conversation may cost",
        kind: Kind::Money(|config| &mut config.settings.max_cost_micros),
    },
    Setting {
        name: "limits.max_cost_per_run",
        about: "what one run may cost; then it is stopped, and what it found is kept",
        kind: Kind::Money(|config| &mut config.settings.max_cost_per_run_micros),
    },
    Setting {
        name: "limits.max_cost_per_day",
        about: "what all helpers of terminals may cost in a day (UTC)",
        kind: Kind::Money(|config| &mut config.settings.max_cost_per_day_micros),
    },
    Setting {
        name: "notices.max_result_chars",
        about: "of all results in one notice",
        kind: Kind::Number(|config| &mut config.settings.max_result_chars),
    },
    Setting {
        name: "notices.start_turns",
        about: "whether a notice may start a turn",
        kind: Kind::YesOrNo(|config| &mut config.settings.start_turns),
    },
    Setting {
        name: "notices.wake",
        about: "which notices do: each, or the last one's",
        kind: Kind::Words {
            words: ["each", "last"],
            set: |config, is_last| {
                config.settings.wake = if is_last { WakeOn::Last } else { WakeOn::Each };
            },
            is_second: |config| config.settings.wake == WakeOn::Last,
        },
    },
    Setting {
        name: "recovery.interrupted",
        about: "what becomes of a helper that was cut off",
        kind: Kind::Words {
            words: ["fail", "continue"],
            set: |config, goes_on| {
                config.settings.interrupted =
                    if goes_on { Interrupted::Continue } else { Interrupted::Fail };
            },
            is_second: |config| config.settings.interrupted == Interrupted::Continue,
        },
    },
    Setting {
        name: "recovery.headless",
        about: "whether an OpenCode is started for helpers whose window closed",
        kind: Kind::YesOrNo(|config| &mut config.settings.headless),
    },
    Setting {
        name: "run.agent",
        about: "the agent of `legwork run`, else the first one found",
        kind: Kind::Own {
            read: |config, value| {
                let agent = value.as_str().ok_or("expected an agent's name")?;
                agents::check_name(agent)?;
                config.run_agent = Some(agent.to_owned());
                Ok(())
            },
            shown: |config| config.run_agent.as_ref().map_or(Value::Unset, Value::text),
        },
    },
    Setting {
        name: "notify.command",
        about: "a program that is told of ends and questions",
        kind: Kind::Own {
            read: |config, value| {
                config.notify.command = agents::command(value)?;
                Ok(())
            },
            shown: |config| match config.notify.command.as_slice() {
                [] => Value::Unset,
                words => Value::Texts(words.to_vec()),
            },
        },
    },
    Setting {
        name: "notify.desktop",
        about: "whether the desktop shows them",
        kind: Kind::YesOrNo(|config| &mut config.notify.desktop),
    },
    Setting {
        name: "notify.on",
        about: "which of them are told",
        kind: Kind::Own { read: read_events, shown: shown_events },
    },
    Setting {
        name: "ui.port",
        about: "of `legwork ui`, on loopback",
        kind: Kind::Own {
            read: |config, value| {
                let port = whole_number(value).and_then(|port| u16::try_from(port).ok());
                let range = format!("expected a port from {FIRST_FREE_PORT} to {}", u16::MAX);
                config.ui_port = port.filter(|port| *port >= FIRST_FREE_PORT).ok_or(range)?;
                Ok(())
            },
            shown: |config| Value::Plain(config.ui_port.to_string()),
        },
    },
];

impl Setting {
    /// Takes this value over, or says what was expected.
    pub fn read(&self, config: &mut Config, value: &DeValue<'_>) -> Result<(), String> {
        let read = match &self.kind {
            Kind::Number(field) => number(value).map(|number| *field(config) = number),
            Kind::Money(field) => amount(value).map(|amount| *field(config) = amount),
            Kind::YesOrNo(field) => match value {
                DeValue::Boolean(yes) => {
                    *field(config) = *yes;
                    Ok(())
                }
                _ => Err("expected true or false".to_owned()),
            },
            Kind::Words { words, set, .. } => {
                let at = words.iter().position(|word| value.as_str() == Some(word));
                let wrong = || format!("expected {:?} or {:?}", words[0], words[1]);
                at.map(|at| set(config, at == 1)).ok_or_else(wrong)
            }
            Kind::Own { read, .. } => read(config, value),
        };
        read.map_err(|what| format!("{}: {what}", self.name))
    }

    pub fn value(&self, config: &Config) -> Value {
        let mut config = config.clone();
        match &self.kind {
            Kind::Number(field) => Value::Plain(field(&mut config).to_string()),
            Kind::Money(field) => Value::Plain(money(*field(&mut config))),
            Kind::YesOrNo(field) => Value::Plain(field(&mut config).to_string()),
            Kind::Words { words, is_second, .. } => {
                Value::text(words[usize::from(is_second(&config))])
            }
            Kind::Own { shown, .. } => shown(&config),
        }
    }
}

impl Value {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => out.write_str("-"),
            Self::Plain(text) => out.write_str(text),
            Self::Text(text) => write!(out, "{text:?}"),
            Self::Texts(texts) => write!(out, "{texts:?}"),
        }
    }
}

fn read_events(config: &mut Config, value: &DeValue<'_>) -> Result<(), String> {
    let texts = agents::texts(value).unwrap_or_else(|| vec![String::new()]);
    if texts.iter().any(|text| text != "end" && text != "question") {
        return Err("expected a list of \"end\" and \"question\"".to_owned());
    }
    let has = |wanted: &str| texts.iter().any(|text| text == wanted);
    (config.notify.ends, config.notify.questions) = (has("end"), has("question"));
    Ok(())
}

fn shown_events(config: &Config) -> Value {
    let told = [(config.notify.ends, "end"), (config.notify.questions, "question")];
    let names = told.into_iter().filter(|(is_told, _)| *is_told);
    Value::Texts(names.map(|(_, name)| name.to_owned()).collect())
}

fn number(value: &DeValue<'_>) -> Result<u32, String> {
    let range = || format!("expected a whole number from 0 (no limit) to {}", u32::MAX);
    whole_number(value).ok_or_else(range)
}

/// An amount of money in millionths, from `2`, `2.5` or `0.25`.
fn amount(value: &DeValue<'_>) -> Result<u64, String> {
    let amount = match value {
        DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
        _ => whole_number(value).map(f64::from),
    };
    let amount = amount.filter(|amount| *amount <= MAX_COST);
    let cost = amount.and_then(|amount| Cost::of(amount, Currency::USD));
    let expected = || "expected an amount like 2.50, or 0 for no limit".to_owned();
    cost.map(|cost| cost.micros).ok_or_else(expected)
}

pub fn whole_number(value: &DeValue<'_>) -> Option<u32> {
    let number = value.as_integer()?;
    let number = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
    u32::try_from(number).ok()
}
