//! A scenario for every requirement that the engine or the store decides, and for every way in
//! which others are known to fail. The requirement's number begins the test's name.

mod cancel;
mod clear;
mod ends;
mod keeping;
mod launch;
mod notices;
mod questions;
mod silence;
mod telling;
mod launch_limits;
mod resume;
mod resume_ends;
