//! The loop that looks after helpers until all are finished, or the person leaves.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use legwork_protocol::TaskId;
use legwork_protocol::line::Context;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionView, ResultView};
use legwork_protocol::{SessionId, Status};

use super::Event;
use super::follow::Follow;
use super::helpers::{Helpers, headline};
use super::keys::Keys;
use super::launch::{LaunchSpec, Launched, launch};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mail;
use crate::progress::{Board, REDRAW, is_live};
use crate::screen::{BAD, GOOD, MIND, Screen, harmless, paint, remark};
use crate::table::fit;
use crate::words::counted;
use crate::{sentences, signals};

/// Where nothing moves there is nothing to do between two events.
const IDLE: Duration = Duration::from_secs(60);

pub fn attend(session: Context, specs: &[LaunchSpec], screen: &Screen) -> Result<Exit, Fault> {
    let (tell, events) = mpsc::channel();
    let signals = tell.clone();
    // Nobody listens any more once the loop has ended, and that is the end of the process.
    let told = signals::listen(move |exit| drop(signals.send(Event::Signal(exit))));
    told.map_err(Fault::Input)?;
    launch(&session, specs, &tell);
    let view = RunView {
        screen,
        session: session.session.clone(),
        helpers: Helpers::new(specs, Instant::now()),
        board: is_live().then(Board::default),
        follow: Follow::start(session, tell.clone()),
        keys: None,
        is_cancelling: false,
        tell,
    };
    view.run(&events)
}

struct RunView<'a> {
    screen: &'a Screen,
    session: SessionId,
    helpers: Helpers,
    board: Option<Board>,
    follow: Follow,
    /// While the person is asked what Ctrl-C was to mean.
    keys: Option<Keys>,
    is_cancelling: bool,
    tell: Sender<Event>,
}

impl RunView<'_> {
    fn run(mut self, events: &Receiver<Event>) -> Result<Exit, Fault> {
        let mut drawn = Instant::now();
        while !self.helpers.is_over() {
            if drawn.elapsed() >= REDRAW {
                self.draw();
                drawn = Instant::now();
            }
            let patience = if self.board.is_some() { REDRAW } else { IDLE };
            let event = match events.recv_timeout(patience) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Some(exit) = self.take(event)? {
                return Ok(exit);
            }
        }
        self.close()?;
        // All that it could say has been seen.
        if let Some(mut client) = mail::connect() {
            mail::discard(&mut client, &self.session);
        }
        Ok(self.helpers.exit())
    }

    /// Takes an event in; an exit is the end of it all.
    fn take(&mut self, event: Event) -> Result<Option<Exit>, Fault> {
        match event {
            Event::Launched(number, launched) => self.launched(number, launched),
            Event::Seen(task) => {
                let id = task.id;
                let questions = self.helpers.seen(task, Instant::now());
                self.tell_questions(id, &questions);
            }
            Event::Ended(result) => {
                self.tell_end(&result)?;
                self.helpers.ended(result);
            }
            Event::Gone(id, why) => {
                self.say(format!("{} {id}: {}", paint(BAD, "✗"), sentences::refusal(&why)));
                self.helpers.gone(id, why);
            }
            Event::Signal(Exit::Interrupted) => return self.interrupted(),
            Event::Signal(exit) => return self.leave(exit).map(Some),
            Event::Key(key) => return self.answered(key),
            Event::Failed(fault) => {
                self.keys = None;
                self.wipe();
                self.tell_how_to_come_back();
                return Err(fault);
            }
        }
        Ok(None)
    }

    fn launched(&mut self, number: usize, launched: Launched) {
        let what = self.helpers.description(number).to_owned();
        match &launched {
            Ok(task) => {
                self.follow.add(task.id);
                if self.is_cancelling {
                    self.follow.cancel(vec![task.id]);
                }
                if self.board.is_none() && !self.screen.is_json() {
                    remark(format!("{} launched: {what}", task.id));
                }
            }
            Err(why) => {
                let why = harmless(&sentences::refusal(why));
                self.say(format!("{} {}: {why}", paint(BAD, "✗"), plain(&what, 200)));
            }
        }
        self.helpers.launched(number, launched);
        if self.helpers.launching() == 0 {
            self.follow.complete();
        }
    }

    fn tell_questions(&mut self, id: TaskId, questions: &[QuestionView]) {
        // On a terminal they stand in the helper's line.
        if self.board.is_some() || self.screen.is_json() {
            return;
        }
        for question in questions {
            let text = sentences::question(question);
            remark(format!("{} {id} {text} (legwork answer {id})", paint(MIND, "!")));
        }
    }

    /// Results go to stdout. Who they are of stands there only if there are several.
    fn tell_end(&mut self, ResultView { task, text, .. }: &ResultView) -> Result<(), Fault> {
        if self.screen.is_json() {
            return Ok(());
        }
        self.wipe();
        let text = text.as_deref().unwrap_or_default();
        let (is_good, headline) = (task.status == Status::Completed, headline(task));
        let reason = if is_good { String::new() } else { format!(": {}", harmless(text).trim()) };
        let line = paint(if is_good { GOOD } else { BAD }, format!("{headline}{reason}"));
        let several = self.helpers.is_several();
        if several {
            self.screen.line(&line)?;
        }
        // Not twice on the same terminal.
        if !(several && io::stdout().is_terminal() && io::stderr().is_terminal()) {
            remark(&line);
        }
        if is_good {
            self.screen.raw(text)?;
        }
        if several {
            self.screen.line("")?;
        }
        Ok(())
    }

    fn interrupted(&mut self) -> Result<Option<Exit>, Fault> {
        let is_urgent = self.keys.is_some() || self.is_cancelling || self.board.is_none();
        if !is_urgent && let Some(keys) = Keys::ask(self.tell.clone()) {
            self.keys = Some(keys);
            self.draw();
            return Ok(None);
        }
        self.leave(Exit::Interrupted).map(Some)
    }

    fn answered(&mut self, key: Option<u8>) -> Result<Option<Exit>, Fault> {
        if self.keys.take().is_none() {
            return Ok(None);
        }
        match key {
            Some(b'c' | b'C') => {
                self.is_cancelling = true;
                self.follow.cancel(self.helpers.at_work());
            }
            Some(b'l' | b'L') | None => return self.leave(Exit::Interrupted).map(Some),
            Some(_) => {}
        }
        Ok(None)
    }

    fn leave(&mut self, exit: Exit) -> Result<Exit, Fault> {
        self.close()?;
        self.tell_how_to_come_back();
        Ok(exit)
    }

    fn close(&mut self) -> Result<(), Fault> {
        self.keys = None;
        self.wipe();
        if self.screen.is_json() { self.screen.value(&self.helpers.reports()) } else { Ok(()) }
    }

    fn tell_how_to_come_back(&self) {
        let ids: Vec<String> = self.helpers.at_work().iter().map(TaskId::to_string).collect();
        if !ids.is_empty() {
            let go = if ids.len() == 1 { "goes" } else { "go" };
            remark(format!("{} {go} on. To wait again:", counted(ids.len(), "helper")));
            remark(format!("  legwork wait {}", ids.join(" ")));
        }
        let launching = self.helpers.launching();
        if launching > 0 {
            let what = counted(launching, "helper");
            remark(format!("{what} may still be launched; `legwork list` shows."));
        }
    }

    fn say(&mut self, line: String) {
        self.wipe();
        remark(line);
    }

    fn wipe(&mut self) {
        if let Some(board) = &mut self.board {
            board.clear();
        }
    }

    fn draw(&mut self) {
        let Some(board) = &mut self.board else { return };
        let (columns, rows) = Board::room();
        let turn = board.turn();
        let mut lines = self.helpers.lines(turn, Instant::now(), columns, rows.saturating_sub(1));
        if self.keys.is_some() {
            lines.push(paint(MIND, fit(&question(self.helpers.at_work().len()), columns)));
        } else if self.is_cancelling {
            lines.push(paint(MIND, fit("Cancelling. Ctrl-C leaves at once.", columns)));
        }
        board.draw(&lines);
    }
}

fn question(at_work: usize) -> String {
    let whom = match at_work {
        1 => "the running helper".to_owned(),
        several => format!("the {several} running helpers"),
    };
    format!("Cancel {whom}? [c]ancel, [l]eave them running, any other key: go on")
}
