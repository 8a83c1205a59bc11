//! The agents that an OpenCode has. The list is OpenCode's slowest answer and changes only when it
//! reads its settings again, so it is cached; an agent that is not on it is looked up in a new one.

use std::sync::Arc;

use legwork_engine::{Finding, HostError};
use legwork_host::Request;
use legwork_protocol::tools::OfferedAgent;
use serde_json::Value;

use crate::wire::transport::{Transport, ask_list};

/// Whether the agent is one that can be asked for.
pub async fn check_agent<T: Transport>(host: &T, agent: &str) -> Result<Finding, HostError> {
    if host.cache().and_then(|cache| cache.agents()).is_some_and(|all| has(&all, agent)) {
        return Ok(Finding::AgentKnown);
    }
    let agents = read(host).await?;
    if has(&agents, agent) {
        return Ok(Finding::AgentKnown);
    }
    let known = names(&agents).map(str::to_owned).collect();
    Ok(Finding::NoSuchAgent { known })
}

/// All of them, as OpenCode tells of them.
pub async fn list<T: Transport>(host: &T) -> Result<Arc<Vec<Value>>, HostError> {
    match host.cache().and_then(|cache| cache.agents()) {
        Some(agents) => Ok(agents),
        None => read(host).await,
    }
}

/// Those that a model is told of: the ones made for helpers first, as OpenCode's own task tool
/// lists them, then those that people talk to.
pub async fn offered<T: Transport>(host: &T) -> Result<Vec<OfferedAgent>, HostError> {
    let agents = read(host).await?;
    let (people, helpers): (Vec<&Value>, Vec<&Value>) =
        shown(&agents).partition(|agent| agent["mode"] == "primary");
    let offered = helpers.into_iter().chain(people).filter_map(|agent| {
        let purpose = agent["description"].as_str().unwrap_or_default().to_owned();
        Some(OfferedAgent { name: agent["name"].as_str()?.to_owned(), purpose })
    });
    Ok(offered.collect())
}

async fn read<T: Transport>(host: &T) -> Result<Arc<Vec<Value>>, HostError> {
    let agents = Arc::new(ask_list(host, Request::get("/agent")).await?);
    if let Some(cache) = host.cache() {
        cache.agents_are(agents.clone());
    }
    Ok(agents)
}

/// The hidden ones are OpenCode's own: they write titles and summaries.
fn shown(agents: &[Value]) -> impl Iterator<Item = &Value> {
    agents.iter().filter(|agent| agent["hidden"] != true)
}

fn names(agents: &[Value]) -> impl Iterator<Item = &str> {
    shown(agents).filter_map(|agent| agent["name"].as_str())
}

fn has(agents: &[Value], agent: &str) -> bool {
    names(agents).any(|name| name == agent)
}
