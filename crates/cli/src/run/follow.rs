//! Looking after helpers that were launched. Three threads, because each waits for something else:
//! one reads the board, one reads results, and one waits for the helpers as their parent, so that
//! the daemon sends no notice of what is about to be read.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Instant;

use legwork_client::Client;
use legwork_protocol::TaskId;
use legwork_protocol::api::board::Glance;
use legwork_protocol::api::{Answer, Ask, Awaited, Refusal, Reply};
use legwork_protocol::limits::{BLOCK_MAX_MS, BLOCK_MAX_TASKS};
use legwork_protocol::line::Context;
use legwork_protocol::view::{QuestionView, ResultView, TaskView};

use super::{Event, spawn};
use crate::asking::{BOARD_WAIT_MS, PERSIST, board, connect_for_long, result, task};
use crate::fault::Fault;

/// While helpers are still being launched: the next block has to name the new ones too.
const BLOCK_SHORT_MS: u64 = 300;

#[derive(Debug)]
pub struct Follow {
    session: Option<Context>,
    tell: Sender<Event>,
    reader: Sender<TaskId>,
    holder: Sender<Hold>,
}

enum Hold {
    Task(TaskId),
    Complete,
}

impl Follow {
    /// Looks for this session, or for a person.
    pub fn start(session: Option<Context>, tell: Sender<Event>) -> Self {
        let (reader, ids) = mpsc::channel();
        let (holder, holds) = mpsc::channel();
        spawn(&tell, follow_board);
        let reads_as = session.clone();
        spawn(&tell, move |tell| read(reads_as.as_ref(), &ids, tell));
        if let Some(mine) = session.clone() {
            let reader = reader.clone();
            spawn(&tell, move |_| hold(&mine, &holds, &reader));
        }
        Self { session, tell, reader, holder }
    }

    pub fn add(&self, id: TaskId) {
        // A thread that ended has said why.
        let _ = self.holder.send(Hold::Task(id));
    }

    pub fn complete(&self) {
        let _ = self.holder.send(Hold::Complete);
    }

    /// Reads what came of a helper, if it has ended or was forgotten.
    pub fn read(&self, id: TaskId) {
        let _ = self.reader.send(id);
    }

    /// Calls these off, as their parent.
    pub fn cancel(&self, ids: Vec<TaskId>) {
        let session = self.session.clone();
        spawn(&self.tell, move |_| {
            let mut client = connect_for_long()?;
            for id in ids {
                // One that is refused has finished meanwhile.
                let cancel = Ask::Cancel { task: id.to_string() };
                let _: Result<Answer, Refusal> = client.request_for(session.as_ref(), cancel)?;
            }
            Ok(())
        });
    }

    /// Gives a helper the person's answer.
    pub fn reply(&self, question: Box<QuestionView>, reply: Reply) {
        spawn(&self.tell, move |tell| {
            let ask = Ask::Reply { question: question.id.clone(), reply: reply.clone() };
            let answered: Result<Answer, Refusal> = connect_for_long()?.request(ask)?;
            let _ = tell.send(Event::Replied(question, reply, answered.map(drop)));
            Ok(())
        });
    }
}

/// Ended helpers are not asked for: what came of one is read by itself.
fn follow_board(tell: &Sender<Event>) -> Result<(), Fault> {
    let glance = Glance { after: None, wait_ms: BOARD_WAIT_MS, finished: 0 };
    let mut heard = Instant::now();
    for page in board(glance)? {
        match page {
            Ok(page) => {
                heard = Instant::now();
                if tell.send(Event::Board(Box::new(page))).is_err() {
                    break;
                }
            }
            Err(fault) if heard.elapsed() > PERSIST => return Err(fault),
            Err(_) => {}
        }
    }
    Ok(())
}

fn read(
    session: Option<&Context>,
    ids: &Receiver<TaskId>,
    tell: &Sender<Event>,
) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    for id in ids {
        let event = match ended(&mut client, session, id) {
            Ok(None) => continue,
            Ok(Some(result)) => Event::Ended(result),
            Err(Fault::Denied(why)) => Event::Gone(id, why),
            Err(fault) => return Err(fault),
        };
        if tell.send(event).is_err() {
            break;
        }
    }
    Ok(())
}

/// What came of a helper, read as its parent so that the notice is not needed any more. Nothing
/// while it is at work.
fn ended(
    client: &mut Client,
    session: Option<&Context>,
    id: TaskId,
) -> Result<Option<ResultView>, Fault> {
    if task(client, id)?.status.is_unfinished() {
        return Ok(None);
    }
    let result = result(client, session, id)?;
    Ok(Some(result).filter(|result| !result.task.status.is_unfinished()))
}

/// Waits as the parent. The end of all of them is heard here before the board tells of it.
fn hold(session: &Context, holds: &Receiver<Hold>, reader: &Sender<TaskId>) -> Result<(), Fault> {
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
                let (unfinished, ended): (Vec<TaskView>, Vec<TaskView>) =
                    tasks.partition(|task| task.status.is_unfinished());
                for task in ended {
                    let _ = reader.send(task.id);
                }
                open = unfinished.iter().map(|task| task.id).chain(later).collect();
            }
        }
    }
}
