//! What is read all the time: the board, and the conversation of the task that is looked at. Each
//! over a link of its own, because a question that waits for news takes its link.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;

use crate::model::sentences;
use legwork_client::{Conversation, Follower, Start};
use legwork_machine::Folders;
use legwork_protocol::TaskId;
use legwork_protocol::api::Refusal;
use legwork_protocol::api::board::Glance;

use crate::terminal::fault::Fault;
use crate::terminal::limits::{FINISHED, READERS_MAX, WAIT_MS};
use crate::terminal::model::News;

/// What a daemon of an older legwork is to be answered with.
const TOO_OLD: &str = "The daemon is of an older legwork and does not know this view. `legwork \
                       daemon stop` ends it; tasks are kept.";

/// What was asked for, or in words why there is none.
pub fn said<T>(answered: Result<Result<T, Refusal>, legwork_client::Fault>) -> Result<T, String> {
    answered.map_err(|fault| fault.to_string())?.map_err(|refusal| refused(&refusal))
}

/// What was refused, in words.
pub fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::BadRequest(_) => TOO_OLD.to_owned(),
        refusal => sentences::refusal(refusal),
    }
}

/// Reads the board until nobody hears it any more.
pub fn board(folders: Folders, news: SyncSender<News>) -> Result<(), Fault> {
    let glance = Glance { after: None, wait_ms: WAIT_MS, finished: FINISHED };
    spawn("board", move || {
        for page in Follower::new(folders, Start::IfNeeded, glance) {
            let told = match said(page) {
                Ok(page) => News::Board(Box::new(page)),
                Err(why) => News::Away(why),
            };
            if news.send(told).is_err() {
                return;
            }
        }
    })
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
        let (news, alive) = (self.news.clone(), self.alive.clone());
        let (current, number) = (self.current.clone(), self.current.load(Ordering::SeqCst));
        let conversation = Conversation::new(task, WAIT_MS);
        let pages = Follower::new(self.folders.clone(), Start::IfKept, conversation);
        spawn("conversation", move || {
            for page in pages.take_while(|_| current.load(Ordering::SeqCst) == number) {
                // It is opened again when the task goes on.
                let is_over = match &page {
                    Ok(Ok(page)) => page.over && !page.more,
                    Ok(Err(_)) => true,
                    Err(_) => false,
                };
                let told = match said(page) {
                    Ok(page) => News::Said(task, Box::new(page)),
                    Err(why) => News::Unread(task, why),
                };
                if news.send(told).is_err() || is_over {
                    break;
                }
            }
            alive.fetch_sub(1, Ordering::SeqCst);
        })?;
        Ok(true)
    }

    /// Nobody looks at one any more.
    pub fn close(&self) {
        self.current.fetch_add(1, Ordering::SeqCst);
    }
}

pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(Fault::Thread)
}
