//! What is kept of sessions, in files.

pub mod mailbox;
pub mod session_log;
