//! Pages of a conversation, the same for every host: a host tells all entries, or those from some
//! entry on, and what of them is new to a reader is found out here.

use std::hash::{DefaultHasher, Hash, Hasher};

use legwork_protocol::api::transcript::{Entry, Position, Reading, Told};
use legwork_protocol::limits::{
    RESULT_LINE_MAX_BYTES, TRANSCRIPT_OPEN_MAX, TRANSCRIPT_PAGE_MAX_BYTES,
    TRANSCRIPT_PAGE_MAX_ENTRIES, TRANSCRIPT_SHORT_BYTES,
};
use legwork_protocol::line::beginning;

/// What is new to a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<Entry>,
    pub next: Position,
    /// Whether there is more already.
    pub more: bool,
    /// The reader's position is gone, and the page begins at the beginning.
    pub restarted: bool,
}

impl Page {
    pub fn has_news(&self) -> bool {
        !self.entries.is_empty() || self.restarted
    }
}

/// The page of these entries, oldest first, that a reader wants next.
pub fn page(entries: Vec<Entry>, reading: &Reading) -> Page {
    let before = reading.after.clone().unwrap_or_default();
    let settled_at = before.settled.as_ref().map(|key| entries.iter().position(|e| e.key == *key));
    let restarted = settled_at == Some(None);
    let told = if restarted { Vec::new() } else { before.open };
    let skipped = settled_at.flatten().map_or(0, |at| at + 1);
    let settled = before.settled.filter(|_| !restarted);
    let mut page = Page { restarted, ..Page::default() };
    let mut position = Builder { next: Position { settled, open: Vec::new() }, is_open: false };
    let mut room = TRANSCRIPT_PAGE_MAX_BYTES;
    for mut entry in entries.into_iter().skip(skipped) {
        if reading.run.is_some_and(|run| run != entry.run)
            || reading.entry.as_ref().is_some_and(|key| *key != entry.key)
        {
            continue;
        }
        shorten(&mut entry, reading.whole);
        let known = told.iter().find(|told| told.key == entry.key);
        let now = told_of(&entry);
        if known == Some(&now) {
            position.add(now, entry.open);
            continue;
        }
        if room == 0 || page.entries.len() >= TRANSCRIPT_PAGE_MAX_ENTRIES {
            page.more = true;
            break;
        }
        let is_open = entry.open;
        go_on_after(&mut entry, known);
        room = room.saturating_sub(size(&entry));
        page.entries.push(entry);
        position.add(now, is_open);
    }
    page.next = position.next;
    page
}

/// The position behind the entries that were added.
struct Builder {
    next: Position,
    /// Whether there is one that may still change.
    is_open: bool,
}

impl Builder {
    fn add(&mut self, told: Told, is_open: bool) {
        self.is_open |= is_open;
        if !self.is_open {
            self.next.settled = Some(told.key);
            return;
        }
        self.next.open.push(told);
        if self.next.open.len() > TRANSCRIPT_OPEN_MAX {
            // A host that was killed leaves tools at work for ever.
            self.next.settled = Some(self.next.open.remove(0).key);
        }
    }
}

/// Cuts what is too long for a reader, or for a line.
fn shorten(entry: &mut Entry, whole: bool) {
    let fits = beginning(&entry.text.text, RESULT_LINE_MAX_BYTES).len();
    entry.text.keep(fits);
    let Some(tool) = &mut entry.tool else { return };
    for text in [&mut tool.input, &mut tool.output, &mut tool.error] {
        if !whole {
            text.shorten(TRANSCRIPT_SHORT_BYTES);
        }
        // Three of them, and escaped they may be six times as long.
        let fits = beginning(&text.text, RESULT_LINE_MAX_BYTES / 4).len();
        text.keep(fits);
    }
}

/// Leaves out of a text what the reader has, if that is its beginning.
fn go_on_after(entry: &mut Entry, told: Option<&Told>) {
    let Some(told) = told else { return };
    let text = &entry.text.text;
    let had = usize::try_from(told.had).ok().and_then(|had| Some((had, text.get(..had)?)));
    if let Some((had, _)) = had.filter(|(_, had)| digest(had) == told.text) {
        entry.from = told.had;
        entry.text.text.drain(..had);
    }
}

fn told_of(entry: &Entry) -> Told {
    let text = &entry.text.text;
    let Entry { run, kind, at, ended, open, beginning_missing, plan, tool, .. } = entry;
    let rest = (run, kind, at, ended, open, beginning_missing, plan, tool, entry.text.left_out);
    Told {
        key: entry.key.clone(),
        had: text.len() as u64,
        text: digest(text.as_str()),
        rest: digest(&format!("{rest:?}")),
    }
}

/// Two that differ are taken for the same once in four thousand million times.
fn digest(value: &(impl Hash + ?Sized)) -> u32 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    (hasher.finish() >> 32) as u32
}

fn size(entry: &Entry) -> usize {
    let tool = entry.tool.as_ref().map_or(0, |tool| {
        tool.input.text.len() + tool.output.text.len() + tool.error.text.len() + tool.title.len()
    });
    let plan: usize = entry.plan.iter().map(|step| step.text.len()).sum();
    entry.text.text.len() + plan + tool + entry.key.len()
}

#[cfg(test)]
mod tests;
