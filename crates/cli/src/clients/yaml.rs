//! YAML. A map of ours is put in front of its neighbours, as far in as they are, or between their
//! brackets. What the reader cannot place is left to the person.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use serde_json::Value;

use super::flow::{self, Comments, json_line};
use super::tree::{Kind, Member, Node, distinct, line_break, line_end, line_start, put};

/// Deeper than any settings.
const DEPTH_MAX: usize = 200;

/// Reads a text of one document, which is a map or says nothing.
pub fn read(text: &str) -> Option<Node> {
    let events = Parser::new_from_str(text);
    let mut reader = Reader { text, events, last: Place::default(), depth: 0 };
    // A line end that not all readers take for one.
    (!text.replace("\r\n", "").contains('\r')).then_some(())?;
    let mut top = 0;
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::Nothing | Event::DocumentEnd, _) => {}
            (Event::DocumentStart(is_explicit), span) => {
                root.is_none().then_some(())?;
                let end = reader.byte(span.end);
                top = if is_explicit { line_end(text, end) } else { 0 };
            }
            (Event::StreamEnd, _) => break,
            (event, span) => root = Some(reader.node(event, span)?),
        }
    }
    let nothing = Node::new(top..top, Kind::Map(Vec::new()));
    match root {
        Some(root) if root.is_map() => Some(root),
        Some(root) if root.is_unsaid() => Some(nothing),
        None => Some(nothing),
        Some(_) => None,
    }
}

/// Where a marker was last found, so that the next one is found from there.
#[derive(Debug, Default)]
struct Place {
    line: usize,
    line_start: usize,
    column: usize,
    at: usize,
}

struct Reader<'a> {
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
    last: Place,
    /// In how many lists and maps the reader is.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        self.events.next_event()?.ok()
    }

    /// Where a marker stands in the text. Lines count from 1, columns from 0, in characters.
    fn byte(&mut self, marker: Marker) -> usize {
        let (line, column) = (marker.line(), marker.col());
        let place = &mut self.last;
        if place.line == 0 || line < place.line {
            *place = Place { line: 1, ..Place::default() };
        }
        while place.line < line {
            place.line_start = line_end(self.text, place.line_start);
            *place = Place { line: place.line + 1, column: 0, at: place.line_start, ..*place };
        }
        if column < place.column {
            (place.column, place.at) = (0, place.line_start);
        }
        let rest = self.text.get(place.at..).unwrap_or_default();
        let skipped = rest.char_indices().nth(column - place.column);
        place.at += skipped.map_or(rest.len(), |(at, _)| at);
        place.column = column;
        place.at
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Option<Node> {
        let (from, to) = (self.byte(span.start), self.byte(span.end));
        Some(match event {
            Event::Alias(_) => Node::new(from..to, Kind::Other(self.text[from..to].to_owned())),
            Event::Scalar(text, style, ..) => {
                let is_text = style != ScalarStyle::Plain || is_text(&text);
                let text = text.into_owned();
                let kind = if is_text { Kind::Text(text) } else { Kind::Other(text) };
                let value = to - unmarked(&self.text[from..to]).len();
                Node { mark: marks(&self.text[from..value]), ..Node::new(value..to, kind) }
            }
            Event::SequenceStart(..) => {
                let (items, end) = self.items()?;
                self.collection(from, to, end, "[", Kind::List(items))
            }
            Event::MappingStart(..) => {
                let (members, end) = self.pairs()?;
                self.collection(from, to, end, "{", distinct(members)?)
            }
            _ => return None,
        })
    }

    fn collection(&self, from: usize, to: usize, end: usize, open: &str, kind: Kind) -> Node {
        // Behind its tag and anchor. The space after it is counted with it.
        let head = self.text[from..to].trim_end();
        let is_flow = head.ends_with(open);
        let close = usize::from(is_flow);
        let from = if is_flow { from + head.len() - open.len() } else { from };
        Node { is_flow, mark: marks(head), ..Node::new(from..end + close, kind) }
    }

    fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEPTH_MAX).then_some(())
    }

    fn items(&mut self) -> Option<(Vec<Node>, usize)> {
        let mut items = Vec::new();
        self.enter()?;
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => {
                    self.depth -= 1;
                    return Some((items, self.byte(span.start)));
                }
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    fn pairs(&mut self) -> Option<(Vec<Member>, usize)> {
        let mut members = Vec::new();
        self.enter()?;
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, span) => {
                    self.depth -= 1;
                    return Some((members, self.byte(span.start)));
                }
                (event, span) => self.node(event, span)?,
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            let (Kind::Text(name) | Kind::Other(name)) = key.kind else { return None };
            members.push(Member { name, key: key.at.start, value });
        }
    }
}

/// Tag and anchor, as they are written.
fn marks(head: &str) -> String {
    let words = head.split_whitespace().filter(|word| word.starts_with(['&', '!']));
    words.collect::<Vec<_>>().join(" ")
}

/// A value behind its tag and anchor.
fn unmarked(text: &str) -> &str {
    match text.strip_prefix(['&', '!']).and_then(|mark| mark.split_once(char::is_whitespace)) {
        Some((_, rest)) => unmarked(rest.trim_start()),
        None => text,
    }
}

/// Whether a word without quotes is a text, and no number, truth value or null.
fn is_text(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_other = matches!(lower.as_str(), "" | "~" | "null" | "true" | "false");
    !is_other && word.parse::<f64>().is_err()
}

/// The text with this map at the end of a way of one name, under this name.
pub fn insert(text: &str, tree: &Node, way: &str, name: &str, value: &Value) -> Option<String> {
    let flowing = || format!("\"{name}\": {}", json_line(value));
    let n = line_break(text);
    match tree.get(way) {
        Some(above) if above.is_flow && above.is_map() => {
            Some(flow::insert(text, above, &flowing()))
        }
        Some(above) if above.is_map() => {
            let (at, depth) = first_line(text, above)?;
            Some(put(text, at..at, &block(name, value, depth).replace('\n', n)))
        }
        // Between brackets with a space before them, which nobody has who wrote an empty map.
        Some(above) if above.is_unsaid() => {
            let colon = colon(text, tree.member(way)?)?;
            Some(put(text, colon..colon, &format!(" {{ {} }}", flowing())))
        }
        Some(_) => None,
        None if tree.is_flow => Some(flow::insert(text, tree, &made(way, &flowing()))),
        None => {
            let (at, depth) =
                if tree.is_empty() { (top(text, tree), 0) } else { first_line(text, tree)? };
            let lines = format!("{}{way}:\n{}", " ".repeat(depth), block(name, value, depth + 2));
            Some(put(text, at..at, &lines.replace('\n', n)))
        }
    }
}

/// Where the first member of a document goes. Behind blank lines, so that a file of them alone is
/// told from one that was made here.
fn top(text: &str, tree: &Node) -> usize {
    let is_blank = text.trim().is_empty() && text.ends_with('\n');
    if is_blank { text.len() } else { tree.at.start }
}

/// The map that is made for ours between brackets. Nobody has such spaces who wrote an empty one.
fn made(way: &str, flowing: &str) -> String {
    format!("\"{way}\": {{ {flowing} }}")
}

/// Where the line of the first member of a map begins, and how far in it is.
fn first_line(text: &str, map: &Node) -> Option<(usize, usize)> {
    indent(text, map.members().first()?.key)
}

/// The same of a member that begins its line.
fn indent(text: &str, key: usize) -> Option<(usize, usize)> {
    let start = line_start(text, key);
    text[start..key].chars().all(|c| c == ' ').then_some((start, key - start))
}

/// The lines of a map, so far in.
pub fn block(name: &str, value: &Value, depth: usize) -> String {
    let (outer, inner) = (" ".repeat(depth), " ".repeat(depth + 2));
    let mut lines = format!("{outer}{name}:\n");
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Array(items) => {
                lines.push_str(&format!("{inner}{name}:\n"));
                for item in items {
                    lines.push_str(&format!("{inner}- {}\n", word(item)));
                }
            }
            _ => lines.push_str(&format!("{inner}{name}: {}\n", word(value))),
        }
    }
    lines
}

/// A value on one line, without quotes where nobody would write them.
fn word(value: &Value) -> String {
    let is_word = |text: &&str| text.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    value.as_str().filter(is_word).map_or_else(|| json_line(value), str::to_owned)
}

/// The text without one of the members of the last container, which the root and one name lead to.
pub fn cut(text: &str, root: &Node, way: &str, index: usize) -> Option<String> {
    let map = root.member(way)?;
    let above = &map.value;
    let member = above.members().get(index)?;
    let is_only = above.members().len() == 1;
    if above.is_flow {
        let flowing = &text[member.key..member.value.at.end];
        if root.is_flow && is_only && text[map.key..above.at.end] == made(way, flowing) {
            let at = root.members().iter().position(|member| member.name == way)?;
            return flow::cut(text, root, at, Comments::Hash);
        }
        let is_made = text[..above.at.end].ends_with(&format!(" {{ {flowing} }}"));
        if is_only && is_made && text[..above.at.start].ends_with(": ") {
            return Some(put(text, above.at.start - 1..above.at.end, ""));
        }
        return flow::cut(text, above, index, Comments::Hash);
    }
    let lines = lines(text, above, index)?;
    if !is_only {
        return Some(put(text, lines, ""));
    }
    // The map goes too if it was made with ours: Goose expects something in it.
    let (start, depth) = indent(text, map.key)?;
    let line = format!("{}{way}:", " ".repeat(depth));
    if text[start..lines.start].trim_end_matches(['\r', '\n']) == line {
        return Some(put(text, start..lines.end, ""));
    }
    let left = put(text, lines, "");
    let end = behind_marks(&left, colon(&left, map)?);
    Some(put(&left, end..end, " {}"))
}

/// Behind the colon of a member. Our names have none in them.
fn colon(text: &str, member: &Member) -> Option<usize> {
    Some(member.key + text[member.key..].find(':')? + 1)
}

/// Behind the tag and the anchor that follow in the same line.
fn behind_marks(text: &str, at: usize) -> usize {
    let line = text[at..].lines().next().unwrap_or_default();
    let rest = line.trim_start();
    if !rest.starts_with(['&', '!']) {
        return at;
    }
    let mark = rest.split_whitespace().next().map_or(0, str::len);
    behind_marks(text, at + line.len() - rest.len() + mark)
}

/// The lines of a member: up to the next one, without blank lines and comments that are no further
/// in than its name.
fn lines(text: &str, map: &Node, index: usize) -> Option<Range<usize>> {
    let (start, depth) = indent(text, map.members().get(index)?.key)?;
    let mut end = match map.members().get(index + 1) {
        Some(next) => indent(text, next.key)?.0,
        None => {
            let end = line_start(text, map.at.end);
            if text[end..map.at.end].trim().is_empty() { end } else { text.len() }
        }
    };
    while end > start {
        let last = line_start(text, end - 1);
        let line = text[last..end].trim_end();
        let content = line.trim_start();
        let is_inside = !content.is_empty()
            && (!content.starts_with('#') || line.len() - content.len() > depth);
        if last <= start || is_inside {
            break;
        }
        end = last;
    }
    Some(start..end)
}
