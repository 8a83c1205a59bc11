//! Checks at the end of a history: every run ended, everybody was told once, nothing is left
//! running or lying about. They look into the hosts, not only into the books.

use std::collections::{BTreeMap, BTreeSet};

use legwork_engine::record::{About, NoticeId};
use legwork_engine::task::Outcome;
use legwork_engine::text::words;
use legwork_protocol::{Ask, MessageId, TaskId};

use crate::audit::{Audit, Broken, NoticeFact, RunFact};
use crate::host::{Body, Finish, Message, OpenCode, Session, User};
use crate::world::World;
use crate::{clients, fence, figures, unread};

/// An answer is found within this time: two polls and the slowest link.
const FOUND_MS: u64 = 30_000;

impl World {
    /// Everything that is wrong with this history.
    pub fn verdict(mut self) -> Vec<Broken> {
        let waiting: Vec<usize> = self.waiting().collect();
        if let Some(call) = waiting.first() {
            let what = format!("call {call} has no answer: {:?}", self.calls[*call].ask);
            self.audit().broken("every caller answered", what);
        }
        let mut audit = std::mem::take(self.audit());
        unsettled(&mut audit, &self);
        runs(&mut audit, &self.oc);
        ends_found(&mut audit, &self);
        forgotten_for_a_reason(&mut audit, &self.oc);
        told(&mut audit, &self.oc);
        stored_once(&mut audit, &self);
        fenced(&mut audit, &self);
        figures::check(&mut audit, &self);
        clients::told_one_way(&mut audit, &self);
        unread::check(&mut audit, &self);
        for session in self.oc.ever() {
            if let Some(mark) = session.mark.filter(|mark| !self.set_aside.contains(mark)) {
                helper(&mut audit, &self, session, mark);
            }
        }
        // Only a session that was deleted, or a helper that was cleared, expects nothing any more.
        let expects = |session: &&Session| !session.deleted && session.mark.is_none();
        let mut abandoned = audit.abandoned.iter().filter_map(|id| self.oc.once(id));
        if let Some(session) = abandoned.find(expects) {
            let what = format!("{} was forgotten before it was told", session.id);
            audit.broken("every asker is told", what);
        }
        if self.oc.undos_destroyed() > 0 {
            audit.broken("undo respected", "a delivery made an undo permanent".to_owned());
        }
        audit.found
    }
}

fn unsettled(audit: &mut Audit, world: &World) {
    let unfinished = audit.rows.values().find(|row| !row.task.is_finished());
    let what = unfinished.map(|row| format!("{} is at {:?}", row.task.id, row.task.stage));
    if let Some(what) = what {
        audit.broken("every run ends", what);
    }
    let can_be_told =
        |notice: &&NoticeId| audit.pending_for.get(notice).is_some_and(|to| world.can_be_told(to));
    if let Some(notice) = audit.pending.iter().find(can_be_told).copied() {
        audit.broken("every notice is delivered", format!("{notice:?} is still pending"));
    }
    let stop = audit.stops.iter().find(|(task, _)| can_be_stopped(audit, world, **task));
    if let Some((task, target)) = stop.map(|(task, target)| (*task, target.clone())) {
        audit.broken("every stop is done", format!("{target:?} of {task} is not stopped"));
    }
}

/// Not what was begun in a window that has ended out of our sight: it may be at work.
fn can_be_stopped(audit: &Audit, world: &World, task: TaskId) -> bool {
    audit.stop_hosts.get(&task).is_none_or(|host| !world.has_died_unseen(host))
}

/// Only what a deleted session launched is forgotten with it.
fn forgotten_for_a_reason(audit: &mut Audit, host: &OpenCode) {
    let with = &audit.deleted_with;
    let wrong = with.iter().find(|(_, parent, _)| {
        let deleted = host.once(parent).is_none_or(|parent| parent.deleted);
        let above = with.iter().any(|(_, _, session)| session.as_ref() == Some(parent));
        !deleted && !above
    });
    if let Some(what) = wrong.map(|(task, parent, _)| format!("{task} of {parent}, which is there"))
    {
        audit.broken("forgotten for a reason", what);
    }
    let deleted = |task: TaskId| host.ever().iter().any(|it| it.mark == Some(task) && it.deleted);
    let wrong = audit.runs.iter().find(|((task, _), run)| {
        let called_off = run.ended == Some(Outcome::Cancelled);
        called_off && run.detail == words::SESSION_DELETED && !deleted(*task)
    });
    if let Some(what) = wrong.map(|((task, _), _)| format!("the session of {task} is there")) {
        audit.broken("cancelled for a reason", what);
    }
}

/// The result is the right one, of the right run.
fn runs(audit: &mut Audit, host: &OpenCode) {
    let mut found = Vec::new();
    for ((task, number), run) in &audit.runs {
        if run.ended == Some(Outcome::Completed) {
            // What is no script is answered "ok": being asked to go on, and a delivery that joined
            // the helper's turn.
            let delivery = |session: &Session| {
                session.mark == Some(*task)
                    && session.prompts().any(|(id, _)| audit.deliveries_ever.contains_key(id))
            };
            let other = run.continued > 0 || host.ever().iter().any(delivery);
            let right = answer_of(&run.prompt).is_some_and(|answer| run.detail == answer);
            if !(right || other && run.detail == "ok") {
                let (asked, got) = (&run.prompt, &run.detail);
                found.push(format!("{task} run {number}: asked {asked:?}, got {got:?}"));
            }
        }
    }
    for what in found {
        audit.broken("the right result", what);
    }
}

/// A helper whose answer was there to be read does not fail for want of one, nor wait for long.
fn ends_found(audit: &mut Audit, world: &World) {
    let calm_since = world.calm_since;
    let mut found = Vec::new();
    for session in world.oc.ever().iter().filter(|session| !session.deleted) {
        let Some(mark) = session.mark else { continue };
        for (_, run) in audit.runs.range((mark, 0)..=(mark, u32::MAX)) {
            let answer = session.replies().find(|reply| {
                run.prompts.contains(&reply.answers) && reply.finish == Some(Finish::Stop)
            });
            let since = answer.and_then(|answer| answer.completed);
            let unread = since.is_some_and(|since| world.awake_ms(since, run.ended_at) > FOUND_MS);
            // Whoever was here may have had the other database.
            let readable = run.readable && !world.hidden_database;
            if run.ended == Some(Outcome::Failed) && readable && unread {
                found.push(format!("{mark} failed with its answer unread: {}", run.detail));
            }
            // While nothing goes wrong it is found soon, whatever went wrong before.
            let found_late = since.zip(calm_since).is_some_and(|(since, calm)| {
                run.ended_at > calm && world.awake_ms(since.max(calm), run.ended_at) > FOUND_MS
            });
            // Of a host that ended unseen it is known only by the run's limit.
            let row = audit.rows.get(&mark);
            let unseen = row.is_some_and(|row| world.has_died_unseen(&row.task.run.host));
            if run.ended == Some(Outcome::Completed) && found_late && !unseen {
                found.push(format!("{mark} was found out late"));
            }
        }
    }
    for what in found {
        audit.broken("the end is found", what);
    }
}

/// What a script answers, if it can come to an answer.
fn answer_of(prompt: &str) -> Option<&str> {
    let mut steps = prompt.split(';').map(str::trim);
    if steps.clone().any(|step| step == "fail 400" || step == "hang" || step == "nomodel") {
        return None;
    }
    steps.find_map(|step| step.strip_prefix("say ")).or(Some("ok"))
}

/// What counts as told is there, with its headline and its result.
fn told(audit: &mut Audit, host: &OpenCode) {
    let mut found = Vec::new();
    for id in &audit.told {
        let Some(delivery) = audit.deliveries_ever.get(id) else { continue };
        let Some(session) = host.once(&delivery.to) else { continue };
        let Some(user) = user(session, id) else {
            found.push(format!("{id} counts as told and is not in {}", delivery.to));
            continue;
        };
        let ends = delivery.notices.iter().filter(|notice| notice.about == About::End);
        if user.parts.len() > 1 + ends.clone().count() {
            found.push(format!("{id} has its parts twice"));
        }
        for notice in ends.filter(|notice| !audit.taken_out.contains(*notice)) {
            let Some(run) = audit.runs.get(&(notice.task, notice.run)) else { continue };
            if !run.forgotten && !tells(user, notice, run) {
                found.push(format!("{id} does not tell how {notice:?} ended: {:?}", user.parts));
            }
        }
    }
    for what in found {
        audit.broken("told in full", what);
    }
}

fn tells(user: &User, notice: &NoticeId, run: &RunFact) -> bool {
    let kind = match (run.ended, notice.run) {
        (Some(Outcome::Completed), 0) => "[BACKGROUND TASK COMPLETED] ",
        (Some(Outcome::Completed), _) => "[BACKGROUND RESUME COMPLETED] ",
        (Some(Outcome::Failed), 0) => "[BACKGROUND TASK FAILED] ",
        (Some(Outcome::Failed), _) => "[BACKGROUND RESUME FAILED] ",
        (Some(Outcome::Cancelled), _) => "[BACKGROUND TASK CANCELLED] ",
        (None, _) => return false,
    };
    let headline = format!("{kind}{} ", notice.task);
    let head = user.parts.iter().filter(|part| !part.synthetic);
    let headed = head.flat_map(|part| part.text.lines()).any(|line| line.starts_with(&headline));
    let tells = |text: &str| {
        let told = fence::read(text).ok().flatten();
        told.is_some_and(|told| {
            told.task == notice.task.to_string()
                && *told.words == *run.detail
                && told.before == format!("What came of {}:", notice.task)
                && told.behind.is_empty()
        })
    };
    headed && user.parts.iter().any(|part| part.synthetic && tells(&part.text))
}

/// What helpers wrote stands in fences, in messages and in answers, each with a number of its own.
fn fenced(audit: &mut Audit, world: &World) {
    let mut numbers = BTreeSet::new();
    let mut found = Vec::new();
    let mut check = |whose: String, text: &str| match fence::read(text) {
        Ok(Some(told)) if !numbers.insert(told.number.clone()) => {
            found.push(format!("{whose} has a fence that was used before: {told}"));
        }
        Ok(Some(_)) => {}
        Ok(None) => found.push(format!("{whose} quotes without a fence: {text:?}")),
        Err(why) => found.push(format!("{whose}: {why}")),
    };
    for Message { id, body, .. } in world.oc.ever().iter().flat_map(|session| &session.messages) {
        let (Body::User(user), true) = (body, audit.deliveries_ever.contains_key(id)) else {
            continue;
        };
        for part in user.parts.iter().filter(|part| part.synthetic) {
            check(id.to_string(), &part.text);
        }
    }
    for (number, call) in world.calls.iter().enumerate() {
        let Ask::Output { offset: 0, .. } = call.ask else { continue };
        if let Some(text) = call.text().filter(|text| text.contains("\nTook: ")) {
            check(format!("answer {number}"), &text);
        }
    }
    for what in found {
        audit.broken("words of others", what);
    }
}

/// No notice is in two messages, wherever they are.
fn stored_once(audit: &mut Audit, world: &World) {
    let mut stored: BTreeMap<NoticeId, &MessageId> = BTreeMap::new();
    let mut found = Vec::new();
    for Message { id, body, .. } in world.oc.ever().iter().flat_map(|session| &session.messages) {
        let (Body::User(user), Some(delivery)) = (body, audit.deliveries_ever.get(id)) else {
            continue;
        };
        // Two windows in which a person uses one session know nothing of each other's turns.
        let windows = world.used.iter().filter(|(_, session)| *session == delivery.to).count();
        for notice in delivery.notices.iter().filter(|it| !audit.taken_out.contains(*it)) {
            if let Some(other) = stored.insert(*notice, id) {
                found.push(format!("{notice:?} is told in {other} and in {id}"));
            }
        }
        // One that is sent again through another is written down again, and may be answered once
        // more by the first.
        let most = if windows > 1 { windows + 1 } else { 1 };
        if user.tally.answered as usize > most {
            found.push(format!("{id} was answered {} times", user.tally.answered));
        }
    }
    for ((task, number), run) in &audit.runs {
        let id = NoticeId { task: *task, run: *number, about: About::End };
        if run.notice == NoticeFact::Withdrawn && stored.contains_key(&id) {
            found.push(format!("{id:?} was withdrawn and told"));
        }
    }
    for what in found {
        audit.broken("one notice", what);
    }
}

fn user<'a>(session: &'a Session, id: &MessageId) -> Option<&'a User> {
    session.prompts().find(|(known, _)| *known == id).map(|(_, user)| user)
}

/// One session for a task, one prompt for a run, nothing left running or lying about.
fn helper(audit: &mut Audit, world: &World, session: &Session, mark: TaskId) {
    let (host, id) = (&world.oc, &session.id);
    let row = audit.rows.get(&mark);
    // A helper that launched others may be answering what it was told of them, after its own answer
    // or after it was forgotten.
    let known = row.is_some_and(|row| row.task.session.as_ref() == Some(id));
    let over = row.is_none_or(|row| row.task.outcome() == Some(Outcome::Completed));
    let on_its_own = over && audit.deliveries_ever.values().any(|delivery| delivery.to == *id);
    if host.runs(id) && !on_its_own {
        audit.broken("nothing left running", format!("{id} of {mark} still runs"));
    }
    // A host that ends right after it took a prompt has stored nothing, and nobody can tell.
    let taken = audit.runs.get(&(mark, 0)).is_some_and(|run| run.taken);
    if !session.deleted
        && !known
        && !taken
        && session.messages.is_empty()
        && can_be_stopped(audit, world, mark)
        && !world.hidden_database
    {
        audit.broken("nothing left behind", format!("{id} of {mark} is nobody's"));
    }
    if host.sessions_marked(mark).count() > 1 {
        audit.broken("one session a task", format!("{mark} has more than {id}"));
    }
    let mut sent: BTreeMap<u32, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (message, user) in session.prompts().filter(|(_, user)| user.ours) {
        if audit.deliveries_ever.contains_key(message) {
            continue;
        }
        let mut runs = audit.runs.range((mark, 0)..=(mark, u32::MAX));
        match runs.find(|(_, run)| run.prompts.contains(message)) {
            Some(((_, number), _)) => *sent.entry(*number).or_default() += 1,
            None => found.push(format!("{id} has {message}, which nobody meant to send")),
        }
        // A helper that still answers a notice in one window while it is resumed in another may
        // answer in both: nothing keeps two processes from one session (seen in 1.18.33).
        let told = audit.deliveries_ever.values().any(|delivery| delivery.to == *id);
        let runs = audit.runs.range((mark, 0)..=(mark, u32::MAX));
        let hosts: BTreeSet<_> = runs.map(|(_, run)| &run.host).collect();
        let most = if told && hosts.len() > 1 { 2 } else { 1 };
        if user.parts.len() > 1 || user.tally.answered > most {
            found.push(format!("{message} took effect more than once"));
        }
    }
    for (number, count) in sent {
        let meant = audit.runs.get(&(mark, number)).map_or(0, |run| run.prompts.len());
        if count > meant {
            found.push(format!("{mark} run {number} was prompted {count} times"));
        }
    }
    for what in found {
        audit.broken("one prompt a run", what);
    }
}
