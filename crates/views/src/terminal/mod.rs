//! The terminal view: all helpers on one screen, live, with what they ask, say and did.
//!
//! Three parts that know little of each other. `model` is what is known and chosen: it takes news
//! and keys and says what is to be done. `draw` makes a screen of it and decides nothing.
//! `run` has the threads: one reads the board, one the conversation of the task that is
//! looked at, two ask and act, one hears keys. Texts of helpers become screens only through
//! `paper`, which leaves out what could steer a terminal.

mod act;
mod draw;
mod fault;
mod feed;
pub mod limits;
mod model;
mod paper;
mod run;
pub mod takeover;

#[cfg(test)]
mod tests;

pub use act::Launches;
pub use fault::Fault;
pub use run::{Ended, Setup, Stopper, run};
