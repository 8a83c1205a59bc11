//! What the tests need to speak to a real host: a model that does what the prompt says, the real
//! OpenCode in a home of its own, a small client of its API, and the end of all of it. And a real
//! browser, for what a person sees, and an npm registry, for what they install. And an agent over
//! ACP that misbehaves.
//!
//! Every wait has a deadline and says what it saw. Nothing that a test starts outlives it, not even
//! when the test is killed. Nothing here but [`agent`] and [`legwork`] knows of legwork, and
//! nothing of legwork may need it but its tests.

#![expect(
    clippy::expect_used,
    reason = "the whole crate is a test tool: to panic is how it reports"
)]

pub mod agent;
mod api;
mod browser;
mod child;
mod events;
mod home;
mod http;
mod install;
mod kit;
pub mod legwork;
mod mcp_client;
mod message;
mod model;
mod played;
mod process;
mod pty;
mod script;
mod shelf;
mod sweep;
mod tui;

pub use api::Client;
pub use browser::{Answered, Browser, BrowserContext, Page, REBOUND};
pub use child::{Lines, Patient, ended, output, output_of};
pub use events::{Event, Events};
pub use home::{Home, HomeBuilder};
pub use http::Answer;
pub use install::{Installed, VERSION, npm};
pub use kit::{DEADLINE, block_on, poll};
pub use mcp_client::{McpClient, claude_settings, codex_settings};
pub use message::{Call, parts, texts};
pub use model::{End, Model, Offered, Request, Said};
pub use played::{Played, act_as_program};
pub use process::{Output, Run, Serve};
pub use pty::Terminal;
pub use script::{Line, call, parse, script};
pub use shelf::{Registry, Shelf, nowhere};
pub use tui::Tui;
