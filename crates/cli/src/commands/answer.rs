//! `legwork answer`.

use clap::{Args, ValueEnum};
use legwork_protocol::api::{self, Ask, Reply};
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionKind, QuestionView, TaskView};
use serde_json::json;

use crate::asking::{connect, find_task};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::screen::{BOLD, Report, Screen, paint};
use crate::sentences::{self, QUESTION_MAX_CHARS};
use crate::words::clock;

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
    /// Which question, by its number, if the task has several
    #[arg(long, value_name = "NUMBER")]
    question: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Word {
    /// Yes, this once
    Once,
    /// Yes, from now on
    Always,
    /// No
    Reject,
}

impl Answer {
    pub fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let reply = self.reply()?;
        let mut client = connect()?;
        let task = find_task(&mut client, &self.task)?;
        let Some(reply) = reply else { return show(&task, screen) };
        let question = self.question(&task)?;
        check(question, &reply)?;
        let ask = Ask::Reply { question: question.id.clone(), reply };
        let answered = client.request::<api::Answer>(ask)?;
        if screen.is_json() {
            let about = json!({ "question": question.id });
            let report = Report::new(about, &answered);
            screen.value(&report)?;
            return Ok(if report.refused { Exit::Refused } else { Exit::Done });
        }
        screen.line(sentences::done(&answered.map_err(Fault::Denied)?))?;
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
            let numbered = (1..).zip(&task.questions);
            let is_it = |(number, open): &(usize, &QuestionView)| {
                open.id.as_str() == wanted || number.to_string() == *wanted
            };
            let known = numbered.into_iter().find(is_it).map(|(_, open)| open);
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

fn check(question: &QuestionView, reply: &Reply) -> Result<(), Fault> {
    let why = match (question.kind, reply) {
        (QuestionKind::Permission, Reply::Words(_)) => {
            "It asks for a permission, not for words: answer with once, always or reject."
        }
        (QuestionKind::Question, Reply::Once | Reply::Always) => {
            "It asks a question: answer with --words, or reject it."
        }
        _ => return Ok(()),
    };
    Err(Fault::Refused(why.to_owned()))
}

fn show(task: &TaskView, screen: &Screen) -> Result<Exit, Fault> {
    if screen.is_json() {
        return screen.value(&task.questions).map(|()| Exit::Done);
    }
    if task.questions.is_empty() {
        screen.line(format!("{} waits for no answer.", task.id))?;
    }
    for (number, question) in (1..).zip(&task.questions) {
        let text = format!("{} {}", task.id, sentences::question(question));
        screen.line(format!("{}  since {}", paint(BOLD, text), clock(question.since)))?;
        let ways = sentences::ways_to_answer(task, question, number);
        screen.lines(ways.iter().map(|way| format!("  {}", plain(way, QUESTION_MAX_CHARS))))?;
    }
    Ok(Exit::Done)
}
