//! [`Engine::on`], the only way in. It keeps the time, dispatches each input to the file that
//! handles it, and then lets every timer fire that is due.

use std::collections::{BTreeMap, BTreeSet};

use legwork_protocol::api::{Answer, Reply};
use legwork_protocol::{
    Ask, CallId, CallKey, HostId, Place, QuestionId, Refusal, SessionId, Settings, TaskId, Time,
};

use crate::asks::collect::Collects;
use crate::asks::waits::Wait;
use crate::hosts::Hosts;
use crate::hosts::headless::{Folder, Start};
use crate::input::{Caller, Headless, Hint, Input, Progress, Reaction, Say};
use crate::outbox::Outbox;
use crate::record::{Change, Settled};
use crate::run::budget::Ledgers;
use crate::run::launch::{Launch, PendingLaunch};
use crate::run::questions::Replying;
use crate::run::resume::Resuming;
use crate::run::stop::Stops;
use crate::tasks::Tasks;
use crate::timers::{Timer, Timers};
use crate::work::{Action, Finding, HostError, Scope, Work, WorkId};

/// Every decision of legwork, and what it is based on.
#[derive(Debug, Default)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) now: Time,
    pub(crate) tasks: Tasks,
    pub(crate) hosts: Hosts,
    pub(crate) outbox: Outbox,
    pub(crate) stops: Stops,
    /// Cleared tasks that are forgotten when their notices are told. Not saved: a restart keeps
    /// them.
    pub(crate) leaving: BTreeSet<TaskId>,
    /// Headless hosts that are being started. Not saved: whoever waits for one asks again.
    pub(crate) starts: BTreeMap<Folder, Start>,
    /// Callers who wait. Not saved: a caller whose daemon was restarted asks again.
    pub(crate) waits: BTreeMap<CallId, Wait>,
    /// Callers who collect runs. Not saved: they ask again, and until then notices wait.
    pub(crate) collects: Collects,
    /// Launches whose agent is being looked up. Not saved: a caller asks again.
    pub(crate) pending_launches: BTreeMap<CallKey, PendingLaunch>,
    /// Tasks whose session is being looked up for a resume. Not saved either.
    pub(crate) resuming: BTreeMap<TaskId, Resuming>,
    /// Questions that a person's answer is on its way to. Not saved: it asks again.
    pub(crate) replying: BTreeMap<QuestionId, Replying>,
    pub(crate) ledgers: Ledgers,
    /// The places whose sessions are terminals.
    pub(crate) terminals: BTreeSet<Place>,
    pub(crate) timers: Timers,
    in_flight: BTreeMap<WorkId, Purpose>,
    pub(crate) next_work: u64,
    /// Earlier records could not be read, so some tasks may be unknown here.
    pub(crate) incomplete: bool,
    out: Reaction,
}

#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    CheckAgent(CallKey),
    Resume(TaskId),
    /// A run's next step; of no interest if the run is another by then.
    Run(TaskId, u32),
    Poll(HostId, Scope),
    Delivery(HostId, legwork_protocol::MessageId),
    Stop(TaskId),
    FindMissing(HostId, Vec<SessionId>),
    Reply(CallId, QuestionId, Reply),
}

impl Engine {
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes in what happened at this moment and says what to do about it.
    ///
    /// Time must not run backwards; a moment before the last one counts as the last one.
    pub fn on(&mut self, input: Input, now: Time) -> Reaction {
        self.now = self.now.max(now);
        match input {
            Input::Ask { call, caller, ask, spare } => self.asked(call, caller, ask, spare),
            Input::Dropped { call } => self.dropped(call),
            Input::Hint(hint) => self.hinted(hint),
            Input::Found { work, found } => self.found(work, found),
            Input::Tick => {}
            Input::Slept { ms } => self.slept(ms),
        }
        while let Some(timer) = self.timers.due(self.now) {
            self.due(timer);
        }
        self.out.wake_at = self.timers.first();
        std::mem::take(&mut self.out)
    }

    fn asked(&mut self, call: CallId, caller: Caller, ask: Ask, spare: TaskId) {
        if let Caller::Session { host, session, .. } = &caller {
            self.heard_from(host, session);
            // A poll is its client's, whose model may be idle.
            if !matches!(ask, Ask::Collect { .. } | Ask::HandedOver { .. } | Ask::MailShown { .. })
            {
                self.turn_begins(session);
            }
        }
        let answer = match ask {
            Ask::Launch { prompt, description, agent, fork, collects } => {
                let launch = Launch { prompt, description, agent, fork, collects };
                self.launch(call, caller, launch, spare)
            }
            Ask::Resume { task, prompt, collects } => {
                self.resume(call, caller, &task, prompt, collects)
            }
            Ask::ResumeAny { task, prompt, key } => {
                self.resume_any(call, &caller, &task, (key, prompt))
            }
            Ask::Output { task, offset } => self.output(&caller, &task, offset),
            Ask::Wait { tasks, any, timeout_ms } => {
                self.wait(call, &caller, (&tasks, any), timeout_ms)
            }
            Ask::Collect { task, run, questions, wait_ms } => {
                self.collect(call, &caller, (&task, run), questions, wait_ms)
            }
            Ask::HandedOver { task, run } => self.handed_over(&caller, &task, run),
            Ask::MailShown { messages } => self.mail_shown(messages),
            Ask::List(list) => Ok(Some(Answer::Listed(self.list(&caller, &list)))),
            Ask::Cancel { task } => self.cancel(&caller, &task),
            Ask::Clear => self.clear(&caller),
            Ask::Forget { tasks } => self.forget_named(&caller, &tasks),
            Ask::ForgetFinished { by } => self.forget_finished(&caller, by),
            Ask::Reply { question, reply } => self.reply(call, question, reply),
        };
        match answer {
            Ok(Some(answer)) => self.answer(call, answer),
            Ok(None) => {}
            Err(refusal) => self.refuse(vec![call], &refusal),
        }
    }

    fn hinted(&mut self, hint: Hint) {
        match hint {
            Hint::HostCame { host, place, lifetime, serves } => {
                self.host_came(&host, &place, lifetime, serves);
            }
            Hint::HostIn { host, directory } => self.hosts.is_in(host, directory.into()),
            Hint::HostAway { host } => self.host_away(&host),
            Hint::HostGone { host } => self.host_gone(&host),
            Hint::NotStarted { place, directory, why, lasts } => {
                let directory = directory.into();
                self.not_started(&Folder { place, directory }, why, lasts);
            }
            Hint::Changed { session } => self.changed(&session, None),
            Hint::Errored { session, why } => {
                self.settles(&session);
                self.changed(&session, Some(why));
            }
            Hint::Deleted { host, session } => self.deletion_announced(&host, &session),
            Hint::Progress { session, tool, used } => self.progressed(&session, tool, used),
            Hint::Doing { session, what } => self.does(&session, &what),
            Hint::Asked { session, question } => {
                if let Some(task) = self.tasks.at_work_in(&session) {
                    self.question_open(task, question);
                }
            }
            Hint::Answered { session, question, reply } => {
                if let Some(task) = self.tasks.at_work_in(&session) {
                    self.question_closed(task, &question, Settled::InHost(reply));
                }
            }
            Hint::Undone { host, session, since } => self.undone(&host, &session, since),
            Hint::Shown { host, session } => self.shown(&host, session),
            Hint::Read { messages } => self.read(messages),
            Hint::Used { host, session } => {
                if self.shares_place(&host, &session) {
                    self.heard_from(&host, &session);
                    self.turn_begins(&session);
                }
            }
        }
    }

    fn found(&mut self, work: WorkId, found: Result<Finding, HostError>) {
        // Work from before a restart, or for something forgotten, is nobody's.
        let Some(purpose) = self.in_flight.remove(&work) else { return };
        match purpose {
            Purpose::CheckAgent(key) => self.agent_checked(&key, found),
            Purpose::Resume(task) => self.resume_probed(task, found),
            Purpose::Run(task, run) => self.run_answered(task, run, work, found),
            Purpose::Poll(host, scope) => self.polled(&host, scope, found),
            Purpose::Delivery(host, delivery) => self.delivery_answered(&host, &delivery, found),
            Purpose::Stop(task) => self.stop_answered(task, found),
            Purpose::FindMissing(host, asked) => self.missing_found(&host, asked, found),
            Purpose::Reply(call, question, reply) => self.replied(call, &question, reply, found),
        }
    }

    fn due(&mut self, timer: Timer) {
        match timer {
            Timer::Run(task) => self.tend_run(task),
            Timer::Doubt(session) => self.settle_doubt(&session),
            Timer::Start(host) => self.start_waiting(&host),
            Timer::Poll(host) => self.poll(&host),
            Timer::FindMissing(host) => self.find_missing(&host),
            Timer::Gather(parent) => self.tend_outbox(&parent),
            Timer::Delivery(delivery) => self.tend_delivery(&delivery),
            Timer::Stop(task) => self.tend_stop(task),
            Timer::Idle(host) => self.end_if_idle(&host),
            Timer::Wait(call) => self.wait_over(call),
            Timer::Awake(call) => self.keep_awake(call),
            Timer::Collect(call) => self.collect_over(call),
            Timer::Lease(task, run) => self.lease_over(task, run),
        }
    }

    /// Nobody waits for the answer any more.
    fn dropped(&mut self, call: CallId) {
        self.unblock(call);
        self.stop_collecting(call);
    }

    /// Does this once the input has had all of its other effects, so that nothing is started, told
    /// or answered that the same input ends.
    pub(crate) fn soon(&mut self, timer: Timer) {
        self.timers.set(timer, self.now);
    }

    pub(crate) fn save(&mut self, change: Change) {
        self.out.save.push(change);
    }

    pub(crate) fn answer(&mut self, call: CallId, answer: Answer) {
        self.out.says.push((call, Say::Answer(Ok(answer))));
    }

    pub(crate) fn refuse(&mut self, calls: Vec<CallId>, refusal: &Refusal) {
        for call in calls {
            self.out.says.push((call, Say::Answer(Err(refusal.clone()))));
        }
    }

    pub(crate) fn say(&mut self, call: CallId, progress: Progress) {
        self.out.says.push((call, Say::Progress(progress)));
    }

    pub(crate) fn work(&mut self, host: HostId, action: Action, purpose: Purpose) -> WorkId {
        let id = WorkId(self.next_work);
        self.next_work += 1;
        self.in_flight.insert(id, purpose);
        self.out.work.push(Work { id, host, action });
        id
    }

    pub(crate) fn headless(&mut self, order: Headless) {
        self.out.headless.push(order);
    }

    /// The number of the next work; a restored engine goes on from it, so that work of the one
    /// before cannot be taken for its own.
    pub fn next_work(&self) -> u64 {
        self.next_work
    }
}

/// What the handler of an ask gives back: an answer, or none yet.
pub(crate) type Answered = Result<Option<Answer>, Refusal>;
