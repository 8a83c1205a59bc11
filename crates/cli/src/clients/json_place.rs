//! A place in somebody's JSON file with comments that has something of ours: a member of an object
//! or an item of an array, some objects deep. Adding it and taking it out again restores every
//! byte. What is added to a container that was there stands on its first line; a container that is
//! made for it stands on lines of its own, so that the two are told apart later.

use std::ops::Range;

use serde_json::Value;

use super::json_tree::{Kind, Node};
use super::notation::Unclear;
use crate::jsonc::Reader;

#[derive(Debug, Clone)]
pub struct Place {
    /// The names that lead to the container.
    pub way: &'static [&'static str],
    pub leaf: Leaf,
}

#[derive(Debug, Clone, Copy)]
pub enum Leaf {
    /// The member of this name.
    Member(&'static str),
    /// The item that has this text in one of its own, which names legwork.
    Item(&'static str),
}

/// A leaf that is there.
#[derive(Debug)]
struct Found<'a> {
    /// All containers on the way, the whole text first.
    containers: Vec<&'a Node>,
    /// With its name, if it has one.
    at: Range<usize>,
    node: &'a Node,
}

impl Place {
    /// What stands there.
    pub fn find<'a>(&self, tree: &'a Node) -> Result<Option<&'a Node>, Unclear> {
        Ok(self.leaf_in(tree)?.map(|found| found.node))
    }

    /// The text with this value in its place, where nothing was.
    pub fn insert(&self, text: &str, value: &Value) -> Result<String, Unclear> {
        let tree = Node::of(text).ok_or(Unclear::NotUnderstood)?;
        let leaf = self.leaf.written(value);
        let mut node = &tree;
        for (depth, name) in self.way.iter().enumerate() {
            match node.member(name) {
                Some(member) => node = &member.value,
                None => {
                    let made = self.made(depth, &leaf, node.is_empty());
                    return self.checked(&tree, put(text, node.open()..node.open(), &made));
                }
            }
        }
        self.check_container(node)?;
        let (open, space) = (node.open(), space_after(text, node.open()));
        let new = match (node.is_empty(), space) {
            (true, _) => put(text, open..open, &leaf),
            (false, space) => {
                let (at, between) =
                    (open + space.len(), if space.is_empty() { " " } else { space });
                put(text, at..at, &format!("{leaf},{between}"))
            }
        };
        self.checked(&tree, new)
    }

    /// The text without what stands there; nothing if nothing does.
    pub fn remove(&self, text: &str) -> Result<Option<String>, Unclear> {
        let tree = Node::of(text).ok_or(Unclear::NotUnderstood)?;
        let Some(Found { containers, at: leaf, .. }) = self.leaf_in(&tree)? else {
            return Ok(None);
        };
        for (depth, container) in containers.iter().enumerate().take(self.way.len()) {
            let (open, is_only) = (container.open(), container.spans().len() == 1);
            let made = self.made(depth, &text[leaf.clone()], is_only);
            if text[open..].starts_with(&made) {
                let new = put(text, open..open + made.len(), "");
                return self.checked(&tree, new).map(Some);
            }
        }
        let container = containers.last().ok_or(Unclear::NotUnderstood)?;
        self.checked(&tree, without(text, container, &leaf)).map(Some)
    }

    fn leaf_in<'a>(&self, tree: &'a Node) -> Result<Option<Found<'a>>, Unclear> {
        let mut containers = vec![tree];
        let mut node = tree;
        for name in self.way {
            let Some(member) = node.member(name) else {
                let is_object = matches!(node.kind, Kind::Object(_));
                return if is_object { Ok(None) } else { Err(Unclear::NotUnderstood) };
            };
            node = &member.value;
            containers.push(node);
        }
        self.check_container(node)?;
        let found = match (self.leaf, &node.kind) {
            (Leaf::Member(name), _) => {
                node.member(name).map(|member| (member.at.clone(), &member.value))
            }
            (Leaf::Item(mark), Kind::Array(items)) => {
                let is_ours = |item: &&Node| is_hook(&item.value(), mark);
                items.iter().find(is_ours).map(|item| (item.at.clone(), item))
            }
            (Leaf::Item(_), _) => None,
        };
        Ok(found.map(|(at, node)| Found { containers, at, node }))
    }

    fn check_container(&self, node: &Node) -> Result<(), Unclear> {
        match (self.leaf, &node.kind) {
            (Leaf::Member(_), Kind::Object(_)) | (Leaf::Item(_), Kind::Array(_)) => Ok(()),
            _ => Err(Unclear::NotUnderstood),
        }
    }

    /// What is put behind the opening bracket of a container so deep that has no next one.
    fn made(&self, depth: usize, leaf: &str, is_only: bool) -> String {
        let indent = |depth: usize| "  ".repeat(depth + 1);
        let (mut begin, mut end) = (String::new(), String::new());
        for (at, name) in self.way.iter().enumerate().skip(depth) {
            let is_list = at + 1 == self.way.len() && matches!(self.leaf, Leaf::Item(_));
            let (open, close) = if is_list { ('[', ']') } else { ('{', '}') };
            begin.push_str(&format!("\n{}\"{name}\": {open}", indent(at)));
            end.insert_str(0, &format!("\n{}{close}", indent(at)));
        }
        let last = if is_only { format!("\n{}", "  ".repeat(depth)) } else { ",".to_owned() };
        format!("{begin}\n{}{leaf}{end}{last}", indent(self.way.len()))
    }

    /// A text that says the same as before but for our own place; no other is ever written.
    fn checked(&self, before: &Node, text: String) -> Result<String, Unclear> {
        let after = Node::of(&text).ok_or(Unclear::NotUnderstood)?;
        let others = |tree: &Node| self.without_ours(tree.value());
        if others(before) == others(&after) { Ok(text) } else { Err(Unclear::NotUnderstood) }
    }

    fn without_ours(&self, mut value: Value) -> Value {
        let pointer = |names: &[&str]| names.iter().map(|name| format!("/{name}")).collect();
        let way: String = pointer(self.way);
        match (self.leaf, value.pointer_mut(&way)) {
            (Leaf::Member(name), Some(Value::Object(members))) => drop(members.remove(name)),
            (Leaf::Item(mark), Some(Value::Array(items))) => {
                items.retain(|item| !is_hook(item, mark));
            }
            _ => {}
        }
        for (at, name) in self.way.iter().enumerate().rev() {
            let above: String = pointer(&self.way[..at]);
            let Some(Value::Object(members)) = value.pointer_mut(&above) else { continue };
            if members.get(*name).is_some_and(is_bare) {
                members.remove(*name);
            }
        }
        value
    }
}

impl Leaf {
    fn written(self, value: &Value) -> String {
        match self {
            Self::Member(name) => format!("\"{name}\": {}", one_line(value)),
            Self::Item(_) => one_line(value),
        }
    }
}

fn is_bare(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.is_empty())
        || value.as_array().is_some_and(|items| items.is_empty())
}

/// Whether a value has a command of legwork's with this text in it.
pub fn is_hook(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark) && text.contains("legwork"),
        Value::Array(items) => items.iter().any(|item| is_hook(item, mark)),
        Value::Object(members) => members.values().any(|value| is_hook(value, mark)),
        _ => false,
    }
}

/// A value on one line, as a person would write it.
pub fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value)| format!("{}: {}", Value::from(name), one_line(value));
            let members: Vec<String> =
                members.iter().map(|(name, value)| member((name.as_str(), value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn space_after(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()]
}

/// The text with this in the place of a range.
pub fn put(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// The text without one of several in a container, and without the comma that parted it.
fn without(text: &str, container: &Node, leaf: &Range<usize>) -> String {
    let spans = container.spans();
    let place = spans.iter().position(|span| span == leaf).unwrap_or_default();
    if place + 1 < spans.len() {
        let space = &text[container.open()..leaf.start];
        let between = if space.is_empty() { " " } else { space };
        let comma = comma_after(text, leaf.end);
        let is_plain = place == 0 && comma == leaf.end && text[comma + 1..].starts_with(between);
        let end = comma + 1 + if is_plain { between.len() } else { 0 };
        // Comments between the two stay.
        return format!("{}{}{}", &text[..leaf.start], &text[leaf.end..comma], &text[end..]);
    }
    let Some(before) = place.checked_sub(1).and_then(|at| spans.get(at)) else {
        return put(text, leaf.clone(), "");
    };
    if text[before.end..leaf.start].trim() == "," {
        return put(text, before.end..leaf.end, "");
    }
    let comma = comma_after(text, before.end);
    format!("{}{}{}", &text[..comma], &text[comma + 1..leaf.start], &text[leaf.end..])
}

/// The comma that follows, behind spaces and comments. There is one: the text was understood.
fn comma_after(text: &str, at: usize) -> usize {
    let mut reader = Reader { text, at };
    // Says nothing new: the text was read before.
    let _ = reader.space();
    reader.at
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SERVER: Place = Place { way: &["mcpServers"], leaf: Leaf::Member("legwork") };
    const HOOK: Place = Place { way: &["hooks", "Stop"], leaf: Leaf::Item("hook x") };

    fn server() -> Value {
        json!({ "command": "/opt/legwork", "args": ["mcp"] })
    }

    fn hook() -> Value {
        json!({ "hooks": [{ "type": "command", "command": "/opt/legwork hook x" }] })
    }

    #[test]
    fn m7_what_is_added_to_any_file_is_found_and_taking_it_out_restores_every_byte() {
        for text in [
            "{}",
            "{ }\n",
            "{\n}\n",
            "{\n  // nothing yet\n}\n",
            "{\n  \"theme\": \"nord\" // dark\n}",
            "{ \"theme\": 1, }",
            "{\"mcpServers\":{}}",
            "{\n  \"mcpServers\": {}, \"theme\": 1\n}",
            "{\n  \"mcpServers\": { // mine\n    \"a\": {}\n  }\n}",
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, /* b */\n  }\n}\n",
            "\u{feff}/* x */ {\r\n\t\"hooks\": { \"Stop\": [ /* none */ ] },\r\n}\r\n// end",
            "{\"hooks\": {\"Stop\": [{\"hooks\": []}], \"Start\": []}, \"b\\\"\": \"// no\"}",
            "{\"hooks\": {\"Start\": []}}",
            "{\"hooks\": {}}",
        ] {
            let one = SERVER.insert(text, &server()).unwrap();
            let two = HOOK.insert(&one, &hook()).unwrap();
            let tree = Node::of(&two).unwrap_or_else(|| panic!("{two}"));
            assert_eq!(SERVER.find(&tree).unwrap().unwrap().value(), server(), "{two}");
            assert_eq!(HOOK.find(&tree).unwrap().unwrap().value(), hook(), "{two}");
            assert_eq!(HOOK.remove(&two).unwrap().as_deref(), Some(one.as_str()), "{two}");
            assert_eq!(SERVER.remove(&one).unwrap().as_deref(), Some(text), "{one}");
            assert_eq!(SERVER.remove(text).unwrap(), None);
        }
    }

    #[test]
    fn m7_what_somebody_moved_or_formatted_is_taken_out_and_the_rest_means_the_same() {
        for (text, without) in [
            (r#"{"mcpServers": {"a": 1, "legwork": {}}}"#, r#"{"mcpServers": {"a": 1}}"#),
            (r#"{"mcpServers": {"a": 1, "legwork": {},}}"#, r#"{"mcpServers": {"a": 1,}}"#),
            (r#"{"mcpServers": {"legwork": {},   "a": 1}}"#, r#"{"mcpServers": {  "a": 1}}"#),
            (
                "{\"mcpServers\": {\"a\": 1, // why\n \"legwork\": {} // x\n}}",
                "{\"mcpServers\": {\"a\": 1 // why\n  // x\n}}",
            ),
            (
                "{\"mcpServers\": {\"legwork\": {} /* x */, \"a\": 1}}",
                "{\"mcpServers\": { /* x */ \"a\": 1}}",
            ),
        ] {
            assert_eq!(SERVER.remove(text).unwrap().as_deref(), Some(without), "{text}");
        }
    }

    #[test]
    fn m7_what_is_not_understood_is_not_touched() {
        for text in [
            "",
            "[]",
            "{",
            "{'mcpServers': {}}",
            "{\"mcpServers\": []}",
            "{\"mcpServers\": \"x\"}",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "{\"a\": nope}",
            "{} x",
        ] {
            assert!(SERVER.insert(text, &server()).is_err(), "{text}");
            assert!(SERVER.remove(text).is_err(), "{text}");
        }
        assert!(HOOK.insert("{\"hooks\": {\"Stop\": {}}}", &hook()).is_err());
        assert!(HOOK.insert("{\"hooks\": []}", &hook()).is_err());
    }
}
