//! What people look at: the tasks as they change, on a page and on a terminal.
//!
//! [`model`] has the rows, phrases, questions and Markdown that every view shares, as plain values.
//! [`page`] serves the browser's page, whose files are in `page/` beside `src/`. [`terminal`] draws
//! on a terminal. Each view is a client of the daemon like any command, and decides nothing.

pub mod model;
pub mod page;
pub mod terminal;
