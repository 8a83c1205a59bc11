//! What is asked and done once, a key each: answers, cancelling, going on, clearing, results, logs,
//! searches. In the order of the keys, over one link that is opened when it is needed.

use std::sync::mpsc::{Receiver, SyncSender};

use legwork_board::sentences;
use legwork_client::{Client, new_key};
use legwork_machine::Folders;
use legwork_protocol::api::{Answer, Ask, List, Reply, Request};
use legwork_protocol::view::{
    News as Decision, QuestionView, ResultView, RunView, TaskView, TasksView,
};
use legwork_protocol::{TaskId, Time};

use crate::fault::Fault;
use crate::feed::{Trouble, ask, connect, spawn};
use crate::limits::{FOUND_MAX, RESULT_MAX_BYTES};
use crate::model::News;

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
    /// Has a task go on with the prompt of its last run.
    Retry(TaskId),
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
                return News::Result(task, Box::new(self.result(task).map_err(in_words)));
            }
            Act::Log(task) => {
                let request = Request::Log { task: task.to_string() };
                let log: Result<Vec<Decision>, Trouble> = self.ask(request);
                return News::Log(task, log.map_err(in_words));
            }
            Act::Find(text) => {
                let list =
                    List { search: Some(text.clone()), limit: Some(FOUND_MAX), ..List::default() };
                let found: Result<TasksView, Trouble> = self.ask(Ask::List(list));
                return News::Found(text, found.map_err(in_words));
            }
            Act::Reply { question, reply } => {
                let said = sentences::replied(&question, &reply);
                let ask = Ask::Reply { question: question.id, reply };
                let replied: Result<Answer, Trouble> = self.ask(ask);
                replied.map(|_| said)
            }
            Act::Cancel(task) => {
                let cancelled: Result<Answer, Trouble> =
                    self.ask(Ask::Cancel { task: task.to_string() });
                cancelled.map(|answer| sentences::done(&answer))
            }
            Act::GoOn { task, prompt } => self.go_on(task, prompt),
            Act::Retry(task) => self.retry(task),
            Act::ClearFinished(by) => {
                let cleared: Result<Answer, Trouble> = self.ask(Ask::ForgetFinished { by });
                cleared.map(|answer| sentences::done(&answer))
            }
        };
        News::Done(done.map_err(in_words))
    }

    fn ask<T: TryFrom<Answer>>(&mut self, request: impl Into<Request>) -> Result<T, Trouble> {
        let client = match self.client.take() {
            Some(client) => client,
            None => connect(&self.folders, &mut |_| ())?,
        };
        let client = self.client.insert(client);
        let answer = ask(client, request);
        if let Err(Trouble::Away(_)) = answer {
            self.client = None;
        }
        answer
    }

    fn go_on(&mut self, task: TaskId, prompt: String) -> Result<String, Trouble> {
        let ask = Ask::ResumeAny { task: task.to_string(), prompt, key: new_key() };
        let task: TaskView = self.ask(ask)?;
        Ok(format!("It goes on: {} ({}).", task.description, task.id))
    }

    fn retry(&mut self, task: TaskId) -> Result<String, Trouble> {
        let runs: Vec<RunView> = self.ask(Request::Runs { task: task.to_string() })?;
        let prompt = runs.into_iter().last().map(|run| run.prompt).unwrap_or_default();
        self.go_on(task, prompt)
    }

    /// The whole result, or as much of it as anybody reads here.
    fn result(&mut self, task: TaskId) -> Result<ResultView, Trouble> {
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

fn in_words(trouble: Trouble) -> String {
    match trouble {
        Trouble::Away(why) | Trouble::Refused(why) => why,
    }
}
