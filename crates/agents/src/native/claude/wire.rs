//! The lines of Claude Code's stream-json (2.1.x), in both directions, as plain values. What is not
//! known is a sign of life; what a newer version adds to a known line is not read.

use serde_json::{Value, json};

/// What Claude Code calls messages that no model has written.
const SYNTHETIC: &str = "<synthetic>";

/// A line of Claude Code.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A turn begins.
    Began {
        model: String,
        version: String,
    },
    Said(Said),
    /// What tools gave back.
    Results(Vec<ToolResult>),
    /// The provider refused a request, which is made again.
    Retry(Retry),
    Limit(Limit),
    /// A turn is over.
    Over(Box<Over>),
    /// Somebody has to answer before a tool runs.
    Ask {
        request: String,
        call: Box<Asked>,
    },
    /// A request that is not known here.
    Request {
        request: String,
        subtype: String,
    },
    /// A request of its own does not need an answer any more.
    Withdrawn {
        request: String,
    },
    /// The answer to a request of ours.
    Answer {
        request: String,
        outcome: Result<Value, String>,
    },
    Life,
}

/// A message of the model, or of Claude Code in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// One message of a model may come in several lines.
    pub message: String,
    pub blocks: Vec<Block>,
    /// What kind of error it tells, if it does.
    pub error: Option<String>,
    /// False if Claude Code has written it itself.
    pub is_of_model: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text(String),
    Thought(String),
    Call { id: String, name: String, input: Value },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub call: String,
    pub is_error: bool,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    pub attempt: u64,
    pub max: u64,
    pub delay_ms: u64,
    /// The HTTP status, if there was an answer.
    pub status: Option<u64>,
    pub error: String,
}

/// What is left of the provider's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// `five_hour`, `seven_day` and so on.
    pub kind: Option<String>,
    /// In seconds since 1970.
    pub resets_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Over {
    pub subtype: String,
    /// `subtype` is `success` of many turns that have failed.
    pub is_error: bool,
    /// The last text, or why it failed.
    pub text: String,
    pub api_error_status: Option<u64>,
    pub terminal_reason: Option<String>,
    /// Of the turn.
    pub tokens: Option<u64>,
    /// In dollars, of all turns of the process.
    pub total_cost: Option<f64>,
}

/// A tool call that needs somebody's consent (`can_use_tool`).
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub tool: String,
    pub input: Value,
    pub call: String,
    /// What would settle it for the future, as Claude Code proposes it.
    pub suggestions: Vec<Value>,
    /// Whether a yes is not enough, because somebody has to choose or to say something.
    pub needs_person: bool,
}

impl Message {
    pub fn read(line: &Value) -> Self {
        // What a sub-agent does is a part of the tool call that started it.
        let is_main = line["parent_tool_use_id"].is_null();
        match line["type"].as_str().unwrap_or_default() {
            "system" => Self::system(line),
            "assistant" if is_main => Self::Said(Said::read(line)),
            "user" if is_main && line["isReplay"] != true => Self::results(&line["message"]),
            "rate_limit_event" => {
                Limit::read(&line["rate_limit_info"]).map_or(Self::Life, Self::Limit)
            }
            "result" => Self::Over(Box::new(Over::read(line))),
            "control_request" => Self::request(word(&line["request_id"]), &line["request"]),
            "control_cancel_request" => Self::Withdrawn { request: word(&line["request_id"]) },
            "control_response" => Self::answer(&line["response"]),
            _ => Self::Life,
        }
    }

    fn system(line: &Value) -> Self {
        match line["subtype"].as_str() {
            Some("init") => Self::Began {
                model: word(&line["model"]),
                version: word(&line["claude_code_version"]),
            },
            Some("api_retry") => Self::Retry(Retry {
                attempt: line["attempt"].as_u64().unwrap_or_default(),
                max: line["max_retries"].as_u64().unwrap_or_default(),
                delay_ms: line["retry_delay_ms"].as_f64().unwrap_or_default() as u64,
                status: line["error_status"].as_u64(),
                error: word(&line["error"]),
            }),
            _ => Self::Life,
        }
    }

    fn results(message: &Value) -> Self {
        let blocks = message["content"].as_array().into_iter().flatten();
        let results = blocks.filter(|block| block["type"] == "tool_result");
        let results: Vec<ToolResult> = results
            .map(|block| ToolResult {
                call: word(&block["tool_use_id"]),
                is_error: block["is_error"] == true,
                text: texts(&block["content"]),
            })
            .collect();
        if results.is_empty() { Self::Life } else { Self::Results(results) }
    }

    fn request(request: String, asked: &Value) -> Self {
        match asked["subtype"].as_str() {
            Some("can_use_tool") => {
                let suggestions = asked["permission_suggestions"].as_array();
                let call = Asked {
                    tool: word(&asked["tool_name"]),
                    input: asked["input"].clone(),
                    call: word(&asked["tool_use_id"]),
                    suggestions: suggestions.cloned().unwrap_or_default(),
                    needs_person: asked["requires_user_interaction"] == true,
                };
                Self::Ask { request, call: Box::new(call) }
            }
            subtype => Self::Request { request, subtype: subtype.unwrap_or_default().to_owned() },
        }
    }

    fn answer(response: &Value) -> Self {
        let outcome = match response["subtype"].as_str() {
            Some("success") => Ok(response["response"].clone()),
            _ => Err(word(&response["error"])),
        };
        Self::Answer { request: word(&response["request_id"]), outcome }
    }
}

impl Said {
    /// Of a line of the stream or of a transcript.
    pub fn read(line: &Value) -> Self {
        let message = &line["message"];
        let blocks = message["content"].as_array().into_iter().flatten();
        Self {
            message: word(&message["id"]),
            blocks: blocks.filter_map(Block::read).collect(),
            error: line["error"].as_str().map(str::to_owned),
            is_of_model: message["model"] != SYNTHETIC,
        }
    }
}

impl Block {
    /// Kinds that are not known are passed over.
    fn read(block: &Value) -> Option<Self> {
        match block["type"].as_str()? {
            "text" => Some(Self::Text(word(&block["text"]))),
            "thinking" => Some(Self::Thought(word(&block["thinking"]))),
            "tool_use" => Some(Self::Call {
                id: word(&block["id"]),
                name: word(&block["name"]),
                input: block["input"].clone(),
            }),
            _ => None,
        }
    }
}

impl Limit {
    pub fn read(info: &Value) -> Option<Self> {
        Some(Self {
            status: info["status"].as_str()?.to_owned(),
            kind: info["rateLimitType"].as_str().map(str::to_owned),
            resets_at: info["resetsAt"].as_i64(),
        })
    }

    pub fn is_reached(&self) -> bool {
        self.status == "rejected"
    }
}

impl Over {
    fn read(line: &Value) -> Self {
        let errors = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let errors = errors.collect::<Vec<_>>().join("\n");
        let subtype = word(&line["subtype"]);
        let text = line["result"].as_str().map_or(errors, str::to_owned);
        Self {
            // A subtype that is not known is an error too: a good one has a name of its own.
            is_error: line["is_error"] == true || subtype != "success",
            subtype,
            text,
            api_error_status: line["api_error_status"].as_u64(),
            terminal_reason: line["terminal_reason"].as_str().map(str::to_owned),
            tokens: tokens(&line["usage"]),
            total_cost: line["total_cost_usd"].as_f64(),
        }
    }
}

/// All tokens of a `usage`, those of the cache too.
pub fn tokens(usage: &Value) -> Option<u64> {
    let kinds =
        ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    let counts: Vec<u64> = kinds.iter().filter_map(|kind| usage[kind].as_u64()).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// Hands over a prompt under this id.
pub fn prompt(session: &str, uuid: &str, text: &str) -> Value {
    json!({
        "type": "user",
        "message": { "role": "user", "content": [{ "type": "text", "text": text }] },
        "parent_tool_use_id": null,
        "session_id": session,
        "uuid": uuid,
    })
}

/// A request of ours.
pub fn request(id: &str, request: &Value) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": request })
}

/// The answer to a request of Claude Code.
pub fn answer(request: &str, response: &Value) -> Value {
    let response = json!({ "subtype": "success", "request_id": request, "response": response });
    json!({ "type": "control_response", "response": response })
}

pub fn refusal(request: &str, why: &str) -> Value {
    let response = json!({ "subtype": "error", "request_id": request, "error": why });
    json!({ "type": "control_response", "response": response })
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A text, or the texts of several parts.
pub fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
