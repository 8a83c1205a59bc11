//! The terminal view: all helpers on one screen.
