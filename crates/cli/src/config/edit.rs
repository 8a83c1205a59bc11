//! Sets one key in the text of a config file. Every other byte of it stays: comments, order, line
//! ends, and mistakes too.

use toml_edit::{DocumentMut, Item, Key, TableLike, Value};

use super::names::unknown_setting;
use super::{Config, Contents, agents, home};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text with this setting at this value, which is TOML or else a text without its quotes.
///
/// # Errors
/// When there is no such setting, the value is wrong, or the file cannot be edited; in words.
pub fn set(text: &str, name: &str, typed: &str) -> Result<String, String> {
    let place = Place::of(name)?;
    let as_toml = typed.parse::<Value>().ok().map(|value| place.checked(value));
    let value = match as_toml {
        Some(Ok(value)) => value,
        Some(Err(why)) => place.checked(typed.into()).map_err(|_| why)?,
        None => place.checked(typed.into())?,
    };
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mark = &text[..text.len() - body.len()];
    let edited = format!("{mark}{}", place.set(body, value)?);
    check(text, &edited, name)?;
    Ok(edited)
}

/// The table that a key stands in, and the key.
struct Place<'a> {
    tables: Vec<&'a str>,
    key: &'a str,
}

impl<'a> Place<'a> {
    /// The name of an agent may have dots in it.
    fn of(name: &'a str) -> Result<Self, String> {
        let (table, key) = name.rsplit_once('.').ok_or_else(|| unknown_setting(name))?;
        let tables = match table.strip_prefix("agents.") {
            Some(agent) => {
                agents::check_name(agent)?;
                vec!["agents", agent]
            }
            None => vec![table],
        };
        Ok(Self { tables, key })
    }

    /// The value, if a file with nothing else in it is right.
    fn checked(&self, value: Value) -> Result<Value, String> {
        let alone = self.appended("", &value);
        let (mistakes, _) = Config::default().take(&alone, home().as_deref());
        // The first line is the table's: an agent without a command may have one in the file.
        match mistakes.into_iter().find(|(line, _)| *line != Some(1)) {
            Some((_, what)) => Err(what),
            None => Ok(value),
        }
    }

    fn set(&self, text: &str, mut value: Value) -> Result<String, String> {
        let mut file: DocumentMut = text
            .parse()
            .map_err(|_| "the file is no TOML; `legwork config check` names the line".to_owned())?;
        let Some(table) = self.table(&mut file) else { return Ok(self.appended(text, &value)) };
        match table.get_mut(self.key) {
            Some(Item::Value(old)) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            Some(_) => return Err(format!("{} is a table there; change it yourself", self.key)),
            None => drop(table.insert(self.key, value.into())),
        }
        Ok(spliced(text, &file.to_string()))
    }

    fn table<'f>(&self, file: &'f mut DocumentMut) -> Option<&'f mut dyn TableLike> {
        let mut table: &mut dyn TableLike = file.as_table_mut();
        for name in &self.tables {
            table = table.get_mut(name)?.as_table_like_mut()?;
        }
        Some(table)
    }

    /// The text with a new table at its end.
    fn appended(&self, text: &str, value: &Value) -> String {
        let end = line_end(text);
        let gap = match text {
            "" => String::new(),
            whole if whole.ends_with('\n') => end.to_owned(),
            _ => end.repeat(2),
        };
        let tables: Vec<String> =
            self.tables.iter().map(|name| Key::new(*name).to_string()).collect();
        let key = Key::new(self.key);
        format!("{text}{gap}[{}]{end}{key} = {}{end}", tables.join("."), value.to_string().trim())
    }
}

/// The text with the lines that differ from the edited one. The editor writes every line end anew.
fn spliced(text: &str, edited: &str) -> String {
    let (old, new) = (lines(text), lines(edited));
    let is_same = |(old, new): &(&&str, &&str)| bare(old) == bare(new);
    let above = old.iter().zip(&new).take_while(is_same).count();
    let below =
        old[above..].iter().rev().zip(new[above..].iter().rev()).take_while(is_same).count();
    let mut out = old[..above].concat();
    for line in &new[above..new.len() - below] {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(line_end(text));
        }
        out.push_str(bare(line));
        out.push_str(line_end(text));
    }
    out.push_str(&old[old.len() - below..].concat());
    out
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn bare(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Reads the file again: nothing else may have changed, and nothing may be wrong that was right.
fn check(before: &str, after: &str, name: &str) -> Result<(), String> {
    let (old, new) = (Contents::of(before), Contents::of(after));
    let others = |all: &Contents| {
        let mut all = all.effective();
        all.retain(|setting| setting.name != name);
        all.into_iter().map(|setting| (setting.name, setting.value)).collect::<Vec<_>>()
    };
    let is_toml = after.trim_start_matches(BYTE_ORDER_MARK).parse::<DocumentMut>().is_ok();
    // An agent that is begun has no command yet.
    let is_right = new.mistakes.len() <= old.mistakes.len() || name.starts_with("agents.");
    if is_toml && is_right && others(&old) == others(&new) {
        return Ok(());
    }
    Err(format!("{name} cannot be set without changing more of the file; write it there yourself"))
}
