//! JSON with comments. What is added to a container that was there stands in front of what is in
//! it; a container that is made for it stands on lines of its own, so that the two are told apart
//! later.

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{ParseOptions, parse_to_ast};
use serde_json::Value;

use super::flow::{self, Comments};
use super::ours::Item;
use super::tree::{Kind, Member, Node, distinct, put};

/// What hosts read: comments and a comma behind the last, but nothing else that JSON has not.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a text that is an object.
pub fn read(text: &str) -> Option<Node> {
    let parsed = parse_to_ast(text, &Default::default(), &OPTIONS).ok()?;
    node(parsed.value?).filter(Node::is_map)
}

/// The texts in a list of this name, and those that begin a list in it; nothing if the text is not
/// understood.
pub fn first_words(text: &str, list: &str) -> Vec<String> {
    let tree = read(text.trim_start_matches('\u{feff}'));
    let items = tree.as_ref().and_then(|tree| tree.get(list)).map_or(&[][..], Node::items);
    let word =
        |item: &Node| item.text().or_else(|| item.items().first()?.text()).map(str::to_owned);
    items.iter().filter_map(word).collect()
}

fn node(value: Ast<'_>) -> Option<Node> {
    let at = value.start()..value.end();
    Some(match value {
        Ast::Object(object) => {
            let member = |prop: jsonc_parser::ast::ObjectProp<'_>| {
                let key = prop.range.start;
                Some(Member { name: prop.name.into_string(), key, value: node(prop.value)? })
            };
            let members: Option<Vec<Member>> = object.properties.into_iter().map(member).collect();
            Node::flow(at, distinct(members?)?)
        }
        Ast::Array(array) => {
            let items: Option<Vec<Node>> = array.elements.into_iter().map(node).collect();
            Node::flow(at, Kind::List(items?))
        }
        Ast::StringLit(text) => Node::new(at, Kind::Text(text.value.into_owned())),
        Ast::NumberLit(number) => Node::new(at, Kind::Other(number.value.to_owned())),
        Ast::BooleanLit(value) => Node::new(at, Kind::Other(value.value.to_string())),
        Ast::NullKeyword(_) => Node::new(at, Kind::Other("null".to_owned())),
    })
}

/// The text with this value at the end of a way: as the member of this name, or as an item of a
/// list.
pub fn insert(text: &str, tree: &Node, item: &Item, value: &Value) -> Option<String> {
    let way = item.way;
    let name = item.name();
    let leaf = match name {
        Some(name) => format!("\"{name}\": {}", flow::json_line(value)),
        None => flow::json_line(value),
    };
    let mut node = tree;
    for (depth, next) in way.iter().enumerate() {
        match node.get(next) {
            Some(found) => node = found,
            None if node.is_map() => {
                let is_list = name.is_none();
                let made = if depth > 0 && node.is_empty() {
                    on_one_line(&way[depth..], is_list, &leaf)
                } else {
                    on_lines(way, is_list, depth, &leaf, node.is_empty())
                };
                return Some(put(text, node.open()..node.open(), &made));
            }
            None => return None,
        }
    }
    let fits = if name.is_some() { node.is_map() } else { node.is_list() };
    fits.then(|| flow::insert(text, node, &leaf))
}

/// The text without one of those in the last of these containers, which a way leads through, and
/// without the containers that [`insert`] has made.
pub fn cut(text: &str, containers: &[&Node], way: &[&str], index: usize) -> Option<String> {
    let last = containers.last()?;
    let leaf = &text[last.spans().get(index)?.clone()];
    for (depth, container) in containers.iter().enumerate().take(way.len()) {
        let is_only = container.spans().len() == 1;
        let lines = on_lines(way, last.is_list(), depth, leaf, is_only);
        let line = on_one_line(&way[depth..], last.is_list(), leaf);
        for made in [Some(lines), Some(line).filter(|_| depth > 0 && is_only)].into_iter().flatten()
        {
            if text[container.open()..].starts_with(&made) {
                return Some(put(text, container.open()..container.open() + made.len(), ""));
            }
        }
    }
    flow::cut(text, last, index, Comments::Slashes)
}

/// What is put behind the opening bracket of a container so deep that has no next one.
fn on_lines(way: &[&str], is_list: bool, depth: usize, leaf: &str, is_only: bool) -> String {
    let indent = |depth: usize| "  ".repeat(depth + 1);
    let (mut begin, mut end) = (String::new(), String::new());
    for (at, name) in way.iter().enumerate().skip(depth) {
        let is_list = is_list && at + 1 == way.len();
        let (open, close) = if is_list { ('[', ']') } else { ('{', '}') };
        begin.push_str(&format!("\n{}\"{name}\": {open}", indent(at)));
        end.insert_str(0, &format!("\n{}{close}", indent(at)));
    }
    let last = if is_only { format!("\n{}", "  ".repeat(depth)) } else { ",".to_owned() };
    format!("{begin}\n{}{leaf}{end}{last}", indent(way.len()))
}

/// The same in an empty container of somebody's, which would else look as if it were made too.
fn on_one_line(way: &[&str], is_list: bool, leaf: &str) -> String {
    let open = |at: usize| if is_list && at + 1 == way.len() { ('[', ']') } else { ('{', '}') };
    (0..way.len()).rev().fold(leaf.to_owned(), |inner, at| {
        let (begin, end) = open(at);
        format!("\"{}\": {begin} {inner} {end}", way[at])
    })
}
