//! Questions of helpers for a client of the old era that shows forms (Codex, Goose): the board is
//! watched for as long as helpers of the session are at work, and each of their questions is a
//! form, one at a time. Whoever answers elsewhere is first: the form is withdrawn then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use legwork_client::Backoff;
use legwork_protocol::api::Ask;
use legwork_protocol::api::board::{BoardPage, Glance};
use legwork_protocol::view::{QuestionView, TaskView};
use legwork_protocol::{QuestionId, SessionId};
use tokio::time::{Instant, sleep, timeout};

use crate::calls::Done;
use crate::forms;
use crate::limits::{FORM_MAX, READ_MIN};
use crate::server::Server;

/// How long a page of the board is waited for.
const WAIT_MS: u64 = 20_000;

fn whole_board() -> Glance {
    Glance { after: None, wait_ms: WAIT_MS, finished: 0 }
}

impl Server {
    /// Looks for questions of the helpers of this session, until none is at work.
    pub fn watch_questions(self: &Arc<Self>, session: &SessionId) {
        if self.watches.swap(true, Ordering::Relaxed) {
            return;
        }
        let (server, session) = (self.clone(), session.clone());
        tokio::spawn(async move {
            server.watch(&session).await;
            server.watches.store(false, Ordering::Relaxed);
        });
    }

    async fn watch(self: &Arc<Self>, session: &SessionId) {
        let (mut board, mut own) = (whole_board(), Vec::<TaskView>::new());
        let mut shown: Vec<QuestionId> = Vec::new();
        loop {
            let page = self.next_page(&mut board).await;
            if page.whole {
                own.clear();
            }
            own.retain(|task| !page.gone.contains(&task.id));
            for task in page.tasks.into_iter().filter(|task| task.parent == *session) {
                own.retain(|known| known.id != task.id);
                own.push(task);
            }
            own.retain(|task| task.status.is_unfinished());
            if own.is_empty() {
                return;
            }
            let open = own.iter().find_map(|task| {
                let new = |question: &&QuestionView| !shown.contains(&question.id);
                Some((task.clone(), task.questions.iter().find(new)?.clone()))
            });
            if let Some((task, question)) = open {
                shown.push(question.id.clone());
                self.show(&task, &question).await;
                // What came meanwhile is on a whole page.
                board = whole_board();
            }
        }
    }

    /// What has changed of the board since; all of it at first, and after a daemon that was away.
    async fn next_page(&self, board: &mut Glance) -> BoardPage {
        let mut backoff = Backoff::default();
        loop {
            match self.daemon.next(board).await {
                Ok(page) => return page,
                Err(_) => sleep(backoff.pause()).await,
            }
        }
    }

    async fn show(&self, task: &TaskView, question: &QuestionView) {
        let form = forms::form(task, question);
        let began = Instant::now();
        let Ok((id, filled)) = self.ask("elicitation/create", &form).await else { return };
        let filled = tokio::select! {
            filled = timeout(FORM_MAX, filled) => filled,
            () = self.closed(task, question) => return self.withdraw(id).await,
        };
        match filled {
            // Codex declines by itself where it may not ask (0.166.0): nobody has read it.
            Ok(Ok(Ok(filled))) if filled["action"] != "accept" && began.elapsed() < READ_MIN => {}
            Ok(Ok(Ok(filled))) => {
                if let Some(reply) = forms::reply(question, &filled) {
                    let answer = Ask::Reply { question: question.id.clone(), reply };
                    // Somebody else may have been first.
                    let _ = self.daemon.request::<Done>(answer).await;
                }
            }
            // A form that could not be shown: there are other ways to answer.
            Ok(_) => {}
            Err(_) => self.withdraw(id).await,
        }
    }

    /// Waits until a question is open no more.
    async fn closed(&self, task: &TaskView, question: &QuestionView) {
        let mut board = whole_board();
        loop {
            let page = self.next_page(&mut board).await;
            let now = page.tasks.iter().find(|now| now.id == task.id);
            let asks = |now: &TaskView| now.questions.iter().any(|open| open.id == question.id);
            if page.gone.contains(&task.id) || now.map_or(page.whole, |now| !asks(now)) {
                return;
            }
        }
    }
}
