//! The two eras of the protocol. Until 2025-11-25 a client introduces itself once (`initialize`);
//! from 2026-07-28 on every request says which version it speaks and what its client can do. So
//! what holds is decided request by request.

use legwork_protocol::json_rpc::{BAD_PARAMS, NO_SUCH_METHOD, RpcError};
use serde_json::{Value, json};

pub const TASKS: &str = "io.modelcontextprotocol/tasks";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

const MODERN: &str = "2026-07-28";
/// The newest first: it is offered to a client that asks for one that we do not know.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The request speaks a version that we do not.
const OTHER_VERSION: i64 = -32022;
/// The request needs something that its client did not declare.
const NOT_DECLARED: i64 = -32021;

const INSTRUCTIONS: &str = "Background helpers: background_task hands a piece of work to another \
    agent while you go on. Its answer says how the result reaches you.";
const NONE_HERE: &str = "You are a background helper yourself: helpers have no helpers, so there \
    are no tools here.";

/// What one request says of its client.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    pub name: String,
    pub capabilities: Value,
    pub is_modern: bool,
}

impl Client {
    /// Whether a call of this request may be answered with a task.
    pub fn has_tasks(&self) -> bool {
        self.capabilities["extensions"][TASKS].is_object()
    }

    pub fn has_forms(&self) -> bool {
        !self.is_modern && self.capabilities["elicitation"].is_object()
    }

    /// What `initialize` says of it.
    pub fn introduced(params: &Value) -> Self {
        Self {
            name: name(&params["clientInfo"]),
            capabilities: params["capabilities"].clone(),
            is_modern: false,
        }
    }

    /// Who sends this request: itself if it says so, else the one that was introduced before.
    pub fn of(params: &Value, introduced: Option<&Self>) -> Result<Self, RpcError> {
        let meta = &params["_meta"];
        match (meta[VERSION].as_str(), introduced) {
            (None, Some(introduced)) => Ok(introduced.clone()),
            (Some(MODERN), _) if meta[CAPABILITIES].is_object() => Ok(Self {
                name: name(&meta[CLIENT]),
                capabilities: meta[CAPABILITIES].clone(),
                is_modern: true,
            }),
            (Some(MODERN), _) => Err(bad(format!("_meta needs {CAPABILITIES}"))),
            (None, None) => Err(bad(format!("_meta needs {VERSION}"))),
            (Some(other), _) => Err(RpcError {
                code: OTHER_VERSION,
                message: format!("the protocol version {other} is not supported"),
                data: json!({ "supported": [MODERN], "requested": other }),
            }),
        }
    }

    /// Refuses requests about tasks of a client that has none.
    pub fn check_tasks(&self) -> Result<(), RpcError> {
        if self.has_tasks() {
            return Ok(());
        }
        Err(RpcError {
            code: NOT_DECLARED,
            message: format!("the client did not declare the extension {TASKS}"),
            data: json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } }),
        })
    }

    /// A result in the form of its era.
    pub fn result(&self, mut result: Value) -> Value {
        if !self.is_modern {
            return result;
        }
        // An acknowledgement has nothing else in it: the protocol's own library takes one with more
        // for another result (rmcp 3.8.0).
        let is_empty = result.as_object().is_some_and(serde_json::Map::is_empty);
        if result["resultType"].is_null() {
            result["resultType"] = json!("complete");
        }
        if !is_empty {
            result["_meta"][SERVER] = server();
        }
        result
    }
}

/// Whether a request says that it is of the new era.
pub fn is_modern(params: &Value) -> bool {
    params["_meta"][VERSION].is_string()
}

pub fn bad(why: impl Into<String>) -> RpcError {
    RpcError { code: BAD_PARAMS, message: why.into(), data: Value::Null }
}

pub fn unknown(method: &str) -> RpcError {
    let message = format!("there is no method {method}");
    RpcError { code: NO_SUCH_METHOD, message, data: Value::Null }
}

fn name(info: &Value) -> String {
    info["name"].as_str().unwrap_or_default().to_owned()
}

fn server() -> Value {
    json!({ "name": "legwork", "title": "legwork", "version": env!("CARGO_PKG_VERSION") })
}

fn capabilities() -> Value {
    json!({ "tools": {}, "extensions": { TASKS: {} } })
}

fn instructions(inside: bool) -> &'static str {
    if inside { NONE_HERE } else { INSTRUCTIONS }
}

pub fn discovered(inside: bool) -> Value {
    let versions: Vec<&str> = [MODERN].into_iter().chain(LEGACY).collect();
    json!({
        "supportedVersions": versions,
        "capabilities": capabilities(),
        "serverInfo": server(),
        "instructions": instructions(inside),
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

pub fn initialized(params: &Value, inside: bool) -> Value {
    let asked = params["protocolVersion"].as_str();
    let version = LEGACY.into_iter().find(|known| Some(*known) == asked).unwrap_or(LEGACY[0]);
    json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": server(),
        "instructions": instructions(inside),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(version: &str) -> Value {
        json!({ "_meta": { VERSION: version, CAPABILITIES: { "extensions": { TASKS: {} } },
            CLIENT: { "name": "claude-code" } } })
    }

    #[test]
    fn m1_a_request_of_the_new_era_says_who_sends_it() {
        let client = Client::of(&meta(MODERN), None).unwrap();
        assert!(client.has_tasks() && client.is_modern && client.name == "claude-code");
        let mut bare = meta(MODERN);
        bare["_meta"][CAPABILITIES] = json!({});
        let client = Client::of(&bare, None).unwrap();
        assert!(!client.has_tasks());
        assert_eq!(client.check_tasks().unwrap_err().code, NOT_DECLARED);
        let result = client.result(json!({ "x": 1 }));
        assert_eq!((&result["resultType"], &result["x"]), (&json!("complete"), &json!(1)));
        assert_eq!(result["_meta"][SERVER]["name"], "legwork");
    }

    #[test]
    fn m1_what_is_missing_or_unknown_is_refused_as_the_protocol_says() {
        let mut bare = meta(MODERN);
        bare["_meta"][CAPABILITIES] = Value::Null;
        for params in [json!({}), json!(7), json!({ "_meta": [] }), bare] {
            assert_eq!(Client::of(&params, None).unwrap_err().code, BAD_PARAMS, "{params}");
        }
        let other = Client::of(&meta("2099-01-01"), None).unwrap_err();
        assert_eq!((other.code, &other.data["supported"][0]), (OTHER_VERSION, &json!(MODERN)));
    }

    #[test]
    fn m1_who_was_introduced_need_not_say_it_again() {
        let params = json!({ "protocolVersion": "2025-06-18",
            "clientInfo": { "name": "codex-mcp-client" }, "capabilities": { "elicitation": {} } });
        let introduced = Client::introduced(&params);
        let client = Client::of(&json!({}), Some(&introduced)).unwrap();
        assert!(client.has_forms() && !client.has_tasks());
        assert_eq!(client.result(json!({})), json!({}));
        for (asked, taken) in [("2025-06-18", "2025-06-18"), ("1999-01-01", LEGACY[0])] {
            let said = initialized(&json!({ "protocolVersion": asked }), false);
            assert_eq!(said["protocolVersion"], taken);
        }
    }
}
