//! The part for OpenCode's terminal UI: it is there, of this version, and the settings name it. Who
//! has neither wants it so. OpenCode says nothing of a part that it cannot load, so this does.

use std::path::Path;
use std::time::Duration;

use super::check::{Check, Look};
use super::finding::{Finding, Remedy};
use crate::fault::Fault;
use crate::plugin::{Found, binary_of, global_file, is_same, is_this_program, look};
use crate::tui_part::{Listed, TuiPart, WORD};

pub const TERMINAL_UI: Check = Check {
    name: "screen",
    doing: "looking for the part for the terminal UI",
    at_most: Duration::from_secs(5),
    look: Look::Anywhere(terminal_ui),
};

fn terminal_ui() -> Vec<Finding> {
    // Without a home the plugin's own check says so.
    let Ok(plugin) = global_file() else { return Vec::new() };
    let part = TuiPart::beside(&plugin);
    match found(&part) {
        Ok(finding) => finding.into_iter().collect(),
        Err(fault) => vec![Finding::of_fault("screen", "screen.unreadable", &fault)],
    }
}

fn again() -> Remedy {
    Remedy::run("legwork install opencode", "then restart OpenCode")
}

fn problem(code: &'static str, says: String) -> Option<Finding> {
    Some(Finding::problem("screen", code, says, again()))
}

fn found(part: &TuiPart) -> Result<Option<Finding>, Fault> {
    let file = part.file.display();
    let text = match look(&part.file)? {
        Found::Ours(text) => Some(text),
        Found::Nothing => None,
        Found::Foreign => {
            let says = format!("{file} is not legwork's");
            let remedy = Remedy::run("legwork install opencode --force", "overwrites it");
            return Ok(Some(Finding::problem("screen", "screen.foreign", says, remedy)));
        }
    };
    Ok(match (text, part.listed()?) {
        (None, Listed::In(settings)) => {
            let says = format!("{} names {file}, which is not there", settings.display());
            problem("screen.file-gone", says)
        }
        (None, Listed::No | Listed::Unclear(_)) => None,
        (Some(_), Listed::No) => {
            problem("screen.not-named", format!("no tui.json names {file}, so it is not loaded"))
        }
        (Some(_), Listed::Unclear(settings)) => Some(unclear(&settings)),
        (Some(text), Listed::In(_)) => content(part, &text),
    })
}

fn unclear(settings: &Path) -> Finding {
    let says = format!("{} is not understood", settings.display());
    let remedy = Remedy::words(format!(
        "Correct it, then run `legwork install opencode`; or add {WORD:?} to its \"plugin\" list \
         yourself."
    ));
    Finding::problem("screen", "screen.settings-unclear", says, remedy)
}

fn content(part: &TuiPart, text: &str) -> Option<Finding> {
    let file = part.file.display();
    let Some(binary) = binary_of(text) else {
        return problem("screen.no-program", format!("{file} names no program"));
    };
    if !binary.exists() {
        let says = format!("{file} starts {}, which is gone", binary.display());
        return problem("screen.program-gone", says);
    }
    if TuiPart::text(&binary).is_ok_and(|ours| !is_same(text, &ours)) {
        let says = format!("{file} is of another version than this legwork");
        return problem("screen.outdated", says);
    }
    if !is_this_program(&binary) {
        let says = format!("{file} starts {}, not this one", binary.display());
        return Some(Finding::mind("screen", "screen.other-program", says, again()));
    }
    Some(Finding::good("screen", format!("helpers are shown in the terminal UI ({file})")))
}
