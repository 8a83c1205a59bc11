//! `legwork transcript`.

use clap::Args;
use legwork_protocol::api::transcript::{Entry, Reading, Source, Transcript as Page};
use legwork_protocol::view::TaskView;
use legwork_views::model::entry::join;
use serde::Serialize;

use super::{Exit, Fault, Screen};
use crate::asking::{connect, find_task, result};
use crate::mail;
use crate::screen::{DIM, paint, remark};
use crate::transcript::{Absence, Depth, Pages, Teller};

/// Read what a helper said and did
///
/// Shows the whole conversation of a task: what it was asked, what it wrote and thought, and the
/// tools that it used, each with its subject, its outcome and how long it took. Works while the
/// task runs and afterwards, however it ended.
///
/// With --follow it goes on as the helper does, until the run ends; the exit code is then that of
/// `legwork wait`. Any number of people can follow, and whoever stops changes nothing.
///
/// With --json it prints one document; with --follow one entry a line as it comes, and the task in
/// the last line. An entry whose key was there before is the same, changed; `from` says how many
/// bytes of its text were there before.
#[derive(Args)]
#[command(after_help = "\
Examples:
  legwork transcript 4k2
  legwork transcript 4k2 --follow           as it happens
  legwork transcript 4k2 --last             only the last run
  legwork transcript 4k2 --full | less      with all that tools gave back")]
pub struct Transcript {
    /// The task's id, or the beginning of it
    #[arg(value_name = "TASK")]
    task: String,
    /// Go on as the helper does, until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Show what tools were given and gave back, whole
    #[arg(long)]
    full: bool,
    /// Show only this run: 0 is the launch, each resume one more
    #[arg(long, value_name = "N", conflicts_with = "last")]
    run: Option<u32>,
    /// Show only the last run
    #[arg(long)]
    last: bool,
}

#[derive(Serialize)]
struct Document {
    task: TaskView,
    source: Source,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct LastLine {
    task: TaskView,
}

impl super::Command for Transcript {
    const SHOWS_MAIL: bool = true;

    fn run(self, screen: &Screen) -> Result<Exit, Fault> {
        let task = find_task(&mut connect()?, &self.task)?;
        mail::seen_here(task.id);
        let run = if self.last { Some(task.resumes) } else { self.run };
        if let Some(run) = run.filter(|run| *run > task.resumes) {
            let last = task.resumes;
            return Err(Fault::Refused(format!(
                "It has no run {run}; its last one is run {last}."
            )));
        }
        let reading = Reading { run, whole: self.full, ..Reading::default() };
        let mut pages = Pages::of(task.id, reading)?;
        match (self.follow, screen.is_json()) {
            (false, true) => document(&mut pages, screen),
            (true, true) => follow_lines(&mut pages, screen),
            (is_followed, false) => {
                let depth = if self.full { Depth::Full } else { Depth::Short };
                tell(&mut pages, Teller::new(&task.agent, depth), is_followed, screen)
            }
        }
    }
}

fn document(pages: &mut Pages, screen: &Screen) -> Result<Exit, Fault> {
    let mut page = pages.next()?;
    let mut entries = std::mem::take(&mut page.entries);
    while page.more {
        page = pages.next()?;
        add(&mut entries, std::mem::take(&mut page.entries));
    }
    let Page { task, source, .. } = page;
    screen.value(&Document { task, source, entries }).map(|()| Exit::Done)
}

/// One that changed between two pages takes the place of what was there.
fn add(entries: &mut Vec<Entry>, more: Vec<Entry>) {
    for entry in more {
        match entries.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => join(known, entry),
            None => entries.push(entry),
        }
    }
}

fn follow_lines(pages: &mut Pages, screen: &Screen) -> Result<Exit, Fault> {
    pages.wait();
    loop {
        let page = pages.next()?;
        page.entries.iter().try_for_each(|entry| screen.value_line(entry))?;
        if page.over {
            let exit = Exit::of_tasks([&page.task]);
            return screen.value_line(&LastLine { task: page.task }).map(|()| exit);
        }
    }
}

fn tell(
    pages: &mut Pages,
    mut teller: Teller,
    is_followed: bool,
    screen: &Screen,
) -> Result<Exit, Fault> {
    let (mut absence, mut was_read) = (Absence::default(), false);
    let page = loop {
        let page = pages.next()?;
        absence.see(&page);
        if page.restarted {
            teller.restart();
            if was_read {
                remark(paint(DIM, "The conversation was changed. From its beginning:"));
            }
        }
        let is_recorded = page.source != Source::Host;
        was_read |= !is_recorded;
        for entry in &page.entries {
            screen.piece(teller.tell(entry, is_recorded))?;
        }
        if page.over || !is_followed && !page.more {
            break page;
        }
        if is_followed && !page.more {
            pages.wait();
        }
    };
    screen.piece(teller.end())?;
    if !is_followed {
        return Ok(Exit::Done);
    }
    if page.source != Source::Host && was_read {
        remark(paint(DIM, "The rest of it cannot be read now. What came of it:"));
        screen.raw(
            result(&mut connect()?, None, page.task.id)?.text.as_deref().unwrap_or_default(),
        )?;
    }
    Ok(Exit::of_tasks([&page.task]))
}
