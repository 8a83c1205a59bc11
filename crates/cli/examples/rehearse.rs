//! Opens the real OpenCode in a home of its own, with legwork installed and a model that does what
//! the prompt says, so that everything can be tried by hand without a provider:
//!
//! ```sh
//! cargo build -p legwork && cargo run -p legwork --example rehearse
//! ```
//!
//! Type `/two` for two helpers at once, `/asks` for one that wants a permission, or any script of
//! the test kit that begins with `#script`.
//! Everything that was started ends with it, and its folder goes.

use std::io::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use legwork_testkit::{Home, Model, call, script};
use serde_json::json;

fn main() -> Result<ExitCode, Error> {
    let legwork = binary()?;
    let model = Model::start();
    let careful = json!({ "mode": "subagent", "permission": { "bash": "ask" } });
    let settings = json!({ "agent": { "careful": careful } });
    let home = Home::build(&model).git().settings(settings).make();
    home.set_env("LEGWORK_HOME", &home.root().join("legwork").to_string_lossy());
    let folder = home.project().join(".opencode/command");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("two.md"), two())?;
    std::fs::write(folder.join("asks.md"), asks())?;
    let install = home.command(&legwork).args(["install", "opencode"]).status()?;
    if !install.success() {
        return Ok(ExitCode::FAILURE);
    }
    std::fs::write(home.root().join("env"), env(&home, &legwork))?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut opencode = home.opencode(&args);
    let ended = opencode.stdin(std::process::Stdio::inherit()).status()?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The binary beside this one.
fn binary() -> Result<PathBuf, Error> {
    let own = std::env::current_exe()?;
    let beside = own.parent().and_then(|examples| examples.parent());
    let binary = beside.map(|folder| folder.join("legwork")).filter(|path| path.exists());
    binary.ok_or_else(|| Error::other("build the binary first: cargo build -p legwork"))
}

fn helper(agent: &str, description: &str, steps: &[&str]) -> String {
    let launch = json!({ "description": description, "prompt": script(steps), "agent": agent });
    call("background_task", &launch)
}

fn bash(command: &str) -> String {
    call("bash", &json!({ "command": command, "description": "b" }))
}

/// `/asks`: a helper that may not run a command without a permission.
fn asks() -> String {
    let test = bash("cargo test --workspace");
    let launch = helper("careful", "Run the tests", &[&test, "say All of them pass."]);
    script(&[&launch, "say I have launched a helper and go on meanwhile."])
}

/// `/two`: two helpers, one of them slow.
fn two() -> String {
    let slow: Vec<String> = (0..4).map(|n| bash(&format!("sleep 3; echo {n}"))).collect();
    let mut slow: Vec<&str> = slow.iter().map(String::as_str).collect();
    slow.push("say The slow one is done.");
    let both = [
        helper("general", "Look at the error handling", &slow),
        helper("general", "Count the tests", &["wait 4000\nsay There are 42 tests."]),
    ];
    let steps =
        [both.join("\n"), "say I have launched two helpers and go on meanwhile.".to_owned()];
    script(&steps.iter().map(String::as_str).collect::<Vec<_>>())
}

/// For a second terminal: `. env` there, and the commands speak with this home's daemon.
fn env(home: &Home, legwork: &std::path::Path) -> String {
    let own = home.root().join("legwork");
    format!("export LEGWORK_HOME={}\nalias legwork={}\n", own.display(), legwork.display())
}
