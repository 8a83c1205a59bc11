//! The answer of a turn: what the agent said after its last tool call.

use crate::limits::TEXT_MAX_BYTES;

#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The text since the last tool call.
    text: String,
    /// Where the last piece of the text begins.
    piece_at: usize,
    /// The last text before that tool call.
    before: String,
    /// The length of all texts of the turn.
    bytes: usize,
    /// True if the agent says that its thread has an error, as Codex does.
    pub is_broken: bool,
    /// What was refused to the agent, if it has said nothing since.
    pub refused: Option<String>,
}

impl Answer {
    pub fn push(&mut self, piece: &str) {
        self.bytes += piece.len();
        self.refused = None;
        self.piece_at = self.text.len();
        self.text.push_str(piece);
    }

    pub fn tool_began(&mut self) {
        if !self.text.trim().is_empty() {
            self.before = std::mem::take(&mut self.text);
            self.piece_at = 0;
        }
    }

    /// True if the agent has written more than anybody can read.
    pub fn is_flood(&self) -> bool {
        self.bytes > TEXT_MAX_BYTES
    }

    pub fn text(&self) -> &str {
        let last = self.text.trim();
        if last.is_empty() { self.before.trim() } else { last }
    }

    /// The text before the last piece, and that piece.
    pub fn last_piece(&self) -> (&str, &str) {
        let (before, piece) = self.text.split_at(self.piece_at);
        (if before.trim().is_empty() { &self.before } else { before }, piece)
    }
}
