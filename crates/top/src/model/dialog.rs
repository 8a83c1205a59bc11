//! What stands over the screen and takes the keys: all keys, a whole question, something to say yes
//! to, a line to type.

use legwork_board::ask;
use legwork_board::sentences::number;
use legwork_protocol::QuestionId;
use legwork_protocol::api::Reply;
use legwork_protocol::view::QuestionView;

use super::{Input, Model, Order, Purpose};
use crate::act::Act;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    Normal,
    /// All keys.
    Keys,
    /// A question, whole; the first line of it that is on the screen.
    Whole(usize),
    Confirm(Confirm),
    Input(Input),
}

/// Something that is done if a person says yes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirm {
    pub title: String,
    /// What it would do, whole.
    pub text: String,
    pub act: Act,
    /// The question that it answers.
    about: Option<QuestionId>,
}

impl Model {
    /// A yes for good is asked for twice, with what it allows.
    pub(super) fn confirm_always(&mut self, question: &QuestionView) {
        let label = question.options.iter().find(|option| option.id == "always");
        let label = label.map(|option| format!("\n\nIts host calls that: {}", option.label));
        self.mode = Mode::Confirm(Confirm {
            title: "Allow this from now on, without being asked?".to_owned(),
            text: format!("{}{}", ask::subject(question), label.unwrap_or_default()),
            act: Act::Reply { question: question.id.clone(), reply: Reply::Always },
            about: Some(question.id.clone()),
        });
    }

    pub(super) fn confirm_cancel(&mut self) {
        let Some(task) = self.item().map(|item| item.task.clone()) else { return };
        if !task.status.is_unfinished() {
            return self.say("It is over already: there is nothing to cancel.", true);
        }
        self.mode = Mode::Confirm(Confirm {
            title: "Cancel this task?".to_owned(),
            text: format!(
                "{}\n\nIts helper is stopped. What it did so far stays.",
                task.description
            ),
            act: Act::Cancel(task.id),
            about: None,
        });
    }

    pub(super) fn confirm_clear(&mut self) {
        let counts = self.board.counts();
        let finished = counts.completed + counts.failed + counts.cancelled;
        if finished == 0 {
            return self.say("No task is finished: there is nothing to clear.", true);
        }
        let tasks = if finished == 1 { "task" } else { "tasks" };
        self.mode = Mode::Confirm(Confirm {
            title: format!("Forget {} finished {tasks}?", number(finished as u64)),
            text: "All that are finished, of all projects, with their results.".to_owned(),
            act: Act::ClearFinished,
            about: None,
        });
    }

    pub(super) fn confirmed(&mut self) -> Vec<Order> {
        match std::mem::replace(&mut self.mode, Mode::Normal) {
            Mode::Confirm(confirm) => vec![Order::Do(confirm.act)],
            _ => vec![],
        }
    }

    /// What was about to be said to a question is not said to another one.
    pub(super) fn close_dialog_about_question(&mut self) {
        let shown = self.question().map(|question| &question.id);
        let about = match &self.mode {
            Mode::Confirm(confirm) => confirm.about.as_ref(),
            Mode::Input(Input { purpose: Purpose::Answer(id) | Purpose::Reject(id), .. }) => {
                Some(id)
            }
            Mode::Whole(_) => {
                self.mode = Mode::Normal;
                return;
            }
            _ => return,
        };
        if about.is_some() && about != shown {
            self.mode = Mode::Normal;
            self.say("The question is not there any more: it was answered or withdrawn.", true);
        }
    }
}
