//! What the streams tell: the board as it changes, and a conversation as it goes on. A daemon that
//! is away is told as trouble, and tried until it is there again.

use std::collections::BTreeMap;
use std::time::Duration;

use legwork_machine::{Folders, epoch_ms};
use legwork_protocol::TaskId;
use legwork_protocol::api::Request;
use legwork_protocol::api::board::{BoardPage, Glance};
use legwork_protocol::api::transcript::{Entry, Reading, Source, Transcript};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::model::{Item, markdown};
use crate::page::limits::{FINISHED, OPEN_TEXT_MAX_BYTES, PAUSE, RETRY_FIRST, RETRY_MAX, WAIT_MS};
use crate::page::link::{Link, Trouble};
use crate::page::stream::{Closed, Tab};

/// Why a stream does not go on for now.
enum Break {
    Closed,
    /// All was told.
    Over,
    Trouble(Trouble),
}

impl From<Closed> for Break {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl<T: Into<Trouble>> From<T> for Break {
    fn from(trouble: T) -> Self {
        Self::Trouble(trouble.into())
    }
}

/// What is wrong, and since when, until something comes again.
#[derive(Debug)]
struct Patience {
    pause: Duration,
    since: Option<u64>,
    said: String,
}

impl Patience {
    fn new() -> Self {
        Self { pause: RETRY_FIRST, since: None, said: String::new() }
    }

    async fn wait(&mut self, tab: &Tab, trouble: &Trouble) -> Result<(), Closed> {
        let since = *self.since.get_or_insert_with(epoch_ms);
        let error = trouble.to_string();
        if self.said == error {
            tab.comment().await?;
        } else {
            tab.event("trouble", &json!({ "error": error, "since": since })).await?;
            self.said = error;
        }
        sleep(self.pause).await;
        self.pause = (2 * self.pause).min(RETRY_MAX);
        Ok(())
    }
}

/// The board, until the tab is gone.
pub async fn board(folders: Folders, tab: Tab) -> Result<(), Closed> {
    let mut patience = Patience::new();
    loop {
        match board_of_one(&folders, &tab, &mut patience).await {
            Break::Trouble(trouble) => patience.wait(&tab, &trouble).await?,
            Break::Closed | Break::Over => return Err(Closed),
        }
    }
}

/// What one daemon tells, until it is gone.
async fn board_of_one(folders: &Folders, tab: &Tab, patience: &mut Patience) -> Break {
    let told: Result<std::convert::Infallible, Break> = async {
        let mut link = Link::open(folders).await?;
        let mut glance = Glance { after: None, wait_ms: WAIT_MS, finished: FINISHED };
        let mut told = None;
        loop {
            let page: BoardPage = link.ask(Request::Board(glance.clone())).await?;
            *patience = Patience::new();
            glance.after = Some(page.next);
            let besides = Some((page.counts, page.healthy, page.incomplete));
            let is_same = std::mem::replace(&mut told, besides) == besides;
            if page.whole || !page.tasks.is_empty() || !page.gone.is_empty() || !is_same {
                tab.event("board", &BoardEvent::of(page, &link.build)).await?;
            } else {
                tab.comment().await?;
            }
        }
    }
    .await;
    match told {
        Err(ended) => ended,
        Ok(never) => match never {},
    }
}

#[derive(Serialize)]
struct BoardEvent<'a> {
    whole: bool,
    rows: Vec<Item>,
    gone: Vec<TaskId>,
    counts: legwork_protocol::api::board::Counts,
    now: legwork_protocol::Time,
    healthy: bool,
    incomplete: bool,
    build: &'a str,
}

impl<'a> BoardEvent<'a> {
    fn of(page: BoardPage, build: &'a str) -> Self {
        let BoardPage { whole, tasks, gone, counts, now, healthy, incomplete, .. } = page;
        let rows = tasks.into_iter().map(Item::from).collect();
        Self { whole, rows, gone, counts, now, healthy, incomplete, build }
    }
}

/// A conversation, until all of it was told or the tab is gone.
pub async fn conversation(folders: Folders, task: TaskId, tab: Tab) -> Result<(), Closed> {
    let (mut patience, mut reader) = (Patience::new(), Reader::new(task));
    loop {
        match reader.read(&folders, &tab, &mut patience).await {
            Break::Trouble(trouble @ Trouble::Refused(_)) => {
                // It was cleared, perhaps: another attempt says the same.
                return patience.wait(&tab, &trouble).await;
            }
            Break::Trouble(trouble) => patience.wait(&tab, &trouble).await?,
            Break::Closed | Break::Over => return Err(Closed),
        }
    }
}

/// How far a tab has read a conversation.
struct Reader {
    task: TaskId,
    reading: Reading,
    /// The texts of entries that may still change: their Markdown is made when they are whole.
    texts: BTreeMap<String, String>,
    source: Option<Source>,
}

impl Reader {
    fn new(task: TaskId) -> Self {
        Self { task, reading: Reading::default(), texts: BTreeMap::new(), source: None }
    }

    async fn read(&mut self, folders: &Folders, tab: &Tab, patience: &mut Patience) -> Break {
        let told: Result<std::convert::Infallible, Break> = async {
            let mut link = Link::open(folders).await?;
            loop {
                let (task, reading) = (self.task.to_string(), self.reading.clone());
                let page: Transcript = link.ask(Request::Transcript { task, reading }).await?;
                let (over, more) = (page.over, page.more);
                let was_trouble = patience.since.is_some();
                *patience = Patience::new();
                self.reading.after = Some(page.next.clone());
                self.reading.wait_ms = if more { 0 } else { WAIT_MS };
                let is_same = self.source.replace(page.source) == Some(page.source);
                if page.entries.is_empty() && is_same && !over && !page.restarted && !was_trouble {
                    tab.comment().await?;
                    // One that cannot be waited for would be asked without end.
                    sleep(PAUSE).await;
                } else {
                    tab.event("page", &self.event(page)).await?;
                }
                if over {
                    return Err(Break::Over);
                }
            }
        }
        .await;
        match told {
            Err(ended) => ended,
            Ok(never) => match never {},
        }
    }

    fn event(&mut self, page: Transcript) -> Value {
        let Transcript { task, source, entries, over, restarted, .. } = page;
        if restarted {
            self.texts.clear();
        }
        let entries: Vec<Value> = entries.into_iter().map(|entry| self.entry(entry)).collect();
        json!({
            "item": Item::from(task),
            "source": source,
            "restarted": restarted,
            "over": over,
            "entries": entries,
        })
    }

    fn entry(&mut self, entry: Entry) -> Value {
        let before = self.texts.remove(&entry.key).filter(|_| entry.from > 0);
        // Without its beginning it is shown as it is.
        let is_whole = entry.from == before.as_ref().map_or(0, |text| text.len() as u64)
            && !entry.beginning_missing
            && entry.text.left_out == 0;
        let text = before.unwrap_or_default() + &entry.text.text;
        let append = entry.from > 0;
        let mut value = json!(entry);
        value["append"] = json!(append);
        if !is_whole || text.len() > OPEN_TEXT_MAX_BYTES {
            return value;
        }
        if entry.open {
            self.texts.insert(entry.key, text);
        } else if entry.tool.is_none() {
            value["blocks"] = json!(markdown::blocks(&text));
        }
        value
    }
}
