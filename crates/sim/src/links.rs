//! The links between the daemon and the windows: requests take time and get lost before or after
//! their effect; events come late, twice or never. Requests of one lane keep their order.

use legwork_engine::{Action, Finding, Hint, HostError, Input, PromptUsage, Work, WorkId};

use legwork_protocol::SessionId;

use legwork_engine::record::Target;
use legwork_engine::work::{RunState, Wake};

use crate::adapter::{self, Plan, Write, usage};
use crate::host::{Event, Kind, Status};
use crate::world::{Happening, Window, World};

/// How long the daemon waits for a host's answer.
const TIMEOUT_MS: u64 = 10_000;

/// A message is in its session so long after it was taken, at the latest.
const STORED_MS: u64 = 100;

/// A request in flight.
#[derive(Debug)]
pub struct Flight {
    window: usize,
    action: Action,
    write: Option<Write>,
    /// The answer will be lost.
    mute: bool,
    /// The daemon does not wait for it any more.
    given_up: bool,
    /// The host has done with it.
    done: bool,
}

impl World {
    /// A window's plugin connects with the daemon.
    pub(crate) fn link(&mut self, number: usize) {
        let alive = self.oc.alive(self.windows[number].process);
        if !alive || self.windows[number].linked || self.daemon.is_none() {
            return;
        }
        // The daemon hears of the end of a link before the next one stands.
        let cut_at = self.windows[number].cut_at;
        if self.now <= cut_at.plus(1) {
            return self.plan(2, Happening::Links(number));
        }
        let window = &mut self.windows[number];
        window.linked = true;
        window.linked_at = self.now;
        window.stream = true;
        window.free_at.clear();
        window.writing.clear();
        let host = window.host.clone();
        self.trace.tell(|| format!("{host} is connected"));
        let Window { place, serves, lifetime, .. } = &self.windows[number];
        let (place, serves, lifetime) = (place.clone(), *serves, *lifetime);
        self.daemon_step(Input::Hint(Hint::HostCame { host, place, lifetime, serves }));
        self.tell_screen(number);
        match self.is_clients(number) {
            true => self.reconnect_fronts(),
            false => self.resend_of(number),
        }
    }

    /// The link breaks; the plugin connects again a little later.
    pub fn cut_link(&mut self, number: usize) {
        if !self.windows[number].linked {
            return;
        }
        let host = self.windows[number].host.clone();
        self.trace.tell(|| format!("the link of {host} breaks"));
        self.windows[number].cut_at = self.now;
        // First the host is away, then its callers: nothing is sent to it in between.
        self.arrives(1, Input::Hint(Hint::HostAway { host }));
        self.unlink(number);
        let ms = self.dice.between(50, 4_000);
        self.plan(ms, Happening::Links(number));
    }

    /// What was asked of the window and is not done yet is done now or never.
    pub(crate) fn unlink(&mut self, number: usize) {
        if self.windows[number].linked && self.daemon.is_some() {
            self.hang_up(number);
        }
        self.windows[number].linked = false;
        let open: Vec<(u32, WorkId)> = self
            .in_flight
            .iter()
            .filter(|(_, in_flight)| in_flight.window == number)
            .map(|(id, _)| *id)
            .collect();
        for (life, work) in open {
            let Some(in_flight) = self.in_flight.remove(&(life, work)) else { continue };
            let process = self.windows[number].process;
            if self.dice.chance(500) && self.oc.alive(process) && !in_flight.done {
                self.finish_write(number, in_flight.action, in_flight.write);
            }
            if life == self.life && self.daemon.is_some() && !in_flight.given_up {
                let found = Err(HostError::Unreachable);
                self.arrives(1, Input::Found { work, found });
            }
        }
    }

    fn finish_write(&mut self, number: usize, action: Action, write: Option<Write>) {
        let plan = match write {
            Some(write) => Plan::Write(write),
            None => self.reads(number, &action),
        };
        if let Plan::Write(write) = plan {
            // What it found is told to nobody.
            drop(self.write(number, write));
        }
    }

    pub(crate) fn send_work(&mut self, work: Work) {
        self.requests += 1;
        // An answer finds its question by this number.
        if self.last_work.replace(work.id) >= Some(work.id) {
            let what = format!("{:?} is given out again", work.id);
            self.audit().broken("work counted once", what);
        }
        self.trace.tell(|| format!("    → {}: {}", work.host, action_words(&work.action)));
        let here = self.windows.iter().position(|window| window.host == work.host);
        let linked = here.filter(|number| self.windows[*number].linked);
        let (Some(number), life, id) = (linked, self.life, work.id) else {
            let found = Err(HostError::Unreachable);
            return self.arrives(1, Input::Found { work: work.id, found });
        };
        let mute = self.dice.chance(self.faults.lost_after);
        let lost = self.dice.chance(self.faults.lost_before);
        let mut ms = self.dice.between(1, 9);
        if self.dice.chance(self.faults.slow) {
            ms = self.dice.between(200, 14_000);
        }
        let lane = work.action.lane();
        let free_at = self.windows[number].free_at.get(&lane).copied().unwrap_or(self.now);
        let arrival = self.now.plus(ms).max(free_at).max(self.windows[number].slow_until);
        if lost {
            // Some are known to be lost at once, others by the silence.
            let ms = if self.dice.chance(500) { 5 } else { TIMEOUT_MS };
            let found = Err(HostError::Unreachable);
            return self.arrives(ms, Input::Found { work: id, found });
        }
        self.windows[number].free_at.insert(lane, arrival);
        let late = arrival.since(self.now);
        let in_flight = Flight {
            window: number,
            action: work.action,
            write: None,
            mute,
            given_up: false,
            done: false,
        };
        self.in_flight.insert((life, id), in_flight);
        self.plan(late, Happening::Reads(life, id));
        if mute || late + 100 > TIMEOUT_MS {
            self.plan(TIMEOUT_MS, Happening::GivesUp(life, id));
        }
    }

    pub(crate) fn work_reads(&mut self, life: u32, work: WorkId) {
        let Some(in_flight) = self.in_flight.get(&(life, work)) else { return };
        let number = in_flight.window;
        // Another request of the lane is between its read and its write: this one has to wait.
        let lane = in_flight.action.lane();
        let writes = self.windows[number].writing.get(&lane);
        if writes.is_some_and(|other| self.in_flight.contains_key(other)) {
            return self.plan(1, Happening::Reads(life, work));
        }
        let action = in_flight.action.clone();
        match self.reads(number, &action) {
            Plan::Over(found) => self.work_over(life, work, found),
            Plan::Write(write) => {
                let gap = self.dice.between(1, 4);
                self.windows[number].writing.insert(lane, (life, work));
                if let Some(in_flight) = self.in_flight.get_mut(&(life, work)) {
                    in_flight.write = Some(write.clone());
                }
                self.plan(gap, Happening::Writes(life, work, Box::new(write)));
            }
        }
    }

    fn write(&mut self, number: usize, write: Write) -> Result<Finding, HostError> {
        if let Write::Send(session, _) = &write {
            self.last_sent.insert(session.clone(), self.now);
        }
        if self.is_clients(number) {
            return self.put_into_inbox(write);
        }
        adapter::write(&mut self.oc, self.windows[number].process, write)
    }

    pub(crate) fn work_writes(&mut self, life: u32, work: WorkId, write: Write) {
        let Some(in_flight) = self.in_flight.get_mut(&(life, work)) else { return };
        in_flight.write = None;
        let (number, lane) = (in_flight.window, in_flight.action.lane());
        self.windows[number].writing.remove(&lane);
        let process = self.windows[number].process;
        self.check_tell(process, &write);
        let found = self.write(number, write);
        self.work_over(life, work, found);
    }

    fn work_over(&mut self, life: u32, work: WorkId, found: Result<Finding, HostError>) {
        let Some(in_flight) = self.in_flight.get_mut(&(life, work)) else { return };
        if in_flight.mute && !in_flight.given_up {
            in_flight.done = true;
            return;
        }
        let given_up = in_flight.given_up;
        let action = in_flight.action.clone();
        self.in_flight.remove(&(life, work));
        if !given_up && life == self.life {
            self.note_answer(action, &found);
            let ms = self.dice.between(0, 4);
            self.arrives(ms, Input::Found { work, found });
        }
    }

    /// Remembers what an answer is said to have used up.
    fn note_answer(&mut self, action: Action, found: &Result<Finding, HostError>) {
        if let (Action::Observe { message, .. }, Ok(Finding::Observed(seen))) = (action, found)
            && matches!(seen.state, RunState::Answered { .. })
        {
            self.answers_told.insert(message, seen.usage.clone());
        }
    }

    pub(crate) fn work_given_up(&mut self, life: u32, work: WorkId) {
        let Some(in_flight) = self.in_flight.get_mut(&(life, work)) else { return };
        if in_flight.given_up {
            return;
        }
        in_flight.given_up = true;
        if in_flight.done {
            self.in_flight.remove(&(life, work));
        }
        if life == self.life {
            let found = Err(HostError::Unreachable);
            self.arrives(0, Input::Found { work, found });
        }
    }

    /// Brings an event to the daemon, if nothing comes between.
    pub(crate) fn carry(&mut self, event: Event) {
        let Some(number) = self.windows.iter().position(|w| w.process == event.process) else {
            return;
        };
        if event.kind == Kind::Used {
            self.used.insert((event.process, event.session.clone()));
        }
        let window = &self.windows[number];
        if !window.linked || !window.stream || self.dice.chance(self.faults.hint_lost) {
            return;
        }
        let host = window.host.clone();
        let Some(hint) = hint(event, host) else { return };
        if self.dice.chance(self.faults.hint_doubled) {
            let ms = self.dice.between(1, 3_000);
            self.arrives(ms, Input::Hint(hint.clone()));
        }
        let late = self.dice.chance(self.faults.hint_late);
        let ms = if late { self.dice.between(5, 6_000) } else { self.dice.between(0, 3) };
        self.arrives(ms, Input::Hint(hint));
    }

    /// A window says of a session that it does not have that it was used there, and deleted.
    pub fn lie(&mut self, number: usize, session: &SessionId) {
        let Window { host, linked, .. } = &self.windows[number];
        if *linked {
            let (host, session) = (host.clone(), session.clone());
            self.trace.tell(|| format!("{host} lies about {session}"));
            let used = Hint::Used { host: host.clone(), session: session.clone() };
            self.arrives(1, Input::Hint(used));
            self.arrives(2, Input::Hint(Hint::Deleted { host, session }));
        }
    }

    /// Whether a delivery to the session is in flight at this moment.
    pub fn is_being_told(&self, session: &SessionId) -> bool {
        let to_it = |action: &Action| match action {
            Action::Deliver { session: to, .. } => to == session,
            _ => false,
        };
        let sent = self.last_sent.get(session).copied().unwrap_or_default();
        self.now.since(sent) < STORED_MS
            || self.in_flight.values().any(|in_flight| to_it(&in_flight.action))
    }

    /// Events of a window are lost from now on; its plugin does not notice.
    pub fn deafen(&mut self, number: usize, deaf: bool) {
        self.windows[number].stream = !deaf;
    }
}

fn hint(event: Event, host: legwork_protocol::HostId) -> Option<Hint> {
    let session = event.session;
    Some(match event.kind {
        Kind::Idle | Kind::Status(Status::Idle) | Kind::Updated => Hint::Changed { session },
        Kind::Status(Status::Busy | Status::Retry { .. }) => return None,
        Kind::Error { why } => Hint::Errored { session, why: why.to_string() },
        Kind::Deleted => Hint::Deleted { host, session },
        Kind::Progress { tool, spent } => {
            let used = spent.map(|(prompt, spent)| PromptUsage { prompt, usage: usage(spent) });
            Hint::Progress { session, tool: tool.map(|tool| tool.to_string()), used }
        }
        Kind::Asked { question, text } => {
            let question = legwork_engine::work::Question::permission(question, text.to_string());
            Hint::Asked { session, question }
        }
        Kind::Replied { question } => Hint::Answered { session, question, reply: None },
        Kind::Used => Hint::Used { host, session },
    })
}

fn action_words(action: &Action) -> String {
    match action {
        Action::CheckAgent { agent } => format!("is there an agent {agent}?"),
        Action::Probe { session } => format!("is {session} there?"),
        Action::FindMissing { sessions } => {
            let names: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
            format!("are they all there: {}?", names.join(", "))
        }
        Action::Open { task, fork_before: None, .. } => format!("open a session for {task}"),
        Action::Open { task, parent, .. } => {
            format!("open a session for {task} as a copy of {parent}")
        }
        Action::Prompt { session, message, .. } => format!("prompt {message} to {session}"),
        Action::Observe { session, .. } => format!("how far is {session}?"),
        Action::Poll { .. } => "who is busy?".to_owned(),
        Action::Deliver { session, message, wake: Wake::StartTurn, .. } => {
            format!("tell {session} {message}, with a turn")
        }
        Action::Deliver { session, message, .. } => {
            format!("tell {session} {message}, without a turn")
        }
        Action::Stop { task, target } => match target {
            Target::Session(session) | Target::Opened(session) => format!("stop {session}"),
            Target::Marked => format!("stop whatever was opened for {task}"),
        },
        Action::Answer { question, .. } => format!("answer {question}"),
    }
}
