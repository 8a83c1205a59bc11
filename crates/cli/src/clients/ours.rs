//! What of a settings file is ours: the one rule for every client. Ours is what starts legwork in
//! the very form in which an install writes it. Everything else is somebody else's, whatever it is
//! called.

use std::path::Path;

use serde_json::Value;

use super::tree::{Kind, Node};
use crate::plugin::{is_this_program, word};

/// What our server is called everywhere.
pub const NAME: &str = "legwork";

/// The arguments of every entry. Claude Code binds its tasks to command and arguments, so these
/// are the same for ever.
pub const ARGS: [&str; 1] = ["mcp"];

/// Something of ours in a file.
#[derive(Debug, Clone)]
pub struct Item {
    /// The names that lead to what it stands in.
    pub way: &'static [&'static str],
    pub leaf: Leaf,
}

#[derive(Debug, Clone)]
pub enum Leaf {
    /// A member called legwork that starts `legwork mcp`. With what is written for a program.
    Server {
        value: fn(&str) -> Value,
    },
    Hook(Hook),
    /// An item of a list: the word that is written, and others that mean the same.
    Word(Vec<String>),
    /// Which legwork has written the file.
    Version,
}

/// A hook that runs `legwork hook CLIENT`.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    pub client: &'static str,
    /// Whether hooks stand in groups of several.
    pub is_grouped: bool,
    /// Whether a shell runs the command. It then ends with 0 even if the program is gone: a client
    /// would hold back what its person has typed.
    pub in_shell: bool,
    /// What is written for a command.
    pub value: fn(&str) -> Value,
}

/// What a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub command: String,
    pub args: Vec<String>,
}

const IN_SHELL: &str = " 2>/dev/null || :";

impl Hook {
    /// The command, for a program.
    pub fn command(&self, program: &str) -> String {
        let end = if self.in_shell { IN_SHELL } else { "" };
        format!("{} hook {}{end}", word(Path::new(program)), self.client)
    }

    /// Whether a hook is ours: its command is a call of ours and nothing more.
    pub fn owns(&self, hook: &Node) -> bool {
        let Some(command) = hook.get("command").and_then(Node::text) else { return false };
        let call = command.strip_suffix(IN_SHELL).unwrap_or(command);
        let program = call.strip_suffix(self.client).and_then(|call| call.strip_suffix(" hook "));
        program.and_then(unquoted).is_some_and(|program| is_legwork(&program))
    }
}

impl Entry {
    pub fn of(server: &Node) -> Option<Self> {
        let command = server.get("command").or_else(|| server.get("cmd"))?.text()?.to_owned();
        let text = |item: &Node| item.text().map(str::to_owned);
        let args = match server.get("args") {
            None => Vec::new(),
            Some(args) if args.is_list() => args.items().iter().map(text).collect::<Option<_>>()?,
            Some(_) => return None,
        };
        Some(Self { command, args })
    }

    pub fn is_ours(&self) -> bool {
        self.args == ARGS && is_legwork(&self.command)
    }
}

/// Whether a program is legwork: by its name, because the one that is named may be gone, or because
/// it is this one.
fn is_legwork(program: &str) -> bool {
    let program = Path::new(program);
    program.file_name().is_some_and(|name| name == NAME) || is_this_program(program)
}

/// The one word of a shell's command that a text is.
fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let path = inner.map_or_else(|| text.to_owned(), |inner| inner.replace(r"'\''", "'"));
    (word(Path::new(&path)) == text).then_some(path)
}

impl Item {
    /// Whether what stands at its place is ours.
    pub fn owns(&self, node: &Node) -> bool {
        match &self.leaf {
            Leaf::Server { .. } => Entry::of(node).is_some_and(|entry| entry.is_ours()),
            Leaf::Hook(hook) => hook.owns(node),
            Leaf::Word(words) => {
                let word = node.text().or_else(|| node.items().first()?.text());
                word.is_some_and(|word| words.iter().any(|one| one == word))
            }
            Leaf::Version => false,
        }
    }

    /// The name that it has where it stands, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        matches!(self.leaf, Leaf::Server { .. }).then_some(NAME)
    }

    /// The containers that it stands in.
    pub fn ways(&self) -> impl Iterator<Item = &'static [&'static str]> + use<> {
        let way = self.way;
        (1..=way.len()).map(move |end| &way[..end])
    }

    /// All that is ours of its kind.
    pub fn ours<'a>(&self, tree: &'a Node) -> Vec<&'a Node> {
        let Some(container) = tree.at_way(self.way) else { return Vec::new() };
        let all: Vec<&Node> = match &self.leaf {
            Leaf::Server { .. } => container.get(NAME).into_iter().collect(),
            Leaf::Version => return container.get("version").into_iter().collect(),
            Leaf::Hook(hook) if hook.is_grouped => {
                let hooks = container.items().iter().filter_map(|group| group.get("hooks"));
                hooks.flat_map(Node::items).collect()
            }
            Leaf::Hook(_) | Leaf::Word(_) => container.items().iter().collect(),
        };
        all.into_iter().filter(|node| self.owns(node)).collect()
    }

    /// What of ours changes with the program, for this one.
    pub fn wanted(&self, program: &str) -> Option<String> {
        match &self.leaf {
            Leaf::Server { .. } => Some(program.to_owned()),
            Leaf::Hook(hook) => Some(hook.command(program)),
            Leaf::Word(_) => None,
            Leaf::Version => Some(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    /// Where that stands in one of ours.
    pub fn command_in<'a>(&self, node: &'a Node) -> Option<&'a Node> {
        match &self.leaf {
            Leaf::Server { .. } | Leaf::Hook(_) => node.get("command").or_else(|| node.get("cmd")),
            Leaf::Word(_) => None,
            Leaf::Version => Some(node),
        }
    }

    pub fn command(&self, node: &Node) -> Option<String> {
        Some(self.command_in(node)?.text()?.to_owned())
    }

    /// Whether two texts of a file say the same but for what is ours. A container may be missing in
    /// one of them if nothing else is in it.
    pub fn is_all_that_differs(&self, before: &Node, after: &Node) -> bool {
        self.others(before, after) == self.others(after, before)
    }

    fn others(&self, tree: &Node, guide: &Node) -> Node {
        let mut rest = tree.clone();
        let container = rest.at_way_mut(self.way);
        let is_taken = container.is_some_and(|container| self.take_from(container));
        for depth in (1..=self.way.len()).rev().take_while(|_| is_taken) {
            let (way, name) = (&self.way[..depth - 1], self.way[depth - 1]);
            let Some(outer) = rest.at_way_mut(way) else { continue };
            if outer.get(name).is_some_and(Node::is_empty) {
                match guide.at_way(&self.way[..depth]) {
                    None => outer.remove(name),
                    // Of YAML, where a name may stand without a value.
                    Some(unsaid) if unsaid.is_unsaid() => {
                        if let Some(inner) = outer.at_way_mut(&[name]) {
                            *inner = unsaid.clone();
                        }
                    }
                    Some(_) => {}
                }
            }
        }
        rest
    }

    fn take_from(&self, container: &mut Node) -> bool {
        match (&self.leaf, &mut container.kind) {
            (Leaf::Server { .. }, Kind::Map(members)) => {
                take(members, |member| member.name == NAME && self.owns(&member.value))
            }
            (Leaf::Hook(hook), Kind::List(groups)) if hook.is_grouped => {
                let before = groups.clone();
                groups.retain_mut(|group| !take_of_group(hook, group));
                *groups != before
            }
            (Leaf::Hook(_) | Leaf::Word(_), Kind::List(items)) => {
                take(items, |item| self.owns(item))
            }
            (Leaf::Version, Kind::Map(members)) => take(members, |member| member.name == "version"),
            _ => false,
        }
    }
}

/// Takes our hooks out of a group. Whether nothing is left of it.
fn take_of_group(hook: &Hook, group: &mut Node) -> bool {
    let is_alone = group.members().len() == 1;
    let Some(Node { kind: Kind::List(hooks), .. }) = group.at_way_mut(&["hooks"]) else {
        return false;
    };
    take(hooks, |inner| hook.owns(inner)) && hooks.is_empty() && is_alone
}

/// Removes those; whether there were any.
fn take<T>(all: &mut Vec<T>, is_one: impl Fn(&T) -> bool) -> bool {
    let before = all.len();
    all.retain(|one| !is_one(one));
    all.len() < before
}
