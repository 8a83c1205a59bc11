//! `legwork answer` on a terminal: which question, then the answer, with the keys of `legwork run`.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};

use legwork_client::Client;
use legwork_machine::epoch_ms;
use legwork_protocol::Time;
use legwork_protocol::api::{Answer, Ask, Refusal};

use super::Event;
use super::keys::Keys;
use super::questions::{self, Asked, Questions, Typed};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::progress::{Board, REDRAW};
use crate::screen::{BAD, GOOD, paint, remark};
use crate::sentences;
use crate::signals;

fn now() -> Time {
    Time(epoch_ms())
}

/// Asks for answers to these, which the person has before them with these names, until all are
/// dealt with or the person leaves.
pub fn ask(client: &mut Client, all: &[(String, Asked)]) -> Result<Exit, Fault> {
    let mut left: Vec<&(String, Asked)> = all.iter().collect();
    while !left.is_empty() {
        let Some(place) = which(&left)? else { return Ok(Exit::Done) };
        let (_, asked) = left.remove(place);
        let typed = (all.len() > 1).then(now);
        if typed.is_some() && left.is_empty() {
            // Nobody chose this one: what it asks stands above what was answered meanwhile.
            questions::block(asked, Board::room().0).into_iter().for_each(remark);
        }
        if let Some(exit) = answer(client, Questions::of(asked.clone(), typed))? {
            return Ok(exit);
        }
    }
    Ok(Exit::Done)
}

/// The one that the person wants to answer; none if they leave.
fn which(left: &[&(String, Asked)]) -> Result<Option<usize>, Fault> {
    if left.len() == 1 {
        return Ok(Some(0));
    }
    loop {
        let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
        let mut out = io::stderr();
        let asked = write!(out, "Which one? [{}, or q to leave] ", names.join(", "));
        asked.and_then(|()| out.flush()).map_err(Fault::Output)?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line).map_err(Fault::Input)? == 0 || line.trim() == "q" {
            return Ok(None);
        }
        let place = names.iter().position(|name| *name == line.trim());
        if place.is_some() {
            return Ok(place);
        }
    }
}

/// One question: the keys that answer it, until one does. An exit is the end of it all.
fn answer(client: &mut Client, mut questions: Questions) -> Result<Option<Exit>, Fault> {
    let (tell, events) = mpsc::channel();
    let interrupted = tell.clone();
    let told = signals::listen(move |exit| drop(interrupted.send(Event::Signal(exit))));
    told.map_err(Fault::Input)?;
    let Some(keys) = Keys::open(tell) else { return Ok(Some(Exit::Done)) };
    let mut board = Board::default();
    loop {
        board.draw(&questions.prompt(Board::room().0, now()));
        let typed = match events.recv_timeout(REDRAW) {
            Ok(Event::Typed(Some(piece))) => questions.typed(&piece, now()),
            Ok(Event::Signal(exit)) => return Ok(Some(exit)),
            Ok(Event::Typed(None)) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(Some(Exit::Done));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => Typed::Nothing,
        };
        match typed {
            Typed::Nothing => {}
            Typed::Later(_) => return Ok(None),
            Typed::Reply(question, reply) => {
                let ask = Ask::Reply { question: question.id.clone(), reply: reply.clone() };
                let answered: Result<Answer, Refusal> = client.request(ask)?;
                board.clear();
                let Err(why) = answered else {
                    remark(format!(
                        "  {} {}",
                        paint(GOOD, "→"),
                        sentences::replied(&question, &reply)
                    ));
                    return Ok(None);
                };
                remark(format!("  {} {}", paint(BAD, "✗"), sentences::refusal(&why)));
                if matches!(why, Refusal::NoSuchQuestion(_)) {
                    return Ok(None);
                }
                keys.forget_typed();
                questions.replied(&question.id, false);
            }
        }
    }
}
