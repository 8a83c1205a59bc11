//! Markdown as plain values: a tree of blocks and spans with known names, from which the page makes
//! elements and the terminal makes lines. There is no HTML anywhere, so there is nothing to clean:
//! raw HTML is text, pictures are links, and a link leads to http, https or mail, or is text.
//!
//! The tree is bounded in size and depth, and no text in it has what could steer a screen.

mod build;
#[cfg(test)]
mod tests;

use pulldown_cmark::{Options, Parser};
use serde::{Deserialize, Serialize};

use crate::model::limits::MARKDOWN_MAX_BYTES;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Block {
    Paragraph { of: Vec<Span> },
    Heading { level: u8, of: Vec<Span> },
    Code { language: Option<String>, text: String },
    List { ordered: bool, start: u64, items: Vec<Vec<Block>> },
    Quote { of: Vec<Block> },
    Table { head: Vec<Cell>, rows: Vec<Vec<Cell>> },
    Rule,
}

/// A cell of a table.
pub type Cell = Vec<Span>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Span {
    Text {
        text: String,
    },
    Code {
        text: String,
    },
    Strong {
        of: Vec<Span>,
    },
    Emphasis {
        of: Vec<Span>,
    },
    Struck {
        of: Vec<Span>,
    },
    /// To an address with http, https or mailto.
    Link {
        to: String,
        of: Vec<Span>,
    },
    Break,
}

/// What the text says.
pub fn blocks(text: &str) -> Vec<Block> {
    let read = &text[..text.floor_char_boundary(MARKDOWN_MAX_BYTES)];
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tree = build::Tree::default();
    let is_whole = Parser::new_ext(read, options).all(|event| tree.take(event));
    let mut blocks = tree.finish();
    if !is_whole || read.len() < text.len() {
        let text = "… the rest is too long to be shown here.".to_owned();
        blocks.push(Block::Paragraph { of: vec![Span::Text { text }] });
    }
    blocks
}
