//! What is remembered to save requests. Everything here may be forgotten at any time, and is when
//! events may have been missed.

pub mod conversation;
pub mod event_cache;
pub mod followed;
pub mod link_cache;
mod reply_builder;
