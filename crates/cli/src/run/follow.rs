//! Looking after helpers that were launched. Three threads, because each waits for something else:
//! one looks and reads results, one hears of news so that a look comes at once, and one waits for
//! the helpers as their parent, so that the daemon sends no notice of what is about to be read.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use legwork_client::Client;
use legwork_protocol::TaskId;
use legwork_protocol::api::{Answer, Ask, Awaited, Refusal, Reply};
use legwork_protocol::limits::{BLOCK_MAX_MS, BLOCK_MAX_TASKS};
use legwork_protocol::line::Context;
use legwork_protocol::view::QuestionView;

use super::{Event, report};
use crate::asking::{connect_for_long, result, task};
use crate::fault::Fault;
use crate::mail;
use crate::progress::LOOK;

/// While helpers are still being launched: the next block has to name the new ones too.
const BLOCK_SHORT_MS: u64 = 300;
/// Before news are asked for again after the daemon ended.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Follow {
    session: Option<Context>,
    tell: Sender<Event>,
    looker: Sender<Look>,
    holder: Sender<Hold>,
}

enum Look {
    /// Look after this one from now on.
    After(TaskId),
    News(TaskId),
}

enum Hold {
    Task(TaskId),
    Complete,
}

impl Follow {
    /// Looks for this session, or for a person.
    pub fn start(session: Option<Context>, tell: Sender<Event>) -> Self {
        let (looker, looks) = mpsc::channel();
        let (holder, holds) = mpsc::channel();
        let (news, mine, reports) = (looker.clone(), session.clone(), tell.clone());
        thread::spawn(move || watch(&news));
        thread::spawn(move || report(look(mine.as_ref(), &looks, &reports), &reports));
        if let Some(mine) = session.clone() {
            let reports = tell.clone();
            thread::spawn(move || report(hold(&mine, &holds), &reports));
        }
        Self { session, tell, looker, holder }
    }

    pub fn add(&self, id: TaskId) {
        // A thread that ended has said why.
        let _ = self.looker.send(Look::After(id));
        let _ = self.holder.send(Hold::Task(id));
    }

    pub fn complete(&self) {
        let _ = self.holder.send(Hold::Complete);
    }

    /// Calls these off, as their parent.
    pub fn cancel(&self, ids: Vec<TaskId>) {
        let (session, tell, looker) =
            (self.session.clone(), self.tell.clone(), self.looker.clone());
        thread::spawn(move || report(cancel(session.as_ref(), &ids, &looker), &tell));
    }

    /// Gives a helper the person's answer.
    pub fn reply(&self, task: TaskId, question: Box<QuestionView>, reply: Reply) {
        let (tell, looker) = (self.tell.clone(), self.looker.clone());
        thread::spawn(move || {
            let ask = Ask::Reply { question: question.id.clone(), reply: reply.clone() };
            let answered = connect_for_long().and_then(|mut client| {
                let answered: Result<Answer, Refusal> = client.request(ask)?;
                Ok(answered.map(|_| ()))
            });
            match answered {
                Ok(answered) => drop(tell.send(Event::Replied(question, reply, answered))),
                Err(fault) => drop(tell.send(Event::Failed(fault))),
            }
            let _ = looker.send(Look::News(task));
        });
    }
}

fn cancel(session: Option<&Context>, ids: &[TaskId], looker: &Sender<Look>) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    for id in ids {
        // One that is refused has finished meanwhile.
        let _: Result<Answer, Refusal> =
            client.request_for(session, Ask::Cancel { task: id.to_string() })?;
        let _ = looker.send(Look::News(*id));
    }
    Ok(())
}

/// News are only hints: without them a look comes a little later.
fn watch(looker: &Sender<Look>) {
    loop {
        let news = mail::connect().and_then(|client| client.follow().ok());
        for news in news.into_iter().flatten().map_while(Result::ok) {
            if looker.send(Look::News(news.task)).is_err() {
                return;
            }
        }
        thread::sleep(PAUSE);
    }
}

fn look(
    session: Option<&Context>,
    looks: &Receiver<Look>,
    tell: &Sender<Event>,
) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    let mut open: Vec<TaskId> = Vec::new();
    let mut next = Instant::now() + LOOK;
    loop {
        let due: Vec<TaskId> = match looks.recv_timeout(next.duration_since(Instant::now())) {
            Ok(Look::After(id)) => {
                open.push(id);
                vec![id]
            }
            Ok(Look::News(id)) => open.iter().copied().filter(|known| *known == id).collect(),
            Err(RecvTimeoutError::Timeout) => {
                next = Instant::now() + LOOK;
                open.clone()
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        for id in due {
            let (event, is_over) = look_at(&mut client, session, id)?;
            if tell.send(event).is_err() {
                return Ok(());
            }
            if is_over {
                open.retain(|known| *known != id);
            }
        }
    }
}

/// How a helper is, and whether that is the end of it.
fn look_at(
    client: &mut Client,
    session: Option<&Context>,
    id: TaskId,
) -> Result<(Event, bool), Fault> {
    let found = task(client, id).and_then(|task| {
        if task.status.is_unfinished() {
            return Ok((Event::Seen(task), false));
        }
        // Read as the parent, so that the notice is not needed any more.
        let result = result(client, session, id)?;
        if result.task.status.is_unfinished() {
            return Ok((Event::Seen(result.task), false));
        }
        Ok((Event::Ended(result), true))
    });
    match found {
        Err(Fault::Denied(why)) => Ok((Event::Gone(id, why), true)),
        found => found,
    }
}

fn hold(session: &Context, holds: &Receiver<Hold>) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    let (mut open, mut complete) = (Vec::new(), false);
    loop {
        let is_idle = open.is_empty() && !complete;
        let hold = if is_idle {
            holds.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            holds.try_recv()
        };
        match hold {
            Ok(Hold::Task(id)) => open.push(id),
            Ok(Hold::Complete) => complete = true,
            Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) if open.is_empty() => return Ok(()),
            Err(TryRecvError::Empty) => {
                let timeout_ms = if complete { BLOCK_MAX_MS } else { BLOCK_SHORT_MS };
                let later = open.split_off(open.len().min(BLOCK_MAX_TASKS));
                let tasks = open.iter().map(TaskId::to_string).collect();
                let wait = Ask::Wait { tasks, any: false, timeout_ms };
                let held = client.request_for(Some(session), wait)?;
                let Ok(held): Result<Vec<Awaited>, Refusal> = held else { return Ok(()) };
                let tasks = held.into_iter().filter_map(|awaited| awaited.task);
                let unfinished = tasks.filter(|task| task.status.is_unfinished());
                open = unfinished.map(|task| task.id).chain(later).collect();
            }
        }
    }
}
