//! What becomes of ordinary, hostile and random texts.

use legwork_protocol::refusal::steers;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::limits::{MARKDOWN_MAX_DEPTH, MARKDOWN_MAX_NODES};

fn tree(text: &str) -> Value {
    serde_json::to_value(blocks(text)).unwrap()
}

fn text(text: &str) -> Value {
    json!({"is": "text", "text": text})
}

#[test]
fn v2_markdown_is_a_tree_of_known_names() {
    let source = "# A *b*\n\nOne\ntwo **three** ~~four~~ `five`  \nsix\n\n> quoted\n\n---\n\n\
        ```rust,ignore\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | `2` |\n";
    assert_eq!(
        tree(source),
        json!([
            {"is": "heading", "level": 1, "of": [
                text("A "), {"is": "emphasis", "of": [text("b")]}]},
            {"is": "paragraph", "of": [
                text("One two "), {"is": "strong", "of": [text("three")]}, text(" "),
                {"is": "struck", "of": [text("four")]}, text(" "),
                {"is": "code", "text": "five"}, {"is": "break"}, text("six")]},
            {"is": "quote", "of": [{"is": "paragraph", "of": [text("quoted")]}]},
            {"is": "rule"},
            {"is": "code", "language": "rust", "text": "fn main() {}\n"},
            {"is": "table", "head": [[text("a")], [text("b")]],
                "rows": [[[text("1")], [{"is": "code", "text": "2"}]]]},
        ])
    );
}

#[test]
fn v2_lists_are_nested_and_numbered_as_they_were_written() {
    assert_eq!(
        tree("3. one\n   - [x] deep\n4. two\n"),
        json!([{"is": "list", "ordered": true, "start": 3, "items": [
            [{"is": "paragraph", "of": [text("one")]},
             {"is": "list", "ordered": false, "start": 1, "items": [
                [{"is": "paragraph", "of": [text("[x] deep")]}]]}],
            [{"is": "paragraph", "of": [text("two")]}],
        ]}])
    );
}

#[test]
fn v7_html_is_text_and_a_picture_is_a_link() {
    let html = tree("<script>alert(1)</script>\n\na <b onclick=x>b</b>\n");
    let shown = html.to_string();
    assert!(shown.contains("<script>alert(1)</script>") && shown.contains("<b onclick=x>"));
    assert!(!shown.contains("\"is\":\"script\""));
    assert_eq!(
        tree("![a cat](https://example.org/cat.png)"),
        json!([{"is": "paragraph", "of": [
            {"is": "link", "to": "https://example.org/cat.png", "of": [text("a cat")]}]}])
    );
}

#[test]
fn v7_a_link_leads_to_the_web_or_to_mail_or_is_text_that_shows_its_address() {
    let to = |to: &str| tree(&format!("[here](<{to}>)"));
    for safe in ["http://a.b", "HTTPS://a.b/?q=1", "mailto:a@b.c"] {
        assert_eq!(to(safe)[0]["of"][0]["to"], safe);
    }
    let unsafe_ones = [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:x",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.test",
        "/api/clear",
        "#bg_1",
        "httpx://a",
    ];
    for address in unsafe_ones {
        let shown = to(address);
        assert!(!shown.to_string().contains("\"link\""), "{shown}");
        assert!(shown[0]["of"][0]["text"].as_str().unwrap().contains(address.trim()), "{shown}");
    }
    let long = format!("https://a.b/{}", "x".repeat(5_000));
    assert!(!to(&long).to_string().contains("\"link\""));
}

#[test]
fn v7_a_tree_has_nothing_that_steers() {
    let hostile = "# a\u{1b}[2J\u{202e}b\n\n`c\u{7}\u{9b}`\n\n```x\u{1b}\nd\u{1b}]0;e\u{7}\n```\n\
        [f\u{200f}](https://a.b/\u{202e}c)";
    let shown = tree(hostile).to_string();
    assert!(!shown.chars().any(steers) && !shown.contains("\\u"), "{shown}");
}

#[test]
fn v7_what_is_too_deep_is_text_and_what_is_too_long_ends() {
    let deep = format!("{} bottom", ">".repeat(2_000));
    check(&deep);
    assert!(tree(&deep).to_string().contains("bottom"));
    let stars = format!("{}x{}", "*a ".repeat(3_000), "*".repeat(3_000));
    check(&stars);
    let many = "*a* ".repeat(MARKDOWN_MAX_NODES);
    let last = tree(&many).as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("too long to be shown"), "{last}");
    let lists: String = (0..60).map(|deep| format!("{}- x\n", "  ".repeat(deep))).collect();
    check(&lists);
    let long = "wörd ".repeat(MARKDOWN_MAX_BYTES / 5);
    assert!(tree(&long).to_string().contains("too long to be shown"));
}

const NAMES: [&str; 13] = [
    "paragraph",
    "heading",
    "code",
    "list",
    "quote",
    "table",
    "rule",
    "text",
    "strong",
    "emphasis",
    "struck",
    "link",
    "break",
];

/// Panics if there is something in the tree that a view does not know or must not follow.
fn check(source: &str) {
    walk(&tree(source), 0);
}

fn walk(value: &Value, depth: usize) {
    // Blocks and spans lie in lists, those of a list and a table in lists of lists.
    assert!(depth < 3 * (MARKDOWN_MAX_DEPTH + 4), "{value}");
    match value {
        Value::Array(all) => all.iter().for_each(|one| walk(one, depth + 1)),
        Value::Object(fields) => {
            let name = fields["is"].as_str().unwrap();
            assert!(NAMES.contains(&name), "{name}");
            if name == "link" {
                let to = fields["to"].as_str().unwrap().to_ascii_lowercase();
                let safe = ["http://", "https://", "mailto:"];
                assert!(safe.iter().any(|safe| to.starts_with(safe)), "{to}");
            }
            fields.values().for_each(|one| walk(one, depth + 1));
        }
        Value::String(text) => {
            let may = |c: char| matches!(c, '\n' | '\t') || !steers(c);
            assert!(text.chars().all(may), "{text:?}");
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn v7_any_text_is_a_tree_of_known_names_and_safe_links(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn v7_any_markdown_is_a_tree_of_known_names_and_safe_links(pieces in pieces()) {
        check(&pieces.concat());
    }
}

fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let piece = prop::sample::select(vec![
        "*",
        "**",
        "_",
        "~~",
        "`",
        "```\n",
        "> ",
        "- ",
        "1. ",
        "  ",
        "    ",
        "\n",
        "\n\n",
        "# ",
        "| a | b |\n|---|---|\n",
        "|",
        "[",
        "](",
        ")",
        "![",
        "<",
        ">",
        "<b>",
        "<!--",
        "-->",
        "javascript:x",
        "https://a.b",
        "mailto:a@b",
        "data:x",
        "[a]: x\n",
        "&#x1b;",
        "\u{1b}[2J",
        "\u{202e}",
        "\u{0}",
        "\\",
        "word",
        "---\n",
        "[x] ",
        "$",
        "日本",
    ]);
    prop::collection::vec(piece, 0..60)
}
