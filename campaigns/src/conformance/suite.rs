//! The programs that ask: the protocol's conformance suite and its inspector, in versions that are
//! fixed, with a Node of their own. Plays one scenario and reads what was checked.

use std::path::{Path, PathBuf};
use std::process::Command;

use legwork_testkit::{npm, output};
use serde_json::Value;

use crate::conformance::verdict::{Check, Status};
use crate::fault::{Done, Fault};
use crate::files;
use crate::terminal::Terminal;

const SUITE: (&str, &str) = ("@modelcontextprotocol/conformance", "0.2.0-alpha.12");
const INSPECTOR: (&str, &str) = ("@modelcontextprotocol/inspector", "2.12.0");
/// Both need a newer one than legwork does.
const NODE: &str = "22.23.3";
/// For one scenario. The longest waits for three signs of life, which come every ten seconds.
const SCENARIO_MAX_MS: &str = "60000";
const OLD: Option<&str> = Some("2025-11-25");
const NEW: Option<&str> = Some("2026-07-28");
/// Of the suite: an extension has no version.
const EXTENSION: Option<&str> = None;
const TOOLS: usize = 6;
/// How the inspector begins to warn of a tool's schema.
const WARNS: &str = "Warning: tool";

/// What the suite plays, in which version of the protocol.
pub struct Scenario {
    pub name: &'static str,
    pub version: Option<&'static str>,
}

/// Those about what legwork has: tools, tasks, forms and progress. Left out are prompts, resources,
/// sampling, completion, logging, and what HTTP alone has.
pub const SCENARIOS: [Scenario; 19] = [
    Scenario { name: "server-initialize", version: OLD },
    Scenario { name: "ping", version: OLD },
    Scenario { name: "tools-list", version: OLD },
    Scenario { name: "tools-call-simple-text", version: OLD },
    Scenario { name: "tools-call-error", version: OLD },
    Scenario { name: "tools-call-with-progress", version: OLD },
    Scenario { name: "tools-call-elicitation", version: OLD },
    Scenario { name: "server-stateless", version: NEW },
    Scenario { name: "tools-list", version: NEW },
    Scenario { name: "tools-call-simple-text", version: NEW },
    Scenario { name: "tools-call-error", version: NEW },
    Scenario { name: "caching", version: NEW },
    Scenario { name: "input-required-result-unsupported-methods", version: NEW },
    Scenario { name: "tasks-lifecycle", version: EXTENSION },
    Scenario { name: "tasks-capability-negotiation", version: EXTENSION },
    Scenario { name: "tasks-wire-fields", version: EXTENSION },
    Scenario { name: "tasks-dispatch-and-envelope", version: EXTENSION },
    Scenario { name: "tasks-request-state-removal", version: EXTENSION },
    Scenario { name: "tasks-mrtr-input", version: EXTENSION },
];

/// The programs, installed.
pub struct Suite {
    pub node: PathBuf,
    suite: PathBuf,
    inspector: PathBuf,
}

impl Suite {
    /// Installs what is not there yet into the target folder. Panics if npm cannot.
    pub fn install() -> Self {
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let package = format!("node-linux-{arch}");
        let node = npm(&package, &package, NODE, |_| {});
        let modules = |name: &str, (package, version): (&str, &str)| {
            npm(name, package, version, |_| {}).join("node_modules").join(package)
        };
        Self {
            node: node.join("node_modules").join(package).join("bin/node"),
            suite: modules("mcp-conformance", SUITE).join("dist/index.js"),
            inspector: modules("mcp-inspector", INSPECTOR).join("clients/launcher/build/index.js"),
        }
    }

    /// Which versions these are.
    pub fn versions() -> String {
        let name = |(package, version): (&str, &str)| format!("{package} {version}");
        format!("{}, {}, Node {NODE}", name(SUITE), name(INSPECTOR))
    }

    /// Lets the suite play one scenario against a bridge.
    ///
    /// # Errors
    /// When it leaves no results.
    pub fn play(&self, terminal: &Terminal, url: &str, scenario: &Scenario) -> Done<Vec<Check>> {
        let version = scenario.version.unwrap_or("extension");
        let folder = terminal.home.root().join("conformance").join(version).join(scenario.name);
        let mut command = self.command(terminal, &self.suite);
        command.args(["server", "--url", url, "--scenario", scenario.name]);
        command.args(["--timeout", SCENARIO_MAX_MS, "--output-dir"]).arg(&folder);
        if let Some(version) = scenario.version {
            command.args(["--spec-version", version]);
        }
        let played = output(&mut command);
        let result = files::all(&folder).into_iter().find(|file| file.ends_with("checks.json"));
        let checks = result.and_then(|file| std::fs::read(file).ok());
        let checks = checks.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let checks = checks.as_ref().and_then(Value::as_array).filter(|list| !list.is_empty());
        let checks = checks.map(|list| list.iter().map(Check::read).collect::<Done<Vec<_>>>());
        checks.unwrap_or_else(|| {
            let said = String::from_utf8_lossy(&played.stdout).into_owned()
                + &String::from_utf8_lossy(&played.stderr);
            Err(Fault::trying(format!("{} left no results", scenario.name), said))
        })
    }

    /// Lets the inspector read the tools and look for schemas that some clients refuse. It only
    /// warns of most; here a warning is a failure.
    pub fn inspect(&self, terminal: &Terminal) -> Vec<Check> {
        let mut command = self.command(terminal, &self.inspector);
        command.arg("--cli").arg(terminal.legwork.path());
        command.args(["mcp", "--method", "tools/list", "--strict"]);
        let read = output(&mut command);
        let list: Value = serde_json::from_slice(&read.stdout).unwrap_or_default();
        let count = list["tools"].as_array().map_or(0, Vec::len);
        let said = String::from_utf8_lossy(&read.stderr);
        let held = read.status.success() && count == TOOLS && !said.contains(WARNS);
        let status = if held { Status::Passed } else { Status::Failed };
        let error = format!("{count} tools, {}: {}", read.status, said.trim());
        vec![Check { id: "tools-list-strict".to_owned(), status, error }]
    }

    fn command(&self, terminal: &Terminal, program: &Path) -> Command {
        let mut command = terminal.home.command(&self.node);
        command.arg(program);
        command
    }
}
