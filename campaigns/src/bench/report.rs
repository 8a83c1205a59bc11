//! All that was measured: as tables, as plots, and whole as JSON. Only here is decided what a
//! reader sees of the samples; nothing is left out of the JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::arm::Arm;
use super::model::{Asked, Model, Offer};
use crate::machine;
use crate::page::Table;
use crate::statistics::{Spread, median, spread};
use crate::svg::{self, Bar, Panel, Series, number};

/// From what to what a latency goes, in the order in which a reader meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// A launch, or any other tool in its place.
    Launch,
    /// Of it: until the daemon has decided and kept it.
    LaunchKept,
    /// Of it: the answer goes back.
    LaunchAnswered,
    /// Ten launches in one step.
    LaunchTen,
    /// After it: OpenCode opens the session.
    Opened,
    /// A launch, until the helper's model is asked.
    Begun,
    /// The notice to a parent that does nothing.
    ToldIdle,
    /// Of it: until the daemon knows and has kept the end.
    EndKept,
    /// Of it: OpenCode stores the notice.
    EndTold,
    /// The notice to a parent that is at work.
    ToldBusy,
    /// The turn that a notice starts.
    Asked,
    /// A call that waits.
    Woken,
    /// One request.
    Request,
}

impl Way {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch called -> answered",
            Self::LaunchKept => "of it: called -> kept by the daemon",
            Self::LaunchAnswered => "of it: kept -> answered",
            Self::LaunchTen => "ten launches of one step called -> all answered",
            Self::Opened => "launch kept by the daemon -> session opened by OpenCode",
            Self::Begun => "launch called -> helper's first model request",
            Self::EndKept => "of it: answer complete -> end kept by the daemon",
            Self::EndTold => "of it: end kept -> notice stored by OpenCode",
            Self::ToldIdle => "helper's answer complete -> notice stored, parent idle",
            Self::ToldBusy => "helper's answer complete -> notice stored, parent busy",
            Self::Asked => "helper idle -> parent's next model request",
            Self::Woken => "helper's answer complete -> waiting call answered",
            Self::Request => "one request to OpenCode",
        }
    }

    /// Whether it is a part of another.
    fn is_part(self) -> bool {
        use Way::{EndKept, EndTold, LaunchAnswered, LaunchKept, Opened};
        matches!(self, LaunchKept | LaunchAnswered | Opened | EndKept | EndTold)
    }
}

/// Latencies in milliseconds: from what to what, and whose.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures(BTreeMap<(Way, String), Vec<f64>>);

impl Figures {
    /// With one more sample.
    pub fn add(&mut self, way: Way, of: &str, sample: f64) {
        self.0.entry((way, of.to_owned())).or_default().push(sample);
    }

    /// With others.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The middle sample, if there is one.
    pub fn median(&self, way: Way, of: &str) -> Option<f64> {
        self.0.get(&(way, of.to_owned())).and_then(|all| spread(all)).map(|found| found.median)
    }

    fn all(&self) -> impl Iterator<Item = (Way, &str, Spread)> {
        self.0.iter().filter_map(|((way, of), all)| Some((*way, &**of, spread(all)?)))
    }
}

/// What many helpers at once cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// How many.
    pub helpers: usize,
    /// Who looked after them.
    pub arm: Arm,
    /// From each helper's prompt to its last answer.
    pub walls_s: Vec<f64>,
    /// Processor time of OpenCode.
    pub opencode_s: f64,
    /// Processor time of the bridge.
    pub bridge_s: f64,
    /// Processor time of the daemon.
    pub daemon_s: f64,
    /// Requests that we made to OpenCode.
    pub requests: u64,
    /// Launches that were refused and tried again.
    pub refused: usize,
    /// How many the parent was told of.
    pub told: usize,
    /// The most memory of the daemon.
    pub daemon_kb: u64,
    /// The most memory of the bridge.
    pub bridge_kb: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            helpers: 0,
            arm: Arm::Direct,
            walls_s: Vec::new(),
            opencode_s: 0.0,
            bridge_s: 0.0,
            daemon_s: 0.0,
            requests: 0,
            refused: 0,
            told: 0,
            daemon_kb: 0,
            bridge_kb: 0,
        }
    }
}

impl Load {
    fn cpu_s(&self) -> f64 {
        self.opencode_s + self.ours_s()
    }

    /// Processor time of our processes.
    pub fn ours_s(&self) -> f64 {
        self.bridge_s + self.daemon_s
    }

    /// The helpers' own time, as a multiple of that of others.
    pub fn time_ratio(&self, direct: &Self) -> f64 {
        median(&self.walls_s) / median(&direct.walls_s)
    }

    /// OpenCode's processor time, as a multiple of that with others.
    pub fn cpu_ratio(&self, direct: &Self) -> f64 {
        self.opencode_s / direct.opencode_s
    }
}

/// Memory at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// When.
    pub when: String,
    /// Of the daemon.
    pub daemon_kb: u64,
    /// Of the bridge.
    pub bridge_kb: u64,
}

/// What was told of a mixed lot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixed {
    /// Who told.
    pub arm: Arm,
    /// How many helpers.
    pub helpers: usize,
    /// Told once and rightly.
    pub right: usize,
    /// Told wrongly.
    pub wrong: usize,
    /// Never told.
    pub missing: usize,
    /// Told more than once.
    pub doubled: usize,
}

impl Default for Mixed {
    fn default() -> Self {
        Self { arm: Arm::Direct, helpers: 0, right: 0, wrong: 0, missing: 0, doubled: 0 }
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Where and with what it was measured.
    pub facts: Vec<(String, String)>,
    /// Latencies.
    pub figures: Figures,
    /// Loads; several of one kind are repeats.
    pub loads: Vec<Load>,
    /// Memory.
    pub memory: Vec<Memory>,
    /// Mixed lots.
    pub mixed: Vec<Mixed>,
    /// What the model is asked.
    pub model: Model,
}

/// The repeats of one kind.
fn of(loads: &[Load], helpers: usize, arm: Arm) -> Vec<&Load> {
    loads.iter().filter(|load| load.helpers == helpers && load.arm == arm).collect()
}

/// The same measurement, a few times.
fn groups(loads: &[Load]) -> Vec<(usize, Arm, Vec<&Load>)> {
    let mut kinds: Vec<(usize, Arm)> = loads.iter().map(|load| (load.helpers, load.arm)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().map(|(helpers, arm)| (helpers, arm, of(loads, helpers, arm))).collect()
}

fn middle(loads: &[&Load], of: impl Fn(&Load) -> f64) -> f64 {
    median(&loads.iter().map(|load| of(load)).collect::<Vec<_>>())
}

impl Report {
    /// The latencies.
    pub fn latency(&self) -> Table {
        let mut table = Table::new(&["from -> to", "whose", "n", "median", "p95", "max"]);
        for (way, of, found) in self.figures.all() {
            let shown =
                [found.median, found.p95, found.max].map(|value| format!("{} ms", number(value)));
            let head = [way.name().to_owned(), of.to_owned(), found.count.to_string()];
            table.push(head.into_iter().chain(shown).collect());
        }
        table
    }

    /// How loads of one kind compare with the same helpers prompted directly, each with the one of
    /// its own repeat: a machine that is slower for a minute is slower for both.
    pub fn against_direct(
        &self,
        helpers: usize,
        arm: Arm,
        compare: impl Fn(&Load, &Load) -> f64,
    ) -> Option<f64> {
        let (ours, direct) = (of(&self.loads, helpers, arm), of(&self.loads, helpers, Arm::Direct));
        let pairs = ours.into_iter().zip(direct);
        let compared: Vec<f64> = pairs.map(|(ours, direct)| compare(ours, direct)).collect();
        Some(spread(&compared)?.median)
    }

    /// The median of the repeats of one kind, if there are any.
    pub fn of_loads(&self, helpers: usize, arm: Arm, of_one: impl Fn(&Load) -> f64) -> Option<f64> {
        let loads = of(&self.loads, helpers, arm);
        (!loads.is_empty()).then(|| middle(&loads, of_one))
    }

    /// The loads; medians of the repeats.
    pub fn load(&self) -> Table {
        let mut table = Table::new(&[
            "helpers",
            "looked after by",
            "refused first",
            "told of",
            "helper's time, median",
            "max",
            "times direct",
            "CPU OpenCode",
            "times direct",
            "bridge",
            "daemon",
            "all above direct",
            "requests",
            "per helper",
        ]);
        for (helpers, arm, loads) in groups(&self.loads) {
            let walls: Vec<f64> = loads.iter().flat_map(|load| load.walls_s.clone()).collect();
            let wall = spread(&walls);
            let seconds = |value: f64| format!("{value:.2} s");
            let ours = |text: String| if arm == Arm::Legwork { text } else { "-".to_owned() };
            let told = middle(&loads, |load| load.told as f64);
            let refused = middle(&loads, |load| load.refused as f64);
            let requests = middle(&loads, |load| load.requests as f64);
            let against = |compare: &dyn Fn(&Load, &Load) -> f64| {
                let found = self.against_direct(helpers, arm, compare);
                found.filter(|_| arm != Arm::Direct)
            };
            let times = |found: Option<f64>| found.map_or("-".to_owned(), |x| format!("{x:.2}"));
            let above = against(&|ours, direct| ours.cpu_s() - direct.cpu_s());
            table.push(vec![
                helpers.to_string(),
                arm.name().to_owned(),
                if arm == Arm::Direct { "-".to_owned() } else { number(refused) },
                if arm == Arm::Direct { "-".to_owned() } else { number(told) },
                wall.map_or("-".to_owned(), |wall| seconds(wall.median)),
                wall.map_or("-".to_owned(), |wall| seconds(wall.max)),
                times(against(&Load::time_ratio)),
                seconds(middle(&loads, |load| load.opencode_s)),
                times(against(&Load::cpu_ratio)),
                ours(seconds(middle(&loads, |load| load.bridge_s))),
                ours(seconds(middle(&loads, |load| load.daemon_s))),
                above.map_or("-".to_owned(), seconds),
                ours(number(requests)),
                ours(number(requests / helpers as f64)),
            ]);
        }
        table
    }

    /// The memory.
    pub fn memory(&self) -> Table {
        let mut table = Table::new(&["when", "daemon", "bridge"]);
        let of_load = |(helpers, _, loads): (usize, Arm, Vec<&Load>)| {
            let most = |of: &dyn Fn(&Load) -> u64| loads.iter().map(|load| of(load)).max();
            Memory {
                when: format!("the most with {helpers} helpers at work"),
                daemon_kb: most(&|load| load.daemon_kb).unwrap_or_default(),
                bridge_kb: most(&|load| load.bridge_kb).unwrap_or_default(),
            }
        };
        let ours = groups(&self.loads).into_iter().filter(|(_, arm, _)| *arm == Arm::Legwork);
        for memory in self.memory.iter().cloned().chain(ours.map(of_load)) {
            let mb = |kb: u64| format!("{:.1} MB", kb as f64 / 1024.0);
            table.push(vec![memory.when, mb(memory.daemon_kb), mb(memory.bridge_kb)]);
        }
        table
    }

    /// The mixed lots.
    pub fn mixed(&self) -> Table {
        let mut table = Table::new(&["told by", "helpers", "right", "wrong", "missing", "doubled"]);
        for mixed in &self.mixed {
            let counts = [mixed.helpers, mixed.right, mixed.wrong, mixed.missing, mixed.doubled];
            let name = mixed.arm.name().to_owned();
            table.push(std::iter::once(name).chain(counts.map(|n| n.to_string())).collect());
        }
        table
    }

    /// Where and with what.
    pub fn facts(&self) -> String {
        machine::list(&self.facts)
    }

    /// Median, p95 and max of every latency, without their parts.
    pub fn latency_plot(&self) -> String {
        let kind = |of: &str| match of {
            of if of.starts_with(Arm::Legwork.name()) => 0,
            of if of == Arm::Native.name() => 1,
            _ => 4,
        };
        let bar = |(way, of, found): (Way, &str, Spread)| {
            let name = way.name().replace("helper's answer complete -> ", "");
            Bar {
                name: format!("{name} ({of})").replace("->", "→"),
                kind: kind(of),
                values: [found.median, found.p95, found.max],
            }
        };
        let bars: Vec<Bar> =
            self.figures.all().filter(|(way, ..)| !way.is_part()).map(bar).collect();
        svg::bars("Latencies: median, p95 (thick), max (thin)", "ms", &bars)
    }

    /// Processor time and helpers' time over the number of helpers.
    pub fn load_plot(&self) -> String {
        let all = groups(&self.loads);
        let series = |arms: &[Arm], y: &dyn Fn(usize, &[&Load]) -> f64| -> Vec<Series> {
            let one = |arm: &Arm| Series {
                name: arm.name().to_owned(),
                points: all
                    .iter()
                    .filter(|(_, of, _)| of == arm)
                    .map(|(helpers, _, loads)| (*helpers as f64, y(*helpers, loads)))
                    .collect(),
            };
            arms.iter().map(one).collect()
        };
        let wall = |_: usize, loads: &[&Load]| {
            median(&loads.iter().flat_map(|load| load.walls_s.clone()).collect::<Vec<_>>())
        };
        let cpu = |_: usize, loads: &[&Load]| middle(loads, Load::cpu_s);
        let panel = |title: &str, series| Panel {
            title: title.to_owned(),
            x: "helpers at once".to_owned(),
            y: "s".to_owned(),
            series,
        };
        svg::lines(&[
            panel("Processor time of all processes", series(&Arm::ALL, &cpu)),
            panel("A helper's own time, median", series(&Arm::ALL, &wall)),
        ])
    }

    /// Every sample.
    pub fn json(&self) -> Value {
        let figure = |((way, of), samples): (&(Way, String), &Vec<f64>)| {
            let name = way.name();
            json!({ "name": name, "of": of, "unit": "ms", "samples": samples })
        };
        let load = |load: &Load| {
            json!({
                "helpers": load.helpers, "arm": load.arm.name(), "told": load.told,
                "refused_first": load.refused,
                "walls_s": load.walls_s, "opencode_cpu_s": load.opencode_s,
                "bridge_cpu_s": load.bridge_s, "daemon_cpu_s": load.daemon_s,
                "requests": load.requests, "daemon_kb": load.daemon_kb,
                "bridge_kb": load.bridge_kb,
            })
        };
        let memory = |memory: &Memory| {
            json!({
                "when": memory.when, "daemon_kb": memory.daemon_kb,
                "bridge_kb": memory.bridge_kb,
            })
        };
        let mixed = |mixed: &Mixed| {
            json!({
                "arm": mixed.arm.name(), "helpers": mixed.helpers, "right": mixed.right,
                "wrong": mixed.wrong, "missing": mixed.missing, "doubled": mixed.doubled,
            })
        };
        let asked = |asked: &Asked| {
            json!({
                "work": asked.what, "of": asked.of, "parent_requests": asked.requests,
                "after_launch": asked.later, "prompt_chars": asked.chars,
                "helper_requests": asked.of_helpers,
            })
        };
        let offer =
            |offer: &Offer| json!({ "of": offer.of, "tools": offer.tools, "chars": offer.chars });
        json!({
            "facts": self.facts.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "figures": self.figures.0.iter().map(figure).collect::<Vec<_>>(),
            "loads": self.loads.iter().map(load).collect::<Vec<_>>(),
            "memory": self.memory.iter().map(memory).collect::<Vec<_>>(),
            "mixed": self.mixed.iter().map(mixed).collect::<Vec<_>>(),
            "model": self.model.asked.iter().map(asked).collect::<Vec<_>>(),
            "tools": self.model.offers.iter().map(offer).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(arm: Arm, cpu: f64) -> Load {
        let requests = if arm == Arm::Legwork { 80 } else { 0 };
        Load { helpers: 10, arm, walls_s: vec![15.0], opencode_s: cpu, requests, ..Load::default() }
    }

    #[test]
    fn loads_are_medians_beside_the_direct_ones_of_the_same_repeat() {
        let loads = vec![
            load(Arm::Legwork, 5.0),
            load(Arm::Direct, 3.0),
            load(Arm::Legwork, 24.0),
            load(Arm::Direct, 20.0),
            load(Arm::Legwork, 9.0),
            load(Arm::Direct, 6.0),
        ];
        let report = Report { loads, ..Report::default() };
        let rows = report.load().rows;
        assert_eq!(rows.len(), 2);
        let direct = ["prompted directly", "-", "-", "15.00 s", "15.00 s", "-", "6.00 s", "-"];
        assert_eq!(rows[0][1..9], direct);
        assert_eq!(rows[1][6..9], ["1.00", "9.00 s", "1.50"]);
        assert_eq!(rows[1][11..], ["3.00 s", "80", "8"]);
        assert!(report.load_plot().contains("legwork"));
        assert_eq!(report.json()["loads"].as_array().unwrap().len(), 6);
    }

    #[test]
    fn latencies_are_shown_in_the_order_in_which_a_reader_meets_them() {
        let mut report = Report::default();
        report.figures.add(Way::Request, "over HTTP", 1.0);
        for sample in [3.0, 1.0, 2.0] {
            report.figures.add(Way::Launch, "legwork", sample);
        }
        let rows = report.latency().rows;
        assert_eq!(rows[0][1..], ["legwork", "3", "2 ms", "3 ms", "3 ms"]);
        assert_eq!(rows[1][0], "one request to OpenCode");
        assert!(report.latency_plot().contains("launch called → answered (legwork)"));
        assert_eq!(report.figures.median(Way::Launch, "legwork"), Some(2.0));
        assert_eq!(report.figures.median(Way::Woken, "legwork"), None);
    }
}
