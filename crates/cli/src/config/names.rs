//! The names of the settings, and did-you-mean suggestions.

use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::slips::nearest;

use super::setting::SETTINGS;

pub fn unknown_setting(name: &str) -> String {
    let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    unknown("", name, &names, "`legwork config` shows those there are")
}

/// That there is no such setting in the table whose name stands before; the one that was meant, or
/// else where to look.
pub fn unknown(before: &str, name: &str, names: &[&'static str], otherwise: &str) -> String {
    let shown = plain(name, ECHO_MAX_CHARS);
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {before}{near}?"),
        None => otherwise.to_owned(),
    };
    format!("there is no setting {before}{shown}; {hint}")
}
