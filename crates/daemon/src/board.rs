//! The board of those who look at it. Each front asks for what changed since it last asked; one
//! that has seen everything waits here until something does.
//!
//! It is made when somebody looks and dropped a while after. While it is there, the views of
//! unfinished tasks are compared with the ones before, a few times a second at the most and only
//! when something happened; finished ones change by what is saved, and are not looked at otherwise.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};

use legwork_protocol::api::board::{BoardPage, BoardPosition, Glance};
use legwork_protocol::api::view::{RunView, TaskView, Waiting};
use legwork_protocol::api::{Answer, Refusal};
use legwork_protocol::limits::{BOARD_WAIT_MAX_MS, LIST_MAX_TASKS};
use legwork_protocol::line::FromDaemon;
use legwork_protocol::{TaskId, Time};
use legwork_store::Prompts;

use crate::calls::Number;
use crate::connection::Open;
use crate::daemon::Daemon;
use crate::limits::{
    BOARD_DEGRADED_EVERY_MS, BOARD_EVERY_MS, BOARD_GONE_MAX, BOARD_KEEP_MS, BOARD_QUIET_MS,
};

#[derive(Debug)]
pub struct Board {
    id: u64,
    /// Counts the changes.
    revision: u64,
    tasks: BTreeMap<TaskId, Shown>,
    /// The forgotten ones, oldest first, each with its revision.
    gone: VecDeque<(u64, TaskId)>,
    /// Positions before this one cannot be told all that is gone.
    complete_from: u64,
    /// Tasks about which something was saved since the board was made or brought up to date.
    touched: BTreeSet<TaskId>,
    healthy: bool,
    /// Whether something happened since it was brought up to date.
    stale: bool,
    made_at: Time,
    asked_at: Time,
}

/// A task as the board has it.
#[derive(Debug, Default)]
struct Shown {
    /// The last change of it.
    revision: u64,
    /// What an unfinished one looks like, but for what changes with time alone.
    view: Option<TaskView>,
    /// Its runs before the present one, which do not change any more.
    earlier: Vec<RunView>,
}

/// A front that waits for a change.
#[derive(Debug, Clone)]
pub struct Looking {
    glance: Glance,
    until: Time,
}

impl Board {
    fn new(now: Time) -> Self {
        Self {
            id: RandomState::new().build_hasher().finish(),
            revision: 0,
            tasks: BTreeMap::new(),
            gone: VecDeque::new(),
            complete_from: 0,
            touched: BTreeSet::new(),
            healthy: true,
            stale: true,
            made_at: Time(0),
            asked_at: now,
        }
    }

    /// Something happened.
    pub fn stir(&mut self) {
        self.stale = true;
    }

    /// Something was saved about a task.
    pub fn touch(&mut self, task: TaskId) {
        self.touched.insert(task);
    }

    fn every_ms(&self) -> u64 {
        if self.healthy { BOARD_EVERY_MS } else { BOARD_DEGRADED_EVERY_MS }
    }

    /// What a front at this position has not seen can be told.
    fn knows(&self, position: &BoardPosition) -> bool {
        position.board == self.id
            && (self.complete_from..=self.revision).contains(&position.revision)
    }

    fn is_news_to(&self, glance: &Glance) -> bool {
        glance.after.is_none_or(|at| !self.knows(&at) || at.revision < self.revision)
    }

    /// Takes in how things are now. The views are those of the unfinished tasks and of the touched
    /// ones that are there.
    fn update(&mut self, views: Vec<TaskView>, healthy: bool, now: Time) {
        (self.stale, self.made_at) = (false, now);
        if std::mem::replace(&mut self.healthy, healthy) != healthy {
            self.revision += 1;
        }
        let touched = std::mem::take(&mut self.touched);
        let there: BTreeSet<TaskId> = views.iter().map(|view| view.id).collect();
        for task in touched.difference(&there) {
            self.forget(*task);
        }
        for mut view in views {
            let id = view.id;
            timeless(&mut view);
            let shown = self.tasks.get(&id);
            let is_same = match (shown.map(|shown| shown.view.as_ref()), view.status) {
                (Some(Some(before)), status) if status.is_unfinished() => *before == view,
                (Some(None), status) if !status.is_unfinished() => !touched.contains(&id),
                _ => false,
            };
            if is_same {
                continue;
            }
            self.revision += 1;
            let shown = self.tasks.entry(id).or_default();
            shown.revision = self.revision;
            shown.view = view.status.is_unfinished().then_some(view);
        }
    }

    fn forget(&mut self, task: TaskId) {
        self.revision += 1;
        self.tasks.remove(&task);
        self.gone.push_back((self.revision, task));
        if self.gone.len() > BOARD_GONE_MAX
            && let Some((revision, _)) = self.gone.pop_front()
        {
            self.complete_from = revision;
        }
    }

    /// The tasks that changed after this revision.
    fn changed_after(&self, revision: u64) -> Vec<TaskId> {
        let changed = self.tasks.iter().filter(|(_, shown)| shown.revision > revision);
        changed.map(|(id, _)| *id).collect()
    }

    fn gone_after(&self, revision: u64) -> Vec<TaskId> {
        let gone = self.gone.iter().filter(|(at, _)| *at > revision);
        gone.map(|(_, task)| *task).collect()
    }
}

/// Leaves out what changes with time alone, so that a task that does nothing is not told again. A
/// silence counts when it is long, and when it is over.
fn timeless(view: &mut TaskView) {
    view.elapsed_ms = 0;
    view.quiet_ms = view.quiet_ms.map(|quiet| u64::from(quiet >= BOARD_QUIET_MS));
    for waiting in &mut view.waiting {
        if let Waiting::Provider { in_ms, .. } = waiting {
            *in_ms = 0;
        }
    }
}

impl Daemon {
    /// Answers with what is new to the front, or when something is.
    pub(crate) fn look_at_board(
        &mut self,
        (connection, id): Number,
        glance: Glance,
    ) -> Result<(), Refusal> {
        let now = self.clock.now();
        let mut board = self.board.take().unwrap_or_else(|| Board::new(now));
        board.asked_at = now;
        let is_fresh = !board.stale || now.since(board.made_at) < board.every_ms();
        if !is_fresh {
            self.update_board(&mut board, now)?;
        }
        let wait_ms = glance.wait_ms.min(BOARD_WAIT_MAX_MS);
        if board.is_news_to(&glance) || wait_ms == 0 {
            let page = self.board_page(&mut board, &glance, now);
            self.board = Some(board);
            return self.send_board((connection, id), page?);
        }
        self.board = Some(board);
        let looking = Looking { glance, until: now.plus(wait_ms) };
        if let Some(peer) = self.shell.outside().peers.get_mut(&connection) {
            peer.open.insert(id, Open::Board(looking));
        }
        Ok(())
    }

    /// When the board is to be looked after; never while nobody waits for it.
    pub(crate) fn board_due(&mut self) -> Option<Time> {
        let board = self.board.as_ref()?;
        let due = board.made_at.plus(board.every_ms());
        let (stale, forget_at) = (board.stale, board.asked_at.plus(BOARD_KEEP_MS));
        let looking = self.shell.outside().looking();
        match looking.map(|(_, looking)| looking.until).min() {
            Some(until) if stale => Some(until.min(due)),
            Some(until) => Some(until),
            None => Some(forget_at),
        }
    }

    pub(crate) fn look_after_board(&mut self, now: Time) {
        let Some(mut board) = self.board.take() else { return };
        let waiting: Vec<(Number, Looking)> =
            self.shell.outside().looking().map(|(at, looking)| (at, looking.clone())).collect();
        if waiting.is_empty() {
            if now.since(board.asked_at) < BOARD_KEEP_MS {
                self.board = Some(board);
            }
            return;
        }
        if board.stale && board.made_at.plus(board.every_ms()) <= now {
            // Who waits is told when it can be read again, or at the end of the wait.
            let _ = self.update_board(&mut board, now);
        }
        for ((connection, id), Looking { glance, until }) in waiting {
            if !board.is_news_to(&glance) && now < until {
                continue;
            }
            let page = self.board_page(&mut board, &glance, now);
            board.asked_at = now;
            self.shell.outside().close(connection, id);
            match page.and_then(|page| self.send_board((connection, id), page)) {
                Ok(()) => {}
                Err(refusal) => {
                    if let Some(peer) = self.shell.outside().peers.get(&connection) {
                        peer.refuse(id, refusal);
                    }
                }
            }
        }
        self.board = Some(board);
    }

    fn update_board(&mut self, board: &mut Board, now: Time) -> Result<(), Refusal> {
        let touched = board.touched.clone();
        let views = self.read(|engine, now| Ok(engine.board(&touched, now)))?;
        let healthy = !self.shell.is_degraded();
        board.update(views, healthy, now);
        Ok(())
    }

    fn board_page(
        &mut self,
        board: &mut Board,
        glance: &Glance,
        now: Time,
    ) -> Result<BoardPage, Refusal> {
        let after = glance.after.filter(|after| board.knows(after));
        let finished = glance.finished.min(LIST_MAX_TASKS);
        let (mut tasks, counts, incomplete) = self.read(|engine, now| {
            let tasks = match after {
                None => engine.whole_board(finished, now),
                Some(after) => engine.views(board.changed_after(after.revision), now),
            };
            Ok((tasks, engine.counts(), engine.is_incomplete()))
        })?;
        self.shell.explain(&mut tasks);
        for task in &mut tasks {
            let shown = board.tasks.entry(task.id).or_default();
            if shown.earlier.len() < task.resumes as usize {
                let runs = self.runs_of(task, Prompts::Without)?;
                shown.earlier = runs.into_iter().filter(|run| run.run < task.resumes).collect();
            }
            task.runs = shown.earlier.iter().cloned().chain([present(task)]).collect();
        }
        Ok(BoardPage {
            whole: after.is_none(),
            tasks,
            gone: after.map(|after| board.gone_after(after.revision)).unwrap_or_default(),
            counts,
            now,
            next: BoardPosition { board: board.id, revision: board.revision },
            healthy: board.healthy,
            incomplete,
        })
    }

    fn send_board(&mut self, (connection, id): Number, page: BoardPage) -> Result<(), Refusal> {
        if let Some(peer) = self.shell.outside().peers.get(&connection) {
            peer.send(id, &FromDaemon::Data { id, data: Answer::Board(Box::new(page)) });
        }
        Ok(())
    }
}

/// The last run of a task, which its view has.
fn present(task: &TaskView) -> RunView {
    RunView {
        run: task.resumes,
        prompt: String::new(),
        started: task.started,
        ended: task.ended,
        outcome: task.stage.outcome(),
        tool_calls: Some(task.tool_calls),
        usage: task.usage.clone(),
    }
}
