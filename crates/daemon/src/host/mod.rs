//! The way to the hosts: the work of each, in order, and those that are part of this process.

mod built_ins;
mod headless;
mod lanes;
mod offer;
mod worker;

pub use built_ins::BuiltIns;
pub use headless::HeadlessHosts;
pub use offer::{offer, tell_agents};
pub use worker::{Findings, Found, HostWorker};
