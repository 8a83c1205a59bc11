//! With `wake = "last"`: whoever was told results without a turn has one in the end.

use legwork_engine::record::About;
use legwork_engine::task::Outcome;
use legwork_protocol::{MessageId, Time, WakeOn};

use crate::audit::Audit;
use crate::host::{Body, Message, Session};
use crate::world::World;

pub fn check(audit: &mut Audit, world: &World) {
    if world.settings.wake != WakeOn::Last || !world.settings.start_turns || world.hidden_database {
        return;
    }
    let wakeable = world.oc.ever().iter().filter(|session| may_be_woken(world, session));
    let unread = wakeable.flat_map(|session| {
        let turn = session.messages.iter().rposition(is_of_a_turn).map_or(0, |last| last + 1);
        let quiet = session.messages[turn..].iter();
        quiet.filter(|message| !has_called_since(world, session, message.created))
    });
    let tells = |message: &&Message| tells_a_result(audit, &message.id);
    let found = unread.filter(tells).map(|message| message.id.to_string());
    for id in found.collect::<Vec<_>>() {
        audit.broken("the last one starts a turn", format!("nobody has read {id}"));
    }
}

/// One that a person uses in a single window, which is still there.
fn may_be_woken(world: &World, session: &Session) -> bool {
    let mut used = world.used.iter().filter(|(_, used)| *used == session.id);
    let (first, more) = (used.next(), used.next());
    let stays = first.is_some_and(|(process, _)| world.oc.alive(*process));
    stays && more.is_none() && world.can_be_told(&session.id) && session.mark.is_none()
}

fn is_of_a_turn(message: &Message) -> bool {
    match &message.body {
        Body::User(user) => !user.no_reply,
        Body::Assistant(_) => true,
    }
}

/// Whose model calls a tool has a turn.
fn has_called_since(world: &World, session: &Session, told: Time) -> bool {
    let of_session = |from: &Option<(usize, _)>| from.as_ref().is_some_and(|it| it.1 == session.id);
    world.calls.iter().any(|call| call.made >= told && of_session(&call.from))
}

fn tells_a_result(audit: &Audit, message: &MessageId) -> bool {
    let delivery = audit.deliveries_ever.get(message).filter(|_| audit.told.contains(message));
    delivery.into_iter().flat_map(|delivery| &delivery.notices).any(|notice| {
        let run = audit.runs.get(&(notice.task, notice.run));
        // After a restart nobody remembers what was cleared.
        let kept = run.filter(|run| !run.forgotten || audit.life == run.forgotten_in);
        let is_result = kept.is_some_and(|run| run.ended == Some(Outcome::Completed));
        notice.about == About::End && is_result
    })
}
