//! Launching helpers, several at once: an agent may take seconds to open a session.

use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use legwork_client::Client;
use legwork_protocol::api::{Ask, Refusal, Request};
use legwork_protocol::line::Context;
use legwork_protocol::view::{DaemonView, TaskView};

use super::{Event, spawn};
use crate::asking::{connect_for_long, get};
use crate::fault::Fault;
use crate::words::since;

/// Launches that are under way at once; each has a link of its own.
const AT_ONCE: usize = 8;

/// How long a resume is tried whose time has not come. A stop takes three seconds.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);
/// A host that lost its daemon looks for the next one every few seconds.
const YOUNG: Duration = Duration::from_secs(5);

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
        let session = session.clone();
        spawn(tell, move |tell| launch_each(&session, mine, tell));
    }
}

fn launch_each(
    session: &Context,
    specs: Vec<(usize, LaunchSpec)>,
    tell: &Sender<Event>,
) -> Result<(), Fault> {
    let mut client = connect_for_long()?;
    for (number, spec) in specs {
        let launched = launch_one(&mut client, session, &spec.ask)?;
        if tell.send(Event::Launched(number, launched)).is_err() {
            break;
        }
    }
    Ok(())
}

/// A task whose last run is being stopped, and one whose host has yet to find the daemon again, can
/// go on in a moment.
fn launch_one(client: &mut Client, session: &Context, ask: &Ask) -> Result<Launched, Fault> {
    let end = Instant::now() + PATIENCE;
    loop {
        let launched: Launched = client.request_for(Some(session), ask.clone())?;
        let is_worth_it = match &launched {
            Err(Refusal::BeingStopped) => true,
            Err(Refusal::HostUnreachable) => is_young(client)?,
            _ => false,
        };
        if !is_worth_it || Instant::now() >= end {
            return Ok(launched);
        }
        thread::sleep(PAUSE);
    }
}

/// Whether the daemon began so lately that hosts may not know of it.
fn is_young(client: &mut Client) -> Result<bool, Fault> {
    let daemon: DaemonView = get(client, Request::Status)?;
    Ok(u128::from(since(daemon.started)) < YOUNG.as_millis())
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
