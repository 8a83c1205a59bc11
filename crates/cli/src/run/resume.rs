//! A person has a task go on, whoever launched it and however it ended.

use legwork_client::unique;
use legwork_protocol::CallKey;
use legwork_protocol::api::Ask;
use legwork_protocol::line::Context;
use legwork_protocol::view::TaskView;

use super::{Attendant, LaunchSpec, terminal};
use crate::asking::{connect, find_task};
use crate::fault::Fault;
use crate::views::is_terminal;

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
    let launches_as = terminal(None)?;
    let ask = Ask::ResumeAny { task: task.id.to_string(), prompt: prompt.clone(), key: key() };
    Ok(Resume {
        attendant: Attendant { reads_as: reader(&task, &launches_as), launches_as, until: None },
        spec: LaunchSpec { description: task.description, ask },
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
