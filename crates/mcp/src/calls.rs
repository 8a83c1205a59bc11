//! A call of one of the tools: answered with a task where the client can follow one, else with
//! text. What the session has not read yet goes before the text.

use std::collections::BTreeSet;

use legwork_client::{Answered, Trouble};
use legwork_protocol::api::{self, Ask, Refusal, Request, ToolCall};
use legwork_protocol::json_rpc::RpcError;
use legwork_protocol::view::{Mail, TaskView};
use legwork_protocol::{MessageId, TaskId};
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;

use crate::asker::Asker;
use crate::era::{Client, bad};
use crate::server::{After, Answer, Server};
use crate::tasks;

const TASK: &str = "background_task";
const OUTPUT: &str = "background_output";
const BLOCK: &str = "background_block";
const CANCEL: &str = "background_cancel";
const CLEAR: &str = "background_clear";

/// Text for the model, with what is to be done once it has been given.
#[derive(Default)]
pub struct Text {
    pub said: String,
    pub is_error: bool,
    pub after: Vec<After>,
    /// Tasks whose end is in it.
    pub ends: BTreeSet<TaskId>,
}

impl Server {
    pub async fn call(
        self: &std::sync::Arc<Self>,
        client: &Client,
        params: &Value,
    ) -> Result<Answer, RpcError> {
        let tool = params["name"].as_str().ok_or_else(|| bad("name is missing"))?;
        if matches!(ToolCall::read(tool, Value::Null), Err(Refusal::NoSuchTool(_))) {
            return Err(bad(format!("there is no tool {tool}")));
        }
        let arguments = params["arguments"].clone();
        let knows_tasks = self.knows_tasks.load(std::sync::atomic::Ordering::Relaxed);
        let asker = self.surroundings.asker(client, params, knows_tasks);
        if tool == TASK && client.has_tasks() {
            return self.launch(&asker, arguments).await;
        }
        let progress = Progress::of(params);
        let mut text = match tool {
            BLOCK => self.block(&asker, arguments.clone(), progress).await,
            CANCEL | CLEAR => self.ending_call(&asker, tool, arguments.clone(), progress).await,
            _ => self.plain_call(&asker, tool, arguments.clone(), progress).await,
        };
        if tool == TASK && client.has_forms() && !text.is_error {
            self.watch_questions(&asker.context.session);
        }
        if tool == OUTPUT {
            // Who reads a result needs no mail about it.
            text.ends
                .extend(arguments["task_id"].as_str().and_then(|id| id.parse::<TaskId>().ok()));
        }
        let shows = self.with_mail(&asker, &mut text).await;
        let mut result = json!({ "content": [{ "type": "text", "text": text.said }] });
        if text.is_error {
            result["isError"] = json!(true);
        }
        Ok(Answer { result, after: text.after, shows })
    }

    pub async fn plain_call(
        &self,
        asker: &Asker,
        tool: &str,
        arguments: Value,
        mut progress: Progress<'_>,
    ) -> Text {
        let (key, context) = (asker.key.clone(), &asker.context);
        let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
        let call = self.daemon.call(key, (tool, arguments), context, move |text| {
            // Nobody listens any more once the call is answered.
            let _ = say.send(text);
        });
        tokio::pin!(call);
        let answered = loop {
            tokio::select! {
                answered = &mut call => break answered,
                Some(words) = said.recv() => progress.tell(self, &words).await,
            }
        };
        match answered {
            Ok(Answered { refused, text }) => {
                Text { said: text, is_error: refused, ..Text::default() }
            }
            Err(trouble) => Text { said: words(&trouble), is_error: true, ..Text::default() },
        }
    }

    /// A call that ends runs, of the task that it names or of all. It is answered once the client
    /// has heard of these ends by its polls.
    async fn ending_call(
        &self,
        asker: &Asker,
        tool: &str,
        arguments: Value,
        progress: Progress<'_>,
    ) -> Text {
        let task = arguments["task_id"].as_str().map(str::parse::<TaskId>);
        // A name that is no id the daemon refuses, or knows.
        let Ok(task) = task.transpose() else {
            return self.plain_call(asker, tool, arguments, progress).await;
        };
        let is_polled = self.polls.are_of(task);
        let text = self.plain_call(asker, tool, arguments, progress).await;
        if is_polled && !text.is_error {
            self.polls.have_ends(task).await;
        }
        text
    }

    /// A launch or a resume whose end the client polls for.
    async fn launch(&self, asker: &Asker, arguments: Value) -> Result<Answer, RpcError> {
        let refused = |text: String| {
            let content = json!([{ "type": "text", "text": text }]);
            Ok(json!({ "content": content, "isError": true }).into())
        };
        let ask = match ToolCall::read(TASK, arguments) {
            Ok(ToolCall { ask, .. }) => collected(ask),
            Err(refusal) => return refused(refusal.text()),
        };
        let key = Some(asker.key.clone());
        match self.daemon.request_for::<TaskView>(Some(&asker.context), key, ask).await {
            Ok(task) => {
                let run = task.resumes;
                let mut result = tasks::view(&task, run, tasks::State::Working);
                result["resultType"] = json!("task");
                Ok(result.into())
            }
            Err(trouble) => refused(words(&trouble)),
        }
    }

    /// Puts what the session has not read before what is said.
    async fn with_mail(&self, asker: &Asker, text: &mut Text) -> Option<OwnedMutexGuard<()>> {
        let shows = self.shows.clone().lock_owned().await;
        let (mut shown, mut before) = (Vec::<MessageId>::new(), String::new());
        for session in &asker.reads {
            let unread = Request::Unread { session: session.clone() };
            // A daemon that is away has nothing to show now.
            let unread: Vec<Mail> = self.daemon.request(unread).await.unwrap_or_default();
            for mail in unread {
                let known = !mail.tasks.is_empty()
                    && mail.tasks.iter().all(|task| text.ends.contains(task));
                if !known {
                    before.push_str(&mail.text);
                    before.push_str("\n\n");
                }
                shown.push(mail.message);
            }
        }
        if shown.is_empty() {
            return None;
        }
        text.said.insert_str(0, &before);
        text.after.push(After::Shown(shown));
        Some(shows)
    }
}

/// The same, by somebody who collects the end.
fn collected(ask: Ask) -> Ask {
    match ask {
        Ask::Launch { prompt, description, agent, fork, .. } => {
            Ask::Launch { prompt, description, agent, fork, collects: true }
        }
        Ask::Resume { task, prompt, .. } => Ask::Resume { task, prompt, collects: true },
        other => other,
    }
}

/// Why nothing came of it, for the model.
pub fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Refused(refusal) => refusal.text(),
        Trouble::Away(why) => format!("legwork cannot do this at the moment. {why}"),
    }
}

/// Signs of life for a client that wants some.
pub struct Progress<'a> {
    token: &'a Value,
    count: u32,
}

impl<'a> Progress<'a> {
    pub fn of(params: &'a Value) -> Self {
        Self { token: &params["_meta"]["progressToken"], count: 0 }
    }

    pub async fn tell(&mut self, server: &Server, words: &str) {
        if self.token.is_null() {
            return;
        }
        self.count += 1;
        let progress =
            json!({ "progressToken": self.token, "progress": self.count, "message": words });
        server.notify("notifications/progress", &progress).await;
    }
}

/// What an answer of the daemon's is called that only says that something was done.
pub type Done = api::Answer;
