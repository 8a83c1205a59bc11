//! The settings: what `config.toml` says that means nothing, and programs that it names and that
//! are not there.

use std::env;

use super::check::DoctorContext;
use super::codes;
use super::finding::Finding;
use crate::programs::find;

/// The program that shows a notification on this system's desktop.
const DESKTOP: &str = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };

pub fn settings(context: &DoctorContext) -> Vec<Finding> {
    let file = context.folders.config.display();
    if !context.mistakes.is_empty() {
        return vec![codes::settings_wrong(context.mistakes.join("\n"), file)];
    }
    let says = if context.folders.config.exists() {
        file.to_string()
    } else {
        format!("the defaults ({file} is not there)")
    };
    vec![Finding::good("settings", says)]
}

/// Nothing is said of notifications that are off, which is the default.
pub fn notify(context: &DoctorContext) -> Vec<Finding> {
    let settings = &context.config.notify;
    let path = env::var_os("PATH").unwrap_or_default();
    let file = context.folders.config.display();
    let found = |program: &str, missing: &dyn Fn() -> Finding| match find(program, &path) {
        Some(there) => Finding::good("notify", there.display().to_string()),
        None => missing(),
    };
    let own = settings.command.first();
    let own = own.map(|own| found(own, &|| codes::notify_no_program(own, &file)));
    let desktop = || found(DESKTOP, &|| codes::notify_no_desktop(DESKTOP, &file));
    own.into_iter().chain(settings.desktop.then(desktop)).collect()
}
