//! The settings: what `config.toml` says that means nothing.

use std::time::Duration;

use super::check::{Check, Ground, Look};
use super::finding::{Finding, Remedy};

pub const SETTINGS: Check = Check {
    name: "settings",
    doing: "reading the settings",
    at_most: Duration::from_secs(5),
    look: Look::In(settings),
};

fn settings(ground: &Ground) -> Vec<Finding> {
    let file = ground.folders.config.display();
    if !ground.mistakes.is_empty() {
        let remedy = format!(
            "Correct these lines of {file}. Until then the defaults are used for these settings."
        );
        let says = ground.mistakes.join("\n");
        return vec![Finding::problem("settings", "settings.wrong", says, Remedy::words(remedy))];
    }
    let says = if ground.folders.config.exists() {
        file.to_string()
    } else {
        format!("the defaults ({file} is not there)")
    };
    vec![Finding::good("settings", says)]
}
