//! Launching helpers, several at once: an agent may take seconds to open a session.

use std::sync::mpsc::{self, Sender};
use std::thread;

use legwork_protocol::api::{Ask, Refusal};
use legwork_protocol::line::Context;
use legwork_protocol::view::TaskView;

use super::{Event, report};
use crate::asking::connect_for_long;
use crate::fault::Fault;

/// Launches that are under way at once; each has a link of its own.
const AT_ONCE: usize = 8;

#[derive(Debug, Clone)]
pub struct LaunchSpec {
    pub description: String,
    pub ask: Ask,
}

pub type Launched = Result<TaskView, Refusal>;

/// Launches all of them, and tells of each by its number.
pub(super) fn launch(session: &Context, specs: &[LaunchSpec], tell: &Sender<Event>) {
    for first in 0..AT_ONCE.min(specs.len()) {
        let mine = specs.iter().cloned().enumerate().skip(first).step_by(AT_ONCE);
        let mine: Vec<(usize, LaunchSpec)> = mine.collect();
        let (session, tell) = (session.clone(), tell.clone());
        thread::spawn(move || report(launch_each(&session, mine, &tell), &tell));
    }
}

fn launch_each(
    session: &Context,
    specs: Vec<(usize, LaunchSpec)>,
    tell: &Sender<Event>,
) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    for (number, spec) in specs {
        let launched: Launched = client.request_for(Some(session), spec.ask)?;
        if tell.send(Event::Launched(number, launched)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Launches all of them and looks after none. What came of each, in their order.
pub fn detach(session: &Context, specs: &[LaunchSpec]) -> Result<Vec<Launched>, Fault> {
    let (tell, events) = mpsc::channel();
    launch(session, specs, &tell);
    drop(tell);
    let mut all: Vec<Option<Launched>> = specs.iter().map(|_| None).collect();
    for event in events {
        match event {
            Event::Launched(number, launched) => all[number] = Some(launched),
            Event::Failed(fault) => return Err(fault),
            _ => {}
        }
    }
    Ok(all.into_iter().flatten().collect())
}
