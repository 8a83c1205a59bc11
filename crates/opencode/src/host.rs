//! OpenCode as the daemon sees it: a kind of host, and one host behind the plugin's link.

use std::sync::Arc;

use legwork_engine::text::toast::Toast;
use legwork_engine::{Action, Finding, Hint, HostError};
use legwork_host::{Host, HostFuture, HowToStart, Kind, Link, Request, Starting, Unreachable};
use legwork_protocol::line::{HostReply, Wanted};
use legwork_protocol::tools::OfferedAgent;
use legwork_protocol::{HostId, Place};
use serde_json::Value;

use crate::cache::event_cache::EventCache;
use crate::cache::link_cache::LinkCache;
use crate::operations::{self, agents, toast};
use crate::wire::events;
use crate::wire::transport::Transport;
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
        Arc::new(Connected { id, link, cache: LinkCache::with(self.0.clone()) })
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
        let used = self.cache.event_cache.hear(name, properties);
        let used =
            used.map(|(session, used)| Hint::Progress { session, tool: None, used: Some(used) });
        used.into_iter().chain(events::hints(&self.id, name, properties)).collect()
    }

    fn toast<'a>(&'a self, toast: &'a Toast) -> HostFuture<'a, ()> {
        Box::pin(toast::toast(self, toast))
    }

    fn link_lost(&self) {
        self.cache.event_cache.forget();
    }
}
