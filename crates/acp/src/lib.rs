//! Any agent that speaks the Agent Client Protocol (ACP) as a host: an agent is a subprocess, spoken
//! to over its stdin and stdout; the sessions are kept here.
//!
//! The only room that knows ACP. It does what it is asked (`Deed`), says what it found (`Finding`)
//! and gives hints; it knows no rules of tasks. `rehearsal` is an agent of our own that follows a
//! script and needs no model.

pub mod agents;
pub mod wire;
