//! The npm packages. `legwork` is the plugin of OpenCode and the command in one; the program for
//! each system is a version of the same name (`0.1.0-linux-x64`) and an optional dependency of it,
//! so one name is all that has to be owned, and nothing is run at installation.
//!
//! The plugin is the one that `legwork install opencode` writes. Only the line that names the
//! program differs: a package has to look for it.

use super::project::Project;
use super::{Program, SYSTEMS, Words, copy_program, notices, run as run_program, told, write};
use crate::{Fault, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Makes the npm packages: `legwork`, and one more for each program that is given.

Usage: cargo xtask npm [--binary SYSTEM=PATH ...] --out DIR

Options:
  --binary SYSTEM=PATH   the program for linux-x64, linux-arm64, darwin-x64 or darwin-arm64
  --out DIR              where the .tgz files go

Publish the programs first, each with `--tag SYSTEM`, and `legwork` last: OpenCode never completes
an installation that could not find its program.";

/// The line that names the program, in both parts of the plugin.
const NAMES_PROGRAM: &str = "const BIN = process.env.LEGWORK_BIN || \"@LEGWORK_BIN@\"\n";
/// What a package has in its place.
const LOOKS_FOR_PROGRAM: &str =
    "import { find } from \"./find.js\"\nconst { path: BIN = \"\", why: NO_BIN } = find()\n";
/// How the line begins that a package does without: the one above says it.
const ALWAYS_THERE: &str = "const NO_BIN = ";
const TOOLS_HOLE: &str = "\"@LEGWORK_TOOLS@\"";
const TOOLS: &str = "crates/protocol/src/tools.rs";

/// The chore.
pub fn run(args: &[String]) -> ExitCode {
    told(USAGE, args, || {
        let words = Words::read(args, &["--out"])?;
        let root = tree::root();
        let out = PathBuf::from(words.needed("--out")?);
        let third_party =
            if words.programs.is_empty() { String::new() } else { notices::of(&root)? };
        let project = Project::of(&root)?;
        let folders = lay_out(&root, &project, &words.programs, &third_party, &out.join("npm"))?;
        let packed: Result<Vec<String>, Fault> =
            folders.iter().map(|folder| Ok(pack(folder, &out)?.display().to_string())).collect();
        Ok(packed?.join("\n"))
    })
}

/// Makes the folders of the packages in `out`, the programs' first and `legwork` last.
///
/// # Errors
/// When a source is not as it is expected, or a file cannot be written.
pub fn lay_out(
    root: &Path,
    project: &Project,
    programs: &[Program],
    third_party: &str,
    out: &Path,
) -> Result<Vec<PathBuf>, Fault> {
    let mut folders = Vec::new();
    for program in programs {
        let folder = out.join(&program.target);
        lay_out_program(root, project, program, &folder)?;
        write(&folder.join("THIRD-PARTY.md"), third_party)?;
        folders.push(folder);
    }
    let folder = out.join("legwork");
    let from = |name: &str| tree::read(root, &format!("npm/{name}"));
    for name in ["package.json", "README.md", "find.js"] {
        write(&folder.join(name), project.fill(&from(name)?))?;
    }
    write(&folder.join("bin/legwork.mjs"), "")?;
    copy_program(&root.join("npm/legwork.mjs"), &folder.join("bin/legwork.mjs"))?;
    let tools = tool_names(&tree::read(root, TOOLS)?)?;
    for (from, to) in [("legwork.js", "plugin.js"), ("tui.js", "tui.js")] {
        let text = tree::read(root, &format!("crates/opencode/plugin/{from}"))?;
        write(&folder.join(to), plugin(&text, &tools, project)?)?;
    }
    copy_licences(root, &folder)?;
    folders.push(folder);
    Ok(folders)
}

fn lay_out_program(
    root: &Path,
    project: &Project,
    program: &Program,
    folder: &Path,
) -> Result<(), Fault> {
    let known = SYSTEMS.iter().any(|(name, _)| *name == program.target);
    let (os, cpu) = program.target.split_once('-').filter(|_| known).ok_or_else(|| {
        Fault::new(format!("there is no package for a system `{}`", program.target))
    })?;
    let manifest = project.fill(&tree::read(root, "npm/program.json")?);
    let manifest = manifest.replace("@LEGWORK_SYSTEM@", &program.target);
    let manifest = manifest.replace("@LEGWORK_OS@", os).replace("@LEGWORK_CPU@", cpu);
    write(&folder.join("package.json"), manifest)?;
    copy_licences(root, folder)?;
    copy_program(&program.path, &folder.join("bin/legwork"))
}

fn copy_licences(root: &Path, folder: &Path) -> Result<(), Fault> {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        write(&folder.join(name), tree::read(root, name)?)?;
    }
    Ok(())
}

/// The plugin as it is in a package.
fn plugin(text: &str, tools: &[String], project: &Project) -> Result<String, Fault> {
    if text.matches(NAMES_PROGRAM).count() != 1 {
        return Err(Fault::new("the plugin has no line that names the program, or several"));
    }
    let text = text.replacen(NAMES_PROGRAM, LOOKS_FOR_PROGRAM, 1);
    let kept = text.split_inclusive('\n').filter(|line| !line.starts_with(ALWAYS_THERE));
    let origin = format!("from the npm package legwork@{}.\n//\n", project.version);
    let text = with_origin(&kept.collect::<String>(), &origin)?;
    let names: Vec<String> = tools.iter().map(|name| format!("\"{name}\"")).collect();
    let text = project.fill(&text.replacen(TOOLS_HOLE, &names.join(", "), 1));
    match text.split_once("@LEGWORK_") {
        None => Ok(text),
        Some((_, rest)) => {
            let hole: String = rest.chars().take_while(|c| *c != '@').collect();
            Err(Fault::new(format!("nothing is known for the hole LEGWORK_{hole} of the plugin")))
        }
    }
}

/// Says where the file is from, in place of who wrote it: the words up to the first empty line of
/// its first comment.
fn with_origin(text: &str, origin: &str) -> Result<String, Fault> {
    let (head, rest) = text.split_once("\n//\n").ok_or_else(|| Fault::new("no head"))?;
    let Some((who, _)) = head.split_once("written by `legwork install opencode`") else {
        return Err(Fault::new("the plugin does not begin with who wrote it"));
    };
    Ok(format!("{who}{origin}{rest}"))
}

/// The names of the tools, in the order of the list that every front takes them from.
fn tool_names(source: &str) -> Result<Vec<String>, Fault> {
    let mut lines = source.lines().map(str::trim);
    let mut names = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("tool::<") {
            let quoted = lines.next().and_then(|name| name.strip_prefix('"')?.strip_suffix("\","));
            let name =
                quoted.ok_or_else(|| Fault::new(format!("{TOOLS}: a tool without a name")))?;
            names.push(name.to_owned());
        }
    }
    if names.is_empty() { Err(Fault::new(format!("{TOOLS} has no tools"))) } else { Ok(names) }
}

/// Packs a folder as npm does; gives the file.
///
/// # Errors
/// When npm is missing or refuses.
pub fn pack(folder: &Path, out: &Path) -> Result<PathBuf, Fault> {
    std::fs::create_dir_all(out)
        .map_err(|cause| Fault::trying(format!("making {}", out.display()), cause))?;
    let out = std::path::absolute(out).map_err(|cause| Fault::trying("finding", cause))?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(&out);
    let printed = run_program(npm.current_dir(folder))?;
    let name = printed.lines().last().ok_or_else(|| Fault::new("npm pack named no file"))?;
    Ok(out.join(name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        Project { version: "1.2.3".to_owned(), repository: "https://host.example/x".to_owned() }
    }

    #[test]
    fn i1_a_hole_that_nobody_fills_is_named() {
        let text = format!(
            "// legwork for OpenCode, written by `legwork install opencode`.\n//\n// It.\n\
             {NAMES_PROGRAM}const NO_BIN = \"\"\nconst NAMES = [\"@LEGWORK_TOOLS@\"]\n"
        );
        let tools = ["a".to_owned(), "b".to_owned()];
        let filled = plugin(&text, &tools, &project()).unwrap();
        let expected = format!(
            "// legwork for OpenCode, from the npm package legwork@1.2.3.\n//\n// It.\n\
             {LOOKS_FOR_PROGRAM}const NAMES = [\"a\", \"b\"]\n"
        );
        assert_eq!(filled, expected);
        let holey = format!("{text}const X = \"@LEGWORK_X@\"\n");
        let fault = plugin(&holey, &tools, &project()).unwrap_err().to_string();
        assert_eq!(fault, "nothing is known for the hole LEGWORK_X of the plugin");
        let fault = plugin("// a\n//\n", &tools, &project()).unwrap_err().to_string();
        assert_eq!(fault, "the plugin has no line that names the program, or several");
    }

    #[test]
    fn i1_tools_are_named_as_in_the_list() {
        let names = tool_names("vec![\n    tool::<A>(\n        \"one\",\n        \"x\",\n    ),\n");
        assert_eq!(names, Ok(vec!["one".to_owned()]));
        assert!(tool_names("").is_err());
    }
}
