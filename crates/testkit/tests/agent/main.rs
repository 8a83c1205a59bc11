//! The agent that misbehaves, spoken to over pipes in memory. Time is virtual.

mod commands;
mod misbehave;
