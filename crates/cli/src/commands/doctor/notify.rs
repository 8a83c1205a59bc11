//! Notifications: the programs that they need are there.

use std::env;
use std::time::Duration;

use super::check::{Check, Ground, Look};
use super::finding::{Finding, Remedy};
use crate::programs::find;

pub const NOTIFY: Check = Check {
    name: "notify",
    doing: "looking for the program to notify with",
    at_most: Duration::from_secs(2),
    look: Look::In(notify),
};

/// What shows a notification on this system's desktop.
const DESKTOP: &str = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };

/// Nothing is said of what is off, which is the default.
fn notify(ground: &Ground) -> Vec<Finding> {
    let settings = &ground.config.notify;
    let path = env::var_os("PATH").unwrap_or_default();
    let file = ground.folders.config.display();
    let mut found = Vec::new();
    if let Some(program) = settings.command.first() {
        found.push(match find(program, &path) {
            Some(there) => Finding::good("notify", there.display().to_string()),
            None => Finding::problem(
                "notify",
                "notify.no-program",
                format!("notify.command: there is no program {program}"),
                Remedy::words(format!("Install it, or name another one in {file}.")),
            ),
        });
    }
    if settings.desktop {
        found.push(match find(DESKTOP, &path) {
            Some(there) => Finding::good("notify", there.display().to_string()),
            None => Finding::problem(
                "notify",
                "notify.no-desktop",
                format!("notify.desktop needs {DESKTOP}, which is not on the PATH"),
                Remedy::words(format!("Install it, or take notify.desktop out of {file}.")),
            ),
        });
    }
    found
}
