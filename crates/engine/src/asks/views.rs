//! What anybody sees: tasks as plain values, pages of them, counts, and toasts for terminal UIs.
//! Reads only; nothing here changes anything.

use std::borrow::Cow;
use std::collections::BTreeSet;

use legwork_protocol::api::board::Counts;
use legwork_protocol::api::{Cursor, List};
use legwork_protocol::limits::{LIST_MAX_TASKS, TELLING_MAX_MS};
use legwork_protocol::view::{TaskView, TasksView, Waiting};
use legwork_protocol::{Ask, HostId, Place, Refusal, Status, TaskId, Time};

use crate::engine::Engine;
use crate::hosts::Presence;
use crate::input::Caller;
use crate::record::{About, Change, Notice};
use crate::task::{Stage, Task};
use crate::tasks::{Live, Part};
use crate::text::toast::{self, Toast};

/// Whether a search for this text, in small letters, finds the task.
fn has(task: &Task, text: &str) -> bool {
    let holds = |words: &str| words.to_lowercase().contains(text);
    holds(&task.id.to_string())
        || holds(&task.description)
        || holds(&task.agent)
        || holds(&task.directory)
}

/// What of a group of tasks is on a page: nothing of one that comes before the page, all that fits
/// of one that comes later.
fn part_of(list: &List, finished: bool, most: usize) -> Part {
    match list.after {
        Some(after) if after.finished == finished => Part { before: Some(after.seq), most },
        Some(after) if after.finished => Part::newest(0),
        Some(_) | None => Part::newest(most),
    }
}

/// Whether its tasks stand behind the unfinished ones, those of them that are on a page, and how
/// many there are.
type Group<'a> = (bool, Vec<Cow<'a, Task>>, usize);

/// Whether a listing has to look at each task.
fn is_searched(list: &List) -> bool {
    list.search.is_some() || list.under.is_some()
}

/// Whether a folder is this one or below it.
fn is_under(directory: &str, folder: &str) -> bool {
    let rest = directory.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Tasks with a run that is not over.
    pub unfinished: usize,
    pub tasks: usize,
    pub pending: usize,
}

impl Engine {
    pub fn view(&self, name: &str, now: Time) -> Result<TaskView, Refusal> {
        self.find(&Caller::Person, name).map(|task| self.view_of(&task, now))
    }

    pub fn list(&self, caller: &Caller, list: &List) -> TasksView {
        let limit = list.limit.unwrap_or(LIST_MAX_TASKS).min(LIST_MAX_TASKS);
        let (mut tasks, total) = self.listed(caller, list, limit + 1);
        let more = tasks.len() > limit;
        tasks.truncate(limit);
        let finished = |task: &Task| matches!(caller, Caller::Person) && task.is_finished();
        let cursor = |task: &Cow<'_, Task>| Cursor { finished: finished(task), seq: task.seq };
        let next = tasks.last().map(cursor).filter(|_| more);
        let tasks = tasks.iter().map(|task| self.view_of(task, self.now)).collect();
        TasksView { tasks, total, next, incomplete: self.incomplete }
    }

    /// The next tasks of a listing, at most so many, and how many there are on all of its pages.
    fn listed(&self, caller: &Caller, list: &List, most: usize) -> (Vec<Cow<'_, Task>>, usize) {
        let search = list.search.as_ref().map(|text| text.to_lowercase());
        let (mut listed, mut total) = (Vec::new(), 0);
        for (finished, tasks, count) in self.groups(caller, list, most) {
            if !is_searched(list) {
                total += count;
                listed.extend(tasks);
                continue;
            }
            let wanted = |task: &Cow<'_, Task>| {
                search.as_ref().is_none_or(|text| has(task, text))
                    && list.under.as_ref().is_none_or(|under| is_under(&task.directory, under))
            };
            let found: Vec<Cow<'_, Task>> = tasks.into_iter().filter(wanted).collect();
            total += found.len();
            let part = part_of(list, finished, most);
            let is_next = |task: &Cow<'_, Task>| part.before.is_none_or(|before| task.seq < before);
            listed.extend(found.into_iter().filter(is_next).take(part.most));
        }
        listed.truncate(most);
        (listed, total)
    }

    /// The groups of a listing, one after the other, each newest first. Only a search looks at more
    /// than it shows.
    fn groups(&self, caller: &Caller, list: &List, most: usize) -> Vec<Group<'_>> {
        let has_status = |has| list.status.is_none_or(|status| status == has);
        let part = |finished| match is_searched(list) {
            true => Part::ALL,
            false => part_of(list, finished, most),
        };
        match caller {
            Caller::Session { session, .. } if !list.all => {
                let own = |part| {
                    let all = self.tasks.members(session, part);
                    let all = all.chain(self.taken_over_by(caller, part));
                    all.filter(|task| has_status(task.status()))
                };
                let page = Part { most: usize::MAX, ..part(false) };
                let mut tasks: Vec<_> = own(page).collect();
                tasks.sort_unstable_by_key(|task| std::cmp::Reverse(task.seq));
                tasks.truncate(part(false).most);
                vec![(false, tasks, own(Part::ALL).count())]
            }
            Caller::Session { host, .. } => {
                let place = self.hosts.get(host).map(|host| &host.place);
                let shelf = |place| self.tasks.shelf(Some(place), has_status, part(false));
                place.map(shelf).map(|(tasks, count)| (false, tasks, count)).into_iter().collect()
            }
            Caller::Person => [false, true]
                .into_iter()
                .map(|finished| {
                    let wanted = |has: Status| has.is_unfinished() != finished && has_status(has);
                    let (tasks, count) = self.tasks.shelf(None, wanted, part(finished));
                    (finished, tasks, count)
                })
                .collect(),
        }
    }

    pub(crate) fn view_of(&self, task: &Task, now: Time) -> TaskView {
        let mut view = TaskView {
            id: task.id,
            seq: task.seq,
            status: task.status(),
            stage: task.stage.name(),
            description: task.description.to_string(),
            agent: task.agent.to_string(),
            directory: task.directory.to_string(),
            parent: task.parent.clone(),
            session: task.session.clone(),
            place: task.place.clone(),
            host: task.run.host.clone(),
            resumes: task.run.number,
            created: task.created,
            started: task.run.started,
            ended: task.run.ended,
            elapsed_ms: task.elapsed_ms(now),
            reason: None,
            tool_calls: task.run.tool_calls,
            last_tools: Vec::new(),
            doing: None,
            activity: None,
            quiet_ms: None,
            usage: task.run.usage.clone(),
            budget: self.budget_of(&task.root, &task.realm),
            runs: Vec::new(),
            waiting: Vec::new(),
            questions: Vec::new(),
            retrieved: task.retrieved,
            notice_pending: self.outbox.notices.contains_key(&task.notice(About::End)),
        };
        if let Some(live) = self.tasks.live(task.id) {
            self.add_watched(&mut view, live, now);
        }
        view
    }

    fn add_watched(&self, view: &mut TaskView, live: &Live, now: Time) {
        let volatile = &live.volatile;
        let passed = now.since(live.task.run.started);
        view.elapsed_ms = passed.saturating_sub(live.paused_ms(now));
        let away = self.hosts.presence(&live.task.run.host) != Presence::Here;
        view.last_tools = volatile.tools.iter().cloned().collect();
        view.doing = volatile.doing.as_ref().map(ToString::to_string);
        view.activity = volatile.doing.clone();
        view.quiet_ms = Some(volatile.quiet_ms(now));
        let slot = self.ahead(&live.task).map(|ahead| Waiting::Slot { ahead });
        let host = match volatile.host_ended() {
            true => Some(Waiting::AnotherHost),
            false => away.then_some(Waiting::Host),
        };
        let provider = volatile.retry.as_ref().map(|retry| Waiting::Provider {
            attempt: retry.attempt,
            why: retry.why.clone(),
            in_ms: retry.next.since(now),
        });
        view.waiting = [slot, host, provider].into_iter().flatten().collect();
        view.questions = volatile.questions.values().cloned().collect();
    }

    /// The unfinished tasks, and these others as far as they are there.
    pub fn board(&self, others: &BTreeSet<TaskId>, now: Time) -> Vec<TaskView> {
        let unfinished = self.tasks.unfinished().map(|live| Cow::Borrowed(&live.task));
        let others = others.iter().filter_map(|id| self.tasks.get(*id));
        let others = others.filter(|task| task.is_finished());
        unfinished.chain(others).map(|task| self.view_of(&task, now)).collect()
    }

    /// The unfinished tasks and the newest finished ones, in the order of their launches.
    pub fn whole_board(&self, finished: usize, now: Time) -> Vec<TaskView> {
        let (newest, _) =
            self.tasks.shelf(None, |status| !status.is_unfinished(), Part::newest(finished));
        let unfinished = self.tasks.unfinished().map(|live| Cow::Borrowed(&live.task));
        self.in_order(unfinished.chain(newest).collect(), now)
    }

    /// These tasks as far as they are there, in the order of their launches.
    pub fn views(&self, tasks: Vec<TaskId>, now: Time) -> Vec<TaskView> {
        self.in_order(tasks.into_iter().filter_map(|id| self.tasks.get(id)).collect(), now)
    }

    fn in_order(&self, mut tasks: Vec<Cow<'_, Task>>, now: Time) -> Vec<TaskView> {
        tasks.sort_unstable_by_key(|task| task.seq);
        tasks.iter().map(|task| self.view_of(task, now)).collect()
    }

    /// Whether a decision of a person is about a task that works in this place, or was launched
    /// from there; or about none that is there, which is answered in words.
    pub fn concerns(&self, place: &Place, ask: &Ask) -> bool {
        let task = match ask {
            Ask::Cancel { task } => self.find(&Caller::Person, task).ok(),
            Ask::Reply { question, .. } => {
                let asks = |live: &&Live| live.volatile.questions.contains_key(question);
                self.tasks.unfinished().find(asks).map(|live| Cow::Borrowed(&live.task))
            }
            _ => return false,
        };
        task.is_none_or(|task| task.place == *place || task.realm == *place)
    }

    /// How many tasks there are of each kind.
    pub fn counts(&self) -> Counts {
        let finished = |status| self.tasks.shelf(None, |has| has == status, Part::newest(0)).1;
        let mut counts = Counts {
            completed: finished(Status::Completed),
            failed: finished(Status::Error),
            cancelled: finished(Status::Cancelled),
            slots: self.settings.max_running,
            ..Counts::default()
        };
        for Live { task, volatile } in self.tasks.unfinished() {
            match (volatile.questions.is_empty(), &task.stage) {
                (false, _) => counts.asking += 1,
                (true, Stage::Queued) => counts.queued += 1,
                (true, _) => counts.working += 1,
            }
        }
        counts
    }

    /// How many characters of a result are told at once; 0 for no limit.
    pub fn max_result_chars(&self) -> u32 {
        self.settings.max_result_chars
    }

    /// Whether earlier records could not be read, so that their tasks are not among these.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    pub fn tally(&self) -> Tally {
        let (finished, unfinished) = self.tasks.numbers();
        let pending = self.outbox.notices.len();
        Tally { unfinished, tasks: finished + unfinished, pending }
    }

    /// Whether somebody is to be told something soon who can be: a host is here that takes it, and
    /// it has not been tried in vain for long.
    pub fn is_telling(&self, now: Time) -> bool {
        let is_there =
            |to| self.outbox.recipients.get(to).is_some_and(|recipient| !recipient.absent);
        let young = |notice: &&Notice| now.since(notice.made) < TELLING_MAX_MS;
        let mut to = self.outbox.notices.values().filter(young).map(|notice| &notice.to);
        to.any(|to| is_there(to) && self.route(to).is_some())
    }

    /// What a host's screen shows of its unfinished tasks; nothing if there are none.
    pub fn progress_toast(&self, host: &HostId, now: Time) -> Option<Toast> {
        let shown =
            self.tasks.unfinished().filter(|live| self.asker_host(&live.task) == Some(host));
        let (running, queued): (Vec<&Live>, Vec<&Live>) =
            shown.partition(|live| live.task.stage.holds_slot());
        toast::progress(&running, queued.len(), now)
    }

    /// What these changes are worth showing on a screen, and on whose.
    pub fn toasts(&self, changes: &[Change]) -> Vec<(HostId, Toast)> {
        let undone = changes.iter().filter_map(|change| match change {
            Change::LaunchUndone { task, .. } => self.tasks.get(*task),
            _ => None,
        });
        let undone: Vec<Cow<'_, Task>> = undone.collect();
        let undone: Vec<&Task> = undone.iter().map(AsRef::as_ref).collect();
        let host = undone.first().and_then(|task| self.asker_host(task));
        let undone = host.map(|host| (host.clone(), toast::undone(&undone)));
        changes.iter().filter_map(|change| self.toast(change)).chain(undone).collect()
    }

    fn toast(&self, change: &Change) -> Option<(HostId, Toast)> {
        match change {
            Change::Ended { task, detail, .. } => {
                Some((self.asker_host(task)?.clone(), toast::ended(task, detail)))
            }
            Change::Asked { task, question, .. } => {
                let task = self.tasks.get(*task)?;
                Some((self.asker_host(&task)?.clone(), toast::asks(&task, question)))
            }
            Change::LedgerKept { warning: Some(budget), .. } => {
                let host = self.outbox.recipients.get(&budget.root)?.parent.active_host.clone()?;
                Some((host, toast::near_budget(budget)))
            }
            _ => None,
        }
    }
}
