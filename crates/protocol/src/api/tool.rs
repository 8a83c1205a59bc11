//! The six tools as requests. Arguments are read from JSON here and nowhere else; what does not fit
//! is a refusal that a model can act on.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::refusal::{Refusal, plain};
use super::request::{Ask, List};
use crate::limits::{BLOCK_DEFAULT_MS, ECHO_MAX_CHARS};

/// A model's call of one of the six tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// What it asks.
    pub ask: Ask,
    /// What the model is to be told besides.
    pub note: Option<Note>,
}

/// Something about a call that changes nothing but that the model should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// `agent` or `description` came along with `resume` (R7).
    ResumeIgnores,
    /// The old `block` or `timeout` came along with `background_output` (O6).
    OutputNeverWaits,
}

/// The arguments of `background_task`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct TaskArgs {
    /// The whole task for the helper, or the follow-up message when resuming. The helper sees
    /// nothing of this conversation, so say everything it needs and what to report back.
    // Taken without it all the same: its absence is refused together with what else is missing.
    #[schemars(required)]
    prompt: Option<String>,
    /// Three to eight words that name the task for people. Required when launching.
    #[serde(default)]
    description: Option<String>,
    /// The agent that does the work. Required when launching.
    #[serde(default)]
    agent: Option<String>,
    /// true: the helper starts with a copy of this conversation so far. For work that needs all of
    /// it; costs as many tokens. Default: it starts with the prompt alone.
    #[serde(default)]
    fork: Option<bool>,
    /// The id (bg_...) of a completed task to continue with its whole history. Leave it out to
    /// launch a new task.
    #[serde(default, deserialize_with = "resume_id")]
    #[schemars(with = "Option<String>")]
    resume: Option<String>,
}

/// The arguments of `background_output`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// `block` and `timeout` are not shown, yet a host that checks calls must let them through (O6).
#[schemars(inline, extend("additionalProperties" = true))]
pub(crate) struct OutputArgs {
    /// The task's id (bg_...).
    task_id: String,
    /// Where to read on in a long result, in characters, as the earlier answer said.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(with = "Option<u64>")]
    offset: Option<u64>,
    /// Waiting is `background_block`'s; still taken from callers who know an older version.
    #[serde(default)]
    #[schemars(skip)]
    block: Option<Value>,
    /// As `block`.
    #[serde(default)]
    #[schemars(skip)]
    timeout: Option<Value>,
}

/// The arguments of `background_block`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct BlockArgs {
    /// The ids (bg_...) of the tasks to wait for.
    task_ids: Vec<String>,
    /// How long to wait at most, in milliseconds. Default 60000, at most 600000.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(with = "Option<u64>")]
    timeout: Option<u64>,
    /// true: return as soon as one of them is finished, and say which. Default: wait for all.
    #[serde(default)]
    any: Option<bool>,
}

/// The arguments of `background_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ListArgs {
    /// Only tasks with this status: running, completed, error, cancelled or resumed.
    #[serde(default)]
    status: Option<String>,
    /// Also the tasks of other sessions of this project.
    #[serde(default)]
    all: Option<bool>,
}

/// The arguments of `background_cancel`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct CancelArgs {
    /// The id (bg_...) of the running task to cancel.
    task_id: String,
}

/// The arguments of `background_clear`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ClearArgs {}

/// Absent, null, false and "" all mean "launch"; models write each of them.
fn resume_id<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(input)? {
        Value::Null | Value::Bool(false) => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(D::Error::custom("expected the id of a task, or nothing to launch a new one"))
        }
    }
}

/// A number that is whole and not negative. Models write 60000.0 too.
fn whole_number<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    let wrong = || D::Error::custom("expected a whole number, 0 or more");
    match Value::deserialize(input)? {
        Value::Null => Ok(None),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Ok(Some(whole)),
            (None, Some(float)) if float >= 0.0 && float.is_finite() => Ok(Some(float as u64)),
            _ => Err(wrong()),
        },
        Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Err(wrong()),
    }
}

impl ToolCall {
    /// Reads a tool call. The arguments may be anything at all.
    pub fn read(tool: &str, arguments: Value) -> Result<Self, Refusal> {
        match tool {
            "background_task" => task(tool, arguments),
            "background_output" => output(tool, arguments),
            "background_block" => block(tool, arguments).map(Self::from),
            "background_list" => list(tool, arguments).map(Self::from),
            "background_cancel" => read::<CancelArgs>(tool, arguments)
                .map(|args| Self::from(Ask::Cancel { task: args.task_id })),
            "background_clear" => {
                read::<ClearArgs>(tool, arguments).map(|ClearArgs {}| Self::from(Ask::Clear))
            }
            other => Err(Refusal::NoSuchTool(other.to_owned())),
        }
    }
}

impl From<Ask> for ToolCall {
    fn from(ask: Ask) -> Self {
        Self { ask, note: None }
    }
}

/// Null arguments are none: some clients leave them out.
fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Refusal> {
    let arguments =
        if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
    if !arguments.is_object() {
        return Err(bad(tool, "the arguments must be one JSON object"));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let at = plain(&error.path().to_string(), ECHO_MAX_CHARS);
        let why = without_middle(&error.inner().to_string());
        match at.as_str() {
            "." => bad(tool, why),
            at => bad(tool, format_args!("{at}: {why}")),
        }
    })
}

/// The reader quotes the wrong value, then says what would be right; of a huge value the first
/// words do, and the end must stay.
fn without_middle(why: &str) -> String {
    let (head, tail) = (2 * ECHO_MAX_CHARS, 3 * ECHO_MAX_CHARS);
    match why.char_indices().nth_back(tail) {
        Some((at, _)) if at > head => {
            let start: String = why.chars().take(head).collect();
            format!("{start} … {}", &why[at..])
        }
        _ => why.to_owned(),
    }
}

pub(super) fn bad(tool: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::BadArguments { tool: tool.to_owned(), why: why.to_string() }
}

fn task(tool: &str, arguments: Value) -> Result<ToolCall, Refusal> {
    let args: TaskArgs = read(tool, arguments)?;
    let prompt = args.prompt.unwrap_or_default();
    let description = args.description.unwrap_or_default();
    let agent = args.agent.unwrap_or_default();
    let call = match args.resume {
        None => {
            let fork = args.fork.unwrap_or(false);
            Ask::Launch { prompt, description, agent, fork, collects: false }.into()
        }
        Some(task) => {
            let extra = !description.trim().is_empty() || !agent.trim().is_empty();
            let note = extra.then_some(Note::ResumeIgnores);
            ToolCall { ask: Ask::Resume { task, prompt, collects: false }, note }
        }
    };
    call.ask.check().map(|()| call)
}

fn output(tool: &str, arguments: Value) -> Result<ToolCall, Refusal> {
    let args: OutputArgs = read(tool, arguments)?;
    let waits = args.block.is_some() || args.timeout.is_some();
    let ask = Ask::Output { task: args.task_id, offset: args.offset.unwrap_or(0) };
    Ok(ToolCall { ask, note: waits.then_some(Note::OutputNeverWaits) })
}

fn block(tool: &str, arguments: Value) -> Result<Ask, Refusal> {
    let BlockArgs { task_ids: tasks, timeout, any } = read(tool, arguments)?;
    let timeout_ms = timeout.unwrap_or(BLOCK_DEFAULT_MS);
    let ask = Ask::Wait { tasks, any: any.unwrap_or(false), timeout_ms };
    ask.check().map(|()| ask)
}

fn list(tool: &str, arguments: Value) -> Result<Ask, Refusal> {
    let args: ListArgs = read(tool, arguments)?;
    let status = match args.status.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| Refusal::NoSuchStatus(text.to_owned()))?),
    };
    Ok(Ask::List(List { status, all: args.all.unwrap_or(false), ..List::default() }))
}
