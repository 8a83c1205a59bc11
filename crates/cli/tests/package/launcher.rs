//! The command of the npm package, under the Node that is here, and how it finds the program.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use legwork_testkit::{Lines, Registry, ended, output, output_of};

use crate::packages::{Packages, VERSION, link_tools, system};
use crate::stage::printed;

fn launcher(modules: &Path) -> PathBuf {
    modules.join("legwork/bin/legwork.mjs")
}

fn node(script: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg(script).env_remove("LEGWORK_BIN").env_remove("LEGWORK_INSTALLED_BY");
    command
}

/// A program of a few lines.
fn program(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn i1_the_command_is_the_program_of_the_package() {
    let (modules, _folder) = Packages::of(VERSION).installed(true);
    let told = output(node(&launcher(&modules)).arg("--version"));
    assert_eq!(printed(&told).trim(), format!("legwork {VERSION}"), "{told:?}");
    let wrong = output(node(&launcher(&modules)).arg("no-such-command"));
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

#[test]
fn i1_npm_installs_the_command_with_the_program_of_this_system_alone() {
    let registry = Registry::start();
    Packages::of(VERSION).publish(&registry);
    let other = if system() == "darwin-arm64" { "linux-x64" } else { "darwin-arm64" };
    let foreign = Packages::for_system(other, VERSION, Path::new("/bin/sh"));
    registry.publish(&foreign.program_for(other));
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new("npm")
        .args(["install", "--global", "--no-audit", "--no-fund", "--registry", &registry.url()])
        .arg(format!("legwork@{VERSION}"))
        .arg("--prefix")
        .arg(folder.path())
        .env("HOME", folder.path())
        .env("npm_config_cache", folder.path().join("cache"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let told = Command::new(folder.path().join("bin/legwork"))
        .arg("--version")
        .env_remove("LEGWORK_BIN")
        .output()
        .unwrap();
    assert_eq!(printed(&told).trim(), format!("legwork {VERSION}"), "{told:?}");
    let modules = folder.path().join("lib/node_modules/legwork/node_modules");
    let names = fs::read_dir(modules).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    assert_eq!(names, [format!("legwork-{}", system())]);
}

#[test]
fn i1_the_command_passes_on_words_signals_and_how_it_ended() {
    let (modules, folder) = Packages::with(VERSION, Path::new("/bin/sh")).installed(true);
    let other = folder.path().join("other");
    let run = |args: &[&str]| {
        let mut command = node(&launcher(&modules));
        command.env("LEGWORK_BIN", &other).args(args).stdout(Stdio::piped()).spawn().unwrap()
    };
    program(&other, "echo \"$LEGWORK_INSTALLED_BY: $1, $2\"\nexit 7\n");
    let done = output_of(run(&["a b", "--c"]));
    assert_eq!((printed(&done).trim(), done.status.code()), ("npm: a b, --c", Some(7)));

    // By a signal of its own: a shell says so as 128 and its number.
    program(&other, "kill -KILL $$\n");
    let code = ended(&mut run(&[]));
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&code);
    assert!(code.code() == Some(137) || by_signal == Some(9), "{code:?}");

    for signal in ["TERM", "INT", "HUP"] {
        let lines =
            format!("trap 'exit 42' {signal}\necho ready\nwhile read -r line; do :; done\n");
        program(&other, &lines);
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut command = node(&launcher(&modules));
        command.env("LEGWORK_BIN", &other).stdin(reader).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        assert_eq!(Lines::of(child.stdout.take().unwrap()).next().unwrap(), "ready");
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(ended(&mut child).code(), Some(42), "{signal}");
    }
}

#[test]
fn i1_a_command_without_its_program_says_so_and_never_starts_itself() {
    let (modules, folder) = Packages::with(VERSION, Path::new("/bin/sh")).installed(false);
    let bin = folder.path().join("bin");
    link_tools(&bin, &["node", "env"]);
    symlink(launcher(&modules), bin.join("legwork")).unwrap();
    let expected = format!(
        "legwork: the program for {} was not installed with the package. Install it again with its \
         optional dependencies: npm install -g legwork@{VERSION}.\n",
        system()
    );
    for named in [None, Some(bin.join("legwork"))] {
        let mut command = Command::new(bin.join("legwork"));
        command.env("PATH", &bin).env_remove("LEGWORK_BIN");
        command.envs(named.map(|path| ("LEGWORK_BIN", path)));
        let done = output(&mut command);
        assert_eq!(String::from_utf8_lossy(&done.stderr), expected);
        assert_eq!(done.status.code(), Some(1));
    }
}

#[test]
fn i1_the_program_is_looked_for_in_order() {
    let (modules, folder) = Packages::with(VERSION, Path::new("/bin/sh")).installed(true);
    let bin = folder.path().join("bin");
    link_tools(&bin, &["node"]);
    program(&bin.join("legwork"), "");
    let found = |setup: &str, named: Option<&str>| {
        let find = modules.join("legwork/find.js");
        let script = format!(
            "{setup}; const {{ find }} = await import({find:?}); const {{ path, why }} = find(); \
             console.log(path ?? why)"
        );
        let mut command = Command::new(bin.join("node"));
        command.args(["--input-type=module", "-e", &script]).env("PATH", &bin);
        command.env_remove("LEGWORK_BIN").envs(named.map(|path| ("LEGWORK_BIN", path)));
        let done = output(&mut command);
        assert!(done.status.success(), "{done:?}");
        printed(&done).trim().to_owned()
    };
    let on = |system: &str, cpu: &str| {
        format!(
            "Object.defineProperty(process, 'platform', {{ value: '{system}' }}); \
             Object.defineProperty(process, 'arch', {{ value: '{cpu}' }})"
        )
    };
    let package = modules.join(format!("legwork-{}", system()));
    assert_eq!(found("", Some("/any/where")), "/any/where");
    assert_eq!(found("", None), package.join("bin/legwork").display().to_string());
    fs::remove_dir_all(&package).unwrap();
    assert_eq!(found("", None), bin.join("legwork").display().to_string());
    assert_eq!(found(&on("freebsd", "x64"), None), bin.join("legwork").display().to_string());
    assert_eq!(
        found(&on("win32", "x64"), None),
        "there is no legwork for Windows. Use it inside WSL"
    );
    fs::remove_file(bin.join("legwork")).unwrap();
    assert_eq!(
        found(&on("freebsd", "x64"), None),
        "there is no legwork for freebsd-x64 on npm. Build it from its source, and put it on the \
         PATH"
    );
}
