//! A person has a task go on, whoever launched it and however it ended.

use legwork_client::unique;
use legwork_protocol::api::{Ask, Request};
use legwork_protocol::line::Context;
use legwork_protocol::view::{RunView, TaskView};
use legwork_protocol::{CallKey, Status};
use legwork_views::model::again::{Again, again};

use super::{Attendant, LaunchSpec, terminal};
use crate::asking::{connect, find_task, get};
use crate::fault::Fault;
use crate::sentences::is_terminal;
use crate::sentences::not_done;

pub struct Resume {
    pub attendant: Attendant,
    pub spec: LaunchSpec,
}

/// Gets everything ready to have this task go on with this prompt.
pub fn resume(typed: &str, prompts: &[String]) -> Result<Resume, Fault> {
    let [prompt] = prompts else {
        return Err(Fault::Usage("A task is resumed with one prompt.".to_owned()));
    };
    let task = find_task(&mut connect()?, typed)?;
    let ask = Ask::ResumeAny { task: task.id.to_string(), prompt: prompt.clone(), key: key() };
    resume_task(task, ask)
}

fn resume_task(task: TaskView, ask: Ask) -> Result<Resume, Fault> {
    let launches_as = terminal(None)?;
    Ok(Resume {
        attendant: Attendant { reads_as: reader(&task, &launches_as), launches_as, until: None },
        spec: LaunchSpec { description: task.description, ask },
    })
}

/// Gets everything ready to have this task do again what its last run was asked to do. One whose
/// session was never opened has nothing to go on with, so another is launched in its place.
pub fn retry(typed: &str) -> Result<Resume, Fault> {
    let mut client = connect()?;
    let task = find_task(&mut client, typed)?;
    let id = task.id;
    if task.status.is_unfinished() {
        return Err(Fault::Refused(not_done(&task)));
    }
    if task.status == Status::Completed {
        return Err(Fault::Refused(format!(
            "{id} has completed, so there is nothing to try again. `legwork resume {id} \"…\"` has \
             it do more."
        )));
    }
    let runs: Vec<RunView> = get(&mut client, Request::Runs { task: id.to_string() })?;
    let Again { go_on, anew, model } = again(&task, &runs, key());
    if let Some(go_on) = go_on {
        return resume_task(task, go_on);
    }
    let mut launches_as = terminal(model.as_deref())?;
    launches_as.directory.clone_from(&task.directory);
    Ok(Resume {
        attendant: Attendant::of(launches_as, None),
        spec: LaunchSpec { description: task.description, ask: anew },
    })
}

/// A terminal that launched it is gone or waits for its shell, so its result is read here in its
/// place. Another session is told as always.
fn reader(task: &TaskView, here: &Context) -> Option<Context> {
    let session = Some(task.parent.clone()).filter(is_terminal)?;
    Some(Context { session, environment: None, ..here.clone() })
}

fn key() -> CallKey {
    let key = CallKey::try_from(format!("resume-{}", unique()));
    key.unwrap_or_else(|_| unreachable!("digits make a key"))
}
