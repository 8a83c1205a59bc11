//! The loop that looks after helpers until all are finished, or that asks for answers until nobody
//! waits for one; or until the person leaves.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use legwork_machine::epoch_ms;
use legwork_protocol::api::board::BoardPage;
use legwork_protocol::api::{Refusal, Reply};
use legwork_protocol::line::Context;
use legwork_protocol::refusal::plain;
use legwork_protocol::view::{QuestionView, ResultView, TaskView};
use legwork_protocol::{Status, TaskId, Time};
use legwork_views::model::answering::OVERTAKEN;
use legwork_views::model::{Board, Item};

use super::follow::Follow;
use super::helpers::{Helpers, headline};
use super::keys::Keys;
use super::launch::{LaunchSpec, Launched, launch};
use super::questions::{Questions, Typed, block};
use super::{Attendant, Event};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::mail;
use crate::progress::{Live, REDRAW, is_live};
use crate::screen::{BAD, DIM, GOOD, MIND, Screen, harmless, paint, remark};
use crate::table::fit;
use crate::words::counted;
use crate::{sentences, signals};

/// Where nothing moves there is nothing to do between two events.
const IDLE: Duration = Duration::from_secs(60);

/// Launches helpers and looks after them.
pub fn attend(attendant: Attendant, specs: &[LaunchSpec], screen: &Screen) -> Result<Exit, Fault> {
    let Attendant { launches_as, reads_as, until } = attendant;
    let (mut view, events) = RunView::open(Asks::Own, reads_as, screen)?;
    view.helpers = Helpers::new(specs, now());
    view.until = until;
    launch(&launches_as, specs, &view.tell);
    if let Some(exit) = view.run(&events)? {
        return Ok(exit);
    }
    // All that it could say has been seen.
    if let Some(mut client) = mail::connect() {
        mail::discard(&mut client, &launches_as.session);
    }
    Ok(view.helpers.exit())
}

/// Asks the person for answers to what this task asks, or all of them, until none is left.
pub fn answer(task: Option<TaskId>, screen: &Screen) -> Result<Exit, Fault> {
    let asks = task.map_or(Asks::All, Asks::Of);
    let (mut view, events) = RunView::open(asks, None, screen)?;
    Ok(view.run(&events)?.unwrap_or(Exit::Done))
}

/// Whose questions are asked here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Those of the helpers that were launched here.
    Own,
    Of(TaskId),
    All,
}

struct RunView<'a> {
    screen: &'a Screen,
    until: Option<Instant>,
    tasks: Board,
    helpers: Helpers,
    asks: Asks,
    questions: Questions,
    live: Option<Live>,
    follow: Follow,
    /// While the person is asked something.
    keys: Option<Keys>,
    /// While the person is asked what Ctrl-C was to mean.
    is_interrupted: bool,
    is_cancelling: bool,
    tell: Sender<Event>,
}

impl<'a> RunView<'a> {
    fn open(
        asks: Asks,
        reads_as: Option<Context>,
        screen: &'a Screen,
    ) -> Result<(Self, Receiver<Event>), Fault> {
        let (tell, events) = mpsc::channel();
        let signals = tell.clone();
        // Nobody listens any more once the loop has ended, and that is the end of the process.
        let told = signals::listen(move |exit| drop(signals.send(Event::Signal(exit))));
        told.map_err(Fault::Input)?;
        let view = Self {
            screen,
            until: None,
            tasks: Board::default(),
            helpers: Helpers::default(),
            asks,
            questions: Questions::default(),
            live: is_live().then(Live::default),
            follow: Follow::start(reads_as, tell.clone()),
            keys: None,
            is_interrupted: false,
            is_cancelling: false,
            tell,
        };
        Ok((view, events))
    }

    /// Gives how it ended, unless all is done.
    fn run(&mut self, events: &Receiver<Event>) -> Result<Option<Exit>, Fault> {
        let mut drawn = Instant::now();
        while !self.is_over() {
            if drawn.elapsed() >= REDRAW {
                self.draw();
                drawn = Instant::now();
            }
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return self.leave(Exit::TimedOut).map(Some);
            }
            let patience = if self.live.is_some() { REDRAW } else { IDLE };
            let event = match events.recv_timeout(left.unwrap_or(IDLE).min(patience)) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Some(exit) = self.take(event)? {
                return Ok(Some(exit));
            }
        }
        self.close().map(|()| None)
    }

    /// Without helpers it is over when the person is not asked anything.
    fn is_over(&self) -> bool {
        match self.asks {
            Asks::Own => self.helpers.is_over() && !self.questions.is_sent(),
            Asks::Of(_) | Asks::All => self.tasks.as_of().is_some() && self.keys.is_none(),
        }
    }

    /// Takes an event in; an exit is the end of it all.
    fn take(&mut self, event: Event) -> Result<Option<Exit>, Fault> {
        match event {
            Event::Launched(number, launched) => self.launched(number, launched),
            Event::Board(page) => self.see(*page),
            // It may have been read twice.
            Event::Ended(ResultView { task: TaskView { id, .. }, .. }) | Event::Gone(id, _)
                if !self.helpers.at_work().contains(&id) => {}
            Event::Ended(result) => {
                mail::seen_here(result.task.id);
                self.forget(result.task.id);
                self.tell_end(&result)?;
                self.helpers.ended(result);
                self.ask();
            }
            Event::Gone(id, why) => {
                self.say(format!("{} {} ({id})", paint(BAD, "✗"), sentences::refusal(&why)));
                self.forget(id);
                self.helpers.gone(id, why);
                self.ask();
            }
            Event::Signal(Exit::Interrupted) => return self.interrupted(),
            Event::Signal(exit) => return self.leave(exit).map(Some),
            Event::Typed(typed) => return self.typed(typed),
            Event::Replied(question, reply, answered) => {
                self.replied(&question, &reply, answered);
            }
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
                if self.live.is_none() && !self.screen.is_json() {
                    let did = if task.resumes > 0 { "Resumed" } else { "Launched" };
                    remark(format!("{did}: {what} ({})", task.id));
                }
            }
            Err(why) => {
                let why = harmless(&sentences::refusal(why));
                self.say(format!("{} {}: {why}", paint(BAD, "✗"), plain(&what, 200)));
            }
        }
        let id = launched.as_ref().ok().map(|task| task.id);
        self.helpers.launched(number, launched);
        if self.helpers.launching() == 0 {
            self.follow.complete();
        }
        // The board may have had it before, and its end too.
        id.into_iter().for_each(|id| self.see_task(id));
    }

    fn see(&mut self, page: BoardPage) {
        let applied = self.tasks.apply(page);
        let mut told: BTreeSet<TaskId> = applied.changed.into_iter().chain(applied.gone).collect();
        if applied.whole {
            // One of which nothing was told may be over as well.
            told.extend(self.helpers.at_work());
        }
        told.into_iter().for_each(|id| self.see_task(id));
        self.ask();
    }

    fn see_task(&mut self, id: TaskId) {
        let is_own = self.helpers.at_work().contains(&id);
        let is_asked = match self.asks {
            Asks::Own => is_own,
            Asks::Of(task) => task == id,
            Asks::All => true,
        };
        match self.tasks.item(id).cloned() {
            Some(item) if item.task.status.is_unfinished() && is_asked => self.seen(&item),
            Some(item) if item.task.status.is_unfinished() => {}
            _ if is_own => self.follow.read(id),
            _ => self.forget(id),
        }
    }

    /// A task asks nothing any more.
    fn forget(&mut self, id: TaskId) {
        if self.questions.forget(id) {
            self.say(paint(DIM, format!("  {OVERTAKEN}")));
        }
    }

    fn seen(&mut self, item: &Item) {
        let overtaken = self.questions.update(&item.task);
        let questions = self.helpers.seen(item);
        if overtaken {
            self.say(paint(DIM, format!("  {OVERTAKEN}")));
        }
        if self.live.is_some() || self.screen.is_json() {
            return;
        }
        let (what, id) = (plain(&item.task.description, 200), item.task.id);
        for question in questions {
            let text = sentences::question(&question);
            remark(format!("{} {what} {text} (legwork answer {id})", paint(MIND, "!")));
        }
    }

    /// Asks the next question, if the person can be asked and is not being asked already.
    fn ask(&mut self) {
        if self.live.is_none() || self.screen.is_json() {
            return;
        }
        if self.questions.ask_next(now()) {
            if self.keys.is_none() {
                self.keys = Keys::open(self.tell.clone());
            }
            if let (Some(keys), Some(asked)) = (&self.keys, self.questions.current()) {
                keys.forget_typed();
                let lines = block(asked, Live::room().0);
                self.wipe();
                lines.iter().for_each(remark);
            }
        }
        if self.questions.current().is_none() && !self.is_interrupted {
            self.keys = None;
        }
        self.draw();
    }

    fn typed(&mut self, typed: Option<Vec<u8>>) -> Result<Option<Exit>, Fault> {
        let Some(piece) = typed else {
            // Nobody can be asked any more.
            return if self.keys.take().is_some() && self.is_interrupted {
                self.leave(Exit::Interrupted).map(Some)
            } else {
                Ok(None)
            };
        };
        if self.keys.is_none() {
            return Ok(None);
        }
        if self.is_interrupted {
            return self.answered(piece.first().copied());
        }
        match self.questions.typed(&piece, now()) {
            Typed::Reply(question, reply) => self.follow.reply(question, reply),
            Typed::Later(task) => {
                self.say(format!("  → later: legwork answer {task}"));
                self.ask();
            }
            Typed::Nothing => {}
        }
        self.draw();
        Ok(None)
    }

    fn replied(&mut self, question: &QuestionView, reply: &Reply, answered: Result<(), Refusal>) {
        let is_over = match answered {
            Ok(()) => {
                self.say(format!("  {} {}", paint(GOOD, "→"), sentences::replied(question, reply)));
                true
            }
            Err(why) => {
                self.say(format!("  {} {}", paint(BAD, "✗"), sentences::refusal(&why)));
                matches!(why, Refusal::NoSuchQuestion(_))
            }
        };
        self.questions.replied(&question.id, is_over);
        self.ask();
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
        let is_alone = self.live.is_none() || self.helpers.is_over();
        let is_urgent = self.is_interrupted || self.is_cancelling || is_alone;
        if !is_urgent && self.keys.is_none() {
            self.keys = Keys::open(self.tell.clone());
        }
        if !is_urgent && self.keys.is_some() {
            self.is_interrupted = true;
            self.draw();
            return Ok(None);
        }
        self.leave(Exit::Interrupted).map(Some)
    }

    /// What Ctrl-C was to mean.
    fn answered(&mut self, key: Option<u8>) -> Result<Option<Exit>, Fault> {
        self.is_interrupted = false;
        // It may be the first letter of a `no`.
        self.questions.hold(now());
        match key {
            Some(b'c' | b'C') => {
                self.is_cancelling = true;
                self.follow.cancel(self.helpers.at_work());
            }
            Some(b'l' | b'L') => return self.leave(Exit::Interrupted).map(Some),
            Some(_) | None => {}
        }
        self.ask();
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
        if let Some(live) = &mut self.live {
            live.clear();
        }
    }

    fn draw(&mut self) {
        let Some(live) = &mut self.live else { return };
        let (columns, rows) = Live::room();
        let turn = live.turn();
        let is_asked = self.keys.is_some();
        let is_here = |task| is_asked && self.questions.holds(task);
        // The keys and how many questions wait need two lines.
        let room = (columns, rows.saturating_sub(2));
        let mut lines = self.helpers.lines(turn, now(), room, is_here);
        if self.is_interrupted {
            lines.push(paint(MIND, fit(&question(self.helpers.at_work().len()), columns)));
        } else if self.is_cancelling {
            lines.push(paint(MIND, fit("Cancelling. Ctrl-C leaves at once.", columns)));
        } else if is_asked {
            lines.extend(self.questions.prompt(columns, now()));
        }
        live.draw(&lines);
    }
}

fn now() -> Time {
    Time(epoch_ms())
}

fn question(at_work: usize) -> String {
    let whom = match at_work {
        1 => "the running helper".to_owned(),
        several => format!("the {several} running helpers"),
    };
    format!("Cancel {whom}? [c]ancel, [l]eave them running, any other key: go on")
}
