//! How the program ends, for scripts.

use std::process::ExitCode;

use legwork_protocol::Status;
use legwork_protocol::view::TaskView;

use crate::clients;

const AFTER_HELP: &str = "\
First steps:
  legwork demo                   see it at work, in ten seconds
  legwork install opencode       or CLIENTS; then restart it
  legwork doctor                 find what is wrong, with what to do about it
  legwork agents                 see which agents can be helpers from this terminal
  legwork run \"find the bug\"     have one of them do something; then
  legwork list                   see all helpers, and `legwork show ID` what can be done with one

Exit codes:
  0  done
  1  refused or failed; the message says why
  2  wrong usage
  3  the task ended with an error
  4  the task was cancelled
  5  the time was up before the task was finished
  6  the daemon cannot be reached
  130, 143  interrupted or told to end; helpers at work go on

With --json an error is one line of JSON on stderr: {\"error\": {\"text\": …, \"exit_code\": …}},
with the \"refusal\" and its code if there is one. Every other line there is a \"warning\".
";

pub fn after_help() -> String {
    let others: Vec<&str> = clients::over_mcp().map(|client| client.word).collect();
    AFTER_HELP.replace("CLIENTS", &others.join(", "))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    Refused = 1,
    Usage = 2,
    TaskError = 3,
    TaskCancelled = 4,
    TimedOut = 5,
    NoDaemon = 6,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    /// How waiting for these tasks ended: the worst counts, and what is unfinished most.
    pub fn of_tasks<'a>(tasks: impl IntoIterator<Item = &'a TaskView>) -> Self {
        let statuses: Vec<Status> = tasks.into_iter().map(|task| task.status).collect();
        if statuses.iter().any(|status| status.is_unfinished()) {
            Self::TimedOut
        } else if statuses.contains(&Status::Error) {
            Self::TaskError
        } else if statuses.contains(&Status::Cancelled) {
            Self::TaskCancelled
        } else {
            Self::Done
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
