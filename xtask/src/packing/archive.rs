//! The archives of a release: `legwork-TARGET.tar.gz` with a folder of that name in it, which is
//! where `cargo binstall`, the formula and `install.sh` look for the program.

use super::{Program, SYSTEMS, Words, copy_program, notices, run as run_program, told, write};
use crate::{Fault, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Makes the archives of a release: the program, the README, the manual, the licences, the notices.

Usage: cargo xtask archive --binary TARGET=PATH ... --man DIR --out DIR

Options:
  --binary TARGET=PATH   the program for a target as Rust names it: x86_64-unknown-linux-musl
  --man DIR              the manual pages, as `cargo xtask man` writes them
  --out DIR              where the .tar.gz files go";

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        let words = Words::read(args, &["--man", "--out"])?;
        let root = tree::root();
        let out = PathBuf::from(words.needed("--out")?);
        if words.programs.is_empty() {
            return Err(Fault::new("--binary is missing"));
        }
        let around =
            Around { third_party: notices::of(&root)?, man: words.needed("--man")?.into() };
        let make = |program| Ok(make(&root, program, &around, &out)?.display().to_string());
        Ok(words.programs.iter().map(make).collect::<Result<Vec<String>, Fault>>()?.join("\n"))
    })
}

/// What is in an archive beside the program and what lies in the repository.
pub struct Around {
    /// The notices.
    pub third_party: String,
    /// The folder of the manual pages.
    pub man: PathBuf,
}

/// Makes one archive in `out`.
///
/// # Errors
/// When the target is not one of ours, or a file cannot be written.
pub fn make(root: &Path, program: &Program, around: &Around, out: &Path) -> Result<PathBuf, Fault> {
    let target = &program.target;
    if !SYSTEMS.iter().any(|(_, known)| known == target) {
        return Err(Fault::new(format!("there is no release for a target `{target}`")));
    }
    let name = format!("legwork-{target}");
    let folder = out.join(&name);
    copy_program(&program.path, &folder.join("legwork"))?;
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        write(&folder.join(file), tree::read(root, file)?)?;
    }
    write(&folder.join("THIRD-PARTY.md"), &around.third_party)?;
    copy_pages(&around.man, &folder.join("man"))?;
    let archive = format!("{name}.tar.gz");
    run_program(Command::new("tar").current_dir(out).args(["-czf", &archive, &name]))?;
    Ok(out.join(archive))
}

fn copy_pages(from: &Path, to: &Path) -> Result<(), Fault> {
    let failed = |cause| Fault::trying(format!("reading {}", from.display()), cause);
    let mut any = false;
    for page in std::fs::read_dir(from).map_err(failed)? {
        let page = page.map_err(failed)?;
        let text = std::fs::read(page.path()).map_err(failed)?;
        write(&to.join(page.file_name()), text)?;
        any = true;
    }
    if any { Ok(()) } else { Err(Fault::new(format!("{} has no pages", from.display()))) }
}
