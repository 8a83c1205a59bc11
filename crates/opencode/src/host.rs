//! OpenCode as the daemon sees it: a kind of host, and one host behind the plugin's link.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use legwork_engine::text::toast::{Toast, ToastKind};
use legwork_engine::{Action, Finding, Hint, HostError};
use legwork_host::{Host, HostFuture, HowToStart, Kind, Link, Request, Starting, Unreachable};
use legwork_protocol::api::transcript::Entry;
use legwork_protocol::line::{HostReply, Wanted};
use legwork_protocol::tools::OfferedAgent;
use legwork_protocol::{HostId, Place, SessionId};
use serde_json::Value;
use tokio::sync::watch;

use crate::cache::event_cache::EventCache;
use crate::cache::followed::Followed;
use crate::cache::link_cache::LinkCache;
use crate::operations::{self, agents, toast};
use crate::wire::entries::{self, message_of};
use crate::wire::event::{Event, EventKind};
use crate::wire::transport::Transport;
use crate::wire::{events, history};
use crate::{KIND, headless};

/// All OpenCode processes of the user. They share what their events told, because one session may
/// be open in two windows.
#[derive(Debug, Default)]
pub struct OpenCode(Arc<EventCache>);

impl Kind for OpenCode {
    fn name(&self) -> &'static str {
        KIND
    }

    fn connect(&self, id: HostId, link: Link) -> Arc<dyn Host> {
        // What happened before the link stood was told to nobody.
        self.0.forget();
        let cache = LinkCache::with(self.0.clone());
        Arc::new(Connected {
            id,
            link,
            cache,
            followed: Followed::default(),
            draws_helpers: AtomicBool::new(false),
        })
    }

    fn start_headless(&self, place: &Place, how: &HowToStart) -> Option<Starting> {
        headless::start(place, how)
    }
}

/// One OpenCode process, reached through the plugin inside of it or the front outside.
#[derive(Debug)]
struct Connected {
    id: HostId,
    link: Link,
    cache: LinkCache,
    followed: Followed,
    /// Whether its screen shows at any time what the helpers do.
    draws_helpers: AtomicBool,
}

impl Connected {
    /// All messages, or those from this one on.
    async fn messages(
        &self,
        session: &SessionId,
        from: Option<&str>,
    ) -> Result<Arc<Vec<Value>>, HostError> {
        if let Some(known) = from.and_then(|message| self.followed.known(session, message)) {
            return Ok(known);
        }
        let began = self.followed.reads(session);
        let reaches = |seen: &[Value]| {
            from.is_some_and(|message| seen.iter().any(|told| told["info"]["id"] == message))
        };
        let read = Arc::new(history::read(self, session, reaches).await?);
        if from.is_some() {
            self.followed.keep(session, began, read.clone());
        }
        Ok(read)
    }

    fn want_events(&self) {
        self.link.want(events::wanted_following(&self.followed.sessions()));
    }
}

impl Transport for Connected {
    async fn send(&self, request: Request) -> Result<HostReply, Unreachable> {
        self.link.send(request).await
    }

    fn cache(&self) -> Option<&LinkCache> {
        Some(&self.cache)
    }
}

impl Host for Connected {
    fn perform<'a>(&'a self, action: &'a Action) -> HostFuture<'a, Result<Finding, HostError>> {
        Box::pin(operations::perform(self, action))
    }

    fn agents(&self) -> HostFuture<'_, Result<Vec<OfferedAgent>, HostError>> {
        Box::pin(agents::offered(self))
    }

    fn wanted_events(&self) -> Vec<Wanted> {
        events::wanted()
    }

    fn hints(&self, name: &str, properties: &Value) -> Vec<Hint> {
        let event = Event::read(name, properties);
        if let EventKind::Screen = event.kind {
            self.draws_helpers.store(true, Ordering::Relaxed);
        }
        let heard = self.followed.hear(&event);
        if heard.others {
            self.want_events();
        }
        if heard.is_spare {
            return Vec::new();
        }
        let used = self.cache.event_cache.hear(&event).map(|(session, used)| Hint::Progress {
            session,
            tool: None,
            used: Some(used),
        });
        used.into_iter().chain(events::hints(&self.id, &event)).collect()
    }

    fn toast<'a>(&'a self, toast: &'a Toast) -> HostFuture<'a, ()> {
        Box::pin(async move {
            // Progress would only cover the text.
            let is_there =
                toast.kind == ToastKind::Info && self.draws_helpers.load(Ordering::Relaxed);
            if !is_there {
                toast::toast(self, toast).await;
            }
        })
    }

    fn conversation<'a>(
        &'a self,
        session: &'a SessionId,
        from: Option<&'a str>,
    ) -> HostFuture<'a, Result<Vec<Entry>, HostError>> {
        Box::pin(async move {
            let messages = self.messages(session, from.map(message_of)).await?;
            let mut entries = entries::of(&messages);
            self.followed.add_live(session, &mut entries);
            // One that is being written has nothing to show until there is something.
            entries.retain(|entry| entry.tool.is_some() || !entry.text.is_empty());
            Ok(entries)
        })
    }

    fn follow(&self, session: &SessionId) -> Option<watch::Receiver<u64>> {
        let (changes, is_new) = self.followed.follow(session);
        if is_new {
            self.want_events();
        }
        Some(changes)
    }

    fn link_lost(&self) {
        self.followed.clear();
        self.cache.event_cache.forget();
    }
}
