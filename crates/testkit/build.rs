//! Names what the tests need and this machine does not have, before all the rest is built. The
//! tests that need none of it still run, so this is a warning.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-env-changed=PATH");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    for tool in ["git", "node", "npm"] {
        if !folders.iter().any(|folder| folder.join(tool).is_file()) {
            println!(
                "cargo::warning=there is no {tool} on the PATH: tests that run the real OpenCode will \
                 fail. Install it, then try again."
            );
        }
    }
}
