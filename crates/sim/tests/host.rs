//! What legwork believes of OpenCode, one fact a test: the virtual half of the host contract. The
//! files that speak through `Contract` run against the real host too, in `testkit/tests/contract`;
//! `moments.rs` and `onlooker.rs` need what only the virtual one has.

#![expect(clippy::unwrap_used, reason = "a test may panic, in what it shares with others too")]

#[path = "host/aborts.rs"]
mod aborts;
#[path = "host/contract.rs"]
mod contract;
#[path = "host/endings.rs"]
mod endings;
#[path = "host/moments.rs"]
mod moments;
#[path = "host/onlooker.rs"]
mod onlooker;
#[path = "host/prompts.rs"]
mod prompts;
#[path = "host/sessions.rs"]
mod sessions;
#[path = "host/subject.rs"]
mod subject;
