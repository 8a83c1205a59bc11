//! `background_block`: waits in slices that are shorter than the client's patience. A session that
//! nobody can wake gets the results along with the answer: while it waits, the runs are collected,
//! so that nothing tells them another way.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use legwork_client::Daemon;
use legwork_protocol::api::{self, Ask, Request};
use legwork_protocol::limits::{BLOCK_DEFAULT_MS, COLLECT_WAIT_MAX_MS};
use legwork_protocol::view::{EndView, TaskView};
use legwork_protocol::{QuestionId, TaskId};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::asker::Asker;
use crate::calls::{Progress, Text};
use crate::limits::BLOCK_MARGIN_MS;
use crate::server::{After, Server};

impl Server {
    pub async fn block(&self, asker: &Asker, mut arguments: Value, progress: Progress<'_>) -> Text {
        let slice = asker.patience_ms.saturating_sub(BLOCK_MARGIN_MS);
        let asked = arguments["timeout"].as_u64().unwrap_or(BLOCK_DEFAULT_MS);
        let is_cut = asked > slice && arguments.is_object();
        if is_cut {
            arguments["timeout"] = json!(slice);
        }
        let runs = if asker.fetches() { self.runs_in(&arguments).await } else { Vec::new() };
        let mut held = JoinSet::new();
        for (task, run) in runs.iter().copied() {
            held.spawn(hold(self.daemon.clone(), task, run));
        }
        let began = Instant::now();
        let mut text = self.plain_call(asker, "background_block", arguments, progress).await;
        let was_cut = is_cut && began.elapsed() >= Duration::from_millis(slice);
        if was_cut && !text.is_error {
            let seconds = slice / 1_000;
            text.said.push_str(&format!(
                "\n\nThis client gives up on longer calls, so this one waited for at most \
                 {seconds} s. To go on waiting, call background_block again."
            ));
        }
        for (task, run) in runs {
            self.add_end((task, run), &mut text).await;
        }
        text
    }

    /// The present runs of the tasks that are named.
    async fn runs_in(&self, arguments: &Value) -> Vec<(TaskId, u32)> {
        let named = arguments["task_ids"].as_array().into_iter().flatten();
        let named: BTreeSet<&str> = named.filter_map(Value::as_str).collect();
        let mut runs = Vec::new();
        for task in named {
            let show = Request::Show { task: task.to_owned() };
            // What is not known the answer to the call says.
            if let Ok(task) = self.daemon.request::<TaskView>(show).await {
                runs.push((task.id, task.resumes));
            }
        }
        runs
    }

    /// Adds the end of a run that has ended and was not told.
    async fn add_end(&self, (task, run): (TaskId, u32), text: &mut Text) {
        let look = collect(task, run, Vec::new(), 0);
        let Ok(api::Answer::Collected { task: view, ended: true, .. }) =
            self.daemon.request(look).await
        else {
            return;
        };
        if !view.notice_pending || view.resumes != run {
            return;
        }
        let ended = Request::Ended { task: task.to_string(), run };
        if let Ok(EndView { text: end, .. }) = self.daemon.request(ended).await {
            text.said.push_str(&format!("\n\n{end}"));
            text.ends.insert(task);
            text.after.push(After::HandedOver { task, run });
        }
    }
}

fn collect(task: TaskId, run: u32, questions: Vec<QuestionId>, wait_ms: u64) -> Ask {
    Ask::Collect { task: task.to_string(), run, questions, wait_ms }
}

/// Collects a run until it has ended, or until nobody waits for it. Questions are the person's.
async fn hold(daemon: Daemon, task: TaskId, run: u32) {
    let mut questions = Vec::new();
    loop {
        let poll = collect(task, run, questions, COLLECT_WAIT_MAX_MS);
        match daemon.request(poll).await {
            Ok(api::Answer::Collected { task, ended: false, .. }) => {
                questions = task.questions.into_iter().map(|question| question.id).collect();
            }
            _ => return,
        }
    }
}
