//! An end that nobody has seen: a daemon was killed while an agent worked. Some agents can say what
//! became of a prompt, and are asked before anything is sent again.

use legwork_machine::lock;
use legwork_protocol::{MessageId, SessionId};
use serde_json::Value;
use tokio::time::timeout;

use super::LocalHost;
use crate::agent::connection::AgentConnection;
use crate::agent::failure::{Failure, What};
use crate::limits::PROBE_MAX;
use crate::session::session_log::{End, Line, looked_up};
use crate::turn::active_turn::now;
use crate::turn::used::Used;
use crate::wire::{INTERNAL, RpcError};

impl LocalHost {
    /// The end of the turn for this prompt, which the log does not have, if its agent has it. It is
    /// asked once, and only for a prompt that was handed over by an earlier daemon.
    pub(super) async fn missed_end(
        &self,
        session: &SessionId,
        message: &MessageId,
        lines: &[Line],
    ) -> Option<Line> {
        let agent_session = looked_up(lines)?;
        let is_it = |line: &Line| matches!(line, Line::Prompt { message: id, .. } if id == message);
        let is_at_work = lock(&self.0.live).contains_key(session);
        if is_at_work || !lines.iter().any(is_it) || !lock(&self.0.looked).insert(message.clone()) {
            return None;
        }
        let looking = timeout(PROBE_MAX, self.look_up(lines, agent_session, message));
        let (end, used) = match looking.await {
            Ok(Ok(end)) => end?,
            Ok(Err(failure)) => {
                self.0
                    .trouble(&format!("{session}: what became of a prompt is unknown. {failure}"));
                return None;
            }
            Err(_) => {
                let seconds = PROBE_MAX.as_secs();
                self.0.trouble(&format!(
                    "{session}: no answer within {seconds} s to what became of a prompt"
                ));
                return None;
            }
        };
        let ended =
            Line::End { message: message.clone(), end, tool_calls: 0, used, at: Some(now()) };
        // Without this line the answer is told all the same, and cannot be read afterwards.
        if let Err(error) = self.0.log.append(session, &ended) {
            self.cannot("written", session, &error);
        }
        Some(ended)
    }

    async fn look_up(
        &self,
        lines: &[Line],
        agent_session: &str,
        message: &MessageId,
    ) -> Result<Option<(End, Used)>, Failure> {
        let Some(Line::Helper { agent, parent, directory, .. }) = lines.first() else {
            return Ok(None);
        };
        let environment = self.0.environments.of([parent, parent]);
        let environment = environment.as_deref();
        let path = environment.and_then(|environment| environment.get("PATH"));
        let Some(agent) = self.0.agent(agent, path) else { return Ok(None) };
        let processes = &self.0.setup.processes;
        let begun = AgentConnection::begin(&agent, directory, environment, processes);
        let mut connection = begun.await?;
        let looked = match connection.introduction.looks {
            true => connection.look(agent_session, message).await,
            false => Ok(Value::Null),
        };
        connection.process.end().await;
        looked.map(|looked| end(&agent.name, &looked["end"]))
    }
}

/// `{text}` or `{failure}`, with what the turn took.
fn end(agent: &str, told: &Value) -> Option<(End, Used)> {
    let mut used = Used::default();
    used.answered(told);
    if let Some(text) = told["text"].as_str() {
        return Some((End::Answered { text: text.trim().to_owned() }, used));
    }
    let message = told["failure"].as_str()?.to_owned();
    let error = RpcError { code: INTERNAL, message, data: Value::Null };
    let why = What::refused("session/prompt", &error, &[]);
    Some((End::Failed { reason: Failure::new(agent, why, "").to_string() }, used))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn h2_an_end_that_nobody_saw_is_read_as_one_that_was_told() {
        let answered = json!({ "text": " done\n", "usage": { "totalTokens": 7 } });
        let (how, used) = end("codex", &answered).unwrap();
        assert_eq!(how, End::Answered { text: "done".to_owned() });
        assert_eq!(used.tokens, Some(7));
        let (how, _) = end("codex", &json!({ "failure": "no luck" })).unwrap();
        let reason = "The agent codex answered with an error: no luck.".to_owned();
        assert_eq!(how, End::Failed { reason });
        assert_eq!(end("codex", &Value::Null), None);
    }
}
