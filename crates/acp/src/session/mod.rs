//! What is kept of sessions, in files.

pub mod session_log;
