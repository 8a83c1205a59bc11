//! What a person may set, with the defaults. 0 means no limit. Reading the file is the daemon's.

use serde::{Deserialize, Serialize};

/// The settings that change decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `limits.max_running`: helpers running at once, per host; the rest is queued.
    pub max_running: u32,
    /// `limits.max_in_window`: helpers at work in a window; more work in a host without one.
    pub max_in_window: u32,
    /// `limits.max_tasks_per_root`: unfinished and kept tasks under one root session.
    pub max_tasks_per_root: u32,
    /// `limits.max_depth`: levels of helpers.
    pub max_depth: u32,
    /// `limits.max_run_minutes`: longest run.
    pub max_run_minutes: u32,
    /// `limits.max_quiet_minutes`: longest silence of a run.
    pub max_quiet_minutes: u32,
    /// `limits.max_cost`: what all runs of one root session may cost, in millionths of the host's
    /// currency.
    pub max_cost_micros: u64,
    /// `limits.max_cost_per_run`: what one run may cost.
    pub max_cost_per_run_micros: u64,
    /// `limits.max_cost_per_day`: what all runs that terminals ask for may cost in a day (UTC).
    pub max_cost_per_day_micros: u64,
    /// `notices.max_result_chars`: characters of the results in one notice.
    pub max_result_chars: u32,
    /// `notices.start_turns`: whether a notice may start a turn in an idle parent.
    pub start_turns: bool,
    /// `notices.wake`: which notices do.
    pub wake: WakeOn,
    /// `recovery.interrupted`: what to do with a run that was cut off with its host.
    pub interrupted: Interrupted,
    /// `recovery.headless`: whether a host without a window is started for such a run.
    pub headless: bool,
}

/// Which notices may start a turn in an idle parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WakeOn {
    /// Every one.
    Each,
    /// The one after which none of the parent's tasks is unfinished, and every one of a failure.
    Last,
}

/// What becomes of a run that was cut off with its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interrupted {
    /// It ends as `error`.
    Fail,
    /// The helper is asked to go on.
    Continue,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_running: 16,
            max_in_window: 0,
            max_tasks_per_root: 200,
            max_depth: 1,
            max_run_minutes: 120,
            max_quiet_minutes: 30,
            max_cost_micros: 0,
            max_cost_per_run_micros: 0,
            max_cost_per_day_micros: 0,
            max_result_chars: 30_000,
            start_turns: true,
            wake: WakeOn::Each,
            interrupted: Interrupted::Continue,
            headless: true,
        }
    }
}
