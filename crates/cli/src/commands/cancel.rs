//! `legwork cancel`.

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::asking::{connect, find_all};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::{BAD, Screen, paint};

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

#[derive(Serialize)]
struct Shown {
    task: String,
    refused: bool,
    text: String,
}

impl Cancel {
    /// Calls them off; one that is refused does not spare the others.
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let mut client = connect()?;
        let mut all = Vec::new();
        for id in find_all(&mut client, &self.tasks)? {
            let arguments = json!({ "task_id": id });
            let answered = client.call("background_cancel", arguments, &mut |_| {})?;
            if !screen.is_json() && answered.refused {
                screen.line(format!("{} {}", paint(BAD, id), answered.text))?;
            } else if !screen.is_json() {
                screen.line(&answered.text)?;
            }
            let (refused, text) = (answered.refused, answered.text);
            all.push(Shown { task: id.to_string(), refused, text });
        }
        if screen.is_json() {
            screen.value(&all)?;
        }
        Ok(if all.iter().any(|shown| shown.refused) { Exit::Refused } else { Exit::Done })
    }
}
