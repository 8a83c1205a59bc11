//! Pages of `docs/` that are made from the program itself, and the test that they still say the
//! same.

use std::path::Path;
use std::{env, fs};

/// Set in the environment to have the pages written anew.
const WRITE: &str = "LEGWORK_WRITE_DOCS";

#[track_caller]
pub fn check(name: &str, wanted: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if env::var_os(WRITE).is_some() {
        fs::write(&file, wanted).unwrap();
    }
    assert!(
        fs::read_to_string(&file).is_ok_and(|page| page == wanted),
        "docs/{name} differs from what the program says: run `{WRITE}=1 cargo test -p legwork --bin \
         legwork of_docs` to write it anew"
    );
}
