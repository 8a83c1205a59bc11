//! The version of this daemon, and whether another is newer.

pub const BUILD: &str = env!("CARGO_PKG_VERSION");

pub fn is_newer(build: &str) -> bool {
    legwork_client::is_newer(build, BUILD)
}
