//! Changes between brackets, which JSON, TOML and YAML have in common: something is added in front
//! of what is there, and taking it out again restores every byte.

use std::ops::Range;

use serde_json::Value;

use super::tree::{Node, put};

/// How comments begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    Slashes,
    Hash,
}

/// The text with this as the first in a container.
pub fn insert(text: &str, container: &Node, leaf: &str) -> String {
    let open = container.open();
    if container.is_empty() {
        return put(text, open..open, leaf);
    }
    let space = space_after(text, open);
    let at = open + space.len();
    let between = if space.is_empty() { " " } else { space };
    put(text, at..at, &format!("{leaf},{between}"))
}

/// The text without one of those in a container, and without the comma that parted it. Comments
/// stay.
pub fn cut(text: &str, container: &Node, index: usize, comments: Comments) -> Option<String> {
    let spans = container.spans();
    let leaf = spans.get(index)?.clone();
    let before = index.checked_sub(1).and_then(|at| spans.get(at));
    let next = spans.get(index + 1).map(|next| next.start);
    let limit = next.unwrap_or(container.at.end.checked_sub(1)?);
    let comma = comma_in(text, leaf.end..limit, comments);
    if next.is_some() {
        let comma = comma?;
        let space = &text[container.open()..leaf.start];
        let between = if space.is_empty() { " " } else { space };
        let is_first = index == 0 && comma == leaf.end && text[comma + 1..].starts_with(between);
        let end = comma + 1 + if is_first { between.len() } else { 0 };
        return Some(format!("{}{}{}", &text[..leaf.start], &text[leaf.end..comma], &text[end..]));
    }
    match (before, comma) {
        (Some(before), _) if text[before.end..leaf.start].trim() == "," => {
            Some(put(text, before.end..leaf.end, ""))
        }
        (_, Some(comma)) => {
            let kept = &text[leaf.end..comma];
            Some(format!("{}{kept}{}", &text[..leaf.start], &text[comma + 1..]))
        }
        (None, None) => Some(put(text, leaf, "")),
        (Some(before), None) => {
            let comma = comma_in(text, before.end..leaf.start, comments)?;
            let kept = &text[comma + 1..leaf.start];
            Some(format!("{}{kept}{}", &text[..comma], &text[leaf.end..]))
        }
    }
}

/// The comma between two items, outside of comments.
fn comma_in(text: &str, range: Range<usize>, comments: Comments) -> Option<usize> {
    let mut at = range.start;
    while at < range.end {
        let rest = &text[at..range.end];
        let line = || rest.find('\n').unwrap_or(rest.len());
        at += match (comments, rest.as_bytes()) {
            (_, [b',', ..]) => return Some(at),
            (Comments::Slashes, [b'/', b'/', ..]) | (Comments::Hash, [b'#', ..]) => line(),
            (Comments::Slashes, [b'/', b'*', ..]) => rest.find("*/")? + 2,
            _ => rest.chars().next()?.len_utf8(),
        };
    }
    None
}

fn space_after(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()]
}

/// A value on one line, as a person would write it. YAML reads the same.
pub fn json_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member = |(name, value)| format!("{}: {}", Value::from(name), json_line(value));
            let members: Vec<String> =
                members.iter().map(|(name, value)| member((name.as_str(), value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        scalar => scalar.to_string(),
    }
}
