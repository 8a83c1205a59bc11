//! What was wanted, beside what was measured. A goal that is not met is shown as that; why, a
//! person writes below the table.

use super::arm::Arm;
use super::report::{Load, Report, Way};
use crate::page::Table;
use crate::statistics::median;
use crate::svg::number;

/// The load that the goals are about.
const HELPERS: usize = 50;

/// A goal for something that should be small.
struct Goal {
    name: &'static str,
    unit: &'static str,
    most: f64,
    ours: Option<f64>,
    /// The same of OpenCode's own, where it has it.
    own: Option<f64>,
}

/// All goals that this run can speak of.
pub fn table(report: &Report) -> Table {
    let mut table = Table::new(&["goal", "at most", "legwork", "OpenCode's own", "met"]);
    for goal in goals(report) {
        let Some(ours) = goal.ours else { continue };
        let shown = |value: f64| format!("{}{}", number(value), goal.unit);
        table.push(vec![
            goal.name.to_owned(),
            shown(goal.most),
            shown(ours),
            goal.own.map_or("-".to_owned(), shown),
            if ours <= goal.most { "yes" } else { "**no**" }.to_owned(),
        ]);
    }
    table
}

fn goals(report: &Report) -> Vec<Goal> {
    let of = |way, arm: Arm| report.figures.median(way, arm.name());
    let latency = |name, way, most| {
        let (ours, own) = (of(way, Arm::Legwork), of(way, Arm::Native));
        Goal { name, unit: " ms", most, ours, own }
    };
    let asked = of(Way::Asked, Arm::Legwork).zip(of(Way::Asked, Arm::Native));
    let against =
        |arm, compare: fn(&Load, &Load) -> f64| report.against_direct(HELPERS, arm, compare);
    let ratio = |name, compare: fn(&Load, &Load) -> f64| {
        let (ours, own) = (against(Arm::Legwork, compare), against(Arm::Native, compare));
        Goal { name, unit: " times", most: 1.05, ours, own }
    };
    let alone = |name, unit, most, ours| Goal { name, unit, most, ours, own: None };
    let mixed = |arm| {
        let lot = report.mixed.iter().find(|mixed| mixed.arm == arm)?;
        Some((lot.wrong + lot.missing + lot.doubled) as f64)
    };
    vec![
        latency("a launch is answered (median)", Way::Launch, 25.0),
        latency("a notice is stored, parent idle (median)", Way::ToldIdle, 30.0),
        latency("a notice is stored, parent busy (median)", Way::ToldBusy, 30.0),
        latency("a waiting call is answered (median)", Way::Woken, 25.0),
        Goal {
            name: "the parent's next model request, beside OpenCode's own (medians)",
            unit: " times",
            most: 1.3,
            ours: asked.map(|(ours, own)| ours / own),
            own: asked.map(|_| 1.0),
        },
        ratio("50 helpers' own time, beside prompted directly", Load::time_ratio),
        ratio(
            "OpenCode's processor time for 50 helpers, beside prompted directly",
            Load::cpu_ratio,
        ),
        alone("daemon and bridge with 50 helpers, of one core", " %", 5.0, share(report)),
        alone("requests to OpenCode for each of 50 tasks", "", 8.0, requests(report)),
        alone("daemon and bridge together, the most memory", " MB", 40.0, memory(report)),
        Goal {
            name: "wrong, missing or doubled outcomes of the mixed lot",
            unit: "",
            most: 0.0,
            ours: mixed(Arm::Legwork),
            own: mixed(Arm::Native),
        },
    ]
}

/// Of one core, while the helpers worked, in percent.
fn share(report: &Report) -> Option<f64> {
    let share = |load: &Load| load.ours_s() / median(&load.walls_s) * 100.0;
    report.of_loads(HELPERS, Arm::Legwork, share)
}

fn requests(report: &Report) -> Option<f64> {
    let each = |load: &Load| load.requests as f64 / load.helpers as f64;
    report.of_loads(HELPERS, Arm::Legwork, each)
}

fn memory(report: &Report) -> Option<f64> {
    let of_loads = report.loads.iter().map(|load| load.daemon_kb + load.bridge_kb);
    let seen = report.memory.iter().map(|seen| seen.daemon_kb + seen.bridge_kb);
    of_loads.chain(seen).max().map(|kb| kb as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::Mixed;

    #[test]
    fn each_goal_that_was_measured_is_met_or_not() {
        let mut report = Report::default();
        assert!(table(&report).rows.is_empty());
        report.figures.add(Way::Launch, Arm::Legwork.name(), 26.0);
        report.figures.add(Way::Launch, Arm::Native.name(), 10.0);
        report.figures.add(Way::Asked, Arm::Legwork.name(), 60.0);
        report.figures.add(Way::Asked, Arm::Native.name(), 50.0);
        let load = |arm, opencode_s, bridge_s| Load {
            helpers: HELPERS,
            arm,
            walls_s: vec![20.0],
            opencode_s,
            bridge_s,
            requests: 200,
            ..Load::default()
        };
        report.loads = vec![load(Arm::Direct, 20.0, 0.0), load(Arm::Legwork, 22.0, 0.5)];
        report.mixed = vec![Mixed { arm: Arm::Legwork, helpers: 2, right: 2, ..Mixed::default() }];
        let rows = table(&report).rows;
        let row = |begin: &str| rows.iter().find(|row| row[0].starts_with(begin)).unwrap();
        assert_eq!(row("a launch")[1..], ["25 ms", "26 ms", "10 ms", "**no**"]);
        assert_eq!(row("the parent's")[2..], ["1.2 times", "1 times", "yes"]);
        assert_eq!(row("OpenCode's processor")[2..], ["1.1 times", "-", "**no**"]);
        assert_eq!(row("daemon and bridge with")[2..], ["2.5 %", "-", "yes"]);
        assert_eq!(row("requests")[2..], ["4", "-", "yes"]);
        assert_eq!(row("wrong")[2..], ["0", "-", "yes"]);
    }
}
