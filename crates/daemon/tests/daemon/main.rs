//! The real daemon as a process of its own, spoken to over its socket. Only hosts are played by the
//! tests.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]
#![expect(clippy::expect_used, reason = "the same, with words")]

mod bell;
mod board;
mod calls;
mod connection;
mod handshake;
mod hosts;
mod life;
mod local_host;
mod opencode;
mod privacy;
mod rubbish;
mod watching;

/// Not a test: the daemon that the tests start, because a test's binary is the only program that is
/// surely there.
#[test]
fn the_daemon_itself() {
    if std::env::var_os(local_host::AS_DAEMON).is_some() {
        local_host::be_the_daemon();
    }
}

/// Not a test either: a program of another user.
#[test]
fn the_stranger_itself() {
    if let Some(socket) = std::env::var_os(local_host::AS_STRANGER) {
        local_host::be_a_stranger(socket.as_ref());
    }
}
