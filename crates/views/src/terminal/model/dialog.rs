//! What stands over the screen and takes the keys: all keys, a whole question, something to say yes
//! to, a line to type.

use crate::model::State;
use crate::model::answering;
use crate::model::sentences::number;
use legwork_protocol::QuestionId;
use legwork_protocol::api::Reply;
use legwork_protocol::view::QuestionView;
use ratatui::crossterm::event::KeyCode;

use super::{Input, Model, Order, Purpose};
use crate::terminal::act::Act;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
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
        self.typing.hold(self.now);
        self.mode = Mode::Confirm(Confirm {
            title: answering::WIDER.to_owned(),
            text: answering::wider(question),
            act: Act::Reply { question: Box::new(question.clone()), reply: Reply::Always },
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

    pub(super) fn confirm_retry(&mut self) {
        let Some(item) = self.item().cloned() else { return };
        let task = item.task;
        match item.row.state {
            State::Failed | State::Cancelled => {}
            State::Completed => {
                return self.say("It is completed. c has it go on with something more.", true);
            }
            _ => return self.say("It is not over yet.", true),
        }
        let how = match task.session {
            Some(_) => {
                "Its helper gets the prompt of its last run once more and knows how far it came."
            }
            None => "It never began. Another one is launched with the same prompt.",
        };
        self.mode = Mode::Confirm(Confirm {
            title: "Try this again?".to_owned(),
            text: format!("{}\n\n{how}", task.description),
            act: Act::Retry(task.id),
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
            act: Act::ClearFinished(self.board.as_of().unwrap_or_default()),
            about: None,
        });
    }

    /// A yes counts if it was not typed as a letter of something else; any other key is a no.
    pub(super) fn confirm_key(&mut self, confirm: Confirm, key: KeyCode) -> Vec<Order> {
        let is_typed = confirm.about.is_some() && !self.typing.lets_through(self.now);
        self.hold_after(key);
        match key {
            KeyCode::Char('y' | 'Y') if is_typed => self.mode = Mode::Confirm(confirm),
            KeyCode::Char('y' | 'Y') => return vec![Order::Do(confirm.act)],
            _ => {}
        }
        vec![]
    }

    /// A letter ends a dialog, and may be the first one of a `no`: its `o` answers nothing.
    pub(super) fn hold_after(&mut self, key: KeyCode) {
        if let KeyCode::Char(_) = key {
            self.typing.hold(self.now);
        }
    }

    /// What was about to be said to a question is not said to another one.
    pub(super) fn close_dialog_about_question(&mut self) {
        let shown = self.question().map(|question| &question.id);
        let about = match &self.mode {
            Mode::Confirm(confirm) => confirm.about.as_ref(),
            Mode::Input(Input { purpose: Purpose::Answer(question), .. }) => Some(&question.id),
            Mode::Whole(_) => {
                self.mode = Mode::Normal;
                return;
            }
            _ => return,
        };
        if about.is_some() && about != shown {
            self.mode = Mode::Normal;
            self.hold_open_text();
            self.say(answering::OVERTAKEN, true);
        }
    }
}
