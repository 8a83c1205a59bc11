//! Every decision of legwork: [`Engine::on`] takes an input and the time, and gives back records
//! to save and work to do.
//!
//! This room knows no clock, socket, file, thread, die or host format. It is a plain value that
//! changes only in `on`, so that the same inputs at the same times always give the same history.
//! Read `task.rs` for the lifecycle, then `engine.rs`, then whatever it calls.

pub mod input;
pub mod record;
pub mod task;
pub mod text;
pub mod work;
