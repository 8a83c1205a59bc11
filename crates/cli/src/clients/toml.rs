//! TOML. A table of ours is put at the end of the file, or into the inline table that somebody has
//! its neighbours in; it is taken out in whichever of TOML's forms it stands.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item, Table, TableLike, Value as TomlValue};

use super::flow::{self, Comments};
use super::tree::{Kind, Member, Node, distinct, line_break, line_end, line_start};

pub fn read(text: &str) -> Option<Node> {
    let document = Document::parse(text).ok()?;
    table(text, document.as_table(), 0..0)
}

fn table(text: &str, table: &dyn TableLike, at: Range<usize>) -> Option<Node> {
    let member = |(name, _): (&str, &Item)| {
        let (key, item) = table.get_key_value(name)?;
        Some(Member { name: name.to_owned(), key: key.span()?.start, value: node(text, item)? })
    };
    let members: Option<Vec<Member>> = table.iter().map(member).collect();
    let is_flow = text[at.start..].starts_with('{') && at.end > at.start;
    Some(Node { is_flow, ..Node::new(at, distinct(members?)?) })
}

fn node(text: &str, item: &Item) -> Option<Node> {
    let at = item.span().unwrap_or_default();
    Some(match item {
        Item::None => return None,
        Item::Table(inner) => table(text, inner, at)?,
        Item::ArrayOfTables(tables) => {
            let inner = |one: &Table| table(text, one, one.span().unwrap_or_default());
            Node::new(at, Kind::List(tables.iter().map(inner).collect::<Option<_>>()?))
        }
        Item::Value(TomlValue::InlineTable(inner)) => table(text, inner, at)?,
        Item::Value(TomlValue::Array(items)) => {
            let item = |value: &TomlValue| node(text, &Item::Value(value.clone()));
            Node::flow(at, Kind::List(items.iter().map(item).collect::<Option<_>>()?))
        }
        Item::Value(TomlValue::String(value)) => Node::new(at, Kind::Text(value.value().clone())),
        Item::Value(_) => Node::new(at.clone(), Kind::Other(text.get(at)?.to_owned())),
    })
}

/// The text with this table at the end of a way, under this name.
pub fn insert(text: &str, tree: &Node, way: &[&str], name: &str, value: &Value) -> Option<String> {
    let above = tree.at_way(way);
    if let Some(above) = above.filter(|above| above.is_flow) {
        return Some(flow::insert(text, above, &format!("{name} = {}", line(value))));
    }
    if above.is_some_and(|above| !above.is_map()) {
        return None;
    }
    // A file without a last line end is given none, so that it can be given back.
    let n = line_break(text);
    let (gap, end) = if text.ends_with('\n') { (1, n) } else { (2, "") };
    let gap = if text.is_empty() && way.is_empty() { 0 } else { gap };
    let table = block(way, name, value).replace('\n', n);
    Some(format!("{text}{}{table}{end}", n.repeat(gap)))
}

/// A table with its header, without a last line end.
pub fn block(way: &[&str], name: &str, value: &Value) -> String {
    let members = value.as_object().into_iter().flatten();
    let lines: Vec<String> =
        members.map(|(name, value)| format!("\n{name} = {}", line(value))).collect();
    let header: Vec<&str> = way.iter().copied().chain([name]).collect();
    format!("[{}]{}", header.join("."), lines.concat())
}

/// A value on one line. TOML reads the strings of JSON the same, but for one character.
fn line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{name} = {}", line(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", "))
        }
        scalar => quoted(scalar),
    }
}

pub fn quoted(scalar: &Value) -> String {
    scalar.to_string().replace('\u{7f}', "\\u007F")
}

/// The text without one of the members of a container.
pub fn cut(text: &str, container: &Node, index: usize) -> Option<String> {
    if container.is_flow {
        return flow::cut(text, container, index, Comments::Hash);
    }
    let mut left = text.to_owned();
    for piece in pieces(text, container.members().get(index)?).into_iter().rev() {
        let gap = if text[piece.start..].starts_with('[') { gap_before(text, &piece) } else { 0 };
        left.replace_range(piece.start - gap..piece.end, "");
    }
    Some(left)
}

/// The blank line that came with a table, and the end of the line before if the file had none.
fn gap_before(text: &str, piece: &Range<usize>) -> usize {
    let before = &text[..piece.start];
    let chop = |text: &str| {
        text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text).len())
    };
    let Some(once) = chop(before) else { return 0 };
    if text[piece.clone()].ends_with('\n') {
        let is_blank = once == 0 || before[..once].ends_with('\n');
        return if is_blank { before.len() - once } else { 0 };
    }
    before.len() - chop(&before[..once]).unwrap_or(before.len())
}

/// The lines of a member: one part for all that follows on itself, with the comments in between.
fn pieces(text: &str, member: &Member) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    statements(text, member.key, &member.value, &mut all);
    all.sort_by_key(|piece| piece.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for piece in all {
        let is_bare = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        match joined.last_mut() {
            Some(last)
                if piece.start <= last.end || text[last.end..piece.start].lines().all(is_bare) =>
            {
                last.end = last.end.max(piece.end);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

fn statements(text: &str, key: usize, value: &Node, all: &mut Vec<Range<usize>>) {
    let lines = |from: usize, to: usize| line_start(text, from)..line_end(text, to);
    match &value.kind {
        Kind::Map(members) if !value.is_flow => {
            if !value.at.is_empty() && text[value.at.start..].starts_with('[') {
                all.push(lines(value.at.start, value.at.end));
            }
            members.iter().for_each(|member| statements(text, member.key, &member.value, all));
        }
        Kind::List(tables) if !value.is_flow => {
            tables.iter().for_each(|table| statements(text, table.at.start, table, all));
        }
        _ => all.push(lines(key, value.at.end)),
    }
}
