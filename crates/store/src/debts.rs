//! Changes to what is owed: notices, the letters that carry them, stops; and to what is known of
//! parents. A notice that was owed once keeps its row while its task is there, so that the same
//! one cannot be owed again.

use legwork_engine::record::{DebtEnd, Letter, Notice, NoticeId, Parent, Stop, Target};
use legwork_protocol::{MessageId, SessionId, TaskId};
use rusqlite::Transaction;

use crate::fault::Fault;
use crate::save::{run, run_one};
use crate::words;

pub fn owed(tx: &Transaction<'_>, notice: &Notice) -> Result<(), Fault> {
    let id = notice.id;
    if notice.letter.is_some() {
        return Err(Fault::impossible(format!("{}: it cannot begin in a letter", name(id))));
    }
    run_one(
        tx,
        "INSERT INTO notices (task, run, question, recipient, headline, made, state)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?1)
         ON CONFLICT DO NOTHING",
        (
            words::id(id.task),
            id.run,
            words::question(id.about),
            notice.to.as_str(),
            &notice.headline,
            words::int(notice.made.0),
            words::OWED,
        ),
        || format!("{}: it was owed before, or its task is not there", name(id)),
    )
}

pub fn withdrawn(tx: &Transaction<'_>, id: NoticeId) -> Result<(), Fault> {
    run_one(
        tx,
        "UPDATE notices SET state = ?4
         WHERE task = ?1 AND run = ?2 AND question = ?3 AND state = 'owed' AND letter IS NULL",
        (words::id(id.task), id.run, words::question(id.about), words::WITHDRAWN),
        || format!("withdrawal of {}: it is not owed, or in a letter", name(id)),
    )
}

pub fn letter_made(tx: &Transaction<'_>, letter: &Letter) -> Result<(), Fault> {
    let what = |why: &str| format!("letter {}: {why}", letter.id);
    if letter.notices.is_empty() {
        return Err(Fault::impossible(what("it tells nothing")));
    }
    run_one(
        tx,
        "INSERT INTO letters (id, recipient, counts) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        (letter.id.as_str(), letter.to.as_str(), &letter.counts),
        || what("it is under way"),
    )?;
    for (spot, id) in (0i64..).zip(&letter.notices) {
        run_one(
            tx,
            "UPDATE notices SET letter = ?4, spot = ?5
             WHERE task = ?1 AND run = ?2 AND question = ?3 AND state = 'owed' AND letter IS NULL",
            (words::id(id.task), id.run, words::question(id.about), letter.id.as_str(), spot),
            || what(&format!("{} is not owed, or in a letter", name(*id))),
        )?;
    }
    Ok(())
}

pub fn letter_dissolved(tx: &Transaction<'_>, letter: &MessageId) -> Result<(), Fault> {
    end_letter(tx, letter, words::OWED)
}

pub fn letter_done(tx: &Transaction<'_>, letter: &MessageId, end: DebtEnd) -> Result<(), Fault> {
    end_letter(tx, letter, words::debt_end(end))
}

fn end_letter(tx: &Transaction<'_>, letter: &MessageId, state: &str) -> Result<(), Fault> {
    run_one(tx, "DELETE FROM letters WHERE id = ?1", [letter.as_str()], || {
        format!("end of letter {letter}: there is no such letter")
    })?;
    run(
        tx,
        "UPDATE notices SET letter = NULL, spot = NULL, state = ?2
         WHERE letter = ?1 AND state = 'owed'",
        (letter.as_str(), state),
    )?;
    Ok(())
}

pub fn stop_owed(tx: &Transaction<'_>, stop: &Stop) -> Result<(), Fault> {
    let (session, prompted) = match &stop.target {
        Target::Session(session) => (Some(session.as_str()), true),
        Target::Opened(session) => (Some(session.as_str()), false),
        Target::Marked => (None, false),
    };
    run_one(
        tx,
        "INSERT INTO stops (task, place, host, session, prompted) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        (words::id(stop.task), stop.place.as_str(), stop.host.as_str(), session, prompted),
        || format!("stop of {}: one is owed", stop.task),
    )
}

pub fn stop_done(tx: &Transaction<'_>, task: TaskId) -> Result<(), Fault> {
    run_one(tx, "DELETE FROM stops WHERE task = ?1", [words::id(task)], || {
        format!("end of the stop of {task}: none is owed")
    })
}

pub fn parent_known(tx: &Transaction<'_>, parent: &Parent) -> Result<(), Fault> {
    let voice = parent.voice.as_ref().map(|host| host.as_str());
    run_one(
        tx,
        "INSERT INTO parents (session, place, voice) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET place = excluded.place, voice = excluded.voice",
        (parent.session.as_str(), parent.place.as_str(), voice),
        || format!("parent {}", parent.session),
    )
}

pub fn parent_forgotten(tx: &Transaction<'_>, session: &SessionId) -> Result<(), Fault> {
    run_one(tx, "DELETE FROM parents WHERE session = ?1", [session.as_str()], || {
        format!("forgetting of parent {session}: it is not known")
    })
}

fn name(id: NoticeId) -> String {
    format!("notice of {} run {} ({:?})", id.task, id.run, id.about)
}
