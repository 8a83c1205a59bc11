//! The one API that every front speaks: a model's tools, the commands, and whatever comes.
//!
//! A front sends a [`Request`] and gets an [`Answer`] or a [`Refusal`], all of them plain values.
//! Sentences are made of them at the edges: for models in the engine's `text`, for people in the
//! commands. A model's tool call is read into the same requests ([`ToolCall`]).

mod answer;
pub mod board;
pub mod refusal;
mod request;
pub mod tool;
pub mod transcript;
pub mod view;

pub use answer::{Answer, Awaited, Other, Told};
pub use refusal::{Inside, Refusal};
pub use request::{Ask, CostBy, Cursor, List, Reply, Request};
pub use tool::{Note, ToolCall};
