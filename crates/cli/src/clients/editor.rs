//! The one editor of other programs' settings. It works on texts alone. Each edit is read again and
//! must say the same as before but for what is ours, and what was added must come out again to the
//! byte; else nothing is written.

use serde_json::Value;

use super::ours::{Entry, Hook, Item, Leaf, NAME};
use super::tree::{Node, put};
use super::{flow, json, toml, yaml};

/// What may stand in front of a text and says nothing.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file of settings, and what of ours is in it.
#[derive(Debug)]
pub struct Settings {
    pub format: Format,
    pub items: Vec<Item>,
    /// What a file is made from.
    pub base: String,
    /// Whether it lies in a folder of ours.
    pub is_own: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
    Yaml,
}

/// What a file is without what is ours.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    Text(String),
    /// We have made it, with so many folders, and nothing else is in it.
    Nothing {
        folders: usize,
    },
}

/// Why a file is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    NotUnderstood,
    /// There is something of this name that is not ours.
    Foreign,
}

use Unclear::{Foreign, NotUnderstood};

impl Settings {
    /// What the file has the client start, if it has it start legwork. A file of hooks has none.
    pub fn entry(&self, text: &str) -> Result<Option<Entry>, Unclear> {
        let tree = self.read(text.trim_start_matches(BYTE_ORDER_MARK))?;
        let item = self.items.iter().find(|item| matches!(item.leaf, Leaf::Server { .. }));
        let Some(item) = item else { return Ok(None) };
        match tree.at_way(item.way).and_then(|servers| servers.get(NAME)) {
            None => Ok(None),
            Some(server) if item.owns(server) => Ok(Entry::of(server)),
            Some(_) => Err(Foreign),
        }
    }

    /// The text of a new file. Its last line ends say that it was made here, with so many folders.
    pub fn fresh(&self, program: &str, folders: usize) -> Result<String, Unclear> {
        let mut text = match self.format {
            Format::Json => self.base.clone(),
            Format::Toml | Format::Yaml => String::new(),
        };
        for item in &self.items {
            text = self.with(&text, item, program, false)?;
        }
        let end = "\n".repeat(self.format.line_ends() + folders);
        Ok(format!("{}{end}", text.trim_start()))
    }

    /// The text with what is ours in it, for this program; the same text if it has that already.
    /// What somebody else has in its place is replaced only if `force` says so.
    pub fn add(&self, text: &str, program: &str, force: bool) -> Result<String, Unclear> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        let mut with = bare.to_owned();
        for item in &self.items {
            with = self.with(&with, item, program, force)?;
        }
        // Else it would be removed as one that was made here.
        if !self.is_own && matches!(self.left(&with, bare.to_owned()), Left::Nothing { .. }) {
            return Err(NotUnderstood);
        }
        Ok(put(text, text.len() - bare.len()..text.len(), &with))
    }

    /// What is left without what is ours; nothing if the file has nothing of it.
    pub fn remove(&self, text: &str) -> Result<Option<Left>, Unclear> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        self.entry(bare)?;
        let mut left = bare.to_owned();
        // In the opposite order, so that each step undoes one.
        for item in self.items.iter().rev() {
            while let Some(less) = self.without(&left, item)? {
                left = less;
            }
        }
        if left == bare {
            return Ok(None);
        }
        let mark = text.len() - bare.len();
        if mark > 0 {
            return Ok(Some(Left::Text(put(text, mark..text.len(), &left))));
        }
        Ok(Some(self.left(bare, left)))
    }

    /// Whether it has anything of ours.
    pub fn has_any(&self, text: &str) -> bool {
        let Ok(tree) = self.read(text.trim_start_matches(BYTE_ORDER_MARK)) else { return false };
        let named = self.items.iter().filter(|item| !matches!(item.leaf, Leaf::Version));
        named.into_iter().any(|item| !item.ours(&tree).is_empty())
    }

    /// Whether it has all that an install would write, of whichever version.
    pub fn has_all(&self, text: &str, program: &str) -> bool {
        let Ok(tree) = self.read(text.trim_start_matches(BYTE_ORDER_MARK)) else { return false };
        self.items.iter().all(|item| {
            let ours = item.ours(&tree);
            let is_right = |node: &&Node| item.command(node) == item.wanted(program);
            matches!(item.leaf, Leaf::Version) || ours.iter().any(is_right)
        })
    }

    /// What a person has to add by hand where this cannot.
    pub fn by_hand(&self, program: &str) -> String {
        self.fresh(program, 0).unwrap_or_default().trim_end().to_owned()
    }

    fn read(&self, text: &str) -> Result<Node, Unclear> {
        self.format.read(text).ok_or(NotUnderstood)
    }

    fn with(&self, text: &str, item: &Item, program: &str, force: bool) -> Result<String, Unclear> {
        let tree = self.read(text)?;
        let value = match &item.leaf {
            Leaf::Server { value } => value(program),
            Leaf::Hook(hook) => (hook.value)(&hook.command(program)),
            Leaf::Word(words) => words.first().map(String::as_str).into(),
            Leaf::Version => return self.renewed(text, item, program),
        };
        if !item.ours(&tree).is_empty() {
            return self.renewed(text, item, program);
        }
        let is_taken = item.name().is_some_and(|name| {
            tree.at_way(item.way).is_some_and(|servers| servers.get(name).is_some())
        });
        match (is_taken, force) {
            (false, _) => self.inserted(text, item, &value),
            (true, false) => Err(Foreign),
            (true, true) => self.forced(text, item, &value),
        }
    }

    fn inserted(&self, text: &str, item: &Item, value: &Value) -> Result<String, Unclear> {
        let tree = self.read(text)?;
        let new = self.format.insert(text, &tree, item, value).ok_or(NotUnderstood)?;
        let is_in = self.read(&new).is_ok_and(|new| item.ours(&new).len() == 1);
        let is_undone = is_in && self.without(&new, item)?.as_deref() == Some(text);
        is_undone.then_some(new).ok_or(NotUnderstood)
    }

    /// The text with another program in what is ours.
    fn renewed(&self, text: &str, item: &Item, program: &str) -> Result<String, Unclear> {
        let mut new = text.to_owned();
        loop {
            let tree = self.read(&new)?;
            let wanted = item.wanted(program);
            let ours = item.ours(&tree);
            let other = ours.into_iter().find(|node| item.command(node) != wanted);
            let (Some(other), Some(wanted)) = (other, wanted) else { return Ok(new) };
            let command = item.command_in(other).ok_or(NotUnderstood)?;
            let next = put(&new, command.at.clone(), &self.format.quoted(&wanted));
            let is_right = |node: &&Node| item.command(node) == Some(wanted.clone());
            let count = |tree: &Node| item.ours(tree).into_iter().filter(is_right).count();
            let after = self.read(&next)?;
            if !item.is_all_that_differs(&tree, &after) || count(&after) != count(&tree) + 1 {
                return Err(NotUnderstood);
            }
            new = next;
        }
    }

    /// The text without the first that is ours; nothing if none is.
    fn without(&self, text: &str, item: &Item) -> Result<Option<String>, Unclear> {
        let tree = self.read(text)?;
        let Some((containers, index)) = first_of(item, &tree) else { return Ok(None) };
        let less = self.format.cut(text, &containers, item.way, index).ok_or(NotUnderstood)?;
        let after = self.read(&less)?;
        let is_right = item.is_all_that_differs(&tree, &after)
            && item.ours(&after).len() + 1 == item.ours(&tree).len();
        if is_right { Ok(Some(less)) } else { Err(NotUnderstood) }
    }

    /// The text with ours in the place of what somebody else has under our name.
    fn forced(&self, text: &str, item: &Item, value: &Value) -> Result<String, Unclear> {
        let tree = self.read(text)?;
        let containers = containers(&tree, item.way).ok_or(NotUnderstood)?;
        let members = containers.last().map_or(&[][..], |last| last.members());
        let index = members.iter().position(|member| member.name == NAME).ok_or(NotUnderstood)?;
        let new = if self.format == Format::Json {
            put(text, members[index].value.at.clone(), &flow::json_line(value))
        } else {
            let cut = self.format.cut(text, &containers, item.way, index);
            let less = cut.ok_or(NotUnderstood)?;
            self.inserted(&less, item, value)?
        };
        let others = |mut tree: Node| {
            if let Some(servers) = tree.at_way_mut(item.way) {
                servers.remove(NAME);
            }
            tree
        };
        let after = self.read(&new)?;
        let is_right = item.ours(&after).len() == 1 && others(after) == others(tree);
        is_right.then_some(new).ok_or(NotUnderstood)
    }

    fn left(&self, with: &str, left: String) -> Left {
        let body = left.trim_end_matches('\n');
        let folders = (left.len() - body.len()).checked_sub(self.format.line_ends_left());
        // A blank file of somebody's has its blank lines in front of ours.
        let is_first = !self.base.is_empty() || !with.starts_with(['\r', '\n']);
        match folders {
            Some(folders) if body == self.base && is_first => Left::Nothing { folders },
            _ if self.is_own && self.was_made_before(with, &left) => {
                Left::Nothing { folders: folders.unwrap_or_default() }
            }
            _ => Left::Text(left),
        }
    }

    /// Whether an earlier version has made a file of our own: it says what a new one says, or is
    /// empty and was as serde writes it.
    fn was_made_before(&self, with: &str, left: &str) -> bool {
        let said = |text: &str| {
            let mut tree = self.read(text).ok()?;
            tree.remove("version");
            let mut ways: Vec<&[&str]> = self.items.iter().flat_map(Item::ways).collect();
            // The inner ones first.
            ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
            for way in ways {
                if let Some((name, outer)) = way.split_last()
                    && tree.at_way(way).is_some_and(Node::is_empty)
                {
                    tree.at_way_mut(outer)?.remove(name);
                }
            }
            Some(tree)
        };
        let base = said(&self.base);
        let is_named = base.as_ref().is_some_and(|base| !base.is_empty());
        // Comments are somebody's.
        let Ok(value) = serde_json::from_str::<Value>(with) else { return false };
        (is_named || format!("{value:#}\n") == with) && said(left) == base
    }
}

impl Format {
    pub fn read(self, text: &str) -> Option<Node> {
        match self {
            Self::Json => json::read(text),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }

    fn insert(self, text: &str, tree: &Node, item: &Item, value: &Value) -> Option<String> {
        let way = item.way;
        let name = item.name();
        match self {
            Self::Json => json::insert(text, tree, item, value),
            Self::Toml => toml::insert(text, tree, way, name?, value),
            Self::Yaml => yaml::insert(text, tree, way.first()?, name?, value),
        }
    }

    fn cut(self, text: &str, containers: &[&Node], way: &[&str], index: usize) -> Option<String> {
        let last = containers.last()?;
        match self {
            Self::Json if containers.len() > way.len() + 1 => {
                flow::cut(text, last, index, flow::Comments::Slashes)
            }
            Self::Json => json::cut(text, containers, way, index),
            Self::Toml => toml::cut(text, last, index),
            Self::Yaml => yaml::cut(text, containers.first()?, way.first()?, index),
        }
    }

    /// A text as it is written.
    fn quoted(self, text: &str) -> String {
        match self {
            Self::Json | Self::Yaml => Value::from(text).to_string(),
            Self::Toml => toml::quoted(&Value::from(text)),
        }
    }

    /// The line ends of a new file, which nobody else's has.
    fn line_ends(self) -> usize {
        match self {
            Self::Json => 2,
            Self::Toml | Self::Yaml => 1,
        }
    }

    /// Those of them that stay when what is ours is taken out.
    fn line_ends_left(self) -> usize {
        match self {
            Self::Json => 2,
            Self::Yaml => 1,
            Self::Toml => 0,
        }
    }
}

/// Where the first that is ours stands: what it is in, the whole file first, and its place there. A
/// group of hooks goes as a whole if nothing else is in it.
fn first_of<'a>(item: &Item, tree: &'a Node) -> Option<(Vec<&'a Node>, usize)> {
    let mut containers = containers(tree, item.way)?;
    let last = *containers.last()?;
    match &item.leaf {
        Leaf::Version => None,
        Leaf::Server { .. } => {
            let is_ours =
                |member: &super::tree::Member| member.name == NAME && item.owns(&member.value);
            Some((containers, last.members().iter().position(is_ours)?))
        }
        Leaf::Hook(Hook { is_grouped: true, .. }) => {
            let ours = |group: &'a Node| {
                let hooks = group.get("hooks")?;
                Some((hooks, hooks.items().iter().position(|inner| item.owns(inner))?))
            };
            let (at, (hooks, inner)) =
                last.items().iter().enumerate().find_map(|(at, group)| Some((at, ours(group)?)))?;
            let group = &last.items()[at];
            if hooks.items().len() == 1 && group.members().len() == 1 {
                return Some((containers, at));
            }
            containers.extend([group, hooks]);
            Some((containers, inner))
        }
        Leaf::Hook(_) | Leaf::Word(_) => {
            Some((containers, last.items().iter().position(|one| item.owns(one))?))
        }
    }
}

/// What a way leads through, the whole file first.
fn containers<'a>(tree: &'a Node, way: &[&str]) -> Option<Vec<&'a Node>> {
    (0..=way.len()).map(|depth| tree.at_way(&way[..depth])).collect()
}
