//! The names of the settings, and did-you-mean suggestions.

use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::refusal::plain;
use strsim::levenshtein;

/// Every setting there is, but for those of agents.
pub const NAMES: [&str; 17] = [
    "limits.max_running",
    "limits.max_in_window",
    "limits.max_tasks_per_root",
    "limits.max_depth",
    "limits.max_run_minutes",
    "limits.max_quiet_minutes",
    "limits.max_cost",
    "notices.max_result_chars",
    "notices.start_turns",
    "notices.wake",
    "recovery.interrupted",
    "recovery.headless",
    "run.agent",
    "notify.command",
    "notify.desktop",
    "notify.on",
    "ui.port",
];

pub fn unknown_setting(name: &str) -> String {
    unknown("", name, &NAMES, ", and [agents.NAME]")
}

/// The same in a table of its own, whose name stands before.
pub fn unknown(before: &str, name: &str, names: &[&'static str], also: &str) -> String {
    let shown = plain(name, ECHO_MAX_CHARS);
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean {before}{near}?"),
        None => format!("there are {}{also}", names.join(", ")),
    };
    format!("there is no setting {before}{shown}; {hint}")
}

/// The one of these names that is this one but for a slip, or whose section was left out or is
/// another.
fn nearest(name: &str, names: &[&'static str]) -> Option<&'static str> {
    // No name is so long, and the work grows with the length.
    if name.len() > 2 * ECHO_MAX_CHARS {
        return None;
    }
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let slips = |known: &&str| levenshtein(known, name).min(levenshtein(&last(known), &last(name)));
    let best = names.iter().copied().min_by_key(slips)?;
    (slips(&best) <= last(name).len() / 3).then_some(best)
}
