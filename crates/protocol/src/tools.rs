//! The six tools as a model sees them: names, descriptions, schemas. They exist once, here; every
//! front takes them from this list.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::tool::{BlockArgs, CancelArgs, ClearArgs, ListArgs, OutputArgs, TaskArgs};
use crate::limits::{AGENT_MAX_BYTES, AGENTS_MAX_OFFERED, PURPOSE_MAX_CHARS};
use crate::refusal::plain;

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// When to use it, for the model.
    pub description: String,
    /// JSON schema of the arguments; only what is in `required` must be given.
    pub schema: Schema,
}

/// An agent that a model can hand work to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedAgent {
    /// As it is asked for.
    pub name: String,
    /// What it is good for; may be empty.
    pub purpose: String,
}

/// How a model is told of the end of a run, as far as the descriptions say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// In its conversation, by itself.
    ByItself,
    /// It depends on the call, and its answer says so.
    AsAnswered,
}

impl Telling {
    fn of_task(self) -> &'static str {
        match self {
            Self::ByItself => {
                "You are told in this conversation when it is done, once and with the whole \
                 result: do not wait, poll or check for it."
            }
            Self::AsAnswered => {
                "The answer says how its result reaches you, once and whole: do not poll for it."
            }
        }
    }

    fn of_output(self) -> &'static str {
        match self {
            Self::ByItself => "Not needed for results: a notice brings them by itself.",
            Self::AsAnswered => "Not needed for results that reach you by themselves.",
        }
    }

    fn of_block(self) -> &'static str {
        match self {
            Self::ByItself => "Otherwise go on working: the notice comes by itself.",
            Self::AsAnswered => "Otherwise go on working.",
        }
    }
}

/// The six for a model that can ask these agents: `background_task` lists them.
pub fn tools_with(agents: &[OfferedAgent], telling: Telling) -> Vec<Tool> {
    let mut tools = tools_told(telling);
    if let Some(task) = tools.first_mut().filter(|_| !agents.is_empty()) {
        task.description.push_str("\n\nAgents:");
        for OfferedAgent { name, purpose } in agents.iter().take(AGENTS_MAX_OFFERED) {
            let name = plain(name, AGENT_MAX_BYTES);
            // The first line says the most.
            let purpose = plain(purpose.lines().next().unwrap_or_default(), PURPOSE_MAX_CHARS);
            let colon = if purpose.is_empty() { "" } else { ": " };
            task.description.push_str(&format!("\n- {name}{colon}{purpose}"));
        }
        if let Some(more @ 1..) = agents.len().checked_sub(AGENTS_MAX_OFFERED) {
            let more = format!("\n- {more} more; a name that is not known is answered with all.");
            task.description.push_str(&more);
        }
    }
    tools
}

/// All six, in the order in which they are offered, for a model that is told by itself.
pub fn tools() -> Vec<Tool> {
    tools_told(Telling::ByItself)
}

fn tools_told(telling: Telling) -> Vec<Tool> {
    vec![
        tool::<TaskArgs>(
            "background_task",
            &format!(
                "Hand a piece of work to a background helper and go on at once. Launch: give \
                 description, prompt and agent. Resume: give resume (the id of a completed task) \
                 and prompt; the helper keeps its whole history. {} Launch several in one step to \
                 work in parallel.",
                telling.of_task()
            ),
        ),
        tool::<OutputArgs>(
            "background_output",
            &format!(
                "See how a background task is doing, or read the result of a finished one again \
                 or further (offset). Never waits. {}",
                telling.of_output()
            ),
        ),
        tool::<BlockArgs>(
            "background_block",
            &format!(
                "Emergency only: stop and wait until the named tasks (any: the first of them) are \
                 finished or the time is up. Use it when you cannot do anything at all without \
                 them, or when this conversation would end before they do. {}",
                telling.of_block()
            ),
        ),
        tool::<ListArgs>(
            "background_list",
            "List your background tasks, newest first, with their ids and status.",
        ),
        tool::<CancelArgs>(
            "background_cancel",
            "Cancel a running background task. What it has done so far is lost to you.",
        ),
        tool::<ClearArgs>(
            "background_clear",
            "Cancel all of your unfinished background tasks and forget all of your tasks with \
             their results. Cannot be undone.",
        ),
    ]
}

fn tool<T: JsonSchema>(name: &str, description: &str) -> Tool {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    // Names of our types mean nothing to a model.
    for key in ["$schema", "title", "description"] {
        schema.remove(key);
    }
    simplify(&mut schema);
    Tool { name: name.to_owned(), description: description.to_owned(), schema }
}

/// Leaves what models and all of their providers understand. That an argument may be left out is
/// said by `required`; null for it is taken, but a model need not know. Some providers refuse
/// lists of types, formats of numbers, or an object without `properties`.
fn simplify(schema: &mut Schema) {
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    for property in properties.as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        let Some(property) = property.as_object_mut() else { continue };
        property.remove("default");
        property.remove("format");
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_mut_slice() {
                let only = only.take();
                property.insert("type".to_owned(), only);
            }
        }
        // Doc comments are wrapped for us, not for models.
        if let Some(Value::String(text)) = property.get_mut("description") {
            *text = text.replace('\n', " ");
        }
    }
}
