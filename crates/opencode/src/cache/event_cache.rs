//! What the events of all OpenCode processes have told. They share one cache, because one session
//! may be open in two windows. When events may have been missed, because a link came or went, only
//! what prompts used up is kept. It only saves requests: what is not in it is read.

use std::collections::BTreeMap;
use std::sync::Mutex;

use legwork_engine::work::Observation;
use legwork_engine::{PromptUsage, Usage};
use legwork_machine::lock;
use legwork_protocol::{MessageId, SessionId};
use serde_json::Value;

use crate::cache::conversation::{Conversation, SessionCache};
use crate::cache::link_cache::keep;
use crate::cache::reply_builder::ReplyBuilder;
use crate::limits::{CONVERSATIONS_KEPT, REPLIES_KEPT};
use crate::wire::event::{Event, EventKind};
use crate::wire::usage::Spending;

#[derive(Debug, Default)]
pub struct EventCache(Mutex<CachedSessions>);

#[derive(Debug, Default)]
struct CachedSessions {
    /// Sessions with a person.
    conversations: BTreeMap<SessionId, SessionCache>,
    /// Sessions that were prompted.
    replies: BTreeMap<SessionId, ReplyBuilder>,
}

impl EventCache {
    /// Returns what a prompt in the session has used so far, if the event changes that.
    pub fn hear(&self, event: &Event<'_>) -> Option<(SessionId, PromptUsage)> {
        if let EventKind::Missed = event.kind {
            self.forget();
            return None;
        }
        let session = event.session.as_ref()?;
        let mut known = lock(&self.0);
        if let EventKind::SessionDeleted = event.kind {
            known.conversations.remove(session);
            known.replies.remove(session);
        } else if let Some(reply) = known.replies.get_mut(session) {
            return reply.hear(&event.kind).map(|used| (session.clone(), used));
        } else if let Some(conversation) = known.conversations.get_mut(session) {
            conversation.hear(&event.kind);
        } else if let EventKind::SessionUpdated { info } = event.kind
            && let Some(conversation) = SessionCache::by(info)
        {
            keep(&mut known.conversations, CONVERSATIONS_KEPT, session.clone(), conversation);
        }
        None
    }

    /// Events may have been missed: no answer is put together from those before and after. What
    /// prompts used up is counted on, because the links of other processes have missed nothing.
    pub fn forget(&self) {
        let mut known = lock(&self.0);
        known.conversations.clear();
        known.replies.values_mut().for_each(ReplyBuilder::only_count);
    }

    /// From now on the reply to this prompt is collected.
    pub(crate) fn listen(&self, session: &SessionId, prompt: &MessageId) {
        let awaited = ReplyBuilder::new(prompt);
        keep(&mut lock(&self.0).replies, REPLIES_KEPT, session.clone(), awaited);
    }

    /// The answer to this prompt, if all of it was announced. It is given once.
    pub(crate) fn answer(&self, session: &SessionId, prompt: &MessageId) -> Option<Observation> {
        let answer = lock(&self.0).replies.get(session)?.answer_to(prompt)?;
        self.listen_no_more(session);
        Some(answer)
    }

    /// What the prompt used up so far, if every reply to it was told of: these are what was read.
    pub(crate) fn usage_with<'a>(
        &self,
        session: &SessionId,
        prompt: &MessageId,
        read: impl Iterator<Item = &'a Value>,
    ) -> Option<Usage> {
        lock(&self.0).replies.get(session)?.usage_with(prompt, read)
    }

    /// From now on it is counted what the prompt uses up, beside what was read.
    pub(crate) fn count(&self, session: &SessionId, prompt: &MessageId, read: Spending) {
        let mut known = lock(&self.0);
        match known.replies.get_mut(session).filter(|known| known.is_for(prompt)) {
            Some(awaited) => awaited.counts_from(read),
            None => {
                let counting = ReplyBuilder::counting(prompt, read);
                keep(&mut known.replies, REPLIES_KEPT, session.clone(), counting);
            }
        }
    }

    /// It is known how that run ended.
    pub(crate) fn listen_no_more(&self, session: &SessionId) {
        lock(&self.0).replies.remove(session);
    }

    /// The conversation, if all that must be known of it was announced.
    pub(crate) fn conversation(&self, session: &SessionId) -> Option<Conversation> {
        lock(&self.0).conversations.get(session)?.whole()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(id: &str, tokens: u64) -> Value {
        json!({
            "sessionID": "ses_1",
            "info": {
                "id": id, "role": "assistant", "parentID": "msg_1",
                "tokens": { "input": tokens }, "cost": 0,
            },
        })
    }

    /// Also of one whose step ended unheard, once it is read.
    #[test]
    fn o6_what_a_prompt_used_up_is_counted_on_when_another_link_comes_or_goes() {
        let cache = EventCache::default();
        let (session, prompt) = ("ses_1".parse().unwrap(), "msg_1".parse().unwrap());
        cache.listen(&session, &prompt);
        let hear = |id, tokens| {
            let used = cache.hear(&Event::read("message.updated", &reply(id, tokens)));
            used.and_then(|(_, used)| used.usage.tokens)
        };
        assert_eq!(hear("msg_2", 100), Some(100));
        hear("msg_3", 0);
        cache.forget();
        assert_eq!(cache.answer(&session, &prompt), None);
        assert_eq!(hear("msg_4", 100), Some(200));
        let read = [reply("msg_2", 100), reply("msg_3", 100), reply("msg_4", 0)];
        cache.count(&session, &prompt, Spending::of(read.iter().map(|told| &told["info"])));
        assert_eq!(hear("msg_5", 100), Some(400));
    }
}
