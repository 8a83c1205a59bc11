//! What programs of people see: tasks as plain values, counts, and toasts for terminal UIs. Reads
//! only; nothing here changes anything.

use legwork_protocol::limits::LIST_MAX_TASKS;
use legwork_protocol::view::{QuestionView, TaskView, TasksView};
use legwork_protocol::{HostId, Refusal, Status, Time};

use crate::engine::Engine;
use crate::hosts::Presence;
use crate::input::Caller;
use crate::record::{About, Change, NoticeId};
use crate::task::Task;
use crate::tasks::Live;
use crate::text::answers::waiting_for;
use crate::text::toast::{self, Toast};

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Tasks with a run that is not over.
    pub unfinished: usize,
    /// All tasks.
    pub tasks: usize,
    /// Notices that are pending.
    pub pending: usize,
}

impl Engine {
    /// The task with this name.
    pub fn view(&self, name: &str, now: Time) -> Result<TaskView, Refusal> {
        let id = self.find(&Caller::Person, name)?;
        let task = self.tasks.get(id).ok_or_else(|| Refusal::NotFound(name.to_owned()))?;
        Ok(self.view_of(task, now))
    }

    /// Tasks, newest first, as many as a listing holds.
    pub fn views(&self, status: Option<Status>, now: Time) -> TasksView {
        let (tasks, total) = self.tasks.shelf(None, status, LIST_MAX_TASKS);
        let tasks = tasks.into_iter().map(|task| self.view_of(task, now)).collect();
        TasksView { tasks, total, set_aside: Vec::new() }
    }

    fn view_of(&self, task: &Task, now: Time) -> TaskView {
        let end = NoticeId { task: task.id, run: task.run.number, about: About::End };
        let mut view = TaskView {
            id: task.id,
            status: task.status(),
            stage: task.stage.name().as_str().to_owned(),
            description: task.description.to_string(),
            agent: task.agent.to_string(),
            parent: task.parent.clone(),
            session: task.session.clone(),
            place: task.place.clone(),
            host: task.run.host.clone(),
            resumes: task.run.number,
            created: task.created,
            started: task.run.started,
            ended: task.run.ended,
            elapsed_ms: task.elapsed_ms(now),
            tool_calls: task.run.tool_calls,
            last_tools: Vec::new(),
            quiet_ms: None,
            tokens: None,
            cost_micros: None,
            waiting: Vec::new(),
            questions: Vec::new(),
            notice_pending: self.outbox.notices.contains_key(&end),
        };
        if let Some(live) = self.tasks.live(task.id) {
            self.add_watched(&mut view, live, now);
        }
        view
    }

    fn add_watched(&self, view: &mut TaskView, live: &Live, now: Time) {
        let watch = &live.watch;
        let away = self.hosts.presence(&live.task.run.host) != Presence::Here;
        view.last_tools = watch.tools.iter().cloned().collect();
        view.quiet_ms = Some(watch.quiet_ms(now));
        view.tokens = watch.tokens;
        view.cost_micros = watch.cost_micros;
        view.waiting = waiting_for(watch, self.ahead(&live.task), away, now);
        let questions = watch.questions.iter();
        view.questions = questions
            .map(|(id, text)| QuestionView { id: id.clone(), text: text.clone() })
            .collect();
    }

    /// How much there is.
    pub fn tally(&self) -> Tally {
        let (finished, unfinished) = self.tasks.numbers();
        let pending = self.outbox.notices.len();
        Tally { unfinished, tasks: finished + unfinished, pending }
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
        changes.iter().filter_map(|change| self.toast(change)).collect()
    }

    fn toast(&self, change: &Change) -> Option<(HostId, Toast)> {
        match change {
            Change::Ended { task, detail, .. } => {
                Some((self.asker_host(task)?.clone(), toast::ended(task, detail)))
            }
            Change::Enqueued(notice) if notice.id.about != About::End => {
                let host = self.asker_host(self.tasks.get(notice.id.task)?)?;
                Some((host.clone(), toast::asks(&notice.headline)))
            }
            _ => None,
        }
    }
}
