//! What a settings file says and where each part of it stands, in whichever format it is written.

use std::ops::Range;

#[derive(Debug, Clone)]
pub struct Node {
    /// From bracket to bracket where `is_flow`; exact for a scalar.
    pub at: Range<usize>,
    /// A map or list between brackets. Others are written on lines of their own.
    pub is_flow: bool,
    /// Tag and anchor, in YAML.
    pub mark: String,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub enum Kind {
    Map(Vec<Member>),
    List(Vec<Node>),
    Text(String),
    /// A number, a date, null: as it is written.
    Other(String),
}

#[derive(Debug, Clone)]
pub struct Member {
    pub name: String,
    /// Where its name begins.
    pub key: usize,
    pub value: Node,
}

impl Node {
    pub fn new(at: Range<usize>, kind: Kind) -> Self {
        Self { at, is_flow: false, mark: String::new(), kind }
    }

    pub fn flow(at: Range<usize>, kind: Kind) -> Self {
        Self { is_flow: true, ..Self::new(at, kind) }
    }

    /// Behind the opening bracket.
    pub fn open(&self) -> usize {
        self.at.start + 1
    }

    pub fn members(&self) -> &[Member] {
        if let Kind::Map(members) = &self.kind { members } else { &[] }
    }

    pub fn items(&self) -> &[Self] {
        if let Kind::List(items) = &self.kind { items } else { &[] }
    }

    pub fn get(&self, name: &str) -> Option<&Self> {
        self.member(name).map(|member| &member.value)
    }

    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.name == name)
    }

    pub fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    pub fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }

    pub fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }

    /// Whether it is a map or a list with nothing in it.
    pub fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Map(members) => members.is_empty(),
            Kind::List(items) => items.is_empty(),
            Kind::Text(_) | Kind::Other(_) => false,
        }
    }

    /// A value of YAML that is not written.
    pub fn is_unsaid(&self) -> bool {
        self.mark.is_empty() && matches!(&self.kind, Kind::Other(text) if text.is_empty())
    }

    /// Where its members or items stand.
    pub fn spans(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Map(members) => {
                members.iter().map(|member| member.key..member.value.at.end).collect()
            }
            Kind::List(items) => items.iter().map(|item| item.at.clone()).collect(),
            Kind::Text(_) | Kind::Other(_) => Vec::new(),
        }
    }

    /// What stands at the end of a way of names.
    pub fn at_way(&self, way: &[&str]) -> Option<&Self> {
        way.iter().try_fold(self, |node, name| node.get(name))
    }

    pub fn at_way_mut(&mut self, way: &[&str]) -> Option<&mut Self> {
        way.iter().try_fold(self, |node, name| {
            let Kind::Map(members) = &mut node.kind else { return None };
            members.iter_mut().find(|member| member.name == *name).map(|member| &mut member.value)
        })
    }

    pub fn remove(&mut self, name: &str) {
        if let Kind::Map(members) = &mut self.kind {
            members.retain(|member| member.name != name);
        }
    }
}

/// Whether both say the same, wherever it stands. The order of members says nothing.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.kind, &other.kind) {
            (Kind::Map(a), Kind::Map(b)) => sorted(a) == sorted(b),
            (Kind::List(a), Kind::List(b)) => a == b,
            (Kind::Text(a), Kind::Text(b)) | (Kind::Other(a), Kind::Other(b)) => a == b,
            _ => false,
        };
        is_same && self.mark == other.mark
    }
}

fn sorted(members: &[Member]) -> Vec<(&str, &Node)> {
    let mut all: Vec<_> =
        members.iter().map(|member| (member.name.as_str(), &member.value)).collect();
    all.sort_unstable_by_key(|(name, _)| *name);
    all
}

/// The members, unless two have one name: nobody knows which of them counts.
pub fn distinct(members: Vec<Member>) -> Option<Kind> {
    let names = sorted(&members);
    let is_distinct = names.windows(2).all(|pair| pair[0].0 != pair[1].0);
    is_distinct.then_some(Kind::Map(members))
}

/// The text with this in the place of a range.
pub fn put(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// Where the line begins in which this stands.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Behind the end of the line in which this stands.
pub fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// The line end that a file uses.
pub fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
