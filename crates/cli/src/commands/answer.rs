//! `legwork answer`.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, ValueEnum};
use legwork_client::Client;
use legwork_protocol::TaskId;
use legwork_protocol::api::{self, Ask, Reply};
use legwork_protocol::limits::ECHO_MAX_CHARS;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionKind, QuestionView, TaskView};
use serde_json::json;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_task, unfinished};
use crate::progress::is_live;
use crate::run::questions::{Asked, block};
use crate::screen::Report;
use crate::sentences::{self, QUESTION_MAX_CHARS};
use crate::{inside, mail, run};

/// Answer a permission or question that a task waits for
///
/// Answers a permission or a question that a task waits for. Without an answer it shows what is
/// asked, and on a terminal it asks for the answer. Without TASK it does so for all tasks.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork answer                                who asks, and what?
  legwork answer 4k2                            what does it ask?
  legwork answer 4k2 once                       allow it this time
  legwork answer 4k2 reject --words 'use ls'    no, and what to do instead
  legwork answer 4k2 --words 'the second one'   the answer to a question")]
pub struct Answer {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// The answer to a permission
    #[arg(value_name = "ANSWER", value_parser = Words)]
    answer: Option<Word>,
    /// The answer to a question, or what to tell the helper with a rejection
    #[arg(long, value_name = "TEXT")]
    words: Option<String>,
    /// Which question, by the number that stands with it
    #[arg(long, value_name = "NUMBER")]
    question: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Word {
    /// Yes, this once; also yes and allow
    #[value(aliases = ["yes", "allow"])]
    Once,
    /// Yes, from now on
    Always,
    /// No; also no and deny
    #[value(aliases = ["no", "deny"])]
    Reject,
}

/// Reads an answer. Unlike clap's own parser it has no tip for a slip: the nearest word to a no may
/// be a yes.
#[derive(Clone)]
struct Words;

impl TypedValueParser for Words {
    type Value = Word;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Word, clap::Error> {
        let typed = value.to_string_lossy();
        Word::from_str(&typed, false).map_err(|_| {
            let shown = plain(&typed, QUESTION_MAX_CHARS);
            let why = format!(
                "`{shown}` is no answer. Say once (or yes, allow), always, or reject (or no, deny)."
            );
            command.clone().error(ErrorKind::InvalidValue, why)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Word::value_variants().iter().filter_map(Word::to_possible_value)))
    }
}

impl super::Command for Answer {
    const SHOWS_MAIL: bool = true;

    /// Without an answer it shows the questions.
    fn acts(&self) -> bool {
        self.answer.is_some() || self.words.is_some()
    }

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let reply = self.reply()?;
        let mut client = connect()?;
        let Some(typed) = &self.task else { return all(&mut client, screen) };
        let task = find_task(&mut client, typed)?;
        let id = task.id;
        mail::seen_here(id);
        let Some(reply) = reply else { return show(&[task], Some(id), screen) };
        let question = self.question(&task)?;
        check(question, &reply)?;
        let ask = Ask::Reply { question: question.id.clone(), reply: reply.clone() };
        let answered = client.request::<api::Answer>(ask)?;
        if screen.is_json() {
            let about = json!({ "question": question.id });
            let mut report = Report::new(about, &answered);
            if !report.refused {
                report.text = sentences::replied(question, &reply);
            }
            screen.value(&report)?;
            return Ok(if report.refused { Exit::Refused } else { Exit::Done });
        }
        answered.map_err(Fault::Denied)?;
        screen.line(sentences::replied(question, &reply))?;
        Ok(Exit::Done)
    }
}

impl Answer {
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
            let is_it = |open: &&QuestionView| {
                open.id.as_str() == wanted || sentences::question_name(open) == *wanted
            };
            let known = task.questions.iter().find(is_it);
            return known.ok_or_else(|| Fault::Refused(not_asked(task, wanted)));
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

/// Why a question with this name cannot be answered.
fn not_asked(task: &TaskView, wanted: &str) -> String {
    let last = task.questions.iter().map(|open| open.number).max();
    let is_to_come = wanted.parse().is_ok_and(|wanted: u32| last.is_some_and(|last| wanted > last));
    let wanted = plain(wanted, ECHO_MAX_CHARS);
    let why = match is_to_come {
        true => format!("{} has not asked a question {wanted}.", task.id),
        false => format!(
            "{} does not ask question {wanted} any more: it was answered or withdrawn.",
            task.id
        ),
    };
    match task.questions.as_slice() {
        [] => format!("{why} It waits for no answer."),
        _ => format!("{why} `legwork answer {}` shows what it asks.", task.id),
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

/// Everything that anybody asks.
fn all(client: &mut Client, screen: &Screen) -> Result<Exit, Fault> {
    let mut asking = unfinished(client, &api::List::default())?.tasks;
    asking.retain(|task| !task.questions.is_empty());
    if screen.is_json() || asking.is_empty() {
        let value = |task: &TaskView| json!({ "task": task.id, "questions": task.questions });
        let all: Vec<_> = asking.iter().map(value).collect();
        return screen.report(|| &all, || vec!["Nobody waits for an answer."]);
    }
    asking.iter().for_each(|task| mail::seen_here(task.id));
    show(&asking, None, screen)
}

/// Shows the questions of these tasks; where a person can be asked for the answers, it asks.
fn show(tasks: &[TaskView], of: Option<TaskId>, screen: &Screen) -> Result<Exit, Fault> {
    let questions: Vec<(&TaskView, &QuestionView)> = tasks
        .iter()
        .flat_map(|task| task.questions.iter().map(move |question| (task, question)))
        .collect();
    if let ([task], true) = (tasks, screen.is_json()) {
        return screen.value(&task.questions).map(|()| Exit::Done);
    }
    if let ([task], []) = (tasks, questions.as_slice()) {
        screen.line(format!("{} waits for no answer ({}).", task.description, task.id))?;
        return Ok(Exit::Done);
    }
    if io::stdin().is_terminal() && is_live() && !inside::is_inside() {
        return run::answer(of, screen);
    }
    let columns = screen.columns().unwrap_or(usize::MAX);
    for (task, question) in questions {
        screen.lines(block(&Asked::of(task, question), columns))?;
        let ways = sentences::ways_to_answer(task, question);
        screen.lines(ways.iter().map(|way| format!("    {}", plain(way, QUESTION_MAX_CHARS))))?;
    }
    Ok(Exit::Done)
}
