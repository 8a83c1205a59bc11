//! What legwork believes of OpenCode, one fact a test: the virtual half of the host contract. All
//! but the last file speak through `Contract`, so that the real host can be put in its place.

#![expect(clippy::unwrap_used, reason = "a test may panic, in what it shares with others too")]

#[path = "host/aborts.rs"]
mod aborts;
#[path = "host/contract.rs"]
mod contract;
#[path = "host/endings.rs"]
mod endings;
#[path = "host/onlooker.rs"]
mod onlooker;
#[path = "host/prompts.rs"]
mod prompts;
#[path = "host/sessions.rs"]
mod sessions;
