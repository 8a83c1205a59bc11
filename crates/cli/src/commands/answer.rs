//! `legwork answer`.

use clap::{Args, ValueEnum};
use legwork_protocol::ask::Reply;
use legwork_protocol::line::Query;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionView, TaskView};
use serde::Serialize;

use crate::asking::{connect, find, task};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::{BOLD, Screen, paint};

/// Longer than any question that is kept.
const QUESTION_MAX_CHARS: usize = 1_000;

/// Answer a permission or question that a task waits for
///
/// Answers a permission or a question that a task waits for. Without an answer it shows what the
/// task asks.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork answer 4k2                            what does it ask?
  legwork answer 4k2 once                       allow it this time
  legwork answer 4k2 reject --words 'use ls'    no, and what to do instead
  legwork answer 4k2 --words 'the second one'   the answer to a question")]
pub struct Answer {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// The answer to a permission
    #[arg(value_name = "ANSWER")]
    answer: Option<Word>,
    /// The answer to a question, or what to tell the helper with a rejection
    #[arg(long, value_name = "TEXT")]
    words: Option<String>,
    /// Which question, if the task has several
    #[arg(long, value_name = "ID")]
    question: Option<String>,
}

/// The answers to a permission.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Word {
    /// Yes, this once
    Once,
    /// Yes, from now on
    Always,
    /// No
    Reject,
}

#[derive(Serialize)]
struct Shown {
    question: String,
    refused: bool,
    text: String,
}

impl Answer {
    /// Answers, or shows the questions.
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let reply = self.reply()?;
        let mut client = connect()?;
        let id = find(&mut client, &self.task)?;
        let task = task(&mut client, id)?;
        let Some(reply) = reply else { return show(&task, screen) };
        let question = self.question(&task)?.id.clone();
        let answered = client.ask(Query::Reply { question: question.clone(), reply })?;
        if screen.is_json() {
            let (refused, text) = (answered.refused, answered.text);
            screen.value(&Shown { question: question.to_string(), refused, text })?;
            return Ok(if refused { Exit::Refused } else { Exit::Done });
        }
        if answered.refused {
            return Err(Fault::Refused(answered.text));
        }
        screen.line(&answered.text)?;
        Ok(Exit::Done)
    }

    /// Whether it answers, instead of showing the questions.
    pub fn acts(&self) -> bool {
        self.answer.is_some() || self.words.is_some()
    }

    fn reply(&self) -> Result<Option<Reply>, Fault> {
        let words = self.words.clone();
        match (self.answer, words) {
            (None, None) => Ok(None),
            (None, Some(words)) => Ok(Some(Reply::Words(words))),
            (Some(Word::Reject), words) => Ok(Some(Reply::Reject(words))),
            (Some(Word::Once), None) => Ok(Some(Reply::Once)),
            (Some(Word::Always), None) => Ok(Some(Reply::Always)),
            (Some(Word::Once | Word::Always), Some(_)) => Err(Fault::Usage(
                "Words go with `reject`, or alone as the answer to a question.".to_owned(),
            )),
        }
    }

    fn question<'a>(&self, task: &'a TaskView) -> Result<&'a QuestionView, Fault> {
        let id = task.id;
        if let Some(wanted) = &self.question {
            let known = task.questions.iter().find(|open| open.id.as_str() == wanted);
            return known.ok_or_else(|| {
                let shown = plain(wanted, 80);
                Fault::Refused(format!("{id} does not ask {shown}. `legwork answer {id}` shows."))
            });
        }
        match task.questions.as_slice() {
            [only] => Ok(only),
            [] => Err(Fault::Refused(format!("{id} waits for no answer."))),
            several => Err(Fault::Refused(format!(
                "{id} asks {} things. Say which with --question; `legwork answer {id}` shows them.",
                several.len()
            ))),
        }
    }
}

fn show(task: &TaskView, screen: &Screen) -> Result<Exit, Fault> {
    if screen.is_json() {
        screen.value(&task.questions)?;
    } else if task.questions.is_empty() {
        screen.line(format!("{} waits for no answer.", task.id))?;
    } else {
        for question in &task.questions {
            let text = plain(&question.text, QUESTION_MAX_CHARS);
            screen.line(format!("{}  {text}", paint(BOLD, &question.id)))?;
        }
        let id = task.id;
        screen.line(format!(
            "\nA permission (per_…): legwork answer {id} once|always|reject\n\
             A question (que_…):   legwork answer {id} --words TEXT"
        ))?;
    }
    Ok(Exit::Done)
}
