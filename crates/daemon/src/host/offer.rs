//! Whom the models of a host can ask: the agents of the host itself, and those of the hosts that
//! serve everyone. A front is told as soon as the host has said which it has.

use std::sync::Arc;

use legwork_engine::Serves;
use legwork_host::Host;
use legwork_protocol::api::Answer;
use legwork_protocol::line::FromDaemon;
use legwork_protocol::tools::{OfferedAgent, Telling, tools_with};
use tokio::time::{sleep, timeout};

use super::BuiltIns;
use crate::connection::SendQueue;
use crate::limits::{OFFER_PAUSE, OFFER_TRIES, UNIT_MAX};

/// Tells the front of a host that has just connected. A host that does not answer leaves its models
/// with what they were offered in the greeting: an unknown agent is refused with a list of all.
pub async fn offer(own: Arc<dyn Host>, built_in: BuiltIns, front: SendQueue) {
    for _ in 0..OFFER_TRIES {
        if let Ok(Ok(agents)) = timeout(UNIT_MAX, own.agents()).await {
            let tools = tools_with(&with_others(agents, &built_in).await, Telling::ByItself);
            // Agents are told in few words, so it is far shorter than a line may be.
            let _ = front.send(&FromDaemon::Tools { tools });
            return;
        }
        sleep(OFFER_PAUSE).await;
    }
}

/// Answers a front whose client has no agents of its own.
pub async fn tell_agents(built_in: BuiltIns, front: SendQueue, id: u64) {
    let agents = with_others(Vec::new(), &built_in).await;
    // As above.
    let _ = front.send(&FromDaemon::Data { id, data: Answer::Agents(agents) });
}

/// The agents of the asker's own host come first, and hide others of their names.
async fn with_others(mut agents: Vec<OfferedAgent>, built_in: &BuiltIns) -> Vec<OfferedAgent> {
    for other in built_in.iter().filter(|host| host.serves() == Serves::Everyone) {
        for agent in other.agents().await.unwrap_or_default() {
            if !agents.iter().any(|own| own.name == agent.name) {
                agents.push(agent);
            }
        }
    }
    agents
}
