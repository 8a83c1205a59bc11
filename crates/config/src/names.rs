//! The names of the settings, and did-you-mean suggestions.

use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::refusal::plain;
use strsim::levenshtein;

use super::setting::SETTINGS;

pub fn unknown_setting(name: &str) -> String {
    let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    unknown("", name, &names, "`legwork config` shows those there are")
}

/// That there is no such setting in the table whose name stands before; the one that was meant, or
/// else where to look.
pub fn unknown(before: &str, name: &str, names: &[&'static str], otherwise: &str) -> String {
    let shown = plain(name, ECHO_MAX_CHARS);
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean {before}{near}?"),
        None => otherwise.to_owned(),
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
