//! `legwork cost`.

use clap::{Args, ValueEnum};
use legwork_protocol::Time;
use legwork_protocol::api::{CostBy, Request};
use legwork_protocol::view::{CostGroup, CostSum, CostsView};

use super::{Exit, Fault, Screen};
use crate::asking::{connect, get};
use crate::screen::{DIM, paint};
use crate::sentences;
use crate::table::{self, Cell, table_within};
use crate::words::{counted, parse_since};

/// Show what the helpers have cost
///
/// Sums up what all runs of the tasks that are kept have cost and used, by the day on which each
/// began, by project or by agent. What an agent does not tell is not guessed: such runs are counted
/// and said. Tasks that were cleared are not in it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork cost                      by day
  legwork cost --by agent --since 7d
  legwork cost --since 2026-11-01 --json | jq .total")]
pub struct Cost {
    /// What to sum up by
    #[arg(long, value_enum, default_value_t = By::Day)]
    by: By,
    /// Only runs that began since then: a day like 2026-11-01, or a time ago like 24h or 7d
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Time>,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    Day,
    Project,
    Agent,
}

impl super::Command for Cost {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let by = match self.by {
            By::Day => CostBy::Day,
            By::Project => CostBy::Project,
            By::Agent => CostBy::Agent,
        };
        let mut client = connect()?;
        let costs: CostsView = get(&mut client, Request::Cost { by, since: self.since })?;
        screen.report(|| &costs, || page(&costs, screen))
    }
}

fn page(costs: &CostsView, screen: &Screen) -> Vec<String> {
    if costs.total.runs == 0 {
        return vec!["There are no runs to sum up.".to_owned()];
    }
    let mut lines = vec![sentence(&costs.total)];
    lines.extend(unknown(&costs.total).map(|unknown| paint(DIM, unknown)));
    lines.push(String::new());
    lines.extend(groups(costs, screen));
    lines
}

fn sentence(total: &CostSum) -> String {
    let runs = counted(total.runs as usize, "run");
    let have = if total.runs == 1 { "has" } else { "have" };
    let cost = || format!("cost {}", sentences::costs(&total.costs));
    let used = || format!("used {} tokens", sentences::number(total.tokens));
    match (total.costs.is_empty(), total.tokens_unknown == total.runs) {
        (true, true) => format!("{runs} that told no cost and tokens."),
        (true, false) => {
            format!("{runs} that told no cost {have} {}.", used())
        }
        (false, true) => {
            format!("{runs} that told no tokens {have} {}.", cost())
        }
        (false, false) => format!("{runs} {have} {} and {}.", cost(), used()),
    }
}

/// What is missing in the sums. The first sentence has said what is missing altogether.
fn unknown(total: &CostSum) -> Option<String> {
    let which = |count: u64, what: &str| {
        let runs = counted(count as usize, "run");
        let is_new = count > 0 && count < total.runs;
        is_new.then(|| format!("{runs} that told no {what}"))
    };
    let missing = match (total.cost_unknown, total.tokens_unknown) {
        (cost, tokens) if cost == tokens => [which(cost, "cost and tokens"), None],
        (cost, tokens) => [which(cost, "cost"), which(tokens, "tokens")],
    };
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    (!missing.is_empty()).then(|| format!("Not in these sums: {}.", missing.join(", ")))
}

fn groups(costs: &CostsView, screen: &Screen) -> Vec<String> {
    let by = match costs.by {
        CostBy::Day => "DAY",
        CostBy::Project => "PROJECT",
        CostBy::Agent => "AGENT",
    };
    let mut rows = vec![table::headings([by, "RUNS", "TOOL CALLS", "TOKENS", "COST"])];
    rows.extend(costs.groups.iter().map(row));
    table_within(&rows, screen.columns(), &[(0, 20)])
}

fn row(CostGroup { name, sum }: &CostGroup) -> Vec<Cell> {
    let known = |unknown: u64, known: String| match unknown {
        0 => known,
        all if all == sum.runs => "unknown".to_owned(),
        some => format!("{known} and {some} unknown"),
    };
    let name = if name.is_empty() { "(not known)" } else { name };
    vec![
        Cell::new(name),
        Cell::new(sentences::number(sum.runs)),
        Cell::new(sentences::number(sum.tool_calls)),
        Cell::new(known(sum.tokens_unknown, sentences::number(sum.tokens))),
        Cell::new(known(sum.cost_unknown, sentences::costs(&sum.costs))),
    ]
}

#[cfg(test)]
mod tests {
    use legwork_protocol::{Cost, Currency};

    use super::*;

    #[test]
    fn p4_what_is_not_known_is_said_once() {
        let known = vec![Cost { micros: 500_000, currency: Currency::USD }];
        let sum = |costs: &[Cost], cost_unknown, tokens_unknown| CostSum {
            runs: 2,
            costs: costs.to_vec(),
            cost_unknown,
            tokens: 3_000,
            tokens_unknown,
            ..CostSum::default()
        };
        for (sum, said, missing) in [
            (sum(&[], 2, 0), "2 runs that told no cost have used 3,000 tokens.", None),
            (
                sum(&[], 2, 1),
                "2 runs that told no cost have used 3,000 tokens.",
                Some("Not in these sums: 1 run that told no tokens."),
            ),
            (sum(&known, 0, 2), "2 runs that told no tokens have cost 0.5000 USD.", None),
            (
                sum(&known, 1, 2),
                "2 runs that told no tokens have cost 0.5000 USD.",
                Some("Not in these sums: 1 run that told no cost."),
            ),
            (sum(&known, 0, 0), "2 runs have cost 0.5000 USD and used 3,000 tokens.", None),
        ] {
            assert_eq!((&*sentence(&sum), unknown(&sum).as_deref()), (said, missing));
        }
    }
}
