//! `legwork cancel`.

use clap::Args;
use legwork_protocol::api::{Answer, Ask};
use serde_json::json;

use crate::asking::{connect, find_all};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mail;
use crate::screen::{BAD, Report, Screen, paint};

/// Call tasks off
///
/// Calls tasks off: they are cancelled at once, their sessions are stopped, and the session that
/// asked for each is told. A finished task cannot be cancelled.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork cancel 4k2
  legwork cancel $(legwork list --status running --json | jq -r '.tasks[].id')")]
pub struct Cancel {
    /// The tasks' ids, or the beginnings of them
    #[arg(value_name = "TASK", required = true)]
    tasks: Vec<String>,
}

impl Cancel {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let mut all = Vec::new();
        for id in find_all(&mut client, &self.tasks)? {
            let answered = client.request::<Answer>(Ask::Cancel { task: id.to_string() })?;
            mail::seen_here(id);
            let report = Report::new(json!({ "task": id }), &answered);
            if !screen.is_json() && report.refused {
                screen.line(format!("{} {}", paint(BAD, id), report.text))?;
            } else if !screen.is_json() {
                screen.line(&report.text)?;
            }
            all.push(report);
        }
        if screen.is_json() {
            screen.value(&all)?;
        }
        Ok(if all.iter().any(|report| report.refused) { Exit::Refused } else { Exit::Done })
    }
}
