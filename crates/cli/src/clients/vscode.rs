//! VS Code: a server in `mcp.json`, of the user's profile or of a project.

use super::json_file::{FRESH, JsonFile, Server};
use super::json_place::{Leaf, Place};

/// `mcp.json`.
pub fn servers() -> JsonFile {
    let place = Place { way: &["servers"], leaf: Leaf::Member("legwork") };
    let server = Some(Server { place, says_stdio: true });
    JsonFile { fresh: FRESH, server, hooks: Vec::new() }
}
