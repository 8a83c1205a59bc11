//! A Chromium and axe-core for the tests: the Chromium that `LEGWORK_CHROMIUM` names, else one on
//! the PATH, else one from npm, which needs no root and nothing of the system but libc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::install::npm;

/// The npm package, which has the browser and its libraries in it.
const CHROMIUM: (&str, &str) = ("@sparticuz/chromium", "147.0.0");
const AXE: (&str, &str) = ("axe-core", "4.14.0");
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Unpacks what the package has: the program beside its libraries and a font.
const UNPACK: &str = r#"
const { readFileSync, writeFileSync, mkdirSync } = require('fs');
const { brotliDecompressSync } = require('zlib');
const { execFileSync } = require('child_process');
const [from, to] = process.argv.slice(1);
mkdirSync(to);
const unpack = (name) => brotliDecompressSync(readFileSync(`${from}/${name}.br`));
writeFileSync(`${to}/chromium`, unpack('chromium'), { mode: 0o755 });
for (const name of ['al2023.tar', 'fonts.tar']) {
  execFileSync('tar', ['-x', '-C', to], { input: unpack(name) });
}
"#;

/// A browser on this machine.
#[derive(Debug)]
pub(crate) struct Chromium {
    pub program: PathBuf,
    /// Libraries that it brings along.
    pub libraries: Option<PathBuf>,
}

impl Chromium {
    /// Finds it, or installs it, which takes a while and needs npm.
    pub fn get() -> &'static Self {
        static ONCE: OnceLock<Chromium> = OnceLock::new();
        ONCE.get_or_init(Self::find)
    }

    fn find() -> Self {
        let named = std::env::var_os("LEGWORK_CHROMIUM").filter(|named| !named.is_empty());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let all = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        match named.map(PathBuf::from).or_else(|| all.into_iter().find(|path| path.is_file())) {
            Some(program) => Self { program, libraries: None },
            None => Self::install(),
        }
    }

    fn install() -> Self {
        let (package, version) = CHROMIUM;
        let folder = npm("chromium", package, version, unpack);
        let folder = folder.join("unpacked");
        Self { program: folder.join("chromium"), libraries: Some(folder.join("lib")) }
    }
}

fn unpack(fresh: &Path) {
    let packed = fresh.join("node_modules").join(CHROMIUM.0).join("bin");
    let unpacked = Command::new("node")
        .args(["-e", UNPACK])
        .args([packed, fresh.join("unpacked")])
        .output()
        .expect("node, which npm needs too");
    assert!(unpacked.status.success(), "not unpacked: {unpacked:?}");
}

/// The source of axe-core, for [`super::Page::eval`].
pub(crate) fn axe() -> &'static str {
    static ONCE: OnceLock<String> = OnceLock::new();
    ONCE.get_or_init(|| {
        let source = |folder: &Path| {
            fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).expect("axe-core")
        };
        let (package, version) = AXE;
        source(&npm("axe-core", package, version, |fresh| drop(source(fresh))))
    })
}
