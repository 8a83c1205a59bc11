//! Puts the tree together from the parser's events. What is open is a stack; whatever ends is made
//! a block or a span of the one around it.

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::{Block, Cell, Span};
use crate::model::limits::{LINK_MAX_BYTES, MARKDOWN_MAX_DEPTH, MARKDOWN_MAX_NODES};
use crate::model::text::harmless;

/// Addresses that a link may lead to.
const SAFE: [&str; 3] = ["http://", "https://", "mailto:"];

#[derive(Debug, Default)]
pub struct Tree {
    done: Vec<Block>,
    open: Vec<Open>,
    nodes: usize,
}

/// Something that has begun and not ended.
#[derive(Debug)]
enum Open {
    Quote(Vec<Block>),
    List {
        ordered: bool,
        start: u64,
        items: Vec<Vec<Block>>,
    },
    Item(Vec<Block>),
    Table {
        head: Vec<Cell>,
        rows: Vec<Vec<Cell>>,
    },
    Head(Vec<Cell>),
    Row(Vec<Cell>),
    Paragraph(Vec<Span>),
    Heading(u8, Vec<Span>),
    Cell(Vec<Span>),
    Strong(Vec<Span>),
    Emphasis(Vec<Span>),
    Struck(Vec<Span>),
    Link {
        to: String,
        of: Vec<Span>,
    },
    Code {
        language: Option<String>,
        text: String,
    },
    /// Is not told from what is around it.
    Through,
}

impl Tree {
    /// Takes the next event in, unless the tree is large enough.
    pub fn take(&mut self, event: Event<'_>) -> bool {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(&text),
            // Raw HTML is what somebody wrote, and no more than that.
            Event::Html(text) | Event::InlineHtml(text) => self.lines(&text),
            Event::Code(text) => self.span(Span::Code { text: harmless(&text) }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.span(Span::Break),
            Event::Rule => self.block(Block::Rule),
            Event::TaskListMarker(is_done) => self.text(if is_done { "[x] " } else { "[ ] " }),
        }
        self.nodes < MARKDOWN_MAX_NODES
    }

    /// The blocks; what has not ended ends here.
    pub fn finish(mut self) -> Vec<Block> {
        while !self.open.is_empty() {
            self.end();
        }
        self.done
    }

    fn start(&mut self, tag: Tag<'_>) {
        let fits = self.open.len() < MARKDOWN_MAX_DEPTH;
        let open = match tag {
            // Parts of what is open, so there is room for them.
            Tag::Item if self.is_in_list() => Open::Item(vec![]),
            Tag::TableHead if self.is_in_table() => Open::Head(vec![]),
            Tag::TableRow if self.is_in_table() => Open::Row(vec![]),
            Tag::TableCell if self.is_in_row() => Open::Cell(vec![]),
            _ if !fits => Open::Through,
            Tag::Paragraph | Tag::HtmlBlock => Open::Paragraph(vec![]),
            Tag::Heading { level, .. } => Open::Heading(level as u8, vec![]),
            Tag::BlockQuote(_) => Open::Quote(vec![]),
            Tag::CodeBlock(kind) => Open::Code { language: language(kind), text: String::new() },
            Tag::List(start) => {
                Open::List { ordered: start.is_some(), start: start.unwrap_or(1), items: vec![] }
            }
            Tag::Table(_) => Open::Table { head: vec![], rows: vec![] },
            Tag::Strong => Open::Strong(vec![]),
            Tag::Emphasis => Open::Emphasis(vec![]),
            Tag::Strikethrough => Open::Struck(vec![]),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                Open::Link { to: harmless(&dest_url), of: vec![] }
            }
            _ => Open::Through,
        };
        self.open.push(open);
    }

    fn end(&mut self) {
        match self.open.pop() {
            None | Some(Open::Through) => {}
            Some(Open::Quote(of)) => self.block(Block::Quote { of }),
            Some(Open::List { ordered, start, items }) => {
                self.block(Block::List { ordered, start, items });
            }
            Some(Open::Item(of)) => {
                if let Some(Open::List { items, .. }) = self.open.last_mut() {
                    items.push(of);
                }
            }
            Some(Open::Table { head, rows }) => self.block(Block::Table { head, rows }),
            Some(Open::Head(cells)) => {
                if let Some(Open::Table { head, .. }) = self.open.last_mut() {
                    *head = cells;
                }
            }
            Some(Open::Row(cells)) => {
                if let Some(Open::Table { rows, .. }) = self.open.last_mut() {
                    rows.push(cells);
                }
            }
            Some(Open::Cell(of)) => {
                if let Some(Open::Head(cells) | Open::Row(cells)) = self.open.last_mut() {
                    cells.push(of);
                }
            }
            Some(Open::Paragraph(of)) => self.block(Block::Paragraph { of }),
            Some(Open::Heading(level, of)) => self.block(Block::Heading { level, of }),
            Some(Open::Strong(of)) => self.span(Span::Strong { of }),
            Some(Open::Emphasis(of)) => self.span(Span::Emphasis { of }),
            Some(Open::Struck(of)) => self.span(Span::Struck { of }),
            Some(Open::Link { to, of }) => self.link(to, of),
            Some(Open::Code { language, text }) => self.block(Block::Code { language, text }),
        }
    }

    fn is_in_list(&self) -> bool {
        matches!(self.open.last(), Some(Open::List { .. }))
    }

    fn is_in_table(&self) -> bool {
        matches!(self.open.last(), Some(Open::Table { .. }))
    }

    fn is_in_row(&self) -> bool {
        matches!(self.open.last(), Some(Open::Head(_) | Open::Row(_)))
    }

    fn link(&mut self, to: String, of: Vec<Span>) {
        if is_safe(&to) {
            let of = if of.is_empty() { vec![Span::Text { text: to.clone() }] } else { of };
            return self.span(Span::Link { to, of });
        }
        for span in of {
            self.span(span);
        }
        if !to.is_empty() {
            let shown: String = to.chars().take(LINK_MAX_BYTES).collect();
            self.text(&format!(" ({shown})"));
        }
    }

    fn text(&mut self, text: &str) {
        let text = harmless(text);
        if let Some(Open::Code { text: code, .. }) = self.open.last_mut() {
            code.push_str(&text);
        } else if !text.is_empty() {
            self.span(Span::Text { text });
        }
    }

    /// A text whose line breaks count.
    fn lines(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.span(Span::Break);
            }
            self.text(line);
        }
    }

    fn span(&mut self, span: Span) {
        self.nodes += 1;
        let to = self.open.iter_mut().rev().find(|open| !matches!(open, Open::Through));
        match to {
            Some(
                Open::Paragraph(of)
                | Open::Heading(_, of)
                | Open::Cell(of)
                | Open::Strong(of)
                | Open::Emphasis(of)
                | Open::Struck(of)
                | Open::Link { of, .. },
            ) => push(of, span),
            Some(Open::Quote(blocks) | Open::Item(blocks)) => push_loose(blocks, span),
            None => push_loose(&mut self.done, span),
            // Between the parts of a list or table stands nothing; in code all is text.
            Some(_) => {}
        }
    }

    fn block(&mut self, block: Block) {
        self.nodes += 1;
        let to = self.open.iter_mut().rev().find(|open| !matches!(open, Open::Through));
        match to {
            Some(Open::Quote(blocks) | Open::Item(blocks)) => blocks.push(block),
            None => self.done.push(block),
            // No block begins within a line.
            Some(_) => {}
        }
    }
}

/// A span without a paragraph around it: items of a tight list have none.
fn push_loose(blocks: &mut Vec<Block>, span: Span) {
    match blocks.last_mut() {
        Some(Block::Paragraph { of }) => push(of, span),
        _ => blocks.push(Block::Paragraph { of: vec![span] }),
    }
}

/// A text goes on with the one before it.
fn push(spans: &mut Vec<Span>, span: Span) {
    match (spans.last_mut(), span) {
        (Some(Span::Text { text }), Span::Text { text: more }) => text.push_str(&more),
        (_, span) => spans.push(span),
    }
}

fn is_safe(address: &str) -> bool {
    let begins = |safe: &&str| {
        address.get(..safe.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(safe))
    };
    address.len() <= LINK_MAX_BYTES && SAFE.iter().any(begins)
}

fn language(kind: CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let word = |c: &char| c.is_alphanumeric() || matches!(c, '+' | '-' | '#' | '_');
    let name: String = info.chars().take_while(word).take(40).collect();
    (!name.is_empty()).then_some(name)
}
