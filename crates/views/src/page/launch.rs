//! Launching from the page, as a terminal does: with the environment of whoever started the front,
//! and only in a folder in which a helper has worked before, or in which the front was started.

use std::env;
use std::path::Path;

use crate::model::again::{Again, again};
use crate::model::{Item, project, text};
use hyper::StatusCode;
use legwork_client::{Daemon, Trouble, terminal};
use legwork_protocol::api::view::{CostsView, RunView, TaskView};
use legwork_protocol::api::{Ask, CostBy, Refusal, Request};
use legwork_protocol::line::Context;
use legwork_protocol::tools::OfferedAgent;
use legwork_protocol::{CallKey, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::page::api::{Done, Failure, item, read_as};
use crate::page::limits::FOLDERS_MAX;

/// A folder that a helper can work in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Folder {
    path: String,
    /// What its project is called.
    project: String,
}

impl Folder {
    fn of(path: String) -> Self {
        Self { project: project::name(&path), path }
    }
}

#[derive(Deserialize)]
struct Wanted {
    prompt: String,
    agent: String,
    folder: String,
    #[serde(default)]
    description: String,
}

/// The agents and the folders that somebody can choose from.
pub async fn choices(daemon: &Daemon) -> Done {
    let agents: Vec<OfferedAgent> = daemon.request(Request::Agents).await?;
    let known: Vec<Folder> = known(daemon).await?.into_iter().map(Folder::of).collect();
    Ok(json!({ "agents": agents, "folders": known }))
}

pub async fn launch(daemon: &Daemon, body: Value) -> Done {
    let Wanted { prompt, agent, folder, description } = read_as(body, "a launch")?;
    let known = known(daemon).await?;
    if !known.contains(&folder) {
        let unknown = format!(
            "No helper has worked in {} yet, or the folder is gone. Choose another one, or run \
             `legwork run` in it.",
            text::harmless(&folder)
        );
        return Err(Failure::new(StatusCode::CONFLICT, unknown));
    }
    let description = match description.trim() {
        "" => text::first_line(&prompt),
        given => given.to_owned(),
    };
    launch_in(daemon, &folder, None, Ask::launch(prompt, description, agent)).await
}

/// Has a task that failed do the same again: in its session, or anew if it has none.
pub async fn retry(daemon: &Daemon, task: TaskId, key: CallKey) -> Done {
    let view: TaskView = daemon.request(Request::Show { task: task.to_string() }).await?;
    let runs: Vec<RunView> = daemon.request(Request::Runs { task: task.to_string() }).await?;
    let Again { go_on, anew, model } = again(&view, &runs, key);
    if let Some(go_on) = go_on {
        match daemon.request::<TaskView>(go_on).await {
            Err(Trouble::Refused(Refusal::SessionExpired)) => {}
            resumed => return item(resumed?),
        }
    }
    launch_in(daemon, &view.directory, model.as_deref(), anew).await
}

async fn launch_in(daemon: &Daemon, folder: &str, model: Option<&str>, launch: Ask) -> Done {
    let session: Context = terminal(Path::new(folder), model).map_err(|bad| {
        let what = format!("The environment of `legwork ui` cannot be passed on: {bad}.");
        Failure::new(StatusCode::CONFLICT, what)
    })?;
    let task: TaskView = daemon.request_for(Some(&session), None, launch).await?;
    Ok(json!({ "item": Item::from(task) }))
}

/// The folders of all kept tasks that are still there, and ours.
async fn known(daemon: &Daemon) -> Result<Vec<String>, Failure> {
    let costs: CostsView =
        daemon.request(Request::Cost { by: CostBy::Project, since: None }).await?;
    let own = env::current_dir().ok().map(|own| own.to_string_lossy().into_owned());
    let mut known: Vec<String> = costs.groups.into_iter().map(|group| group.name).collect();
    known.retain(|path| Path::new(path).is_absolute() && Path::new(path).is_dir());
    known.truncate(FOLDERS_MAX);
    if let Some(own) = own.filter(|own| !known.contains(own)) {
        known.insert(0, own);
    }
    Ok(known)
}
