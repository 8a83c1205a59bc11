//! What is read all the time: the board, and the conversation of the task that is looked at. Each
//! over a link of its own, because a question that waits for news takes its link.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use crate::model::Board;
use crate::model::sentences;
use legwork_client::{Client, Start};
use legwork_machine::Folders;
use legwork_protocol::TaskId;
use legwork_protocol::api::board::BoardPage;
use legwork_protocol::api::transcript::{Reading, Transcript};
use legwork_protocol::api::{Refusal, Request};
use legwork_protocol::line::Role;

use crate::terminal::fault::Fault;
use crate::terminal::limits::{AGAIN_MAX_MS, AGAIN_MS, FINISHED, READERS_MAX, WAIT_MS};
use crate::terminal::model::News;

/// What a daemon of an older legwork is to be answered with.
const TOO_OLD: &str = "The daemon is of an older legwork and does not know this view. `legwork \
                       daemon stop` ends it; tasks are kept.";

/// Why nothing was read.
pub enum Trouble {
    /// The daemon is away, and may come back.
    Away(String),
    /// It does not want to; asking again does not help soon.
    Refused(String),
}

pub fn connect(folders: &Folders, tell: &mut dyn FnMut(String)) -> Result<Client, Trouble> {
    let tell = &mut |fault: &legwork_client::Fault| {
        tell(fault.to_string());
        ControlFlow::Continue(())
    };
    Client::connect_telling(folders, Role::Client, Start::IfNeeded, tell)
        .map_err(|fault| Trouble::Away(fault.to_string()))
}

/// Asks, and says in words why there is no answer.
pub fn ask<T: TryFrom<legwork_protocol::api::Answer>>(
    client: &mut Client,
    request: impl Into<Request>,
) -> Result<T, Trouble> {
    match client.request(request) {
        Ok(answered) => answered.map_err(|refusal| refused(&refusal)),
        Err(fault) => Err(Trouble::Away(fault.to_string())),
    }
}

/// What was refused, in words.
pub fn refused(refusal: &Refusal) -> Trouble {
    Trouble::Refused(match refusal {
        Refusal::BadRequest(_) => TOO_OLD.to_owned(),
        refusal => sentences::refusal(refusal),
    })
}

/// Reads the board until nobody hears it any more.
pub fn board(folders: Folders, news: SyncSender<News>) -> Result<(), Fault> {
    let read = move || {
        let mut pause = AGAIN_MS;
        loop {
            let trouble = match board_once(&folders, &news, &mut pause) {
                ControlFlow::Break(()) => return,
                ControlFlow::Continue(trouble) => trouble,
            };
            if news.send(News::Away(trouble)).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(pause));
            pause = (pause * 2).min(AGAIN_MAX_MS);
        }
    };
    spawn("board", read)
}

/// Over one link, until it fails.
fn board_once(
    folders: &Folders,
    news: &SyncSender<News>,
    pause: &mut u64,
) -> ControlFlow<(), String> {
    let tell = &mut |why| drop(news.try_send(News::Away(why)));
    let mut client = match connect(folders, tell) {
        Ok(client) => client,
        Err(Trouble::Away(why) | Trouble::Refused(why)) => return ControlFlow::Continue(why),
    };
    let mut position = Board::default().glance(WAIT_MS, FINISHED);
    loop {
        let page: BoardPage = match ask(&mut client, Request::Board(position.clone())) {
            Ok(page) => page,
            Err(Trouble::Away(why) | Trouble::Refused(why)) => return ControlFlow::Continue(why),
        };
        *pause = AGAIN_MS;
        position.after = Some(page.next);
        if news.send(News::Board(Box::new(page))).is_err() {
            return ControlFlow::Break(());
        }
    }
}

/// Reads conversations, one that counts at a time.
#[derive(Debug)]
pub struct Readers {
    folders: Folders,
    news: SyncSender<News>,
    /// Counts the conversations: readers of earlier ones end.
    current: Arc<AtomicU64>,
    alive: Arc<AtomicUsize>,
}

impl Readers {
    pub fn new(folders: Folders, news: SyncSender<News>) -> Self {
        Self { folders, news, current: Arc::default(), alive: Arc::default() }
    }

    /// Reads this one from now on. False if too many have not ended yet: try again later.
    pub fn open(&self, task: TaskId) -> Result<bool, Fault> {
        self.close();
        if self.alive.load(Ordering::SeqCst) >= READERS_MAX {
            return Ok(false);
        }
        self.alive.fetch_add(1, Ordering::SeqCst);
        let reader = Reader {
            folders: self.folders.clone(),
            news: self.news.clone(),
            task,
            number: self.current.load(Ordering::SeqCst),
            current: self.current.clone(),
        };
        let alive = self.alive.clone();
        spawn("conversation", move || {
            reader.read();
            alive.fetch_sub(1, Ordering::SeqCst);
        })?;
        Ok(true)
    }

    /// Nobody looks at one any more.
    pub fn close(&self) {
        self.current.fetch_add(1, Ordering::SeqCst);
    }
}

struct Reader {
    folders: Folders,
    news: SyncSender<News>,
    task: TaskId,
    number: u64,
    current: Arc<AtomicU64>,
}

impl Reader {
    fn is_wanted(&self) -> bool {
        self.current.load(Ordering::SeqCst) == self.number
    }

    fn read(&self) {
        let mut reading = Reading::default();
        let mut pause = AGAIN_MS;
        while self.is_wanted() {
            let why = match connect(&self.folders, &mut |_| ()) {
                Ok(mut client) => match self.read_over(&mut client, &mut reading, &mut pause) {
                    ControlFlow::Break(()) => return,
                    ControlFlow::Continue(why) => why,
                },
                Err(Trouble::Away(why) | Trouble::Refused(why)) => why,
            };
            if !self.is_wanted() || self.news.send(News::Unread(self.task, why)).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(pause));
            pause = (pause * 2).min(AGAIN_MAX_MS);
        }
    }

    fn read_over(
        &self,
        client: &mut Client,
        reading: &mut Reading,
        pause: &mut u64,
    ) -> ControlFlow<(), String> {
        loop {
            let request =
                Request::Transcript { task: self.task.to_string(), reading: reading.clone() };
            let page: Transcript = match ask(client, request) {
                Ok(page) => page,
                Err(Trouble::Away(why)) => return ControlFlow::Continue(why),
                Err(Trouble::Refused(why)) => {
                    let _ = self.news.send(News::Unread(self.task, why));
                    return ControlFlow::Break(());
                }
            };
            if !self.is_wanted() {
                return ControlFlow::Break(());
            }
            *pause = AGAIN_MS;
            reading.after = Some(page.next.clone());
            reading.wait_ms = if page.more { 0 } else { WAIT_MS };
            let is_over = page.over && !page.more;
            if self.news.send(News::Said(self.task, Box::new(page))).is_err() {
                return ControlFlow::Break(());
            }
            // It is opened again when the task goes on.
            if is_over {
                return ControlFlow::Break(());
            }
        }
    }
}

pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(Fault::Thread)
}
