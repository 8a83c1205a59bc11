//! What the machine offers to all of our processes: where files belong and whose they are, which
//! process is which, locks, bounded lines and the wall clock.
//!
//! Depends on no other crate of ours, and knows neither tasks nor hosts nor the daemon.

pub mod children;
mod fault;
mod folders;
mod hash;
pub mod inherited;
mod line_reader;
mod owner;
mod private;
#[cfg(target_os = "linux")]
mod proc;
pub mod process;
mod program;
#[cfg(any(test, not(target_os = "linux")))]
mod ps;
mod std_ext;
pub mod table;

pub use fault::Fault;
pub use folders::{Folders, STORE_LOCK, var};
pub use hash::hash8;
pub use line_reader::{LineReader, TooLong};
pub use owner::{check_owner, check_owner_of};
pub use private::{check_private, create_folder, make_private, private_file, protect};
pub use program::{is_program, on_path, program};
pub use std_ext::{epoch_ms, if_there, lock, random_hex, since_epoch};
