//! The view without a terminal: what is drawn of plain values, and what news and keys do to them.
//! What the real program does on a real terminal is tested with the command.

mod behaviour;
mod edges;
mod screens;
mod stage;
mod steady;
