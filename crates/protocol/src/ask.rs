//! What a caller can ask: the six tools, and what only a person can (reply to a helper, forget).
//! Arguments are read from JSON here and nowhere else; what does not fit is a refusal that a model
//! can act on.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::ids::QuestionId;
use crate::limits::{
    AGENT_MAX_BYTES, BLOCK_DEFAULT_MS, BLOCK_MAX_MS, BLOCK_MAX_TASKS, ECHO_MAX_CHARS,
    PROMPT_MAX_BYTES,
};
use crate::refusal::{Refusal, plain};
use crate::status::Status;

/// One question to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// `background_task` in launch mode.
    Launch {
        /// The work.
        prompt: String,
        /// Its name for people.
        description: String,
        /// Who does it.
        agent: String,
    },
    /// `background_task` in resume mode.
    Resume {
        /// The task, as the caller wrote it.
        task: String,
        /// The follow-up.
        prompt: String,
        /// Whether `agent` or `description` came along (R7).
        extra: bool,
    },
    /// `background_output`.
    Output {
        /// The task, as the caller wrote it.
        task: String,
        /// Characters of the result to skip.
        offset: u64,
        /// Whether the old `block` or `timeout` came along (O6).
        waits: bool,
    },
    /// `background_block`.
    Block {
        /// The tasks, as the caller wrote them, each once.
        tasks: Vec<String>,
        /// How long at most.
        timeout_ms: u64,
        /// Whether more was asked for than is allowed.
        cut: bool,
    },
    /// `background_list`.
    List {
        /// Only these.
        status: Option<Status>,
        /// Other sessions' tasks too.
        all: bool,
    },
    /// `background_cancel`.
    Cancel {
        /// The task, as the caller wrote it.
        task: String,
    },
    /// `background_clear`.
    Clear,
    /// A person calls off and forgets tasks (the command line, the dashboard).
    Forget {
        /// The tasks, as the person wrote them.
        tasks: Vec<String>,
    },
    /// A person's answer to a helper's permission or question (the command line, the dashboard).
    Reply {
        /// Which.
        question: QuestionId,
        /// What to say.
        reply: Reply,
    },
}

/// A person's answer to a helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// Yes, this once.
    Once,
    /// Yes, from now on.
    Always,
    /// No, with words to the helper or without.
    Reject(Option<String>),
    /// An answer to a question.
    Words(String),
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
    /// The id (bg_...) of the running task to call off.
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

impl Ask {
    /// Reads a tool call. The arguments may be anything at all.
    pub fn from_tool(name: &str, arguments: Value) -> Result<Ask, Refusal> {
        match name {
            "background_task" => task("background_task", arguments),
            "background_output" => output("background_output", arguments),
            "background_block" => block("background_block", arguments),
            "background_list" => list("background_list", arguments),
            "background_cancel" => read::<CancelArgs>("background_cancel", arguments)
                .map(|args| Ask::Cancel { task: args.task_id }),
            "background_clear" => {
                read::<ClearArgs>("background_clear", arguments).map(|ClearArgs {}| Ask::Clear)
            }
            other => Err(Refusal::NoSuchTool(other.to_owned())),
        }
    }
}

/// Null arguments are none: some clients leave them out.
fn read<T: DeserializeOwned>(tool: &'static str, arguments: Value) -> Result<T, Refusal> {
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

fn bad(tool: &'static str, why: impl std::fmt::Display) -> Refusal {
    Refusal::BadArguments { tool, why: why.to_string() }
}

fn task(tool: &'static str, arguments: Value) -> Result<Ask, Refusal> {
    let args: TaskArgs = read(tool, arguments)?;
    let prompt = args.prompt.unwrap_or_default();
    if prompt.len() > PROMPT_MAX_BYTES {
        return Err(bad(
            tool,
            format_args!(
                "the prompt has {} bytes, {PROMPT_MAX_BYTES} are allowed. Put the long part into \
                 a file and name it in the prompt",
                prompt.len()
            ),
        ));
    }
    let description = args.description.unwrap_or_default();
    let agent = args.agent.unwrap_or_default();
    if let Some(task) = args.resume {
        let extra = !description.trim().is_empty() || !agent.trim().is_empty();
        if prompt.trim().is_empty() {
            return Err(Refusal::PromptRequired);
        }
        return Ok(Ask::Resume { task, prompt, extra });
    }
    let given = [("description", &description), ("prompt", &prompt), ("agent", &agent)];
    let missing: Vec<&'static str> =
        given.iter().filter(|(_, text)| text.trim().is_empty()).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        return Err(Refusal::Missing(missing));
    }
    if agent.len() > AGENT_MAX_BYTES || agent.chars().any(char::is_control) {
        return Err(bad(tool, "agent: expected the name of an agent"));
    }
    Ok(Ask::Launch { prompt, description, agent })
}

fn output(tool: &'static str, arguments: Value) -> Result<Ask, Refusal> {
    let args: OutputArgs = read(tool, arguments)?;
    Ok(Ask::Output {
        task: args.task_id,
        offset: args.offset.unwrap_or(0),
        waits: args.block.is_some() || args.timeout.is_some(),
    })
}

fn block(tool: &'static str, arguments: Value) -> Result<Ask, Refusal> {
    let args: BlockArgs = read(tool, arguments)?;
    if args.task_ids.is_empty() {
        return Err(bad(tool, "task_ids: name at least one task. background_list shows them"));
    }
    if args.task_ids.len() > BLOCK_MAX_TASKS {
        return Err(bad(
            tool,
            format_args!(
                "task_ids: {} ids given, at most {BLOCK_MAX_TASKS} allowed",
                args.task_ids.len()
            ),
        ));
    }
    let mut tasks: Vec<String> = Vec::new();
    for id in &args.task_ids {
        if !tasks.iter().any(|known| known == id.trim()) {
            tasks.push(id.trim().to_owned());
        }
    }
    let asked = args.timeout.unwrap_or(BLOCK_DEFAULT_MS);
    Ok(Ask::Block { tasks, timeout_ms: asked.min(BLOCK_MAX_MS), cut: asked > BLOCK_MAX_MS })
}

fn list(tool: &'static str, arguments: Value) -> Result<Ask, Refusal> {
    let args: ListArgs = read(tool, arguments)?;
    let status = match args.status.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| Refusal::NoSuchStatus(text.to_owned()))?),
    };
    Ok(Ask::List { status, all: args.all.unwrap_or(false) })
}
