//! The deterministic simulation that tests legwork: virtual hosts with bad habits, crashes at every
//! step, faults as plain fields, and checkers that see everything.
//!
//! The engine and the shell are the real ones; hosts, callers, clocks and disks are simulated, and
//! everything that happens follows from a seed.

pub mod adapter;
pub mod audit;
pub mod books;
pub mod calls;
pub mod campaign;
mod checks;
pub mod clients;
mod conditions;
mod daemon;
pub mod edges;
pub mod fence;
mod figures;
mod headless;
pub mod host;
mod links;
mod machine;
pub mod memory;
pub mod names;
pub mod seeds;
pub mod story;
pub mod trace;
mod trees;
mod unread;
pub mod verdict;
pub mod wire;
pub mod world;

pub use story::Story;
pub use world::World;
