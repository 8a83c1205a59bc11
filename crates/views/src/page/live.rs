//! What the streams tell: the board as it changes, and a conversation as it goes on. A daemon that
//! is away is told as trouble, and tried until it is there again.

use std::collections::BTreeMap;

use legwork_client::{Backoff, Conversation, Daemon, Trouble};
use legwork_machine::epoch_ms;
use legwork_protocol::TaskId;
use legwork_protocol::api::board::{BoardPage, Glance};
use legwork_protocol::api::transcript::{Entry, Source, Transcript};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::model::{Item, markdown};
use crate::page::api::words;
use crate::page::limits::{FINISHED, OPEN_TEXT_MAX_BYTES, PAUSE, WAIT_MS};
use crate::page::stream::{Closed, Tab};

/// What is wrong, and since when, until something comes again.
#[derive(Debug, Default)]
struct Patience {
    backoff: Backoff,
    since: Option<u64>,
    said: String,
}

impl Patience {
    async fn wait(&mut self, tab: &Tab, trouble: &Trouble) -> Result<(), Closed> {
        let since = *self.since.get_or_insert_with(epoch_ms);
        let error = words(trouble);
        if self.said == error {
            tab.comment().await?;
        } else {
            tab.event("trouble", &json!({ "error": error, "since": since })).await?;
            self.said = error;
        }
        sleep(self.backoff.pause()).await;
        Ok(())
    }
}

/// The board, until the tab is gone.
pub async fn board(daemon: Daemon, tab: Tab) -> Result<(), Closed> {
    let mut glance = Glance { after: None, wait_ms: WAIT_MS, finished: FINISHED };
    let (mut patience, mut told) = (Patience::default(), None);
    loop {
        let page = match daemon.next(&mut glance).await {
            Ok(page) => page,
            Err(trouble) => {
                patience.wait(&tab, &trouble).await?;
                continue;
            }
        };
        patience = Patience::default();
        let besides = Some((page.counts, page.healthy, page.incomplete));
        let is_same = std::mem::replace(&mut told, besides) == besides;
        if page.whole || !page.tasks.is_empty() || !page.gone.is_empty() || !is_same {
            tab.event("board", &BoardEvent::of(page, daemon.build())).await?;
        } else {
            tab.comment().await?;
        }
    }
}

#[derive(Serialize)]
struct BoardEvent {
    whole: bool,
    rows: Vec<Item>,
    gone: Vec<TaskId>,
    counts: legwork_protocol::api::board::Counts,
    now: legwork_protocol::Time,
    healthy: bool,
    incomplete: bool,
    build: String,
}

impl BoardEvent {
    fn of(page: BoardPage, build: String) -> Self {
        let BoardPage { whole, tasks, gone, counts, now, healthy, incomplete, .. } = page;
        let rows = tasks.into_iter().map(Item::from).collect();
        Self { whole, rows, gone, counts, now, healthy, incomplete, build }
    }
}

/// A conversation, until all of it was told or the tab is gone.
pub async fn conversation(daemon: Daemon, task: TaskId, tab: Tab) -> Result<(), Closed> {
    let mut pages = Conversation::new(task, WAIT_MS);
    let (mut patience, mut reader) = (Patience::default(), Reader::default());
    loop {
        let page = match daemon.next(&mut pages).await {
            Ok(page) => page,
            Err(trouble) => {
                patience.wait(&tab, &trouble).await?;
                if matches!(trouble, Trouble::Refused(_)) {
                    // It was cleared, perhaps: another attempt says the same.
                    return Ok(());
                }
                continue;
            }
        };
        let was_trouble = std::mem::take(&mut patience).since.is_some();
        let (is_same, over) = (reader.source.replace(page.source) == Some(page.source), page.over);
        if page.entries.is_empty() && is_same && !over && !page.restarted && !was_trouble {
            tab.comment().await?;
            // One that cannot be waited for would be asked without end.
            sleep(PAUSE).await;
        } else {
            tab.event("page", &reader.event(page)).await?;
        }
        if over {
            return Ok(());
        }
    }
}

/// What a tab has of a conversation.
#[derive(Default)]
struct Reader {
    /// The texts of entries that may still change: their Markdown is made when they are whole.
    texts: BTreeMap<String, String>,
    source: Option<Source>,
}

impl Reader {
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
