//! The part for OpenCode's terminal UI: it is there, of this version, and the settings name it. Who
//! has neither wants it so. OpenCode says nothing of a part that it cannot load, so this does.

use super::codes;
use super::finding::Finding;
use crate::fault::Fault;
use crate::plugin::{Found, binary_of, global_file, is_same, is_this_program, look};
use crate::tui_part::{Listed, TuiPart, WORD};

pub fn terminal_ui() -> Vec<Finding> {
    // Without a home the plugin's own check says so.
    let Ok(plugin) = global_file() else { return Vec::new() };
    let part = TuiPart::beside(&plugin);
    match found(&part) {
        Ok(finding) => finding.into_iter().collect(),
        Err(fault) => vec![codes::screen_unreadable(fault.in_full())],
    }
}

fn found(part: &TuiPart) -> Result<Option<Finding>, Fault> {
    let file = part.file.display();
    let text = match look(&part.file)? {
        Found::Ours(text) => Some(text),
        Found::Nothing => None,
        Found::Foreign => return Ok(Some(codes::screen_foreign(file))),
    };
    Ok(match (text, part.listed()?) {
        (None, Listed::In(settings)) => Some(codes::screen_file_gone(settings.display(), file)),
        (None, Listed::No | Listed::Unclear(_)) => None,
        (Some(_), Listed::No) => Some(codes::screen_not_named(file)),
        (Some(_), Listed::Unclear(settings)) => {
            Some(codes::screen_settings_unclear(settings.display(), format!("{WORD:?}")))
        }
        (Some(text), Listed::In(_)) => Some(content(part, &text)),
    })
}

fn content(part: &TuiPart, text: &str) -> Finding {
    let file = part.file.display();
    let Some(binary) = binary_of(text) else { return codes::screen_no_program(file) };
    if !binary.exists() {
        return codes::screen_program_gone(file, binary.display());
    }
    if TuiPart::text(&binary).is_ok_and(|ours| !is_same(text, &ours)) {
        return codes::screen_outdated(file);
    }
    if !is_this_program(&binary) {
        return codes::screen_other_program(file, binary.display());
    }
    Finding::good("screen", format!("helpers are shown in the terminal UI ({file})"))
}
