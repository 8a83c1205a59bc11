//! The protocol's own library on the other side: what we write by hand, it must understand.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod host;
