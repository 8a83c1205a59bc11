//! An entry in a client's JSON file, with comments or without: a server, and hooks that show what
//! came in. What a person has added to our entry stays.

use serde_json::{Value, json};

use super::json_place::{Place, is_hook, one_line, put};
use super::json_tree::Node;
use super::notation::{ARGS, Entry, Left, Notation, Unclear};

#[derive(Debug)]
pub struct JsonFile {
    /// What a file is made from. It ends with an empty line, so that it is told from an empty file
    /// of somebody's.
    pub fresh: &'static str,
    pub server: Option<Server>,
    pub hooks: Vec<Hook>,
}

#[derive(Debug)]
pub struct Server {
    pub place: Place,
    /// Whether the client wants to be told how it is spoken with.
    pub says_stdio: bool,
}

#[derive(Debug)]
pub struct Hook {
    pub place: Place,
    /// The command, of a program.
    pub command: fn(&str) -> String,
    /// The item, of a command.
    pub item: fn(&str) -> Value,
}

/// An empty object that was made here.
pub const FRESH: &str = "{}\n\n";

impl Server {
    fn value(&self, program: &str) -> Value {
        let mut value = json!({ "command": program, "args": ARGS });
        if self.says_stdio {
            value["type"] = "stdio".into();
        }
        value
    }

    fn add(&self, text: &str, program: &str, force: bool) -> Result<String, Unclear> {
        let tree = Node::of(text).ok_or(Unclear::NotUnderstood)?;
        let Some(found) = self.place.find(&tree)? else {
            return self.place.insert(text, &self.value(program));
        };
        match entry_of(&found.value()) {
            Some(entry) if entry.is_ours() && entry.command == program => Ok(text.to_owned()),
            Some(entry) if entry.is_ours() => {
                let command = found.member("command").ok_or(Unclear::NotUnderstood)?;
                Ok(put(text, command.value.at.clone(), &Value::from(program).to_string()))
            }
            _ if force => Ok(put(text, found.at.clone(), &one_line(&self.value(program)))),
            _ => Err(Unclear::Foreign),
        }
    }

    fn remove(&self, text: &str) -> Result<Option<String>, Unclear> {
        let tree = Node::of(text).ok_or(Unclear::NotUnderstood)?;
        match self.place.find(&tree)?.map(|found| entry_of(&found.value())) {
            None => Ok(None),
            Some(Some(entry)) if entry.is_ours() => self.place.remove(text),
            Some(_) => Err(Unclear::Foreign),
        }
    }
}

impl Hook {
    fn add(&self, text: &str, program: &str) -> Result<String, Unclear> {
        let tree = Node::of(text).ok_or(Unclear::NotUnderstood)?;
        let command = (self.command)(program);
        match self.place.find(&tree)? {
            None => self.place.insert(text, &(self.item)(&command)),
            Some(found) if is_hook(&found.value(), &command) => Ok(text.to_owned()),
            Some(found) => Ok(put(text, found.at.clone(), &one_line(&(self.item)(&command)))),
        }
    }
}

impl Notation for JsonFile {
    fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear> {
        let tree = Node::of(text).ok_or(Unclear::NotUnderstood)?;
        let Some(server) = &self.server else { return Ok(None) };
        let found = server.place.find(&tree)?;
        let entry = |found: &Node| entry_of(&found.value()).ok_or(Unclear::Foreign);
        found.map(entry).transpose()
    }

    fn add(&self, text: Option<&str>, program: &str, force: bool) -> Result<String, Unclear> {
        let mut text = text.unwrap_or(self.fresh).to_owned();
        if let Some(server) = &self.server {
            text = server.add(&text, program, force)?;
        }
        self.hooks.iter().try_fold(text, |text, hook| hook.add(&text, program))
    }

    /// In the opposite order, so that each step undoes one.
    fn remove(&self, text: &str) -> Result<Option<Left>, Unclear> {
        let mut left = text.to_owned();
        for hook in self.hooks.iter().rev() {
            // A person may have copied it.
            while let Some(less) = hook.place.remove(&left)? {
                left = less;
            }
        }
        if let Some(less) = self.server.as_ref().map(|server| server.remove(&left)).transpose()? {
            left = less.unwrap_or(left);
        }
        Ok(match left {
            left if left == text => None,
            left if left == self.fresh => Some(Left::Nothing),
            left => Some(Left::Text(left)),
        })
    }

    fn by_hand(&self, program: &str) -> String {
        self.add(None, program, false).unwrap_or_default().trim_end().to_owned()
    }
}

/// What an entry has started, if it is one.
pub fn entry_of(value: &Value) -> Option<Entry> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let command = text(&value["command"])?;
    let args = match &value["args"] {
        Value::Null => Vec::new(),
        Value::Array(args) => args.iter().map(text).collect::<Option<_>>()?,
        _ => return None,
    };
    Some(Entry { command, args })
}
