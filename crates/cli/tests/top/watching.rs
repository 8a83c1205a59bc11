//! `legwork watch` on a terminal and in a pipe.
