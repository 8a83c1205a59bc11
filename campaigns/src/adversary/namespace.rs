//! An attack in a mount namespace of its own, so that what it mounts is gone with it, however it
//! ends. The campaign starts itself again in there and reads the report.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::report::{Attack, Flaw, Kind, Report, Trial};
use crate::fault::{Done, Fault};

/// Set in the namespace.
const INSIDE: &str = "LEGWORK_CAMPAIGN_NAMESPACE";

/// Whether this is the inner one.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Does an attack in a namespace. Without root it takes one for users as well, in which it is root.
///
/// # Errors
/// When the inner campaign does not report.
pub fn enter(attack: &Attack, trial: &Trial, report: &mut Report) -> Done<()> {
    let own = std::env::current_exe().map_err(|why| Fault::trying("finding itself", why))?;
    let user: &[&str] =
        if rustix::process::getuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]).args(user).arg("--");
        command
    };
    let works = unshare().arg("true").stderr(Stdio::null()).status().is_ok_and(|it| it.success());
    if !works {
        report.skip("it needs root, or `unshare --user --mount`, to mount a small disk");
        return Ok(());
    }
    let left = trial.until.saturating_duration_since(Instant::now());
    let minutes = left.as_secs().div_ceil(60).max(1).to_string();
    let mut command = unshare();
    command.arg(own).args(["adversary", "--json", "--only", attack.name]);
    command.args(["--seed", &trial.seed.to_string(), "--minutes", &minutes]).env(INSIDE, "1");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|why| Fault::trying("starting itself in a namespace", why))?;
    let told: Value = serde_json::from_slice(&output.stdout)
        .map_err(|why| Fault::trying("reading the report from the namespace", why))?;
    *report = read(&told["attacks"][0]);
    Ok(())
}

fn read(told: &Value) -> Report {
    let number = |name: &str| told[name].as_u64().unwrap_or_default();
    let words = |name: &str| {
        let list = told[name].as_array().map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let flaw = |line: String| {
        let (name, what) = line.split_once(": ").unwrap_or(("", &line));
        Flaw { kind: Kind::named(name), what: what.to_owned() }
    };
    Report {
        rounds: number("rounds") as usize,
        tasks: number("tasks") as usize,
        peak_kb: number("peak_kb"),
        flaws: words("flaws").into_iter().map(flaw).collect(),
        left_out: words("left_out"),
        skipped: told["skipped"].as_str().map(str::to_owned),
        ..Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_way_out() {
        let attack = super::super::ATTACKS[0];
        let mut report = Report { rounds: 3, tasks: 4, peak_kb: 5, ..Report::default() };
        report.flaw(Kind::Doubled, "told: twice");
        let back = read(&report.json(&attack, "again"));
        assert_eq!((back.rounds, back.tasks, back.peak_kb), (3, 4, 5));
        assert_eq!((back.flaws, back.skipped), (report.flaws, None));
    }
}
