//! `cargo xtask conformance`: the official conformance suite of the Model Context Protocol, and the
//! inspector's check of tool schemas, against the real `legwork mcp` with a daemon and the agent
//! that is built in.

mod bridge;
mod expected;
mod suite;
mod verdict;

use clap::Args;
use serde_json::{Value, json};

use self::bridge::Bridge;
use self::suite::{SCENARIOS, Scenario, Suite};
use self::verdict::Judged;
use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::page::Table;
use crate::progress::{note, say};
use crate::terminal::Terminal;

const CONFIG: &str = "[limits]\nmax_running = 0\nmax_tasks_per_root = 0\n";
const INSPECTOR: &str = "inspector-strict";

/// Run the protocol's conformance suite and the MCP inspector against `legwork mcp`
///
/// Installs both by npm into the target folder, and a Node that runs them. The suite asks over
/// HTTP, so a bridge on this machine stands before `legwork mcp` and lends the names of the suite's
/// tools to ours. Checks that are expected to fail are in
/// campaigns/src/conformance/expected.txt, with the reasons. Exit code 0: nothing else
/// failed; 1: something did, or an expected failure did not happen; 2: could not be done.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask conformance                            all of it, two minutes
  cargo xtask conformance --only tasks-lifecycle     one scenario
  cargo xtask conformance --json                     with the reasons of expected failures")]
pub struct Conformance {
    /// Only these scenarios
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

impl Conformance {
    /// Runs the suite and the inspector.
    pub fn run(self) -> Done<Verdict> {
        self.check_names()?;
        let expected = expected::list()?;
        note("Installing the suite, the inspector and Node, if they are not there yet");
        let suite = Suite::install();
        let terminal = Terminal::open(CONFIG)?;
        terminal.start()?;
        let bridge = Bridge::start(&terminal, &suite)?;
        let mut all: Vec<Judged> = Vec::new();
        for scenario in SCENARIOS.iter().filter(|scenario| self.wants(scenario.name)) {
            let Scenario { name, version } = scenario;
            let checks = suite.play(&terminal, &bridge.url, scenario)?;
            all.push(Judged::new(name, version.unwrap_or("extension"), &checks, &expected));
            note(format!("{name}: {} of {} passed", all[all.len() - 1].passed, checks.len()));
        }
        if self.wants(INSPECTOR) {
            let checks = suite.inspect(&terminal);
            all.push(Judged::new(INSPECTOR, "all", &checks, &expected));
        }
        let panics = [terminal.panics(), terminal.broken_daemons()].concat();
        self.report(&all, &panics);
        let held = panics.is_empty() && all.iter().all(Judged::held);
        Ok(if held { Verdict::Held } else { Verdict::Broken })
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    fn check_names(&self) -> Done<()> {
        let mut names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        names.push(INSPECTOR);
        names.sort_unstable();
        names.dedup();
        match self.only.iter().find(|only| !names.contains(&only.as_str())) {
            Some(other) => {
                let names = names.join(", ");
                Err(Fault::new(format!("there is no scenario {other}; there are {names}")))
            }
            None => Ok(()),
        }
    }

    fn report(&self, all: &[Judged], panics: &[String]) {
        if self.json {
            let scenarios: Vec<Value> = all.iter().map(Judged::json).collect();
            let with = Suite::versions();
            let all = json!({ "with": with, "scenarios": scenarios, "panics": panics });
            return say(format!("{all:#}"));
        }
        let head = ["scenario", "protocol", "passed", "expected failures", "failed", "skipped"];
        let mut table = Table::new(&head);
        all.iter().for_each(|judged| table.push(judged.row()));
        say(format!("{}\n", Suite::versions()));
        say(table.text());
        for flaw in all.iter().flat_map(Judged::flaws).chain(panics.iter().cloned()) {
            say(format!("\n{flaw}"));
        }
    }
}
