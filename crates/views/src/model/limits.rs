//! Every limit of what the views hold, with its reason.

/// Finished tasks that a board keeps. It is asked for a hundred, and those that end while somebody
/// looks come on top; older ones are on the pages of a listing.
pub const FINISHED_MAX: usize = 500;

/// Characters of the line that says what a task does: no row is longer, on any screen.
pub const LINE_MAX_CHARS: usize = 300;

/// After a text was expected, no key counts for so long: slow typists press a key a second.
pub const KEYS_GUARD_MS: u64 = 1_500;

/// A question that has just come takes no key for so long: whoever pressed it had not read it.
pub const NEW_QUESTION_MS: u64 = 500;

/// Characters of a title that is made of a prompt: it stands in a row beside other things.
pub const TITLE_MAX_CHARS: usize = 60;

/// Bytes of one text that are read as Markdown: more than a helper writes in one piece (a page of a
/// result has 40,000 bytes). What follows is left out, and said to be.
pub const MARKDOWN_MAX_BYTES: usize = 256 << 10;

/// Blocks and spans that are made of one text. A text of that length has far fewer unless it is
/// made to have many.
pub const MARKDOWN_MAX_NODES: usize = 20_000;

/// Blocks and spans within each other. What is deeper is text of the one around it.
pub const MARKDOWN_MAX_DEPTH: usize = 24;

/// Bytes of an address that is made a link; a longer one is text.
pub const LINK_MAX_BYTES: usize = 2_000;
