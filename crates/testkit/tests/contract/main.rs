//! What legwork believes of OpenCode, shown on the real one: the same files as in `sim/tests/host`,
//! spoken through the same trait, and in `facts.rs` what only the real one can show. A new version
//! of OpenCode that fails here has changed something that legwork builds on.

#![expect(clippy::unwrap_used, reason = "a test may panic, in what it shares with others too")]

#[path = "../../../sim/tests/host/aborts.rs"]
mod aborts;
#[path = "../../../sim/tests/host/contract.rs"]
mod contract;
#[path = "../../../sim/tests/host/endings.rs"]
mod endings;
mod facts;
#[path = "../../../sim/tests/host/prompts.rs"]
mod prompts;
#[path = "../../../sim/tests/host/sessions.rs"]
mod sessions;
mod subject;
mod words;
