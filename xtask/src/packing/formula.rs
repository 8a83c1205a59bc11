//! The Homebrew formula, made from the sums of a release: the archives are those that everybody
//! else gets.

use super::project::Project;
use super::{SYSTEMS, Words, told, write};
use crate::{Fault, tree};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Makes the Homebrew formula of this version from the sums of its archives.

Usage: cargo xtask formula --sums FILE --out FILE

Options:
  --sums FILE   SHA256SUMS of the release
  --out FILE    legwork.rb of the tap";

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        let words = Words::read(args, &["--sums", "--out"])?;
        let (sums, out) = (words.needed("--sums")?, words.needed("--out")?);
        let sums = fs::read_to_string(sums)
            .map_err(|cause| Fault::trying(format!("reading {sums}"), cause))?;
        write(Path::new(out), text(&Project::of(&tree::root())?, &sums)?)?;
        Ok(out.to_owned())
    })
}

/// The formula.
///
/// # Errors
/// When a sum is missing or is none.
pub fn text(project: &Project, sums: &str) -> Result<String, Fault> {
    let Project { version, repository } = project;
    let one = |system: &str| {
        let target = SYSTEMS.iter().find(|(name, _)| *name == system).map_or("", |(_, one)| one);
        let archive = format!("legwork-{target}.tar.gz");
        let sum = sum_of(sums, &archive)
            .ok_or_else(|| Fault::new(format!("the sums have none for {archive}")))?;
        Ok(format!(
            "      url \"{repository}/releases/download/v{version}/{archive}\"\n      \
             sha256 \"{sum}\"\n"
        ))
    };
    let (mac_arm, mac_intel) = (one("darwin-arm64")?, one("darwin-x64")?);
    let (linux_arm, linux_intel) = (one("linux-arm64")?, one("linux-x64")?);
    Ok(format!(
        r##"class Legwork < Formula
  desc "Background helpers for coding agents"
  homepage "{repository}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
{mac_arm}    end
    on_intel do
{mac_intel}    end
  end

  on_linux do
    on_arm do
{linux_arm}    end
    on_intel do
{linux_intel}    end
  end

  def install
    bin.install "legwork"
    generate_completions_from_executable(bin/"legwork", "completions")
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/legwork --version")
  end
end
"##
    ))
}

/// The sum of a file in what `sha256sum` prints.
fn sum_of<'a>(sums: &'a str, file: &str) -> Option<&'a str> {
    let named = |line: &&str| line.split_whitespace().nth(1) == Some(file);
    let sum = sums.lines().find(named)?.split_whitespace().next()?;
    let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sum.then_some(sum)
}
