//! The words that cross a process boundary: ids, requests, answers, refusals, limits and the
//! line format.
//!
//! This crate knows no logic. It says what can be said and refuses what cannot, so that everything
//! behind it works on checked values. Decoding rubbish is an error value, never a panic.

#![warn(missing_docs)]

pub mod amounts;
pub mod api;
pub mod ids;
pub mod json_rpc;
pub mod limits;
pub mod line;
pub mod money;
pub mod notify;
pub mod settings;
pub mod slips;
pub mod status;
pub mod timeline;
pub mod tools;
pub mod usage;

pub use api::{Ask, Refusal, refusal, view};
pub use ids::{
    CallId, CallKey, HostId, MessageId, PartId, Place, QuestionId, SessionId, TaskId, Time,
};
pub use money::{Cost, Currency};
pub use settings::{Interrupted, Settings, WakeOn};
pub use status::{Outcome, Stage, Status};
pub use usage::Usage;
