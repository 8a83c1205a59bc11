//! `cargo xtask adversary`: what a hostile world does to legwork, as attacks that anybody can
//! repeat. Each is one file with its own rounds and checks; what is random follows from the
//! seed. A black box: attacks use commands, exit codes, `--json`, files that people know of, and
//! what /proc tells of the daemon.

mod agent;
mod agent_fuzz;
mod bit_rot;
mod bridge_fuzz;
mod clock;
mod full_disk;
mod image;
mod inside;
mod kills;
mod lines;
mod lost_socket;
mod namespace;
mod other_users;
mod places;
mod power_cut;
mod report;
mod socket;
mod socket_fuzz;
mod trace;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Value, json};

use crate::Verdict;
use crate::fault::{Done, Fault};
use crate::machine;
use crate::page::{self, Table};
use crate::progress::{note, say};
pub use agent::Agent;
pub use other_users::Knock;
use report::{Attack, Kind, Report, Trial, table};

/// All attacks, in the order in which they are made.
const ATTACKS: &[Attack] = &[
    kills::ATTACK,
    socket_fuzz::ATTACK,
    bridge_fuzz::ATTACK,
    agent_fuzz::ATTACK,
    clock::ATTACK,
    full_disk::ATTACK,
    bit_rot::ATTACK,
    power_cut::ATTACK,
    places::ATTACK,
    inside::ATTACK,
    lost_socket::ATTACK,
    other_users::ATTACK,
];
/// Flaws of one attack that are printed; the rest is counted.
const FLAWS_SHOWN: usize = 12;

/// Attack legwork: kills, rubbish, clocks, disks, other users, and check what must hold
///
/// Each attack has a home of its own, rounds that follow from the seed, and checks. At the end
/// stands a table: what was tried, what was lost, doubled, stuck, wrong or left behind, panics, and
/// the memory of the daemon. What is broken is told with the command that repeats it.
///
/// Some attacks need more than others: root for another user and a small disk, cc for the clock,
/// strace for power cuts, tmux for what must survive. What is missing is skipped and said. Nothing
/// is left behind. Exit code 0: all held; 1: something is broken; 2: could not be done.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask adversary                              all of it, at most 15 minutes
  cargo xtask adversary --list                       what there is
  cargo xtask adversary --only bit-rot --seed 7      one attack again
  cargo xtask adversary --minutes 30 --out docs      on a slow machine; fill in docs/adversary.md")]
pub struct Adversary {
    /// What is random follows from it. Without it: the time
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Only these attacks
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// How long it may take altogether; no round begins later
    #[arg(long, value_name = "M", default_value_t = 15)]
    minutes: u64,
    /// Name the attacks and do nothing
    #[arg(long)]
    list: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Fill in adversary.md in this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Adversary {
    /// Attacks.
    pub fn run(self) -> Done<Verdict> {
        let attacks = self.chosen()?;
        if self.list {
            attacks.iter().for_each(|attack| say(format!("{:<13} {}", attack.name, attack.does)));
            return Ok(Verdict::Held);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = self.seed.unwrap_or(now.as_secs());
        let facts = machine::facts();
        let end = Instant::now() + Duration::from_secs(60 * self.minutes.max(1));
        let mut reports: Vec<(Attack, Report)> = Vec::new();
        for (number, attack) in attacks.iter().enumerate() {
            let left = attacks.len() - number;
            let report = done(attack, seed, end, left);
            note(format!("{}: {}", attack.name, report.verdict()));
            reports.push((*attack, report));
        }
        if self.json {
            say(format!("{:#}", as_json(&reports, seed)));
        } else {
            say(table(&reports).text());
            say(told(&reports, seed));
        }
        if let Some(folder) = &self.out {
            publish(folder, facts, &reports, seed)?;
        }
        let held = reports.iter().all(|(_, report)| report.held());
        Ok(if held { Verdict::Held } else { Verdict::Broken })
    }

    fn chosen(&self) -> Done<Vec<Attack>> {
        for name in &self.only {
            if !ATTACKS.iter().any(|attack| attack.name == name) {
                let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
                let names = names.join(", ");
                return Err(Fault::new(format!("there is no attack {name}; there are {names}")));
            }
        }
        let wanted =
            |attack: &&Attack| self.only.is_empty() || self.only.iter().any(|n| n == attack.name);
        Ok(ATTACKS.iter().filter(wanted).copied().collect())
    }
}

/// Makes one attack. It gets its share of the time that is left; one that cannot be done is broken.
fn done(attack: &Attack, seed: u64, end: Instant, attacks_left: usize) -> Report {
    let begun = Instant::now();
    let left = end.saturating_duration_since(begun);
    let mut report = Report::default();
    if left.is_zero() {
        report.skip("no time was left; --minutes gives more");
        return report;
    }
    note(format!("{}: {}", attack.name, attack.does));
    let share = left / u32::try_from(attacks_left).unwrap_or(u32::MAX);
    // What an early attack does not need, later ones have.
    let trial = Trial { seed, until: begun + share.mul_f64(1.5).min(left) };
    let attacked = catch_unwind(AssertUnwindSafe(|| (attack.run)(&trial, &mut report)));
    match attacked {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => report.flaw(Kind::Stuck, fault.to_string()),
        Err(_) => report.flaw(Kind::Stuck, "the campaign itself panicked; see above"),
    }
    report.took = begun.elapsed();
    report
}

fn replay(attack: &Attack, seed: u64) -> String {
    format!("cargo xtask adversary --only {} --seed {seed}", attack.name)
}

fn as_json(reports: &[(Attack, Report)], seed: u64) -> Value {
    let one = |(attack, report): &(Attack, Report)| report.json(attack, &replay(attack, seed));
    json!({ "seed": seed, "attacks": reports.iter().map(one).collect::<Vec<_>>() })
}

/// Why something was skipped or is broken, and how to see it again.
fn told(reports: &[(Attack, Report)], seed: u64) -> String {
    let mut lines = Vec::new();
    for (attack, report) in reports {
        if let Some(why) = &report.skipped {
            lines.push(format!("\n{} was skipped: {why}", attack.name));
        }
        for what in &report.left_out {
            lines.push(format!("\n{} left something out: {what}", attack.name));
        }
        if report.held() {
            continue;
        }
        lines.push(format!("\n{} must hold: {}", attack.name, attack.holds));
        lines.extend(report.flaws.iter().take(FLAWS_SHOWN).map(|flaw| format!("  {flaw}")));
        let more = report.flaws.len().saturating_sub(FLAWS_SHOWN);
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines.push(format!("  again: {}", replay(attack, seed)));
    }
    lines.join("\n")
}

fn publish(
    folder: &Path,
    mut facts: Vec<(String, String)>,
    reports: &[(Attack, Report)],
    seed: u64,
) -> Done<()> {
    facts.push(("seed".to_owned(), seed.to_string()));
    let mut attacks = Table::new(&["attack", "what is done", "what must hold"]);
    for (attack, _) in reports {
        let cells = [attack.name, attack.does, attack.holds];
        attacks.push(cells.map(str::to_owned).to_vec());
    }
    let skipped: String = reports
        .iter()
        .filter_map(|(attack, report)| {
            Some(format!("\n- {} was skipped: {}", attack.name, report.skipped.as_ref()?))
        })
        .collect();
    let places = [
        ("machine", machine::list(&facts)),
        ("attacks", attacks.markdown()),
        ("results", format!("{}{skipped}", table(reports).markdown())),
    ];
    page::publish(folder, "adversary", &places, &[])
}
