//! Launching helpers, several at once: an agent may take seconds to open a session.

use std::sync::mpsc::{self, Sender};
use std::thread;

use legwork_client::Client;
use legwork_protocol::TaskId;
use legwork_protocol::line::Context;
use legwork_protocol::view::TaskView;
use serde_json::Value;

use super::Event;
use crate::asking::{connect_for_long, task};
use crate::fault::Fault;

/// Launches that are under way at once; each has a link of its own.
const AT_ONCE: usize = 8;

/// A helper that is wanted.
#[derive(Debug, Clone)]
pub struct Order {
    /// What it is called.
    pub description: String,
    /// The arguments of `background_task`.
    pub arguments: Value,
}

/// What came of an order: a task, or why there is none.
pub type Launched = Result<TaskView, String>;

/// Launches all of them, and tells of each by its number.
pub(super) fn launch(session: &Context, orders: &[Order], tell: &Sender<Event>) {
    for first in 0..AT_ONCE.min(orders.len()) {
        let mine = orders.iter().cloned().enumerate().skip(first).step_by(AT_ONCE);
        let mine: Vec<(usize, Order)> = mine.collect();
        let (session, tell) = (session.clone(), tell.clone());
        thread::spawn(move || {
            let launched = launch_each(&session, mine, &tell);
            if let Err(fault) = launched {
                // The loop may have ended meanwhile.
                let _ = tell.send(Event::Failed(fault));
            }
        });
    }
}

fn launch_each(
    session: &Context,
    orders: Vec<(usize, Order)>,
    tell: &Sender<Event>,
) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    for (number, order) in orders {
        let launched = launch_one(&mut client, session, order)?;
        if tell.send(Event::Launched(number, launched)).is_err() {
            break;
        }
    }
    Ok(())
}

fn launch_one(client: &mut Client, session: &Context, order: Order) -> Result<Launched, Fault> {
    let answered = client.call_for(session, "background_task", order.arguments, &mut |_| {})?;
    if answered.refused {
        return Ok(Err(answered.text));
    }
    match task_of(&answered.text) {
        Some(id) => match task(client, id) {
            // Somebody may have forgotten it already.
            Err(Fault::Refused(why)) => Ok(Err(why)),
            found => found.map(Ok),
        },
        None => Ok(Err(format!("The daemon names no task: {}", answered.text))),
    }
}

fn task_of(answer: &str) -> Option<TaskId> {
    answer.lines().find_map(|line| line.strip_prefix("Task ID: ")?.trim().parse().ok())
}

/// Launches all of them and looks after none. What came of each, in their order.
pub fn detach(session: &Context, orders: &[Order]) -> Result<Vec<Launched>, Fault> {
    let (tell, events) = mpsc::channel();
    launch(session, orders, &tell);
    drop(tell);
    let mut all: Vec<Option<Launched>> = orders.iter().map(|_| None).collect();
    for event in events {
        match event {
            Event::Launched(number, launched) => all[number] = Some(launched),
            Event::Failed(fault) => return Err(fault),
            _ => {}
        }
    }
    Ok(all.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_read_from_the_answer_wherever_its_line_stands() {
        let id: TaskId = "bg_0000000a".parse().unwrap();
        for answer in [
            "Task ID: bg_0000000a\nSession ID: ses_1\nA notification will follow.",
            "Note: agent and description are ignored in resume mode.\nTask ID: bg_0000000a\n",
        ] {
            assert_eq!(task_of(answer), Some(id), "{answer}");
        }
        assert_eq!(task_of("Task ID: soon"), None);
    }
}
