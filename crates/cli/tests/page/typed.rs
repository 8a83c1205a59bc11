//! The page's JavaScript, as a compiler reads it: its types are in comments.

use std::fs;
use std::path::Path;
use std::process::Command;

use legwork_testkit::{npm, output};

/// The compiler, which reads JSDoc and checks JavaScript by it.
const VERSION: &str = "7.0.2";

#[test]
fn v2_the_page_has_no_error_that_a_compiler_finds() {
    let installed = npm("typescript", "typescript", VERSION, |fresh| {
        assert!(fresh.join("node_modules/typescript/bin/tsc").exists(), "it is not there");
    });
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../views/page");
    let files = fs::read_dir(&page).unwrap().map(|file| file.unwrap().path());
    let scripts: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|is| is == "js")).collect();
    assert!(scripts.len() > 20, "{scripts:?}");
    let mut compiler = Command::new("node");
    compiler.arg(installed.join("node_modules/typescript/bin/tsc"));
    compiler.args(["--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals"]);
    compiler.args(["--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"]);
    compiler.args(["--lib", "es2023,dom,dom.iterable"]).args(scripts);
    let ended = output(&mut compiler);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "\n{said}");
}
