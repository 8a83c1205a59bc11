//! A JSON text with comments as a tree that knows where everything stands, so that a part of it can
//! be changed and every other byte stays.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::jsonc::{DEPTH_MAX, Reader};

#[derive(Debug)]
pub struct Node {
    pub at: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

#[derive(Debug)]
pub struct Member {
    pub key: String,
    /// From the key to the end of the value.
    pub at: Range<usize>,
    pub value: Node,
}

impl Node {
    /// Reads a text that is an object; nothing if it is no such text.
    pub fn of(text: &str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        reader.take('\u{feff}');
        reader.space()?;
        let node = node(&mut reader, DEPTH_MAX)?;
        reader.space()?;
        let is_whole = reader.at == text.len() && matches!(node.kind, Kind::Object(_));
        is_whole.then_some(node)
    }

    /// Behind its opening bracket.
    pub fn open(&self) -> usize {
        self.at.start + 1
    }

    pub fn is_empty(&self) -> bool {
        self.spans().is_empty()
    }

    /// Where its members or items stand.
    pub fn spans(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.at.clone()).collect(),
            Kind::Array(items) => items.iter().map(|item| item.at.clone()).collect(),
            Kind::Scalar(_) => Vec::new(),
        }
    }

    /// The member of this name of an object.
    pub fn member(&self, name: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().find(|member| member.key == name),
            Kind::Array(_) | Kind::Scalar(_) => None,
        }
    }

    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Array(items) => items.iter().map(Self::value).collect(),
            Kind::Object(members) => {
                let pair = |member: &Member| (member.key.clone(), member.value.value());
                Value::Object(members.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }
}

fn node(reader: &mut Reader<'_>, depth: usize) -> Option<Node> {
    let depth = depth.checked_sub(1)?;
    let from = reader.at;
    let kind = match reader.rest().chars().next()? {
        '{' => Kind::Object(members(reader, depth)?),
        '[' => Kind::Array(items(reader, depth)?),
        _ => {
            reader.value(1)?;
            Kind::Scalar(serde_json::from_str(&reader.text[from..reader.at]).ok()?)
        }
    };
    Some(Node { at: from..reader.at, kind })
}

fn members(reader: &mut Reader<'_>, depth: usize) -> Option<Vec<Member>> {
    let mut all: Vec<Member> = Vec::new();
    reader.take('{')?;
    loop {
        reader.space()?;
        if reader.take('}').is_some() {
            return Some(all);
        }
        let from = reader.at;
        let key = reader.string()?;
        reader.space()?;
        reader.take(':')?;
        reader.space()?;
        let value = node(reader, depth)?;
        // Two of one name: nobody knows which one counts.
        all.iter().all(|member| member.key != key).then_some(())?;
        all.push(Member { key, at: from..reader.at, value });
        reader.space()?;
        if reader.take(',').is_none() {
            return reader.take('}').map(|()| all);
        }
    }
}

fn items(reader: &mut Reader<'_>, depth: usize) -> Option<Vec<Node>> {
    let mut all = Vec::new();
    reader.take('[')?;
    loop {
        reader.space()?;
        if reader.take(']').is_some() {
            return Some(all);
        }
        all.push(node(reader, depth)?);
        reader.space()?;
        if reader.take(',').is_none() {
            return reader.take(']').map(|()| all);
        }
    }
}
