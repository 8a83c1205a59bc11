//! `legwork top` and `legwork watch` on a real terminal: the real binary, the real daemon, the
//! agent that follows its prompt, and a terminal of each test's own.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

mod leaving;
mod live;
mod old;
mod watching;
