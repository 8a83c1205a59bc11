//! What is asked and done once, a key each: answers, cancelling, going on, clearing, results, logs,
//! searches. In the order of the keys, over one link that is opened when it is needed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender};

use crate::model::again::{Again, again};
use crate::model::sentences;
use crate::model::text::first_line;
use legwork_client::{Client, Start, new_key, terminal};
use legwork_machine::Folders;
use legwork_protocol::api::{Answer, Ask, List, Refusal, Reply, Request};
use legwork_protocol::line::{Context, Role};
use legwork_protocol::view::{
    News as Decision, QuestionView, ResultView, RunView, TaskView, TasksView,
};
use legwork_protocol::{TaskId, Time};

use crate::terminal::fault::Fault;
use crate::terminal::feed::{refused, spawn};
use crate::terminal::limits::{FOUND_MAX, RESULT_MAX_BYTES};
use crate::terminal::model::News;

/// Who does what is launched here, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launches {
    pub agent: String,
    pub folder: PathBuf,
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Reply {
        question: Box<QuestionView>,
        reply: Reply,
    },
    Cancel(TaskId),
    GoOn {
        task: TaskId,
        prompt: String,
    },
    /// Has a task do again what its last run was to do.
    Retry(TaskId),
    Launch {
        prompt: String,
        by: Launches,
    },
    /// What was finished on the board of this moment.
    ClearFinished(Time),
    Result(TaskId),
    Log(TaskId),
    Find(String),
}

impl Act {
    /// Whether it changes something. Who only wants to see does not wait behind it.
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Result(_) | Self::Log(_) | Self::Find(_))
    }
}

/// Does what is asked until nobody asks any more.
pub fn work(
    name: &str,
    folders: Folders,
    acts: Receiver<Act>,
    news: SyncSender<News>,
) -> Result<(), Fault> {
    spawn(name, move || {
        let mut worker = Worker { folders, client: None };
        while let Ok(act) = acts.recv() {
            let told = worker.perform(act);
            if news.send(told).is_err() {
                return;
            }
        }
    })
}

struct Worker {
    folders: Folders,
    client: Option<Client>,
}

impl Worker {
    fn perform(&mut self, act: Act) -> News {
        let done = match act {
            Act::Result(task) => {
                return News::Result(task, Box::new(self.result(task)));
            }
            Act::Log(task) => {
                let request = Request::Log { task: task.to_string() };
                return News::Log(task, self.ask::<Vec<Decision>>(request));
            }
            Act::Find(text) => {
                let list =
                    List { search: Some(text.clone()), limit: Some(FOUND_MAX), ..List::default() };
                return News::Found(text, self.ask::<TasksView>(Ask::List(list)));
            }
            Act::Reply { question, reply } => {
                let said = sentences::replied(&question, &reply);
                let ask = Ask::Reply { question: question.id, reply };
                self.ask::<Answer>(ask).map(|_| said)
            }
            Act::Cancel(task) => {
                let cancelled = self.ask::<Answer>(Ask::Cancel { task: task.to_string() });
                cancelled.map(|answer| sentences::done(&answer))
            }
            Act::GoOn { task, prompt } => self.go_on(task, prompt),
            Act::Retry(task) => return self.retry(task).unwrap_or_else(|why| News::Done(Err(why))),
            Act::Launch { prompt, by: Launches { agent, folder } } => {
                let launch = Ask::launch(prompt.clone(), first_line(&prompt), agent);
                return self
                    .launch(&folder, None, launch)
                    .unwrap_or_else(|why| News::Done(Err(why)));
            }
            Act::ClearFinished(by) => {
                let cleared = self.ask::<Answer>(Ask::ForgetFinished { by });
                cleared.map(|answer| sentences::done(&answer))
            }
        };
        News::Done(done)
    }

    fn ask<T: TryFrom<Answer>>(&mut self, request: impl Into<Request>) -> Result<T, String> {
        self.ask_as(None, request)?.map_err(|refusal| refused(&refusal))
    }

    /// Asks as a session, or as the person.
    fn ask_as<T: TryFrom<Answer>>(
        &mut self,
        session: Option<&Context>,
        request: impl Into<Request>,
    ) -> Result<Result<T, Refusal>, String> {
        let client = match self.client.take() {
            Some(client) => client,
            None => Client::connect(&self.folders, Role::Client, Start::IfNeeded)
                .map_err(|fault| fault.to_string())?,
        };
        let client = self.client.insert(client);
        let answer = client.request_for(session, request);
        answer.map_err(|fault| {
            self.client = None;
            fault.to_string()
        })
    }

    fn go_on(&mut self, task: TaskId, prompt: String) -> Result<String, String> {
        let ask = Ask::ResumeAny { task: task.to_string(), prompt, key: new_key() };
        self.ask(ask).map(|task| goes_on(&task))
    }

    fn retry(&mut self, task: TaskId) -> Result<News, String> {
        let view: TaskView = self.ask(Request::Show { task: task.to_string() })?;
        let runs: Vec<RunView> = self.ask(Request::Runs { task: task.to_string() })?;
        let Again { go_on, anew, model } = again(&view, &runs, new_key());
        if let Some(go_on) = go_on {
            match self.ask_as(None, go_on)? {
                Ok(task) => return Ok(News::Done(Ok(goes_on(&task)))),
                Err(Refusal::SessionExpired) => {}
                Err(refusal) => return Err(refused(&refusal)),
            }
        }
        self.launch(Path::new(&view.directory), model.as_deref(), anew)
    }

    /// Launches as a terminal does that was opened in this folder.
    fn launch(&mut self, folder: &Path, model: Option<&str>, launch: Ask) -> Result<News, String> {
        let session = terminal(folder, model).map_err(|why| {
            format!("The environment of `legwork top` cannot be passed on: {why}.")
        })?;
        let launched: Result<TaskView, Refusal> = self.ask_as(Some(&session), launch)?;
        launched.map(|task| News::Launched(Box::new(task))).map_err(|refusal| refused(&refusal))
    }

    /// The whole result, or as much of it as anybody reads here.
    fn result(&mut self, task: TaskId) -> Result<ResultView, String> {
        let mut page = |offset| self.ask(Ask::Output { task: task.to_string(), offset });
        let mut whole: ResultView = page(0)?;
        while let (Some(next), Some(text)) = (whole.next, &mut whole.text)
            && text.len() < RESULT_MAX_BYTES
        {
            let more: ResultView = page(next)?;
            if more.task.resumes != whole.task.resumes {
                // It was resumed meanwhile, and comes again when that has ended.
                break;
            }
            text.push_str(more.text.as_deref().unwrap_or_default());
            whole.next = more.next;
        }
        Ok(whole)
    }
}

fn goes_on(task: &TaskView) -> String {
    format!("It goes on: {} ({}).", task.description, task.id)
}
