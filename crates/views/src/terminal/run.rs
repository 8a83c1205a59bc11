//! The loop: news and keys go into the model, what it wants done goes to the threads, and what it
//! looks like goes to the terminal, at most twenty times a second.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use legwork_machine::{Folders, epoch_ms};
use legwork_protocol::{TaskId, Time};
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::terminal::act::{self, Act, Launches};
use crate::terminal::draw::draw;
use crate::terminal::fault::Fault;
use crate::terminal::feed::{self, Readers, spawn};
use crate::terminal::limits::{FRAME_MS, NEWS_MAX, REQUESTS_MAX, TICK_MS};
use crate::terminal::model::{Model, News, Order, Theme};
use crate::terminal::takeover::Taken;

/// What the view needs to know of where it runs.
#[derive(Debug)]
pub struct Setup {
    pub folders: Folders,
    /// Whether colours may be used.
    pub colours: bool,
    /// Why nothing may be done here but looking, if that is so.
    pub only_looking: Option<String>,
    /// Who does what is launched here, and where; or why nothing can be.
    pub launches: Result<Launches, String>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A key said so.
    Quit,
    /// Somebody said so from outside, in their own words: the number of a signal.
    Stopped(u8),
}

/// Ends the view from outside.
#[derive(Debug, Clone)]
pub struct Stopper(SyncSender<News>);

impl Stopper {
    pub fn stop(&self, signal: u8) {
        let _ = self.0.send(News::Stop(signal));
    }
}

/// Whether there is a terminal to draw on and to hear keys from.
fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows everything until it is told to end. `ready` gets what ends it from outside.
pub fn run(setup: Setup, ready: impl FnOnce(Stopper) -> io::Result<()>) -> Result<Ended, Fault> {
    if !is_terminal() {
        return Err(Fault::NoTerminal);
    }
    let (news, heard) = sync_channel(NEWS_MAX);
    let (changes, changes_due) = sync_channel(REQUESTS_MAX);
    let (reads, reads_due) = sync_channel(REQUESTS_MAX);
    ready(Stopper(news.clone())).map_err(Fault::Signals)?;
    let mut taken = Taken::take().map_err(Fault::Terminal)?;
    let folders = setup.folders;
    act::work("changes", folders.clone(), changes_due, news.clone())?;
    act::work("reads", folders.clone(), reads_due, news.clone())?;
    feed::board(folders.clone(), news.clone())?;
    keys(news.clone())?;
    let readers = Readers::new(folders, news);
    let theme = Theme { colours: setup.colours };
    let model = Model::new(theme, setup.only_looking, setup.launches, now());
    View { model, readers, changes, reads, wanted: None }.show(&mut taken, &heard)
}

fn now() -> Time {
    Time(epoch_ms())
}

fn keys(news: SyncSender<News>) -> Result<(), Fault> {
    spawn("keys", move || {
        while let Ok(event) = event::read() {
            let told = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => News::Key(key),
                Event::Paste(text) => News::Pasted(text),
                Event::Resize(..) => News::Resized,
                _ => continue,
            };
            if news.send(told).is_err() {
                return;
            }
        }
        // The terminal is gone.
        let _ = news.send(News::Stop(HANGUP));
    })
}

/// The signal of a terminal that was closed.
const HANGUP: u8 = 1;

struct View {
    model: Model,
    readers: Readers,
    changes: SyncSender<Act>,
    reads: SyncSender<Act>,
    /// The conversation that is to be read as soon as there is room for it.
    wanted: Option<TaskId>,
}

impl View {
    fn show(mut self, taken: &mut Taken, heard: &Receiver<News>) -> Result<Ended, Fault> {
        let frame = Duration::from_millis(FRAME_MS);
        let (mut drawn, mut is_new) = (Instant::now() - frame, true);
        loop {
            let tick = Duration::from_millis(self.model.wake_in_ms().unwrap_or(TICK_MS));
            let wait = if is_new { frame.saturating_sub(drawn.elapsed()) } else { tick };
            match heard.recv_timeout(wait) {
                Ok(news) => {
                    if let Some(ended) = self.hear(news)? {
                        return Ok(ended);
                    }
                    is_new = true;
                }
                Err(RecvTimeoutError::Timeout) => is_new = true,
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Quit),
            }
            if is_new && drawn.elapsed() >= frame {
                let orders = self.model.tick(now());
                self.obey(orders)?;
                self.draw(taken)?;
                (drawn, is_new) = (Instant::now(), false);
            }
        }
    }

    fn draw(&mut self, taken: &mut Taken) -> Result<(), Fault> {
        let terminal = &mut taken.terminal;
        if self.model.take_redraw() {
            terminal.clear().map_err(Fault::Terminal)?;
        }
        let size = terminal.size().map_err(Fault::Terminal)?;
        self.model.prepare(size.width, size.height);
        let model = &self.model;
        terminal.draw(|frame| draw(frame, model)).map_err(Fault::Terminal)?;
        Ok(())
    }

    fn hear(&mut self, news: News) -> Result<Option<Ended>, Fault> {
        if let News::Stop(signal) = news {
            return Ok(Some(Ended::Stopped(signal)));
        }
        let orders = self.model.hear(news, now());
        self.obey(orders)
    }

    fn obey(&mut self, orders: Vec<Order>) -> Result<Option<Ended>, Fault> {
        for order in orders {
            match order {
                Order::Quit => return Ok(Some(Ended::Quit)),
                Order::Read(task) => self.wanted = Some(task),
                Order::ReadNothing => {
                    self.wanted = None;
                    self.readers.close();
                }
                Order::Do(act) => {
                    let queue = if act.changes() { &self.changes } else { &self.reads };
                    if let Err(TrySendError::Full(_)) = queue.try_send(act) {
                        self.model.say_busy(now());
                    }
                }
            }
        }
        if let Some(task) = self.wanted
            && self.readers.open(task)?
        {
            self.wanted = None;
        }
        Ok(None)
    }
}
